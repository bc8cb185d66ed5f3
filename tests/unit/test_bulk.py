"""One action on many jobs, by the rules of its states."""

from typing import Any

import msgspec
import pytest

from rookery.engine.bulk import ACTIONS
from rookery.engine.ops import CHUNK, Bulk, BulkDone, Enqueue, NewJob, NewJobBatch, PauseQueue, Refusal
from rookery.model.job import STATES
from rookery.store.filters import JobFilter
from tests.unit.workbench import Workbench, kind_of

ARGUMENTS: dict[str, dict[str, Any]] = {"move": {"queue": "other"}, "change_priority": {"rank": 0}}
BECOMES: dict[str, dict[str, str | None]] = {
    "retry": dict.fromkeys(("dead", "cancelled", "completed", "scheduled"), "pending"),
    "delete": dict.fromkeys(STATES),
    "cancel": dict.fromkeys(("pending", "active", "scheduled", "retrying"), "cancelled"),
    "move": {state: state for state in STATES if state != "active"},
    "requeue": {"dead": "pending"},
    "change_priority": {"pending": "pending", "scheduled": "scheduled"},
    "hold": dict.fromkeys(("pending", "active", "scheduled", "retrying"), "held"),
    "approve": {"held": "pending"},
    "reject": {"held": "dead"},
}
"""What each action makes of a job in each state that it touches."""
EVENTS = {
    "retry": "retried",
    "delete": "deleted",
    "cancel": "cancelled",
    "move": "moved",
    "requeue": "retried",
    "change_priority": "reprioritized",
    "hold": "held",
    "approve": "approved",
    "reject": "dead",
}


def bulk(bench: Workbench, action: str, *job_ids: str, **fields: Any) -> BulkDone | Refusal:
    done: BulkDone | Refusal = bench.do(
        Bulk(action=action, job_ids=list(job_ids), **{**ARGUMENTS.get(action, {}), **fields})
    )
    return done


def counted(bench: Workbench, queue: str) -> dict[str, int]:
    """How many jobs of a queue are really in each state."""
    sql = "SELECT state, count(*) FROM job JOIN queue ON queue.id = job.queue WHERE queue.name = ? GROUP BY state"
    return dict.fromkeys(STATES, 0) | dict(bench.rows(sql, queue))


def test_the_table_of_this_file_has_every_action() -> None:
    assert BECOMES.keys() == EVENTS.keys() == ACTIONS.keys()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_touches_jobs_in_its_states_and_no_others(bench: Workbench, action: str, state: str) -> None:
    job_id = bench.add_in(state)
    events = bench.events_of(job_id)
    before = bench.rows("SELECT * FROM job")

    done = bulk(bench, action, job_id)

    if state not in BECOMES[action]:
        assert done == BulkDone(0, 1)
        assert bench.rows("SELECT * FROM job") == before
        assert bench.events_of(job_id) == events
        return
    assert done == BulkDone(1, 0)
    after = BECOMES[action][state]
    assert after == (bench.state(job_id) if bench.exists(job_id) else None)
    assert bench.events_of(job_id)[-1] == EVENTS[action]
    for queue in ("q", "other") if action == "move" else ("q",):
        shown = msgspec.to_builtins(bench.queue(queue))
        assert {name: shown[name] for name in STATES} == counted(bench, queue)


def test_a_requeued_job_keeps_its_attempts_and_is_otherwise_as_good_as_new(bench: Workbench) -> None:
    job_id = bench.add(max_retries=2, backoff="none", expire_after="1h")
    bench.bury()
    bench.advance(2 * 3_600_000)

    assert bulk(bench, "requeue", job_id) == BulkDone(1, 0)

    job = bench.job(job_id)
    assert (job.state, job.attempt, job.failed_at, job.worker) == ("pending", 2, None, None)
    assert len(job.errors) == 2
    assert bench.rows("SELECT ended_at FROM job") == [(None,)]
    bench.tick()
    again = bench.take()
    assert again.attempt == 3
    assert bench.ack(again) is None


def test_a_requeued_job_has_one_attempt_if_all_were_used_up(bench: Workbench) -> None:
    job_id = bench.add_in("dead")
    bulk(bench, "requeue", job_id)
    bench.fail(bench.take())

    assert bench.state(job_id) == "dead"


def test_a_changed_priority_changes_the_order_and_not_the_age(bench: Workbench) -> None:
    first, second, third = bench.add(), bench.add(), bench.add()

    assert bulk(bench, "change_priority", third, second, rank=1) == BulkDone(2, 0)

    assert (bench.job(second).priority_name, bench.job(first).priority_name) == ("high", "normal")
    assert bench.claimed_ids() == [second, third, first]


def test_the_same_priority_again_is_no_news(bench: Workbench) -> None:
    job_id = bench.add(rank=0)

    assert bulk(bench, "change_priority", job_id, rank=0) == BulkDone(1, 0)
    assert bench.events_of(job_id) == ["enqueued"]


def test_moved_jobs_keep_their_order(bench: Workbench) -> None:
    ids = [bench.add() for _ in range(3)]

    assert bulk(bench, "move", *reversed(ids)) == BulkDone(3, 0)
    assert bench.claimed_ids("other") == ids


def test_unknown_ids_and_ids_that_cannot_be_are_skipped(bench: Workbench) -> None:
    job_id = bench.add()

    assert bulk(bench, "cancel", "job_nowhere", job_id, "", "\0", "a\0b") == BulkDone(1, 4)


def test_a_job_that_is_named_twice_counts_once(bench: Workbench) -> None:
    job_id, other = bench.add(), bench.add_in("held", "h")

    assert bulk(bench, "cancel", job_id, other, job_id, other, job_id) == BulkDone(1, 1)
    assert bench.events_of(job_id) == ["enqueued", "cancelled"]


def test_jobs_of_other_namespaces_look_unknown(bench: Workbench) -> None:
    mine, theirs, everyones = bench.add("a::q"), bench.add("b::q"), bench.add("q")

    assert bulk(bench, "delete", mine, theirs, everyones, namespace="a") == BulkDone(1, 2)
    assert [bench.exists(job_id) for job_id in (mine, theirs, everyones)] == [False, True, True]
    assert bulk(bench, "delete", theirs, everyones) == BulkDone(2, 0)


@pytest.mark.parametrize(
    "wanted",
    [
        JobFilter(states=("pending", "scheduled")),
        JobFilter(queue="q"),
        JobFilter(rank=2),
        JobFilter(attempt_max=0),
        JobFilter(tags='{"kind":"slow"}'),
    ],
    ids=lambda wanted: next(name for name in wanted.__struct_fields__ if getattr(wanted, name) not in (None, ())),
)
def test_a_job_that_has_changed_since_it_was_found_is_left_alone(bench: Workbench, wanted: JobFilter) -> None:
    still, claimed = bench.add("q", tags='{"kind":"slow"}'), bench.add_in("active", "elsewhere", rank=0)

    assert bulk(bench, "delete", still, claimed, wanted=wanted) == BulkDone(1, 1)
    assert bench.state(claimed) == "active"


def test_cancelled_members_let_their_batch_call_back_once(bench: Workbench) -> None:
    enqueued = bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(3)], batch=NewJobBatch(callback_queue="done")))

    assert bulk(bench, "cancel", *(job.job_id for job in enqueued.jobs)) == BulkDone(3, 0)
    assert bench.batch(enqueued.batch_id).failed == 3
    assert len(bench.jobs_of("done")) == 1


def test_a_rejected_step_of_a_chain_is_followed_by_its_failure_job(bench: Workbench) -> None:
    config = '{"steps":[{"queue":"q"},{"queue":"r"}],"on_failure":{"queue":"failure"}}'
    ids = [bench.add_in("held", chain_config=config, starts_chain=True) for _ in range(2)]

    assert bulk(bench, "reject", *ids) == BulkDone(2, 0)
    assert len(bench.jobs_of("failure")) == 2


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"action": "explode"}, "action"),
        ({"action": ""}, "action"),
        ({"action": "move"}, "move_to_queue"),
        ({"action": "change_priority"}, "priority"),
        ({"action": "delete", "job_ids": ["x"] * (CHUNK + 1)}, "job_ids"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    bench: Workbench, fields: dict[str, Any], word: str
) -> None:
    job_id = bench.add()

    refusal = bench.do(Bulk(**{"job_ids": [job_id], **fields}))

    assert kind_of(refusal) == Refusal.INVALID
    assert word in refusal.message
    assert bench.events_of(job_id) == ["enqueued"]


def test_no_jobs_are_no_work(bench: Workbench) -> None:
    assert bulk(bench, "delete") == BulkDone(0, 0)


def test_a_move_makes_its_queue_even_while_others_are_paused(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(PauseQueue(queue="q"))

    bulk(bench, "move", job_id, queue="fresh")
    assert bench.claimed_ids("fresh") == [job_id]
