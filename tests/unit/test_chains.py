"""Chains: each step's end brings the next one, or the handler for the chain's exit or failure."""

from typing import Any

import msgspec
import pytest

from rookery.engine.ops import (
    Ack,
    Cancel,
    Completion,
    Delete,
    Enqueue,
    Hold,
    NewJob,
    Refusal,
    Reject,
)
from tests.unit.workbench import Workbench, kind_of, plain

STEPS = [{"queue": "s0"}, {"queue": "s1"}, {"queue": "s2"}]


def start(bench: Workbench, steps: list[dict[str, Any]] | None = None, **chain: Any) -> str:
    """Enqueue the first step of a chain; its id."""
    fields = chain.pop("fields", {})
    config = msgspec.json.encode({"steps": steps or STEPS, **chain}).decode()
    return bench.add("s0", chain_config=config, starts_chain=True, **fields)


def only_job(bench: Workbench, queue: str) -> str:
    (job_id,) = bench.jobs_of(queue)
    return job_id


def test_the_first_job_starts_a_chain_of_its_own(bench: Workbench) -> None:
    first, second = bench.job(start(bench)), bench.job(start(bench))

    assert first.chain_id is not None
    assert first.chain_id.startswith("chn_")
    assert len(first.chain_id) == 30
    assert first.chain_step == 0
    assert plain(first.chain_config) == {"steps": STEPS}
    assert first.chain_id != second.chain_id


def test_each_step_follows_the_one_before_it(bench: Workbench) -> None:
    ids = [start(bench)]
    for number in (1, 2):
        bench.run(f"s{number - 1}")
        job = bench.job(only_job(bench, f"s{number}"))
        assert (job.state, job.chain_step) == ("pending", number)
        assert job.chain_id == bench.job(ids[0]).chain_id
        assert plain(job.chain_config) == {"steps": STEPS}
        assert bench.events_of(job.id) == ["enqueued"]
        ids.append(job.id)

    bench.run("s2")
    assert bench.rows("SELECT count(*) FROM job") == [(3,)]


def test_a_step_is_enqueued_with_default_settings(bench: Workbench) -> None:
    start(bench, fields={"rank": 0, "max_retries": 9, "tags": '{"a":"b"}'})
    bench.run("s0")

    job = bench.job(only_job(bench, "s1"))
    assert (job.priority, job.max_retries, job.retry_backoff, job.retry_base_delay_ms) == (2, 3, "exponential", 5000)


def test_a_step_gets_the_result_of_the_one_before_it(bench: Workbench) -> None:
    first = start(bench)
    bench.run("s0", result='{"n":1}')

    assert bench.payload(only_job(bench, "s1")) == {"previous_job_id": first, "previous_result": {"n": 1}}


def test_a_step_gets_no_result_when_there_was_none(bench: Workbench) -> None:
    first = start(bench)
    bench.run("s0")

    assert bench.payload(only_job(bench, "s1")) == {"previous_job_id": first}


def test_a_steps_own_keys_win(bench: Workbench) -> None:
    first = start(bench, [{"queue": "s0"}, {"queue": "s1", "payload": {"x": 1, "previous_result": "mine"}}])
    bench.run("s0", result="2")

    assert bench.payload(only_job(bench, "s1")) == {"previous_job_id": first, "previous_result": "mine", "x": 1}


@pytest.mark.parametrize("payload", ["text", 7, [1, 2], False])
def test_a_steps_payload_that_is_no_object_has_a_key_of_its_own(bench: Workbench, payload: Any) -> None:
    first = start(bench, [{"queue": "s0"}, {"queue": "s1", "payload": payload}])
    bench.run("s0")

    assert bench.payload(only_job(bench, "s1")) == {"previous_job_id": first, "payload": payload}


def test_continue_is_the_same_as_nothing(bench: Workbench) -> None:
    start(bench)
    bench.run("s0", step_status="continue")

    only_job(bench, "s1")


def test_on_exit_follows_the_last_step(bench: Workbench) -> None:
    start(bench, on_exit={"queue": "exit", "payload": {"x": 1}})
    bench.run("s0")
    bench.run("s1")
    assert bench.jobs_of("exit") == []
    last = bench.run("s2", result="3")

    job = bench.job(only_job(bench, "exit"))
    assert job.chain_step == -1
    assert bench.payload(job.id) == {"previous_job_id": last, "previous_result": 3, "x": 1}


def test_exit_skips_the_rest(bench: Workbench) -> None:
    first = start(bench, on_exit={"queue": "exit"})
    bench.run("s0", step_status="exit", exit_reason="enough", result="1")

    assert bench.jobs_of("s1") == []
    assert bench.payload(only_job(bench, "exit")) == {
        "previous_job_id": first,
        "previous_result": 1,
        "exit_reason": "enough",
    }


def test_exit_without_a_handler_just_ends(bench: Workbench) -> None:
    start(bench)
    bench.run("s0", step_status="exit")

    assert bench.rows("SELECT count(*) FROM job") == [(1,)]


def test_an_unknown_step_status_is_refused_and_the_job_stays_active(bench: Workbench) -> None:
    job_id = start(bench)
    job = bench.take("s0")

    assert kind_of(bench.ack(job, step_status="jump")) == Refusal.INVALID
    assert bench.state(job_id) == "active"


def test_a_step_status_means_nothing_to_a_job_without_a_chain(bench: Workbench) -> None:
    job_id = bench.add()
    bench.run(step_status="exit")

    assert bench.state(job_id) == "completed"


def test_an_ack_said_twice_in_one_request_counts_as_it_was_said_first(bench: Workbench) -> None:
    start(bench, on_exit={"queue": "exit"})
    job = bench.take("s0")

    outcomes = bench.do(
        Ack(items=[Completion(job.job_id, job.lease, step_status="exit"), Completion(job.job_id, job.lease)])
    ).outcomes

    assert outcomes == [None, None]
    assert bench.jobs_of("s1") == []
    only_job(bench, "exit")


@pytest.mark.parametrize("end", ["failed", "expired", "rejected", "poisoned"])
def test_on_failure_follows_a_step_that_dies(bench: Workbench, end: str) -> None:
    fields = {"max_retries": 1, "max_lost_leases": 1, "expire_after": "1s" if end == "expired" else None}
    first = start(bench, on_failure={"queue": "failure", "payload": {"x": 1}}, fields=fields)
    error = end
    if end == "failed":
        error = "boom"
        bench.bury("s0", error)
    elif end == "expired":
        bench.tick(1000)
    elif end == "rejected":
        bench.do(Hold(job_id=first), Reject(job_id=first))
    else:
        error = "lease lost 1 times: the worker died or stopped heartbeating"
        bench.take("s0", lease=1000)
        bench.tick(1001)

    job = bench.job(only_job(bench, "failure"))
    assert job.chain_step == -2
    assert bench.payload(job.id) == {"failed_job_id": first, "failed_step": 0, "error": error, "x": 1}
    assert bench.jobs_of("s1") == []


def test_on_failure_names_the_step_that_died(bench: Workbench) -> None:
    start(bench, on_failure={"queue": "failure"})
    bench.run("s0")
    bench.bury("s1")

    assert bench.payload(only_job(bench, "failure"))["failed_step"] == 1


def test_the_failure_handlers_own_keys_win(bench: Workbench) -> None:
    start(bench, on_failure={"queue": "failure", "payload": {"error": "mine"}}, fields={"max_retries": 1})
    bench.bury("s0")

    assert bench.payload(only_job(bench, "failure"))["error"] == "mine"


def test_an_attempt_that_will_be_retried_triggers_nothing(bench: Workbench) -> None:
    start(bench, on_failure={"queue": "failure"}, on_exit={"queue": "exit"})
    bench.fail(bench.take("s0"))

    assert bench.rows("SELECT count(*) FROM job") == [(1,)]


def test_handlers_never_trigger_anything(bench: Workbench) -> None:
    start(bench, on_failure={"queue": "failure"}, on_exit={"queue": "exit"}, fields={"max_retries": 1})
    bench.bury("s0")
    bench.bury("failure")
    assert bench.rows("SELECT count(*) FROM job") == [(2,)]

    start(bench, on_failure={"queue": "failure"}, on_exit={"queue": "exit"})
    bench.run("s0", step_status="exit")
    bench.run("exit")
    assert bench.rows("SELECT count(*) FROM job") == [(4,)]


@pytest.mark.parametrize("operation", [Cancel, Delete])
def test_cancelling_or_deleting_a_step_stops_the_chain(bench: Workbench, operation: type[Cancel | Delete]) -> None:
    first = start(bench, on_failure={"queue": "failure"}, on_exit={"queue": "exit"})
    bench.do(operation(job_id=first))

    assert bench.jobs_of("s1") == bench.jobs_of("failure") == bench.jobs_of("exit") == []


@pytest.mark.parametrize("text", ["", "stop"])
def test_on_failure_stop_means_no_handler(bench: Workbench, text: str) -> None:
    start(bench, on_failure=text, fields={"max_retries": 1})
    bench.bury("s0")

    assert bench.rows("SELECT count(*) FROM job") == [(1,)]


def test_on_failure_continue_goes_to_the_next_step(bench: Workbench) -> None:
    first = start(bench, on_failure="continue", fields={"max_retries": 1})
    bench.bury("s0", "boom")

    job = bench.job(only_job(bench, "s1"))
    assert job.chain_step == 1
    assert bench.payload(job.id) == {"previous_job_id": first, "previous_error": "boom"}


def test_any_other_text_on_failure_names_the_handlers_queue(bench: Workbench) -> None:
    first = start(bench, on_failure="rescue", fields={"max_retries": 1})
    bench.bury("s0", "boom")

    job = bench.job(only_job(bench, "rescue"))
    assert job.chain_step == -2
    assert bench.payload(job.id) == {"failed_job_id": first, "failed_step": 0, "error": "boom"}


def test_an_agent_moves_its_chain_only_when_it_is_done(bench: Workbench) -> None:
    start(bench, fields={"agent": "{}"})
    bench.ack(bench.take("s0"), agent_status="continue")
    assert bench.jobs_of("s1") == []
    bench.ack(bench.take("s0"), agent_status="done", result="1")

    assert bench.payload(only_job(bench, "s1"))["previous_result"] == 1


def test_a_linkage_by_hand_moves_like_a_chain(bench: Workbench) -> None:
    config = msgspec.json.encode({"steps": STEPS}).decode()
    bench.add("s1", chain_id="mine", chain_step=1, chain_config=config)
    bench.run("s1")

    job = bench.job(only_job(bench, "s2"))
    assert (job.chain_id, job.chain_step) == ("mine", 2)


def test_a_linkage_that_is_no_chain_moves_nothing(bench: Workbench) -> None:
    bench.add("s1", chain_id="mine", chain_step=0, chain_config='{"note":"free text"}')
    bench.run("s1")

    assert bench.rows("SELECT count(*) FROM job") == [(1,)]


def test_a_chain_stays_in_its_namespace(bench: Workbench) -> None:
    config = msgspec.json.encode({"steps": STEPS}).decode()
    job = NewJob(queue="acme::s0", chain_config=config, starts_chain=True)
    bench.do(Enqueue(jobs=[job], namespace="acme"))
    bench.run("acme::s0")

    only_job(bench, "acme::s1")


def test_a_chain_of_the_default_namespace_names_its_queues_in_full(bench: Workbench) -> None:
    steps = [{"queue": "acme::s0"}, {"queue": "plain"}]
    bench.add("acme::s0", chain_config=msgspec.json.encode({"steps": steps}).decode(), starts_chain=True)
    bench.run("acme::s0")

    only_job(bench, "plain")


def test_a_raw_chain_with_a_blank_queue_stops_there(bench: Workbench) -> None:
    steps = [{"queue": "s0"}, {"queue": " "}]
    config = msgspec.json.encode({"steps": steps}).decode()
    bench.add("s0", chain_config=config, chain_id="chn_x", chain_step=0)
    bench.run("s0")

    assert bench.rows("SELECT name FROM queue") == [("s0",)]
