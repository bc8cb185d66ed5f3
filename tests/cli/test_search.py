"""`rookery search`."""

import json
import os
import pty
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.api.expectations import FAR_FUTURE, LONG_AGO, bury_job, finish_job, start_job
from tests.cli.conftest import Do, Run, assert_failed, clean_environment, said
from tests.conftest import Api, ServerProcess

BLANK = [
    [flag, ""]
    for flag in (
        *["--queue", "--state", "--priority", "--payload-contains", "--payload-jq", "--error-contains"],
        *["--unique-key", "--batch-id", "--worker-id", "--parent-id", "--chain-id", "--job-id-prefix"],
    )
]
"""What an unset variable of a shell comes to: it must not mean all jobs."""
COUNT = re.compile(r"(\d+) of (\d+) jobs \(\d+ms\)\n")


def found(do: Do, *arguments: object) -> list[str]:
    """The ids that a search finds, by both forms."""
    jobs = [job["id"] for job in json.loads(said(do("search", *arguments, "--output", "json")))]
    rows = said(do("search", *arguments)).splitlines()[1:]
    assert [row.split()[0] for row in rows] == jobs
    return jobs


def on_terminal(server: ServerProcess, *arguments: str, **variables: str) -> tuple[list[str], str]:
    """What a command prints on a terminal of 40 columns, as lines, and its stderr, which is one too."""
    main, terminal = pty.openpty()
    errors_main, errors = pty.openpty()
    env = clean_environment(ROOKERY_URL=server.url, COLUMNS="40", **variables)
    command = [sys.executable, "-m", "rookery", *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=errors, env=env) as run:
        os.close(terminal)
        os.close(errors)
        texts = [_read_all(main), _read_all(errors_main)]
    assert run.returncode == 0, texts
    return texts[0].replace("\r\n", "\n").splitlines(), texts[1]


def _read_all(terminal: int) -> str:
    parts = []
    try:
        while part := os.read(terminal, 65536):
            parts.append(part)
    except OSError:  # the other side is closed
        pass
    os.close(terminal)
    return b"".join(parts).decode()


def test_jobs_are_found_as_a_table_with_the_count_on_stderr(ask: Run, api: Api, queue: str) -> None:
    first = api.enqueue(queue, priority="high")
    second = str(start_job(api, f"{queue}.2")["job_id"])

    run = ask("search", "--queue", queue)
    assert run.stdout.splitlines() == [
        f"ID                              {'QUEUE'.ljust(len(queue))}  STATE    PRIORITY  ATTEMPT  CREATED",
        f"{first}  {queue}  pending  high      0        {api.job(first)['created_at']}",
    ]
    match = COUNT.fullmatch(run.stderr)
    assert match, run.stderr
    assert match.groups() == ("1", "1")
    assert f"{second}  {queue}.2  active  normal    1  " in said(ask("search", "--queue", f"{queue}.2"))


def test_nothing_found_is_an_empty_answer(ask: Run, do: Do, queue: str) -> None:
    run = ask("search", "--queue", queue)
    assert said(run) == "ID  QUEUE  STATE  PRIORITY  ATTEMPT  CREATED\n"
    assert re.fullmatch(r"0 of 0 jobs \(\d+ms\)\n", run.stderr)
    run = ask("search", "--queue", queue, "--output", "json")
    assert (said(run), run.stderr) == ("[]\n", "")
    assert said(do("search", "--queue", queue, "-o", "json", "--limit", 5)) == "[]\n"


def test_json_is_an_array_of_the_jobs_as_the_server_tells_them(do: Do, api: Api, queue: str) -> None:
    body = f'{{"queue": "{queue}", "payload": {{"n": 12345678901234567890123, "f": 1.0, "u": "ü"}}}}'
    api.post("/enqueue", content=body)
    api.enqueue(queue, [])

    shown = said(do("search", "--queue", queue, "-o", "json"))

    answer = api.post("/jobs/search", {"queue": queue}).json()["jobs"]
    assert json.loads(shown) == answer
    assert shown == json.dumps(answer, indent=2, ensure_ascii=False) + "\n"


def test_every_filter_reaches_the_server(do: Do, api: Api, queue: str) -> None:
    q = ["--queue", queue]
    dead = bury_job(api, queue, payload={"n": 7, "to": "a@b"}, tags={"team": "x", "env": "p"})
    done = finish_job(api, queue, unique_key="k", parent_id="job_p")
    active = str(start_job(api, queue, payload={"n": 1}, expire_after="1h")["job_id"])
    later = api.enqueue(queue, scheduled_at=FAR_FUTURE, tags={"team": "x"})
    high = api.enqueue(queue, priority="high", depends_on=[done])

    assert set(found(do, *q)) == {dead, done, active, later, high}
    for arguments, expected in [
        (["--state", "dead"], {dead}),
        (["--state", "dead,completed"], {dead, done}),
        (["--state", "dead, active", "--state", "scheduled"], {dead, active, later}),
        (["--priority", "high"], {high}),
        (["--priority", "1"], {high}),
        (["--tag", "team=x"], {dead, later}),
        (["--tag", "team=x", "--tag", "env=p"], {dead}),
        (["--payload-contains", "a@b"], {dead}),
        (["--payload-jq", ".n > 5"], {dead}),
        (["--error-contains", "boom"], {dead}),
        (["--has-errors"], {dead}),
        (["--has-errors=true"], {dead}),
        (["--has-errors=false"], {done, active, later, high}),
        (["--no-errors", "--state", "active"], {active}),
        (["--created-after", LONG_AGO], {dead, done, active, later, high}),
        (["--created-before", "2001-01-01"], set()),
        (["--scheduled-after", LONG_AGO], {later}),
        (["--scheduled-before", "2099-01-01T00:00:00+0100"], {later}),
        (["--started-after", LONG_AGO], {dead, done, active}),
        (["--started-before", LONG_AGO], set()),
        (["--completed-after", LONG_AGO], {done}),
        (["--completed-before", "2001-01-01T00:00+01:00"], set()),
        (["--expire-after", LONG_AGO], {active}),
        (["--expire-before", LONG_AGO], set()),
        (["--attempt-min", 1], {dead, done, active}),
        (["--attempt-max", 0], {later, high}),
        (["--unique-key", "k"], {done}),
        (["--worker-id", "w1"], {id for id in (dead, done, active) if api.job(id)["worker_id"] == "w1"}),
        (["--worker-id", "w2"], set()),
        (["--parent-id", "job_p"], {done}),
        (["--batch-id", "batch_x"], set()),
        (["--chain-id", "chn_x"], set()),
        (["--depends-on", done], {high}),
        (["--job-id-prefix", active], {active}),
    ]:
        assert set(found(do, *q, *arguments)) == expected, arguments
    assert active in found(do, "--worker-id", "w1")
    assert found(do, *q, "--sort", "created_at", "--order", "asc") == [dead, done, active, later, high]
    assert found(do, *q, "--order", "desc")[0] == high
    assert found(do, *q, "--sort", "priority", "--order", "asc")[0] == high


def test_batches_and_chains_are_found(do: Do, api: Api, queue: str) -> None:
    batch = api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 2, "batch": {}}).json()
    first = api.enqueue(queue, chain={"steps": [{"queue": queue}, {"queue": queue}]})

    assert found(do, "--batch-id", batch["batch_id"], "--order", "asc") == batch["job_ids"]
    assert found(do, "--chain-id", api.job(first)["chain_id"]) == [first]


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["--state", "asleep"], ["asleep"], 1),
        (["--payload-jq", "system('x')"], ["payload_jq"], 1),
        (["--tag", "novalue"], ["novalue"], 2),
        (["--tag", "=x"], ["=x"], 2),
        (["--tag", "a=1", "--tag", "a=2"], ["--tag"], 2),
        *((flag, ["blank"], 2) for flag in BLANK),
        (["--limit", "0"], ["--limit"], 2),
        (["--limit", "all"], ["--limit"], 2),
        (["--created-after", "yesterday"], ["yesterday"], 2),
        (["--created-after", "2026-02-10T12:00:00"], ["offset"], 2),
        (["--sort", "beauty"], ["beauty"], 2),
        (["--order", "random"], ["random"], 2),
        (["--attempt-min", "x"], ["x"], 2),
        (["job_x"], ["job_x"], 2),
    ],
)
def test_bad_input_is_refused(do: Do, arguments: list[str], words: list[str], code: int) -> None:
    assert_failed(do("search", *arguments), *words, code=code)
    assert_failed(do("search", *arguments, "--output", "json"), *words, code=code)


# --- how many


@pytest.fixture(scope="module")
def many(server: ServerProcess) -> list[str]:
    """More jobs than two pages hold, oldest first."""
    jobs = [{"queue": "many", "payload": {"n": number}} for number in range(2050)]
    return list(Api(server).post("/enqueue/batch", {"jobs": jobs}).json()["job_ids"])


def test_a_pipe_gets_all_of_them(ask: Run, do: Do, many: list[str]) -> None:
    run = ask("search", "--queue", "many", "--order", "asc")
    assert [line.split()[0] for line in run.stdout.splitlines()] == ["ID", *many]
    match = COUNT.fullmatch(run.stderr)
    assert match, run.stderr
    assert match.groups() == ("2050", "2050")
    shown = said(do("search", "--queue", "many", "--order", "asc", "-o", "json"))
    assert [job["id"] for job in json.loads(shown)] == many
    assert shown.endswith("\n  }\n]\n")


@pytest.mark.parametrize("limit", [1, 50, 1000, 1001, 2049, 5000])
def test_a_limit_stops_there(do: Do, many: list[str], limit: int) -> None:
    run = do("search", "--queue", "many", "--order", "asc", "--limit", limit)

    assert [line.split()[0] for line in said(run).splitlines()[1:]] == many[:limit]
    match = COUNT.fullmatch(run.stderr)
    assert match, run.stderr
    assert match.groups() == (str(min(limit, 2050)), "2050")
    shown = json.loads(said(do("search", "--queue", "many", "--order", "asc", "--limit", limit, "-o", "json")))
    assert [job["id"] for job in shown] == many[:limit]


@pytest.mark.parametrize("form", ["table", "json"])
def test_with_a_cursor_there_is_one_page_and_the_next_is_named(do: Do, many: list[str], form: str) -> None:
    def page(cursor: str, *flags: str) -> tuple[list[str], str | None]:
        run = do("search", "--queue", "many", "--order", "asc", "--output", form, "--cursor", cursor, *flags)
        ids = re.findall(r"\bjob_\w{26}\b", said(run))
        following = re.search(r"^more: --cursor (\S+)$", run.stderr, re.MULTILINE)
        return ids, following[1] if following else None

    first, cursor = page("")
    assert first == many[:50]
    assert cursor is not None
    second, cursor = page(cursor, "--limit", "5000")
    assert second == many[50:1050]
    assert cursor is not None
    third, cursor = page(cursor, "--limit", "1000")
    assert (third, cursor) == (many[1050:], None)


def test_a_terminal_gets_a_screenful_with_whole_ids(server: ServerProcess, many: list[str]) -> None:
    lines, errors = on_terminal(server, "search", "--queue", "many", "--order", "asc")

    assert [line.split()[0] for line in lines[1:]] == many[:50]
    assert "50 of 2050 jobs" in errors
    assert "more: --cursor " in errors
    assert "\x1b" not in "".join(lines)
    lines, _ = on_terminal(server, "search", "--queue", "many", "--limit", "60")
    assert len(lines) == 61
    lines, _ = on_terminal(server, "search", "--queue", "many", "-o", "json")
    assert len(json.loads("\n".join(lines))) == 50


def test_many_bulk_progress_is_shown_on_a_terminal_only(server: ServerProcess, many: list[str], do: Do) -> None:
    arguments = ["bulk", "change_priority", "high", "--filter", '{"queue": "many"}', "--async"]

    lines, errors = on_terminal(server, *arguments, TERM="xterm")
    assert lines[-1] == "Affected: 2050 of 2050 jobs"
    assert "2,050/2,050 jobs" in errors
    run = do(*arguments)
    assert (said(run).splitlines()[-1], run.stderr) == ("Affected: 2050 of 2050 jobs", "")


def test_columns_keep_their_distance_from_page_to_page(do: Do, api: Api, queue: str) -> None:
    jobs: list[dict[str, Any]] = [{"queue": f"{queue}.{'x' * (number // 600)}"} for number in range(1200)]
    batch = api.post("/enqueue/batch", {"jobs": jobs, "batch": {}}).json()["batch_id"]

    rows = said(do("search", "--batch-id", batch, "--order", "asc")).splitlines()

    assert len(rows) == 1201
    assert all(len(re.split(r" {2,}", row)) == 6 for row in rows)
