"""Schedules: made, looked at, changed, paused, run by hand, and run on time."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import apsw
import httpx
import pytest

from rookery.node.cron import Cron
from tests.api.expectations import assert_refused, moment, seconds_from_now
from tests.conftest import Api, ServerProcess, wait_for

FIELDS = {
    *("id", "name", "queue", "cron", "timezone", "payload", "unique_key", "max_retries", "enabled", "overlap"),
    *("missed", "last_run", "next_run", "next_runs", "created_at"),
}
HOUR = 3_600_000


def body(name: str, /, **fields: Any) -> dict[str, Any]:
    return {"name": name, "queue": name, "cron": "0 9 * * *", **fields}


def make(api: Api, name: str, /, **fields: Any) -> dict[str, Any]:
    answer = api.post("/schedules", body(name, **fields))
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def look(api: Api, schedule: dict[str, Any]) -> dict[str, Any]:
    answer = api.get(f"/schedules/{schedule['id']}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def change(api: Api, schedule: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = api.put(f"/schedules/{schedule['id']}", fields)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def pending(api: Api, queue: str) -> int:
    answer = api.get(f"/queues/{queue}")
    return int(answer.json()["pending"]) if answer.status_code == 200 else 0


# --- making and looking


def test_a_schedule_has_defaults_and_knows_when_it_runs(api: Api, queue: str) -> None:
    made = make(api, queue)
    assert set(made) == FIELDS
    assert made["id"].startswith("sched_")
    assert len(made["id"]) == 32
    defaults = {"timezone": "UTC", "payload": {}, "unique_key": None, "max_retries": 3, "enabled": True}
    assert {field: made[field] for field in defaults} == defaults
    assert (made["name"], made["queue"], made["cron"]) == (queue, queue, "0 9 * * *")
    assert (made["overlap"], made["missed"], made["last_run"]) == ("allow", "once", None)
    assert moment(made["next_run"]).strftime("%H:%M:%S") == "09:00:00"
    assert 0 < seconds_from_now(made["next_run"]) <= 86_400
    assert abs(seconds_from_now(made["created_at"])) < 60
    assert look(api, made) == made


def test_the_next_five_fire_times_are_told(api: Api, queue: str) -> None:
    made = make(api, queue, cron="30 8 * * *", timezone="America/New_York")
    assert len(made["next_runs"]) == 5
    assert made["next_runs"][0] == made["next_run"]
    instants = [int(moment(text).timestamp() * 1000) for text in made["next_runs"]]
    slots = Cron("30 8 * * *", "America/New_York").after(instants[0] - 1)
    assert instants == [next(slots) for _ in range(5)]


def test_every_field_is_kept(api: Api, queue: str) -> None:
    fields = {
        "cron": "@Daily",
        "timezone": "Asia/Kathmandu",
        "payload": {"b": [1, None], "a": "ü"},
        "unique_key": "k",
        "max_retries": 0,
        "enabled": False,
        "overlap": "skip",
        "missed": "all",
    }
    made = make(api, queue, **fields)
    assert {field: made[field] for field in fields} == fields


@pytest.mark.parametrize("payload", [None, 1, "text", [], {"x": 1}])
def test_a_payload_may_be_any_json(api: Api, queue: str, payload: Any) -> None:
    made = make(api, queue, payload=payload)
    assert made["payload"] == payload
    job_id = api.post(f"/schedules/{made['id']}/run").json()["job_id"]
    assert api.job(job_id)["payload"] == payload


def test_null_is_as_good_as_nothing(api: Api, queue: str) -> None:
    nulls = dict.fromkeys(("timezone", "unique_key", "max_retries", "enabled", "overlap", "missed"))
    made = make(api, queue, **nulls)
    assert (made["timezone"], made["max_retries"], made["enabled"], made["missed"]) == ("UTC", 3, True, "once")


def test_schedules_are_listed_by_name(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server())
    assert api.get("/schedules").json() == []
    made = {name: make(api, name) for name in ("b", "c", "a")}
    assert api.get("/schedules").json() == [made["a"], made["b"], made["c"]]


def test_a_name_can_be_taken_once(api: Api, queue: str) -> None:
    made = make(api, queue)
    again = api.post("/schedules", body(queue, queue="other"))
    assert_refused(again, 409, "CONFLICT", queue)
    assert "job_id" not in again.json()
    assert look(api, made) == made


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": None}, ["name"]),
        ({"name": ""}, ["name"]),
        ({"name": " "}, ["name"]),
        ({"name": "n" * 256}, ["name", "255"]),
        ({"name": "a\nb"}, ["name"]),
        ({"queue": None}, ["queue"]),
        ({"queue": "  "}, ["queue"]),
        ({"cron": None}, ["cron"]),
        ({"cron": ""}, ["cron"]),
        ({"cron": "61 * * * *"}, ["cron", "minute", "61"]),
        ({"cron": "0 0 * foo *"}, ["cron", "month", "foo"]),
        ({"cron": "* * * *"}, ["cron", "* * * *"]),
        ({"cron": "0 * * * * *"}, ["cron", "6 fields"]),
        ({"cron": "0 0 30 2 *"}, ["cron", "0 0 30 2 *", "never"]),
        ({"cron": "@reboot"}, ["cron", "@reboot"]),
        ({"timezone": "Mars/Olympus"}, ["timezone", "Mars/Olympus"]),
        ({"timezone": ""}, ["timezone"]),
        ({"timezone": "../../etc/passwd"}, ["timezone"]),
        ({"max_retries": -1}, ["max_retries"]),
        ({"max_retries": 2**31}, ["max_retries"]),
        ({"overlap": "queue"}, ["overlap", "queue"]),
        ({"missed": "never"}, ["missed", "never"]),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(api: Api, queue: str, fields: dict[str, Any], words: list[str]) -> None:
    assert_refused(api.post("/schedules", body(queue, **fields)), 400, "VALIDATION_ERROR", *words)
    assert queue not in [schedule["name"] for schedule in api.get("/schedules").json()]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": 1},
        {"queue": []},
        {"cron": 5},
        {"timezone": False},
        {"unique_key": 1},
        {"max_retries": "3"},
        {"enabled": "yes"},
        {"overlap": True},
        {"missed": 0},
    ],
)
def test_a_field_of_the_wrong_type_is_refused(api: Api, queue: str, fields: dict[str, Any]) -> None:
    made = make(api, queue)
    (field,) = fields
    assert_refused(api.post("/schedules", body(f"{queue}-2", **fields)), 400, "PARSE_ERROR", field)
    assert_refused(api.put(f"/schedules/{made['id']}", fields), 400, "PARSE_ERROR", field)
    assert look(api, made) == made


def test_a_payload_over_the_limit_is_refused(api: Api, queue: str) -> None:
    made = make(api, queue)
    large = "x" * 262_144
    assert_refused(api.post("/schedules", body(f"{queue}-2", payload=large)), 413, "PAYLOAD_TOO_LARGE", "payload")
    assert_refused(api.put(f"/schedules/{made['id']}", {"payload": large}), 413, "PAYLOAD_TOO_LARGE", "payload")
    assert look(api, made) == made


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("PUT", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/run")],
)
def test_an_unknown_schedule_is_not_found(server: ServerProcess, method: str, path: str) -> None:
    answer = server.http.request(method, f"/api/v1/schedules/sched_none{path}", json={})
    assert_refused(answer, 404, "NOT_FOUND", "sched_none")


# --- changing


def test_only_what_is_given_changes(api: Api, queue: str) -> None:
    made = make(api, queue, payload={"n": 1}, unique_key="k", max_retries=5, overlap="skip")
    changed = change(api, made, payload={"n": 2})
    assert changed == {**made, "payload": {"n": 2}}
    assert look(api, made) == changed
    assert change(api, made) == changed


def test_another_cron_or_zone_gives_other_times(api: Api, queue: str) -> None:
    made = make(api, queue)
    at_ten = change(api, made, cron="0 10 * * *")
    assert moment(at_ten["next_run"]).hour == 10
    in_tokyo = change(api, made, timezone="Asia/Tokyo")
    assert {moment(text).hour for text in in_tokyo["next_runs"]} == {1}
    assert (in_tokyo["cron"], in_tokyo["timezone"]) == ("0 10 * * *", "Asia/Tokyo")


def test_all_fields_can_be_changed(api: Api, queue: str) -> None:
    made = make(api, queue)
    fields = {
        "name": f"{queue}-renamed",
        "queue": f"{queue}-moved",
        "cron": "5 4 * * *",
        "timezone": "Europe/Paris",
        "payload": [1],
        "unique_key": "k",
        "max_retries": 9,
        "enabled": False,
        "overlap": "skip",
        "missed": "skip",
    }
    changed = change(api, made, **fields)
    assert {field: changed[field] for field in fields} == fields
    assert (changed["id"], changed["created_at"]) == (made["id"], made["created_at"])


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_unique_key_can_be_taken_away(api: Api, queue: str, nothing: str | None) -> None:
    made = make(api, queue, unique_key="k")
    assert change(api, made, max_retries=1)["unique_key"] == "k"
    assert change(api, made, unique_key=nothing)["unique_key"] is None


def test_what_was_read_can_be_written_back(api: Api, queue: str) -> None:
    made = make(api, queue, payload={"n": 1}, unique_key="k", timezone="Europe/Paris")
    assert change(api, made, **made) == made


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": " "}, ["name"]),
        ({"queue": ""}, ["queue"]),
        ({"cron": ""}, ["cron"]),
        ({"cron": "x"}, ["cron", "x"]),
        ({"timezone": "Nowhere"}, ["timezone", "Nowhere"]),
        ({"max_retries": -1}, ["max_retries"]),
        ({"overlap": ""}, ["overlap"]),
        ({"missed": ""}, ["missed"]),
    ],
)
def test_a_wrong_change_changes_nothing(api: Api, queue: str, fields: dict[str, Any], words: list[str]) -> None:
    made = make(api, queue)
    refused = api.put(f"/schedules/{made['id']}", {"payload": [1], **fields})
    assert_refused(refused, 400, "VALIDATION_ERROR", *words)
    assert look(api, made) == made


def test_a_name_of_another_cannot_be_taken_over(api: Api, queue: str) -> None:
    make(api, queue)
    other = make(api, queue, name=f"{queue}-2")
    assert_refused(api.put(f"/schedules/{other['id']}", {"name": queue}), 409, "CONFLICT", queue)


def test_changes_at_once_of_different_fields_are_all_made(
    api: Api, queue: str, background: Callable[..., Future[httpx.Response]]
) -> None:
    made = make(api, queue)
    changes = [{"cron": "5 5 * * *"}, {"timezone": "Asia/Tokyo"}, {"payload": 1}, {"missed": "all"}] * 5
    calls = [background(api.put, f"/schedules/{made['id']}", fields) for fields in changes]
    assert {call.result().status_code for call in calls} == {200}
    settled = look(api, made)
    assert [settled[field] for field in ("cron", "timezone", "payload", "missed")] == [
        "5 5 * * *",
        "Asia/Tokyo",
        1,
        "all",
    ]
    assert moment(settled["next_run"]).strftime("%H:%M") == "20:05"


def test_a_deleted_schedule_is_gone_and_its_jobs_stay(api: Api, queue: str) -> None:
    made = make(api, queue)
    job_id = api.post(f"/schedules/{made['id']}/run").json()["job_id"]
    answer = api.delete(f"/schedules/{made['id']}")
    assert (answer.status_code, answer.json()) == (200, {"status": "deleted"})
    assert_refused(api.get(f"/schedules/{made['id']}"), 404, "NOT_FOUND", made["id"])
    assert_refused(api.delete(f"/schedules/{made['id']}"), 404, "NOT_FOUND")
    assert api.job(job_id)["state"] == "pending"
    assert make(api, queue)["id"] != made["id"]


# --- pausing and running by hand


def test_a_paused_schedule_has_no_next_run_until_it_is_resumed(api: Api, queue: str) -> None:
    made = make(api, queue)
    paused = api.post(f"/schedules/{made['id']}/pause")
    assert (paused.status_code, paused.json()) == (200, {**made, "enabled": False, "next_run": None, "next_runs": []})
    assert api.post(f"/schedules/{made['id']}/pause").json() == paused.json()
    resumed = api.post(f"/schedules/{made['id']}/resume")
    assert (resumed.status_code, resumed.json()) == (200, made)
    assert api.post(f"/schedules/{made['id']}/resume").json() == made


def test_enabled_can_be_changed_like_any_field(api: Api, queue: str) -> None:
    made = make(api, queue, enabled=False)
    assert (made["next_run"], made["next_runs"]) == (None, [])
    assert change(api, made, cron="1 1 * * *")["next_run"] is None
    assert moment(change(api, made, enabled=True)["next_run"]).strftime("%H:%M") == "01:01"


def test_a_schedule_can_be_run_by_hand(api: Api, queue: str) -> None:
    made = make(api, queue, payload={"n": 1}, max_retries=2)
    answer = api.post(f"/schedules/{made['id']}/run")
    assert answer.status_code == 201
    job = api.job(answer.json()["job_id"])
    assert answer.json() == {"job_id": job["id"], "status": "pending", "unique_existing": False}
    assert (job["queue"], job["payload"], job["max_retries"]) == (queue, {"n": 1}, 2)
    after = look(api, made)
    assert moment(after["last_run"]) == moment(job["created_at"])
    assert after == {**made, "last_run": after["last_run"]}


def test_a_run_by_hand_of_a_paused_schedule_is_fine(api: Api, queue: str) -> None:
    made = make(api, queue, enabled=False)
    assert api.post(f"/schedules/{made['id']}/run").status_code == 201
    assert look(api, made)["next_run"] is None


def test_a_run_by_hand_finds_the_job_that_holds_the_unique_key(api: Api, queue: str) -> None:
    made = make(api, queue, unique_key="k")
    first = api.post(f"/schedules/{made['id']}/run")
    second = api.post(f"/schedules/{made['id']}/run")
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.json() == {"job_id": first.json()["job_id"], "status": "duplicate", "unique_existing": True}
    assert api.job(first.json()["job_id"])["unique_period"] == 3600


# --- namespaces


def test_a_namespace_has_schedules_of_its_own(api: Api, queue: str) -> None:
    ours, theirs = ({"headers": {"X-Rookery-Namespace": name}} for name in ("ours", "theirs"))
    made = api.post("/schedules", body(queue), **ours).json()
    assert api.post("/schedules", body(queue), **theirs).status_code == 201
    make(api, queue)
    assert made["queue"] == queue
    assert [schedule["id"] for schedule in api.get("/schedules", **ours).json()] == [made["id"]]
    all_queues = [schedule["queue"] for schedule in api.get("/schedules").json() if schedule["name"] == queue]
    assert all_queues == [queue, f"ours::{queue}", f"theirs::{queue}"]
    path = f"/schedules/{made['id']}"
    assert api.get(path).json()["queue"] == f"ours::{queue}"
    for answer in (
        api.get(path, **theirs),
        api.put(path, {"name": "x"}, **theirs),
        api.delete(path, **theirs),
        *(api.post(f"{path}/{action}", **theirs) for action in ("pause", "resume", "run")),
    ):
        assert_refused(answer, 404, "NOT_FOUND", made["id"])
    job_id = api.post(f"{path}/run", **ours).json()["job_id"]
    assert api.job(job_id)["queue"] == f"ours::{queue}"
    assert api.get(f"/jobs/{job_id}", **ours).json()["queue"] == queue
    renamed = api.put(path, {"max_retries": 1}, **ours).json()
    assert (renamed["queue"], renamed["max_retries"]) == (queue, 1)


def test_a_queue_of_another_namespace_is_refused(api: Api, queue: str) -> None:
    refused = api.post("/schedules", body(queue, queue="x::y"), headers={"X-Rookery-Namespace": "ours"})
    assert_refused(refused, 400, "VALIDATION_ERROR", "queue", "::")


# --- on time


def set_next_run(server: ServerProcess, schedule: dict[str, Any], at: int) -> None:
    """Have a schedule wait for another time, behind the server's back."""
    db = apsw.Connection(str(server.data_dir / "rookery.db"))
    db.set_busy_timeout(10_000)
    db.execute("UPDATE schedule SET next_run = ? WHERE id = ?", (at, schedule["id"]))
    db.close()


def hourly_slots() -> tuple[str, int]:
    """An hourly line, and its newest slot, about half an hour ago."""
    newest = (datetime.now(UTC) - timedelta(minutes=30)).replace(second=0, microsecond=0)
    return f"{newest.minute} * * * *", int(newest.timestamp() * 1000)


def now() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


def test_a_slot_that_comes_is_run_and_the_next_is_waited_for(server: ServerProcess, api: Api, queue: str) -> None:
    made = make(api, queue, payload={"n": 1}, missed="skip")
    set_next_run(server, made, now() + 200)
    job = api.fetch(queue, timeout=20)
    assert job is not None
    assert job["payload"] == {"n": 1}
    ran = wait_for(lambda: (after := look(api, made))["last_run"] and after)
    assert ran == {**made, "last_run": ran["last_run"]}
    events = api.get("/cluster/events", params={"job_ids": job["job_id"]}).json()["events"]
    assert events[0]["data"]["schedule"] == queue
    assert moment(events[0]["data"]["slot"]) <= moment(ran["last_run"])
    assert api.fetch(queue, timeout=0.01) is None


def test_a_slot_is_skipped_while_the_last_job_has_not_ended(server: ServerProcess, api: Api, queue: str) -> None:
    made = make(api, queue, overlap="skip")
    job_id = api.post(f"/schedules/{made['id']}/run").json()["job_id"]
    last_run = look(api, made)["last_run"]
    set_next_run(server, made, now())
    wait_for(lambda: look(api, made)["next_run"] == made["next_run"])
    assert (pending(api, queue), look(api, made)["last_run"]) == (1, last_run)
    assert api.post(f"/jobs/{job_id}/cancel").status_code == 200
    set_next_run(server, made, now())
    wait_for(lambda: look(api, made)["next_run"] == made["next_run"])
    assert pending(api, queue) == 1


def test_many_schedules_of_one_minute_all_run(server: ServerProcess, api: Api, queue: str) -> None:
    for number in range(150):
        make(api, queue, name=f"{queue}-{number}")
    db = apsw.Connection(str(server.data_dir / "rookery.db"))
    db.set_busy_timeout(10_000)
    db.execute("UPDATE schedule SET next_run = ? WHERE queue = ?", (now(), queue))
    db.close()
    wait_for(lambda: pending(api, queue) == 150)
    names = {
        event["data"]["schedule"] for event in api.get(f"/cluster/events?queues={queue}&limit=1000").json()["events"]
    }
    assert len(names) == 150


@pytest.mark.parametrize(("missed", "expected"), [("once", 1), ("skip", 0), ("all", 3)])
@pytest.mark.parametrize("stop", [ServerProcess.stop, ServerProcess.kill], ids=["stopped", "killed"])
def test_what_was_missed_while_no_server_ran_is_made_up_for_once(
    start_server: Callable[..., ServerProcess], missed: str, expected: int, stop: Callable[[ServerProcess], Any]
) -> None:
    server = start_server()
    api = Api(server)
    cron, newest = hourly_slots()
    made = make(api, "q", cron=cron, missed=missed)
    stop(server)
    set_next_run(server, made, newest - 2 * HOUR)
    for _ in range(2):
        server.start()
        after = wait_for(lambda: (after := look(api, made))["next_run"] == made["next_run"] and after)
        assert pending(api, "q") == expected
        assert (after["last_run"] is None) == (expected == 0)
        stop(server)


def test_a_slot_of_this_very_minute_is_not_missed(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    api = Api(server)
    made = make(api, "q", cron="0 0 1 1 *", missed="skip")
    server.kill()
    set_next_run(server, made, now() - 5000)
    server.start()
    assert api.fetch("q", timeout=20) is not None


def test_a_zone_that_this_machine_does_not_know_stops_only_that_schedule(
    start_server: Callable[..., ServerProcess],
) -> None:
    server = start_server()
    api = Api(server)
    lost, fine = make(api, "lost"), make(api, "fine")
    server.stop()
    db = apsw.Connection(str(server.data_dir / "rookery.db"))
    db.execute("UPDATE schedule SET timezone = 'Moon/Tycho' WHERE id = ?", (lost["id"],))
    db.close()
    for schedule in (lost, fine):
        set_next_run(server, schedule, now() - 1000)
    server.start()
    assert api.fetch("fine", timeout=20) is not None
    stopped = wait_for(lambda: (after := look(api, lost))["next_run"] is None and after)
    assert (stopped["enabled"], stopped["next_runs"]) == (True, [])
    assert len(api.get("/schedules").json()) == 2
    assert "Moon/Tycho" in server.log.read_text()
    assert change(api, lost, timezone="UTC")["next_run"] is not None


def test_a_schedule_survives_a_kill(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    api = Api(server)
    made = make(api, "q", payload={"n": 1}, timezone="Europe/Paris", overlap="skip")
    server.kill()
    server.start()
    assert api.get("/schedules").json() == [made]


# --- lines that are not a schedule yet


def test_a_line_tells_when_it_comes_before_there_is_a_schedule(api: Api) -> None:
    answer = api.get("/cron/next", params={"cron": "30 2 * * mon", "timezone": "Europe/Berlin"})
    assert answer.status_code == 200, answer.text
    runs = [moment(text).astimezone(ZoneInfo("Europe/Berlin")) for text in answer.json()["next_runs"]]
    assert len(runs) == 5
    assert runs == sorted(set(runs))
    assert {(run.weekday(), run.hour, run.minute) for run in runs} == {(0, 2, 30)}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, ["cron"]),
        ({"cron": "61 * * * *"}, ["cron", "61"]),
        ({"cron": "0 0 30 2 *"}, ["cron"]),
        ({"cron": "@daily", "timezone": "Mars/Base"}, ["timezone", "Mars/Base"]),
    ],
)
def test_a_line_that_never_comes_is_refused_before_there_is_a_schedule(
    api: Api, query: dict[str, str], words: list[str]
) -> None:
    assert_refused(api.get("/cron/next", params=query), 400, "VALIDATION_ERROR", *words)
