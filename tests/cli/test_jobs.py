"""Commands about one job, and the list of those that are held."""

import json

import pytest

from tests.api.expectations import bury_job, finish_job, start_job
from tests.cli.conftest import Do, Run, assert_failed, said
from tests.conftest import Api


def state(api: Api, job_id: str) -> str:
    return str(api.job(job_id)["state"])


def test_a_job_is_shown_as_json_in_both_forms(ask: Run, do: Do, api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, {"ü": [1.0, {}]}, tags={"a": "b"})

    shown = said(ask("inspect", job_id))
    assert json.loads(shown) == api.job(job_id)
    assert shown.startswith(f'{{\n  "id": "{job_id}",\n  "queue": "{queue}",\n')
    assert '  "payload": {\n    "ü": [\n      1.0,\n      {}\n    ]\n  },\n' in shown
    assert shown.endswith("\n}\n")
    assert said(do("inspect", job_id, "-o", "json")) == shown


def test_a_job_is_retried(ask: Run, do: Do, api: Api, queue: str) -> None:
    dead, completed = bury_job(api, queue), finish_job(api, queue)

    assert said(ask("retry", dead)) == "Job retried\n"
    assert said(do("retry", completed, "-o", "json")) == '{\n  "status": "retried"\n}\n'
    assert state(api, dead) == state(api, completed) == "pending"
    assert_failed(do("retry", dead), "pending")


def test_a_job_is_cancelled_waiting_or_running(ask: Run, do: Do, api: Api, queue: str) -> None:
    active, pending = start_job(api, queue)["job_id"], api.enqueue(queue)

    assert said(ask("cancel", pending)) == f"Job {pending}: cancelled\n"
    assert said(do("cancel", active)) == f"Job {active}: cancelling\n"
    assert json.loads(said(do("cancel", api.enqueue(queue), "--output-json"))) == {"status": "cancelled"}
    assert_failed(do("cancel", pending), "cancelled")


def test_a_job_is_moved(ask: Run, do: Do, api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)

    assert said(ask("move", job_id, f"{queue} / other")) == f"Job moved to {queue} / other\n"
    assert api.job(job_id)["queue"] == f"{queue} / other"
    assert json.loads(said(do("move", job_id, queue, "-o", "json"))) == {"status": "moved"}
    assert_failed(do("move", start_job(api, f"{queue}.active")["job_id"], "other"), "active")
    assert_failed(do("move", job_id, "x" * 256), "queue")


def test_a_job_is_deleted(ask: Run, do: Do, api: Api, queue: str) -> None:
    job_id = api.enqueue(queue)

    assert said(ask("delete", job_id)) == "Job deleted\n"
    assert_failed(do("delete", job_id), f"job {job_id} not found")
    assert json.loads(said(do("delete", api.enqueue(queue), "-o", "json"))) == {"status": "deleted"}


def test_a_job_is_held_then_approved_or_rejected(ask: Run, do: Do, api: Api, queue: str) -> None:
    good, bad, other = api.enqueue(queue), api.enqueue(queue), api.enqueue(queue)

    assert said(ask("hold", good, "--reason", "look at it")) == f"Job {good} held\n"
    assert api.job(good)["hold_reason"] == "look at it"
    assert json.loads(said(do("hold", bad, "-o", "json"))) == {"status": "held"}
    assert api.job(bad)["hold_reason"] is None
    assert said(ask("approve", good)) == f"Job {good} approved\n"
    assert said(ask("reject", bad)) == f"Job {bad} rejected\n"
    assert (state(api, good), state(api, bad)) == ("pending", "dead")
    said(do("hold", other))
    assert json.loads(said(do("approve", other, "-o", "json"))) == {"status": "pending"}
    said(do("hold", other))
    assert json.loads(said(do("reject", other, "-o", "json"))) == {"status": "dead"}
    for action in ("hold", "approve", "reject"):
        assert_failed(do(action, bad), "dead")


@pytest.mark.parametrize("action", ["inspect", "retry", "cancel", "delete", "hold", "approve", "reject"])
@pytest.mark.parametrize("job_id", ["job_x", "..", "a/b", "a?b#c", "ü"])
def test_a_job_that_is_not_there_is_not_found(do: Do, action: str, job_id: str) -> None:
    assert_failed(do(action, job_id), f"Error: job {job_id} not found")


def test_held_jobs_are_listed_newest_first(start_server: object, rookery: Run) -> None:
    server = start_server("--rate-limit-enabled=false")  # type: ignore[operator]
    api, env = Api(server), {"ROOKERY_URL": server.url}
    assert said(rookery("held", env=env)) == "No held jobs\n"
    assert json.loads(said(rookery("held", "-o", "json", env=env)))["jobs"] == []
    old, new = api.enqueue("q"), api.enqueue("a long queue")
    api.post(f"/jobs/{old}/hold", {"reason": "two\nlines and \x1b[31m colour"})
    api.post(f"/jobs/{new}/hold")

    run = rookery("held", env=env)

    assert run.stdout.splitlines() == [
        "ID                              QUEUE         STATE  REASON",
        f"{new}  a long queue  held",
        f"{old}  q             held   two lines and \\x1b[31m colour",
    ]
    assert run.stderr == ""
    answer = json.loads(said(rookery("held", "-o", "json", env=env)))
    assert [job["id"] for job in answer["jobs"]] == [new, old]

    api.post("/enqueue/batch", {"jobs": [{"queue": "many"}] * 100})
    api.post("/jobs/bulk", {"action": "hold", "filter": {"queue": "many"}})
    run = rookery("held", env=env)
    assert (run.stdout.count("\n"), run.stderr) == (101, "100 of 102 held jobs\n")
