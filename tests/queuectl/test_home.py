"""The home directory: where it is, what is wrong with it, and what files in it are called."""

import os
import sqlite3
from itertools import count
from pathlib import Path

import pytest

from rookery.engine.ops import SaveSetting
from rookery.queuectl import home
from rookery.queuectl.home import Home, HomeError, now_ms
from rookery.queuectl.jobs import JobRequest, enqueue_operation
from rookery.queuectl.logfiles import log_name
from rookery.queuectl.processes import is_running, own_mark, start_mark
from tests.queuectl.desk import Desk


def test_the_home_is_in_the_users_directory_unless_it_is_named(desk: Desk, tmp_path: Path) -> None:
    for unset in ({}, {"QUEUECTL_HOME": ""}):
        desk.environment = {**os.environ, "HOME": str(tmp_path), **unset}
        if not unset:
            desk.environment.pop("QUEUECTL_HOME", None)
        desk.add()
    assert len(desk.json("list")) == 2
    assert (tmp_path / ".queuectl" / "queue.db").exists()


@pytest.mark.parametrize("command", [("enqueue", "--command", "true"), ("list",), ("config", "get"), ("status",)])
def test_any_command_makes_the_home(desk: Desk, command: tuple[str, ...]) -> None:
    assert desk.run(*command).returncode == 0

    assert desk.home.database.exists()
    assert desk.home.path.stat().st_mode & 0o777 == 0o700


def test_a_home_that_cannot_be_made_is_told_in_a_line(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    for place in ("file", "file/below", "/proc/nowhere"):
        desk.environment["QUEUECTL_HOME"] = str(tmp_path / place)
        for command in (("list",), ("enqueue", "--command", "true")):
            assert desk.refused(*command, code=1).startswith("Error: cannot create")
    assert (tmp_path / "file").read_text() == "precious"


def test_a_database_of_somebody_else_is_refused_and_left_alone(desk: Desk) -> None:
    desk.home.path.mkdir()
    theirs = sqlite3.connect(desk.home.database)
    theirs.execute("CREATE TABLE jobs (id TEXT)")
    theirs.close()
    before = desk.home.database.read_bytes()

    for command in (("list",), ("enqueue", "--command", "true"), ("dashboard", "--port", "0")):
        assert "not a store of Rookery" in desk.refused(*command, code=1)
    assert desk.home.database.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(desk: Desk) -> None:
    desk.home.path.mkdir()
    desk.home.database.write_text("buy milk\n" * 200)

    for command in (("list",), ("enqueue", "--command", "true")):
        assert "not an SQLite database" in desk.refused(*command, code=1)
    assert desk.home.database.read_text() == "buy milk\n" * 200


def test_an_empty_file_becomes_a_store(desk: Desk) -> None:
    desk.home.path.mkdir()
    desk.home.database.touch()

    assert desk.json("list") == []
    desk.add(id="x")
    assert desk.job("x")["state"] == "pending"


def test_a_store_of_a_newer_program_is_refused(desk: Desk) -> None:
    desk.add()
    newer = sqlite3.connect(desk.home.database)
    newer.execute("PRAGMA user_version = 9999")
    newer.close()

    assert "newer version" in desk.refused("list", code=1)


def test_what_was_left_by_somebody_who_was_killed_is_removed(desk: Desk) -> None:
    desk.home.path.mkdir()
    for name in ("queue.db.new-1", "queue.db.new-1-wal"):
        (desk.home.path / name).write_text("half")
    desk.add()

    assert not list(desk.home.path.glob("*.new*"))


def test_a_file_system_without_links_will_do(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert desk.home.settings().max_retries == 3
    assert not list(desk.home.path.glob("*.new*"))


def test_no_two_jobs_are_equally_old(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = count()
    start = now_ms()
    monkeypatch.setattr(home, "now_ms", lambda: start + next(looks) // 10)
    for name in "zyx":
        desk.home.apply(enqueue_operation(JobRequest(id=name, command="true", max_retries=1), 2, start))

    born = desk.home.reader().execute("SELECT created_at FROM jobs ORDER BY created_at, id").fetchall()
    assert len(set(born)) == 3
    assert [desk.claim().job_id for _ in range(3)] == ["z", "y", "x"]


def test_a_full_disk_is_no_traceback(tmp_path: Path) -> None:
    with Home(tmp_path / "home") as home:
        home.machine().connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(HomeError, match="cannot write"):
            home.apply(*[SaveSetting(key=f"k{n}", value="a" * 50_000) for n in range(20)])
        assert home.settings().max_retries == 3


@pytest.mark.parametrize(
    ("job_id", "name"),
    [
        ("job1", "job1.log"),
        ("Job_1.a-b", "Job_1.a-b.log"),
        ("job_01ARZ3NDEKTSV4RRFFQ69G5FAV", "job_01ARZ3NDEKTSV4RRFFQ69G5FAV.log"),
        ("../x", "%2E.%2Fx.log"),
        (".", "%2E.log"),
        ("..", "%2E..log"),
        ("a/b", "a%2Fb.log"),
        ("a%2Fb", "a%252Fb.log"),
        ("a b:ü", "a%20b%3A%C3%BC.log"),
        ("con", "%63on.log"),
        ("NUL.txt", "%4EUL.txt.log"),
        ("console", "console.log"),
    ],
)
def test_a_log_is_called_as_its_job_where_that_is_safe(job_id: str, name: str) -> None:
    assert log_name(job_id) == name


def test_no_two_jobs_share_a_log() -> None:
    ids = [
        *(
            "a",
            "A",
            "a.",
            ".a",
            "a/",
            "a\\",
            "%61",
            "a%",
            "ü",
            "u\u0308",
            "x" * 128,
            "X" * 128,
            "ü" * 128,
            "ü" * 127 + "u",
        ),
        *("\U0001f99c" * 128, "\U0001f99c" * 127 + "!", "con", "CON", "%63on"),
    ]
    names = [log_name(job_id) for job_id in ids]
    assert len(set(names)) == len(ids)
    assert all(len(name) < 256 and "/" not in name and not name.startswith(".") for name in names)
    alike = [log_name(job_id, case_matters=False) for job_id in ids]
    assert len({name.lower() for name in alike}) == len(ids)
    assert log_name("job1", case_matters=False) == "job1.log"


def test_a_process_is_known_by_its_start_as_well() -> None:
    assert is_running(os.getpid(), own_mark())
    assert not is_running(os.getpid(), "another")
    assert not is_running(os.getpid(), None)
    assert start_mark((1 << 22) + 1) is None
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert start_mark(child) is None
    os.waitpid(child, 0)
