"""`queuectl enqueue`: what it takes, what it stores, and what it refuses with nothing stored."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rookery.queuectl.newjobs import BadInput, check_fields, read_document
from tests.queuectl.desk import Desk


def test_a_job_from_json_is_on_disk_when_the_command_ends(desk: Desk) -> None:
    assert desk.ok("enqueue", '{"id":"job1","command":"echo hi"}') == "Enqueued job1\n"

    job = desk.job("job1")
    assert {name: value for name, value in job.items() if not name.endswith("_at")} == {
        "id": "job1",
        "command": "echo hi",
        "state": "pending",
        "attempts": 0,
        "max_retries": 3,
        "priority": 0,
        "last_error": None,
        "worker_id": None,
        "queue": "default",
        "timeout": None,
        "idempotency_key": None,
        "exit_code": None,
    }
    assert job["created_at"] == job["updated_at"] == job["next_run_at"]
    assert abs(datetime.now(UTC) - datetime.fromisoformat(job["created_at"])) < timedelta(minutes=1)
    assert job["run_at"] is job["started_at"] is job["finished_at"] is None


def test_flags_say_the_same_as_json(desk: Desk) -> None:
    fields = {"command": "a\nb ü", "max_retries": 0, "priority": -7, "timeout": 1.5, "queue": "a.b:c_-1"}
    desk.ok("enqueue", json.dumps({"id": "x", "run_at": "2030-01-02T03:04:05+02:00", **fields}))
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in fields.items()]
    desk.ok("enqueue", "--id", "y", "--run-at", "2030-01-02 01:04:05", *flags)

    jobs = [desk.job(job_id) for job_id in ("x", "y")]
    for job in jobs:
        assert {name: job[name] for name in fields} == fields
        assert job["run_at"] == job["next_run_at"] == "2030-01-02T01:04:05.000Z"
        assert (job["state"], type(job["timeout"])) == ("pending", float)


def test_flags_go_before_json(desk: Desk) -> None:
    given = {"id": "x", "command": "a", "max_retries": 9, "priority": "not looked at", "run_at": "never"}
    desk.ok("enqueue", json.dumps(given), "--command", "b", "--priority", "-2", "--delay", "0")

    job = desk.job("x")
    assert (job["command"], job["max_retries"], job["priority"], job["run_at"]) == ("b", 9, -2, None)


def test_a_command_alone_is_enough_and_gets_an_id(desk: Desk) -> None:
    job_id = desk.ok("enqueue", "--command", "true").removeprefix("Enqueued ").strip()

    assert desk.job(job_id)["command"] == "true"


def test_a_job_may_come_from_a_file_or_from_stdin(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "job.json"
    file.write_bytes(b'\xef\xbb\xbf{"id": "from-file", "command": "true"}\n')
    desk.ok("enqueue", "--json-file", str(file))
    desk.ok("enqueue", "--json-file", "-", "--id", "from-stdin", input=b'{"id": "x", "command": "true"}')

    assert [job["id"] for job in desk.json("list")] == ["from-file", "from-stdin"]


def test_what_show_prints_can_be_enqueued_again(desk: Desk) -> None:
    desk.ok("enqueue", '{"id":"a","command":"true","timeout":3,"extra":[1]}')
    desk.ok("enqueue", "--json-file", "-", "--id", "b", input=desk.ok("show", "a", "--json").encode())

    assert desk.job("b")["timeout"] == 3


def test_defaults_come_from_the_settings_of_that_moment(desk: Desk) -> None:
    desk.ok("config", "set", "max_retries", "8")
    desk.ok("config", "set", "job_timeout", "2.5")
    desk.add(id="a")
    desk.ok("config", "set", "max_retries", "1")
    desk.ok("config", "set", "job_timeout", "")
    desk.add(id="b")

    assert [(job["max_retries"], job["timeout"]) for job in desk.json("list")] == [(8, 2.5), (1, None)]


def test_a_delay_is_a_time_from_now(desk: Desk) -> None:
    desk.ok("enqueue", "--id", "x", "--command", "true", "--delay", "3600.5")

    job = desk.job("x")
    wait = datetime.fromisoformat(job["next_run_at"]) - datetime.fromisoformat(job["created_at"])
    assert timedelta(seconds=3590) < wait <= timedelta(seconds=3600.5)
    assert job["run_at"] == job["next_run_at"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1999-12-31T23:59:59Z", "1999-12-31T23:59:59.000Z"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_a_time_that_is_past_means_now(desk: Desk, text: str, shown: str) -> None:
    desk.add(id="x", run_at=text)

    job = desk.job("x")
    assert (job["run_at"], job["next_run_at"]) == (shown, job["created_at"])
    assert desk.claim().job_id == "x"


def test_an_id_that_is_taken_is_refused_and_its_job_left_alone(desk: Desk) -> None:
    desk.add("first", id="x")
    before = desk.job("x")

    assert "x already exists" in desk.refused("enqueue", '{"id":"x","command":"second"}', code=1)
    assert desk.json("list") == [before]


def test_a_known_idempotency_key_finds_its_job_whatever_became_of_it(desk: Desk) -> None:
    desk.add("first", id="x", idempotency_key="k", queue="a")
    assert desk.job("x")["idempotency_key"] == "k"
    again = ("enqueue", "--command", "second", "--idempotency-key", "k")

    for finish in (None, desk.fail, desk.succeed):
        if finish is not None:
            finish(desk.claim("a"))
        printed = desk.ok(*again)
        assert "x" in printed.split()
        assert "Enqueued" not in printed
    assert "x" in desk.ok(*again, "--id", "y", "--queue", "b")
    assert [job["id"] for job in desk.json("list")] == ["x"]
    assert desk.ok("enqueue", "--command", "other", "--idempotency-key", "K").startswith("Enqueued")


BAD: dict[str, tuple[str, ...]] = {
    "is required": ("enqueue",),
    "command: is required": ("enqueue", "--id", "x"),
    "malformed JSON": ("enqueue", '{"command":'),
    "must be an object": ("enqueue", '["true"]'),
    "PAYLOAD must be a JSON object; a shell command is given by --command 'make report'": ("enqueue", "make report"),
    "a shell command is given by --command true": ("enqueue", "true"),
    "a shell command is given by --command TEXT": ("enqueue", ""),
    "command: must not be blank": ("enqueue", '{"command":" \\n"}'),
    "command: must be a string": ("enqueue", '{"command":["true"]}'),
    "command: has a NUL": ("enqueue", '{"command":"a\\u0000b"}'),
    "id: must have 1 to 128": ("enqueue", "--id", "", "--command", "true"),
    "id: has a control character": ("enqueue", '{"command":"true","id":"a\\nb"}'),
    "max_retries: must be at least 0": ("enqueue", "--command", "true", "--max-retries", "-1"),
    "priority: must be an integer": ("enqueue", "--command", "true", "--priority", "1.0"),
    "timeout: must be above 0": ("enqueue", "--command", "true", "--timeout", "0"),
    "timeout: must be a number": ("enqueue", "--command", "true", "--timeout", "nan"),
    "delay: must not be negative": ("enqueue", "--command", "true", "--delay", "-1"),
    "not both": ("enqueue", "--command", "true", "--delay", "1", "--run-at", "2030-01-01"),
    "PAYLOAD or --json-file": ("enqueue", '{"command":"true"}', "--json-file", "x"),
    "run_at: must be a time": ("enqueue", "--command", "true", "--run-at", "tomorrow"),
    "queue: must be made of": ("enqueue", "--command", "true", "--queue", "a/b"),
    "idempotency_key: must not be empty": ("enqueue", "--command", "true", "--idempotency-key", ""),
    "cannot read /nowhere": ("enqueue", "--json-file", "/nowhere/job.json"),
    "No such option": ("enqueue", "--command", "true", "--prority", "1"),
}


def test_bad_input_is_named_and_nothing_is_stored(desk: Desk) -> None:
    running = {text: desk.start(*arguments) for text, arguments in BAD.items()}
    for text, process in running.items():
        printed, complaint = process.communicate(timeout=60)
        assert (process.returncode, printed) == (2, ""), text
        assert text in complaint
        assert "Traceback" not in complaint

    assert not desk.home.path.exists()


@pytest.mark.parametrize("document", [b'{"command":"\xff"}', b"", b"[" * 100_000, b'{"command":"\xed\xa0\x80"}'])
def test_stdin_that_is_no_json_is_refused(desk: Desk, document: bytes) -> None:
    assert "JSON" in desk.refused("enqueue", "--json-file", "-", code=2, input=document)


def test_arguments_that_are_no_text_are_refused(desk: Desk) -> None:
    assert "command: is not valid" in desk.refused("enqueue", "--command", "a\udcff", code=2)
    assert "JSON" in desk.refused("enqueue", '{"command":"a\udcff"}', code=2)
    assert "not found" in desk.refused("show", "a\udcff", code=1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "x" * 129),
        ("id", 5),
        ("id", "\x7f"),
        ("max_retries", True),
        ("max_retries", 3.0),
        ("max_retries", "3"),
        ("max_retries", 1 << 63),
        ("priority", False),
        ("priority", 1 << 63),
        ("priority", 2 - (1 << 63)),
        ("priority", 10**400),
        ("timeout", True),
        ("timeout", -0.1),
        ("timeout", 1e300),
        ("timeout", float("inf")),
        ("timeout", float("nan")),
        ("timeout", "5"),
        ("run_at", 1_700_000_000),
        ("run_at", ""),
        ("run_at", "2026-13-01T00:00:00Z"),
        ("run_at", "9999-12-31T23:59:59-10:00"),
        ("queue", ""),
        ("queue", "ü"),
        ("queue", "a\n"),
        ("queue", "q" * 250),
        ("idempotency_key", 7),
        ("command", "\ud800"),
    ],
)
def test_values_that_cannot_be_are_refused_by_the_name_of_their_field(field: str, value: object) -> None:
    with pytest.raises(BadInput, match=f"^{field}: "):
        check_fields({"command": "true", field: value}, 0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "x" * 128),
        ("id", "../ü \u202e"),
        ("max_retries", (1 << 63) - 1),
        ("priority", (1 << 63) - 1),
        ("priority", 3 - (1 << 63)),
        ("timeout", 0.001),
        ("queue", "A.b_c:d-9"),
        ("idempotency_key", " "),
    ],
)
def test_values_at_the_edge_are_taken(field: str, value: object) -> None:
    assert check_fields({"command": "true", field: value}, 0)[field] == value


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T02:00:01+02:00", 1000),
        ("1970-01-01T00:00:00.0001Z", 1),
        ("1970-01-02", 86_400_000),
        ("19700101T000001Z", 1000),
    ],
)
def test_times_are_utc_unless_they_say_otherwise_and_never_early(text: str, ms: int) -> None:
    assert check_fields({"command": "true", "run_at": text}, 0)["run_at"] == ms


def test_fields_that_are_null_or_unknown_count_for_nothing() -> None:
    given = {"command": "true", "id": None, "timeout": None, "state": "dead", "attempts": 5}
    assert check_fields(given, 0) == {"command": "true"}
    with pytest.raises(BadInput, match="command: is required"):
        check_fields({"command": None}, 0)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "01"])
def test_numbers_that_json_does_not_have_are_refused(number: str) -> None:
    with pytest.raises(BadInput, match="JSON"):
        read_document(f'{{"command":"true","timeout":{number}}}'.encode())
