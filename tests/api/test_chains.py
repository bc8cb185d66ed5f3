"""Chains: jobs that run one after the other, and their handlers."""

from typing import Any

import pytest

from tests.api.expectations import claim, is_empty, wait_for_state
from tests.conftest import Api


class Chain:
    """A chain over queues of its own."""

    def __init__(self, api: Api, queue: str, steps: int = 3, first: Any = None, **handlers: Any) -> None:
        self.api = api
        self.queues = [f"{queue}-{number}" for number in range(steps)]
        self.exit_queue = f"{queue}-exit"
        self.failure_queue = f"{queue}-failure"
        self.config = {"steps": [{"queue": name} for name in self.queues], **handlers}
        self.first = api.enqueue(self.queues[0], chain=self.config, **(first or {}))

    def ack(self, step: int, **body: Any) -> str:
        """Complete a step; its job's id."""
        job_id: str = claim(self.api, self.queues[step])["job_id"]
        answer = self.api.post(f"/ack/{job_id}", body)
        assert answer.status_code == 200, answer.text
        return job_id

    def ended(self) -> bool:
        """Whether nothing is left to run anywhere."""
        return all(is_empty(self.api, name) for name in [*self.queues, self.exit_queue, self.failure_queue])


def steps(*queues: str) -> list[dict[str, str]]:
    return [{"queue": queue} for queue in queues]


@pytest.mark.parametrize(
    ("chain", "word"),
    [
        ({}, "steps"),
        ({"steps": []}, "steps"),
        ({"steps": steps("q")}, "steps"),
        ({"steps": steps("q", "")}, "steps[1].queue"),
        ({"steps": steps("q", "  ")}, "steps[1].queue"),
        ({"steps": steps("other", "q")}, "steps[0].queue"),
        ({"steps": [{"queue": "q"}, {}]}, "queue"),
        ({"steps": steps("q", "r"), "on_failure": {"queue": " "}}, "on_failure"),
        ({"steps": steps("q", "r"), "on_exit": {"queue": ""}}, "on_exit"),
        ({"steps": steps("q", "r"), "on_exit": {}}, "on_exit"),
        ({"steps": steps("q", "r"), "on_failure": {}}, "on_failure"),
        ({"steps": "text"}, "steps"),
        ({"steps": steps("q", "r"), "on_exit": 1}, "on_exit"),
    ],
)
def test_a_chain_that_cannot_run_is_refused(api: Api, chain: Any, word: str) -> None:
    answer = api.post("/enqueue", {"queue": "q", "chain": chain})
    assert answer.status_code == 400
    assert answer.json()["code"] in ("VALIDATION_ERROR", "PARSE_ERROR")
    assert word in answer.json()["error"]


def test_a_chain_must_be_an_object(api: Api, queue: str) -> None:
    answer = api.post("/enqueue", {"queue": queue, "chain": [1]})
    assert answer.status_code == 400
    assert "chain" in answer.json()["error"]


def test_the_first_job_is_step_zero_with_the_payload_of_the_call(api: Api, queue: str) -> None:
    chain = {"steps": [{"queue": queue, "payload": {"of": "step"}}, {"queue": f"{queue}-1"}]}
    job = api.job(api.enqueue(queue, {"of": "call"}, chain=chain))
    assert job["chain_id"].startswith("chn_")
    assert job["chain_step"] == 0
    assert job["payload"] == {"of": "call"}
    assert job["chain_config"]["steps"] == chain["steps"]


def test_without_a_payload_the_first_job_takes_that_of_its_step(api: Api, queue: str) -> None:
    chain = {"steps": [{"queue": queue, "payload": {"of": "step"}}, {"queue": f"{queue}-1"}]}
    assert api.job(api.enqueue(queue, chain=chain))["payload"] == {"of": "step"}


def test_each_step_follows_the_one_before_it(api: Api, queue: str) -> None:
    chain = Chain(api, queue, first={"priority": "high", "max_retries": 9, "retry_backoff": "none", "tags": {"a": "b"}})
    first = chain.ack(0, result={"n": 1})
    job = claim(api, chain.queues[1])
    assert job["payload"] == {"previous_job_id": first, "previous_result": {"n": 1}}
    shown, before = api.job(job["job_id"]), api.job(first)
    assert (shown["priority"], shown["max_retries"], shown["retry_backoff"]) == (2, 3, "exponential")
    assert shown["chain_step"] == 1
    assert shown["chain_id"] == before["chain_id"]
    assert shown["chain_config"] == before["chain_config"]
    assert api.events_of(job["job_id"])[0] == "enqueued"
    api.post(f"/ack/{job['job_id']}")
    assert claim(api, chain.queues[2])["payload"] == {"previous_job_id": job["job_id"]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"own": 1}, {"own": 1, "previous_job_id": "FIRST", "previous_result": 5}),
        ({"previous_result": "mine"}, {"previous_result": "mine", "previous_job_id": "FIRST"}),
        ([1, 2], {"payload": [1, 2], "previous_job_id": "FIRST", "previous_result": 5}),
        ("text", {"payload": "text", "previous_job_id": "FIRST", "previous_result": 5}),
    ],
    ids=["object", "own-key-wins", "list", "text"],
)
def test_a_step_adds_its_own_payload(api: Api, queue: str, given: Any, expected: dict[str, Any]) -> None:
    chain = {"steps": [{"queue": queue}, {"queue": f"{queue}-1", "payload": given}]}
    first = api.enqueue(queue, chain=chain)
    claim(api, queue)
    api.post(f"/ack/{first}", {"result": 5})
    expected = {key: first if value == "FIRST" else value for key, value in expected.items()}
    assert claim(api, f"{queue}-1")["payload"] == expected


def test_nulls_in_a_chain_mean_nothing_was_given(api: Api, queue: str) -> None:
    chain = {
        "steps": [{"queue": queue, "payload": None}, {"queue": f"{queue}-1", "payload": None}],
        "on_failure": None,
        "on_exit": None,
    }
    first = api.enqueue(queue, {"a": 1}, chain=chain)
    claim(api, queue)
    api.post(f"/ack/{first}")
    job = claim(api, f"{queue}-1")
    assert job["payload"] == {"previous_job_id": first}
    assert api.post(f"/ack/{job['job_id']}").status_code == 200


@pytest.mark.parametrize("status", ["", "continue", None])
def test_the_chain_goes_on_unless_told_otherwise(api: Api, queue: str, status: str | None) -> None:
    chain = Chain(api, queue)
    chain.ack(0, step_status=status)
    assert claim(api, chain.queues[1])["job_id"]


def test_exit_skips_the_rest_and_runs_the_exit_handler(api: Api, queue: str) -> None:
    chain = Chain(api, queue, on_exit={"queue": f"{queue}-exit", "payload": {"own": 1}})
    first = chain.ack(0, step_status="exit", exit_reason="enough", result=7)
    job = claim(api, chain.exit_queue)
    assert job["payload"] == {"previous_job_id": first, "previous_result": 7, "exit_reason": "enough", "own": 1}
    assert api.job(job["job_id"])["chain_step"] == -1
    assert chain.ended()


def test_exit_without_a_handler_ends_the_chain(api: Api, queue: str) -> None:
    chain = Chain(api, queue)
    chain.ack(0, step_status="exit")
    assert chain.ended()


def test_another_step_status_is_refused_and_the_job_stays(api: Api, queue: str) -> None:
    chain = Chain(api, queue)
    job_id = claim(api, chain.queues[0])["job_id"]
    answer = api.post(f"/ack/{job_id}", {"step_status": "jump"})
    assert answer.status_code == 400
    assert "step_status" in answer.json()["error"]
    assert api.job(job_id)["state"] == "active"


def test_step_status_means_nothing_outside_a_chain(api: Api, queue: str) -> None:
    api.enqueue(queue)
    assert api.post(f"/ack/{claim(api, queue)['job_id']}", {"step_status": "exit"}).status_code == 200


def test_the_exit_handler_runs_after_the_last_step(api: Api, queue: str) -> None:
    chain = Chain(api, queue, steps=2, on_exit={"queue": f"{queue}-exit"})
    chain.ack(0)
    assert is_empty(api, chain.exit_queue)
    last = chain.ack(1, result="end")
    job = claim(api, chain.exit_queue)
    assert job["payload"] == {"previous_job_id": last, "previous_result": "end"}
    api.post(f"/ack/{job['job_id']}")
    assert chain.ended()


def fail_for_good(api: Api, queue: str) -> str:
    job_id: str = claim(api, queue)["job_id"]
    assert api.post(f"/fail/{job_id}", {"error": "boom"}).json()["status"] == "dead"
    return job_id


def test_the_failure_handler_runs_when_a_step_is_dead(api: Api, queue: str) -> None:
    handler = {"queue": f"{queue}-failure", "payload": {"own": 1, "failed_step": "mine"}}
    chain = Chain(api, queue, first={"max_retries": 1}, on_failure=handler, on_exit={"queue": f"{queue}-exit"})
    failed = fail_for_good(api, chain.queues[0])
    job = claim(api, chain.failure_queue)
    assert job["payload"] == {"failed_job_id": failed, "failed_step": "mine", "error": "boom", "own": 1}
    shown = api.job(job["job_id"])
    assert shown["chain_step"] == -2
    assert shown["chain_id"] == api.job(failed)["chain_id"]
    assert chain.ended()


def test_a_failed_attempt_with_retries_left_does_not_run_the_handler(api: Api, queue: str) -> None:
    chain = Chain(api, queue, on_failure={"queue": f"{queue}-failure"})
    api.post(f"/fail/{claim(api, chain.queues[0])['job_id']}")
    assert chain.ended()


def test_an_expired_step_runs_the_failure_handler(api: Api, queue: str) -> None:
    chain = Chain(api, queue, first={"expire_after": "50ms"}, on_failure={"queue": f"{queue}-failure"})
    wait_for_state(api, chain.first, "dead")
    payload = claim(api, chain.failure_queue)["payload"]
    assert payload == {"failed_job_id": chain.first, "failed_step": 0, "error": "expired"}


def test_a_rejected_step_runs_the_failure_handler(api: Api, queue: str) -> None:
    chain = Chain(api, queue, on_failure={"queue": f"{queue}-failure"})
    chain.ack(0)
    second = claim(api, chain.queues[1])["job_id"]
    api.post(f"/jobs/{second}/hold")
    api.post(f"/jobs/{second}/reject")
    payload = claim(api, chain.failure_queue)["payload"]
    assert payload == {"failed_job_id": second, "failed_step": 1, "error": "rejected"}


def test_handlers_never_start_anything(api: Api, queue: str) -> None:
    chain = Chain(
        api,
        queue,
        first={"max_retries": 1},
        on_failure={"queue": f"{queue}-failure"},
        on_exit={"queue": f"{queue}-exit"},
    )
    fail_for_good(api, chain.queues[0])
    handler = claim(api, chain.failure_queue)["job_id"]
    api.post(f"/jobs/{handler}/hold")
    assert api.post(f"/jobs/{handler}/reject").status_code == 200
    assert chain.ended()


@pytest.mark.parametrize("action", ["cancel", "cancel-active", "delete", "clear"])
def test_a_step_that_is_taken_out_stops_the_chain(api: Api, queue: str, action: str) -> None:
    chain = Chain(api, queue, on_failure={"queue": f"{queue}-failure"}, on_exit={"queue": f"{queue}-exit"})
    match action:
        case "cancel-active":
            claim(api, chain.queues[0])
            api.post(f"/jobs/{chain.first}/cancel")
        case "cancel":
            api.post(f"/jobs/{chain.first}/cancel")
        case "delete":
            api.delete(f"/jobs/{chain.first}")
        case _:
            api.post(f"/queues/{chain.queues[0]}/clear")
    assert chain.ended()


@pytest.mark.parametrize("on_failure", ["", "stop"])
def test_a_chain_can_stop_at_a_failure(api: Api, queue: str, on_failure: str) -> None:
    chain = Chain(api, queue, first={"max_retries": 1}, on_failure=on_failure)
    fail_for_good(api, chain.queues[0])
    assert chain.ended()
    assert is_empty(api, "stop")


def test_a_chain_can_go_on_after_a_failure(api: Api, queue: str) -> None:
    chain = Chain(api, queue, first={"max_retries": 1}, on_failure="continue")
    failed = fail_for_good(api, chain.queues[0])
    assert claim(api, chain.queues[1])["payload"] == {"previous_job_id": failed, "previous_error": "boom"}


def test_a_failure_handler_can_be_named_by_its_queue_alone(api: Api, queue: str) -> None:
    chain = Chain(api, queue, first={"max_retries": 1}, on_failure=f"{queue}-failure")
    failed = fail_for_good(api, chain.queues[0])
    payload = claim(api, chain.failure_queue)["payload"]
    assert payload == {"failed_job_id": failed, "failed_step": 0, "error": "boom"}


def test_the_chain_of_an_agent_job_moves_when_the_agent_is_done(api: Api, queue: str) -> None:
    chain = Chain(api, queue, first={"agent": {}})
    chain.ack(0, agent_status="continue")
    assert is_empty(api, chain.queues[1])
    chain.ack(0, agent_status="done")
    assert claim(api, chain.queues[1])


def test_acks_by_the_batch_move_the_chain_too(api: Api, queue: str) -> None:
    chain = Chain(api, queue)
    claim(api, chain.queues[0])
    answer = api.post("/ack/batch", {"acks": [{"job_id": chain.first, "result": 1}]})
    assert answer.json()["acked"] == 1
    assert claim(api, chain.queues[1])["payload"] == {"previous_job_id": chain.first, "previous_result": 1}


def test_two_chains_have_ids_of_their_own(api: Api, queue: str) -> None:
    first, second = Chain(api, f"{queue}a"), Chain(api, f"{queue}b")
    assert api.job(first.first)["chain_id"] != api.job(second.first)["chain_id"]
