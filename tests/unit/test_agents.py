"""Agent jobs: one job that runs again and again until it says done, within its limits."""

from typing import Any

import msgspec
import pytest

from rookery.engine.ops import Approve, Refusal, Usage
from tests.unit.workbench import Workbench, kind_of, plain


def add(bench: Workbench, **limits: Any) -> str:
    return bench.add(agent=msgspec.json.encode(limits).decode())


def agent(bench: Workbench, job_id: str) -> dict[str, Any]:
    state: dict[str, Any] = plain(bench.job(job_id).agent)
    return state


def go_on(bench: Workbench, **fields: Any) -> None:
    assert bench.ack(bench.take(), agent_status="continue", **fields) is None


def test_continue_makes_the_job_ready_for_its_next_iteration_at_once(bench: Workbench) -> None:
    job_id = add(bench)
    go_on(bench, checkpoint='{"step":1}')

    job = bench.job(job_id)
    assert (job.state, job.attempt, job.worker_id, job.lease_expires_at) == ("pending", 0, None, None)
    assert agent(bench, job_id)["iteration"] == 2
    again = bench.take()
    assert (again.attempt, again.checkpoint) == (1, '{"step":1}')
    assert again.agent is not None
    assert msgspec.json.decode(again.agent)["iteration"] == 2


def test_each_iteration_has_its_own_attempts(bench: Workbench) -> None:
    job_id = bench.add(agent="{}", max_retries=2, backoff="none")
    for _ in range(3):
        bench.fail(bench.take())
        bench.tick()
        go_on(bench)

    assert bench.state(job_id) == "pending"


@pytest.mark.parametrize("status", ["done", "DONE", "", None])
def test_done_or_nothing_completes_the_job(bench: Workbench, status: str | None) -> None:
    job_id = add(bench)
    bench.run(agent_status=status, result="1")

    job = bench.job(job_id)
    assert (job.state, plain(job.result)) == ("completed", 1)
    assert agent(bench, job_id)["iteration"] == 1


def test_hold_waits_for_a_person_and_does_not_advance(bench: Workbench) -> None:
    job_id = add(bench)
    bench.ack(bench.take(), agent_status="Hold", hold_reason="need advice", checkpoint="1")

    job = bench.job(job_id)
    assert (job.state, job.hold_reason, plain(job.checkpoint)) == ("held", "need advice", 1)
    assert agent(bench, job_id)["iteration"] == 1
    assert bench.events_of(job_id)[-1] == "held"
    assert bench.claim() == []


def test_costs_add_up(bench: Workbench) -> None:
    job_id = add(bench)
    go_on(bench, usage=Usage(cost_usd=0.25))
    go_on(bench, usage=Usage(cost_usd=0.5))
    bench.run(agent_status="done", usage=Usage(cost_usd=1.0))

    assert agent(bench, job_id)["total_cost_usd"] == 1.75


def test_an_agent_is_held_when_its_iterations_are_used_up(bench: Workbench) -> None:
    job_id = add(bench, max_iterations=3)
    go_on(bench)
    go_on(bench)
    assert bench.state(job_id) == "pending"
    go_on(bench)

    job = bench.job(job_id)
    assert (job.state, job.hold_reason) == ("held", "max_iterations exceeded (3)")
    assert agent(bench, job_id)["iteration"] == 4


def test_an_approved_agent_runs_once_more_and_is_held_again(bench: Workbench) -> None:
    job_id = add(bench, max_iterations=1)
    go_on(bench)
    bench.do(Approve(job_id=job_id))
    assert bench.job(job_id).hold_reason is None
    go_on(bench)
    assert bench.state(job_id) == "held"

    bench.do(Approve(job_id=job_id))
    bench.run(agent_status="done")
    assert bench.state(job_id) == "completed"


def test_an_agent_is_held_when_it_costs_too_much(bench: Workbench) -> None:
    job_id = add(bench, max_cost_usd=1.0)
    go_on(bench, usage=Usage(cost_usd=1.0))
    assert bench.state(job_id) == "pending"
    go_on(bench, usage=Usage(cost_usd=0.5))

    job = bench.job(job_id)
    assert (job.state, job.hold_reason) == ("held", "max_cost_usd exceeded (1.5000 > 1.0000)")


def test_the_limit_of_iterations_is_told_before_that_of_costs(bench: Workbench) -> None:
    job_id = add(bench, max_iterations=1, max_cost_usd=1.0)
    go_on(bench, usage=Usage(cost_usd=5.0))

    assert bench.job(job_id).hold_reason == "max_iterations exceeded (1)"


def test_the_workers_own_reason_wins(bench: Workbench) -> None:
    job_id = add(bench, max_iterations=1)
    go_on(bench, hold_reason="my reason")

    assert bench.job(job_id).hold_reason == "my reason"


def test_a_continue_keeps_its_place_in_line_and_says_continued(bench: Workbench) -> None:
    job_id = add(bench)
    bench.advance(10)
    bench.add()
    go_on(bench)

    assert bench.events_of(job_id) == ["enqueued", "started", "continued"]
    assert bench.take().job_id == job_id


def test_an_agent_status_on_an_ordinary_job_is_refused(bench: Workbench) -> None:
    job_id = bench.add()

    assert kind_of(bench.ack(bench.take(), agent_status="continue")) == Refusal.INVALID
    assert bench.state(job_id) == "active"


def test_an_unknown_agent_status_is_refused(bench: Workbench) -> None:
    job_id = add(bench)

    assert kind_of(bench.ack(bench.take(), agent_status="rest")) == Refusal.INVALID
    assert bench.state(job_id) == "active"
    assert agent(bench, job_id) == {}


def test_a_continue_past_the_end_of_its_time_is_dead(bench: Workbench) -> None:
    job_id = bench.add(agent="{}", expire_after="10s")
    job = bench.take()
    bench.advance(10_000)
    bench.ack(job, agent_status="continue")

    assert bench.state(job_id) == "dead"
    assert bench.job(job_id).errors[-1].error == "expired"


def test_an_agent_that_goes_on_still_expires_in_time(bench: Workbench) -> None:
    job_id = bench.add(agent="{}", expire_after="30s")
    job = bench.take()
    bench.tick(10_000)
    bench.ack(job, agent_status="continue")

    assert bench.machine.next_due == bench.now + 20_000
    bench.tick(20_000)
    assert bench.state(job_id) == "dead"


def test_a_repeated_continue_with_its_token_counts_once(bench: Workbench) -> None:
    job_id = add(bench)
    job = bench.take()
    for _ in range(3):
        assert bench.ack(job, agent_status="continue", usage=Usage(cost_usd=1.0)) is None

    assert (agent(bench, job_id)["iteration"], agent(bench, job_id)["total_cost_usd"]) == (2, 1.0)
