"""`rookery backup` and `rookery restore`: a server made from a copy goes on exactly where the copy was taken."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest

from rookery.model.job import STATES
from rookery.store.migrations import APPLICATION_ID
from tests.api.expectations import assert_refused, job_in_state, start_job, wait_for_state
from tests.cli.conftest import Run, assert_failed
from tests.conftest import Api, ServerProcess, wait_for

StartServer = Callable[..., ServerProcess]


def fill(api: Api) -> dict[str, str]:
    """A job in every state; their ids."""
    return {state: job_in_state(api, f"q.{state}", state) for state in STATES}


def ask_everything(api: Api, ids: dict[str, str]) -> dict[str, Any]:
    """All that the server says about jobs, queues and what happened to them."""
    return {
        "jobs": [api.job(job_id) for job_id in ids.values()],
        "queues": api.get("/queues").json(),
        "events": api.get("/cluster/events").json(),
        "workers": api.get("/workers").json(),
        "schedules": api.get("/schedules").json(),
    }


def back_up(rookery: Run, file: Path, *flags: object, **options: Any) -> str:
    run = rookery("backup", file, *flags, **options)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def restore(rookery: Run, file: Path, data_dir: Path, *flags: str) -> str:
    run = rookery("restore", file, "--data-dir", data_dir, *flags)
    assert run.returncode == 0, run.stderr
    return run.stdout


# --- a server made from a copy


@pytest.mark.parametrize("way", ["server", "data-dir", "data-dir of a killed server", "data-dir of a stopped server"])
def test_a_server_made_from_a_copy_gives_the_same_answers(
    start_server: StartServer, rookery: Run, tmp_path: Path, way: str
) -> None:
    source = start_server(data="a")
    api = Api(source)
    ids = fill(api)
    api.post("/schedules", {"name": "s", "queue": "q", "cron": "0 0 1 1 *"})
    before = ask_everything(api, ids)
    if "killed" in way:
        source.kill()
    elif "stopped" in way:
        source.stop()
    file = tmp_path / "copy"

    said = back_up(rookery, file, *(["--server", source.url] if way == "server" else ["--data-dir", source.data_dir]))
    assert re.fullmatch(rf"Backed up {len(STATES)} jobs to {file} \(\d+\.\d KiB\)\n", said)
    said = restore(rookery, file, tmp_path / "b")
    assert re.fullmatch(rf"Restored {len(STATES)} jobs to {tmp_path / 'b'} \(\d+\.\d KiB\)\n", said)

    assert ask_everything(Api(start_server(data="b")), ids) == before


def test_a_server_made_from_a_copy_goes_on(start_server: StartServer, rookery: Run, tmp_path: Path) -> None:
    source = start_server(data="a")
    api = Api(source)
    active = start_job(api, "active")
    due = api.enqueue("due", scheduled_at="2026-01-01T00:00:00Z")
    wait_for_state(api, due, "pending")
    holder = api.enqueue("unique", unique_key="k")
    retrying = start_job(api, "retry", retry_backoff="fixed", retry_base_delay="2s")["job_id"]
    api.post(f"/fail/{retrying}", {"error": "boom"})
    last_event = api.get("/cluster/events", params={"limit": 1000}).json()["events"][-1]["seq"]
    back_up(rookery, tmp_path / "copy", env={"ROOKERY_URL": source.url})
    source.kill()
    restore(rookery, tmp_path / "copy", tmp_path / "b")

    copy = Api(start_server(data="b"))

    assert copy.enqueue("unique", unique_key="k") == holder
    answer = copy.post(f"/ack/{active['job_id']}", {"lease_token": active["lease_token"], "result": 1})
    assert answer.status_code == 200, answer.text
    assert copy.job(active["job_id"])["state"] == "completed"
    wait_for_state(copy, retrying, "pending")
    events = copy.get("/cluster/events", params={"after_seq": last_event}).json()["events"]
    assert [event["seq"] for event in events] == [last_event + 1 + n for n in range(len(events))]
    assert {"completed", "promoted"} <= {event["type"] for event in events}
    again = copy.post(f"/ack/{active['job_id']}", {"lease_token": "f" * 16})
    assert_refused(again, 409, "LEASE_LOST")


def test_a_copy_is_one_view_while_writing_goes_on(start_server: StartServer, rookery: Run, tmp_path: Path) -> None:
    source = start_server("--rate-limit-enabled=false", data="a")
    stop = threading.Event()
    said: list[str] = []

    def write() -> None:
        with httpx.Client(base_url=source.url, timeout=30) as http:
            while not stop.is_set():
                jobs = [{"queue": queue, "payload": "x" * 5000} for queue in ("left", "right")] * 10
                said.extend(http.post("/api/v1/enqueue/batch", json={"jobs": jobs}).json()["job_ids"])

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for n, way in enumerate([["--server", source.url], ["--data-dir", source.data_dir]]):
            wait_for(lambda: len(said) > 2000)
            known = list(said)
            back_up(rookery, tmp_path / f"copy{n}", *way)
            db = apsw.Connection(str(tmp_path / f"copy{n}"), flags=apsw.SQLITE_OPEN_READONLY)
            jobs = {job_id for (job_id,) in db.execute("SELECT id FROM job")}
            counts = dict(db.execute("SELECT name, pending FROM queue"))
            assert db.pragma("integrity_check") == "ok"
            db.close()
            assert set(known) <= jobs
            assert counts["left"] == counts["right"] == len(jobs) / 2
    finally:
        stop.set()
        for writer in writers:
            writer.join()


# --- what the commands say


def test_both_commands_speak_json(start_server: StartServer, rookery: Run, tmp_path: Path) -> None:
    source = start_server(data="a")
    Api(source).enqueue("q")
    file = tmp_path / "copy"

    said = json.loads(back_up(rookery, "--output=json", "--server", source.url, file))
    assert said == {"file": str(file), "jobs": 1, "bytes": file.stat().st_size}
    said = json.loads(restore(rookery, file, tmp_path / "b", "--output-json"))
    assert said == {"data_dir": str(tmp_path / "b"), "jobs": 1, "bytes": file.stat().st_size, "kept": None}


def test_a_file_is_overwritten_only_by_force(start_server: StartServer, rookery: Run, tmp_path: Path) -> None:
    source = start_server(data="a")
    file = tmp_path / "copy"
    file.write_text("mine")

    assert_failed(rookery("backup", file, "--server", source.url), "exists already", "--force")
    assert_failed(rookery("backup", file, "--server", source.url, "--force=false"), "exists already")
    assert file.read_text() == "mine"
    back_up(rookery, "--force", file, "--server", source.url)
    assert file.read_bytes().startswith(b"SQLite format 3")
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_the_key_is_sent_and_the_servers_refusal_is_shown(
    start_server: StartServer, rookery: Run, tmp_path: Path
) -> None:
    source = start_server("--admin-password", "secret", data="a")
    flags = (tmp_path / "copy", "--server", source.url)

    run = rookery("backup", *flags)
    assert_failed(run)
    assert run.stderr == "Error: missing API key\n"
    assert_failed(rookery("backup", *flags, "--api-key", "wrong"), "Error: invalid API key")
    assert_failed(rookery("backup", *flags, "--api-key", "secret", "--namespace", "team"), "default")
    assert not (tmp_path / "copy").exists()
    back_up(rookery, *flags, env={"CORVO_API_KEY": "secret"})
    back_up(rookery, *flags, "--force", "--api-key", "secret", env={"ROOKERY_API_KEY": "wrong"})


def test_a_backup_of_nothing_fails(rookery: Run, tmp_path: Path) -> None:
    file = tmp_path / "copy"

    assert_failed(rookery("backup", file, "--server", "http://127.0.0.1:9"), "http://127.0.0.1:9")
    assert_failed(rookery("backup", file, "--data-dir", tmp_path / "nowhere"), "no store in")
    assert not (tmp_path / "nowhere").exists()
    assert_failed(rookery("backup", file, "--data-dir", tmp_path, "--server", "http://x"), "exclude", code=2)
    assert_failed(rookery("backup"), "FILE", code=2)
    assert_failed(rookery("backup", tmp_path / "no" / "copy", "--server", "http://127.0.0.1:9"), "no/copy")
    (tmp_path / "rookery.db").write_text("no database, but long enough to be taken for one" * 100)
    assert_failed(rookery("backup", file, "--data-dir", tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["rookery.db"]


def store_of_another_program(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE t (a)")
    db.close()


def store_of_a_newer_program(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE queue (pending, active, held, completed, dead, scheduled, retrying, cancelled)")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute("PRAGMA user_version = 1000")
    db.close()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_bytes(b""), "not a store"),
        (lambda path: path.write_text("hello"), "not a store"),
        (lambda path: path.write_bytes(os.urandom(10_000)), "not a store"),
        (store_of_another_program, "not a store"),
        (store_of_a_newer_program, "schema version 1000"),
    ],
    ids=["empty", "text", "noise", "another", "newer"],
)
def test_what_is_no_backup_is_not_restored(
    rookery: Run, tmp_path: Path, make: Callable[[Path], object], words: str
) -> None:
    make(tmp_path / "copy")

    assert_failed(rookery("restore", tmp_path / "copy", "--data-dir", tmp_path / "b"), words)
    assert not (tmp_path / "b").exists()


def test_a_damaged_backup_is_not_restored(start_server: StartServer, rookery: Run, tmp_path: Path) -> None:
    source = start_server(data="a")
    api = Api(source)
    api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": "x" * 1000}] * 500})
    file = tmp_path / "copy"
    back_up(rookery, file, "--server", source.url)
    size = file.stat().st_size
    with file.open("r+b") as damaged:
        damaged.seek(size // 2)
        damaged.write(os.urandom(size // 4))

    assert_failed(rookery("restore", file, "--data-dir", tmp_path / "b"), "damaged")
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["lock"]


def test_a_living_store_is_no_backup(start_server: StartServer, rookery: Run, tmp_path: Path) -> None:
    source = start_server(data="a")
    Api(source).enqueue("q")

    assert_failed(
        rookery("restore", source.data_dir / "rookery.db", "--data-dir", tmp_path / "b"),
        "rookery.db-wal",
        "rookery backup",
    )


def test_a_store_is_replaced_only_by_force_and_kept(start_server: StartServer, rookery: Run, tmp_path: Path) -> None:
    source, target = start_server(data="a"), start_server(data="b")
    new, old = Api(source).enqueue("q"), Api(target).enqueue("q")
    file = tmp_path / "copy"
    back_up(rookery, file, "--server", source.url)

    assert_failed(rookery("restore", file, "--data-dir", target.data_dir, "--force"), "in use by another server")
    target.kill()
    for name in ("fulltext.db", "fulltext.db-wal"):
        (target.data_dir / name).touch()
    assert_failed(rookery("restore", file, "--data-dir", target.data_dir), "already", "--force")
    said = rookery("restore", file, "--data-dir", target.data_dir, "--force")

    (kept,) = target.data_dir.glob("rookery.db.before-restore-*")
    assert str(kept) in said.stderr
    assert {path.name for path in target.data_dir.iterdir()} == {"rookery.db", "lock", kept.name}
    target.start()
    assert Api(target).job(new)["id"] == new
    assert Api(target).get(f"/jobs/{old}").status_code == 404
    restore(rookery, kept, tmp_path / "c")
    assert Api(start_server(data="c")).job(old)["id"] == old


# --- when it is cut short


@pytest.fixture
def half_a_server() -> Iterator[tuple[str, threading.Event]]:
    """A server that sends half of what it has announced, then hangs up when it is told to: its URL, and the signal."""
    hang_up = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "2000")
            self.end_headers()
            self.wfile.write(b"SQLite format 3\0".ljust(1000, b"x"))
            self.wfile.flush()
            hang_up.wait(30)

        def log_message(self, *_: object) -> None:
            """Nobody wants to read that."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", hang_up
        hang_up.set()
        server.shutdown()
        thread.join()


def start_backup(file: Path, *flags: str) -> subprocess.Popen[str]:
    """Start a backup that is not going to end well, and wait until it has begun to write."""
    command = [sys.executable, "-m", "rookery", "backup", str(file), *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    partial = file.with_name(f"{file.name}.partial")
    wait_for(partial.exists)
    return process


def test_a_backup_that_is_killed_leaves_no_file(
    half_a_server: tuple[str, threading.Event], start_server: StartServer, rookery: Run, tmp_path: Path
) -> None:
    file = tmp_path / "copy"
    process = start_backup(file, "--server", half_a_server[0])

    process.kill()
    process.communicate(timeout=10)

    assert [path.name for path in tmp_path.glob("copy*")] == ["copy.partial"]
    back_up(rookery, file, "--server", start_server().url)
    assert [path.name for path in tmp_path.glob("copy*")] == ["copy"]


def test_a_copy_that_is_killed_leaves_no_file_or_a_whole_one(start_server: StartServer, tmp_path: Path) -> None:
    source = start_server("--rate-limit-enabled=false", data="a")
    api = Api(source)
    for _ in range(4):
        api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": "x" * 100_000}] * 100})
    for n in range(5):
        file = tmp_path / f"copy{n}"
        process = start_backup(file, "--data-dir", str(source.data_dir))
        process.kill()
        process.communicate(timeout=10)
        if file.exists():
            db = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
            assert db.pragma("integrity_check") == "ok"
            db.close()


def test_a_server_that_dies_while_it_sends_leaves_no_file(
    half_a_server: tuple[str, threading.Event], tmp_path: Path
) -> None:
    url, hang_up = half_a_server
    process = start_backup(tmp_path / "copy", "--server", url)

    hang_up.set()
    stdout, stderr = process.communicate(timeout=30)

    assert (process.returncode, stdout) == (1, "")
    assert url in stderr
    assert list(tmp_path.glob("copy*")) == []


def test_a_server_clears_up_after_itself(start_server: StartServer) -> None:
    source = start_server("--rate-limit-enabled=false", data="a")
    api = Api(source)
    for _ in range(4):
        api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": "x" * 100_000}] * 100})
    with httpx.stream("GET", f"{source.url}/api/v1/admin/snapshot") as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/vnd.sqlite3"
        assert int(answer.headers["content-length"]) > 40_000_000
        assert list(source.data_dir.glob("*.unfinished")) == []
    source.kill()
    (source.data_dir / "7.unfinished").write_text("half a copy")

    source.start()

    assert list(source.data_dir.glob("*.unfinished")) == []
