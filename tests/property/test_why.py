"""A job is said to be runnable, and to have its place in line, exactly when a claim shows that it is so."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.engine import Batch, Machine
from rookery.engine.ops import (
    Ack,
    AnyOperation,
    Approve,
    Cancel,
    Claim,
    Completion,
    Delete,
    Enqueue,
    Fail,
    Failure,
    Hold,
    LimitConcurrency,
    Move,
    NewJob,
    PauseQueue,
    Release,
    ResumeQueue,
    Retry,
    Return,
    Throttle,
    Tick,
)
from rookery.store.reasons import WhyView
from rookery.store.why import explain
from tests.conftest import START

IDS = [f"j{number}" for number in range(8)]
IN_LINE = {"no_workers", "behind_others"}

queues = st.sampled_from(["a", "a", "b"])
ids = st.sampled_from(IDS)


def new_jobs(depends_on: st.SearchStrategy[list[str] | None]) -> st.SearchStrategy[NewJob]:
    return st.builds(
        NewJob,
        queue=queues,
        id=ids,
        rank=st.integers(1, 2),
        backoff=st.sampled_from(["none", "fixed"]),
        base_delay=st.just(500),
        scheduled_at=st.none() | st.none() | st.just(START + 1000),
        expire_after=st.none() | st.just("1s"),
        depends_on=depends_on,
    )


first_jobs = st.lists(new_jobs(st.none()), min_size=3, max_size=6, unique_by=lambda job: job.id)
claims = st.builds(Claim, queues=st.tuples(queues), count=st.integers(1, 2), lease=st.sampled_from([500, 60_000]))
limits: st.SearchStrategy[AnyOperation] = st.one_of(
    st.builds(LimitConcurrency, queue=queues, max_active=st.none() | st.integers(1, 2)),
    st.builds(Throttle, queue=queues, rate=st.integers(1, 2), window=st.sampled_from([500, 2000])),
)
operations: st.SearchStrategy[AnyOperation] = st.one_of(
    st.builds(Enqueue, jobs=st.lists(new_jobs(st.none()), min_size=1, max_size=1)),
    st.builds(Enqueue, jobs=st.lists(new_jobs(st.lists(ids, max_size=2, unique=True)), min_size=1, max_size=1)),
    claims,
    claims,
    st.builds(Ack, items=st.lists(st.builds(Completion, job_id=ids), max_size=4)),
    st.builds(Fail, items=st.lists(st.builds(Failure, job_id=ids), max_size=4)),
    st.builds(Release, items=st.lists(st.builds(Return, job_id=ids), max_size=2)),
    st.builds(Move, job_id=ids, queue=queues),
    *[st.builds(kind, job_id=ids) for kind in (Hold, Approve, Cancel, Retry, Delete)],
    *[st.builds(kind, queue=queues) for kind in (PauseQueue, ResumeQueue)],
    limits,
    st.just(Tick()),
)
first_limits = st.lists(limits, max_size=2)
steps = st.lists(st.tuples(operations, st.sampled_from([0, 0, 500, 1000])), max_size=10)


def what_if(machine: Machine, now: int, *ops: AnyOperation) -> Any:
    """The result of the last of these operations, which are then undone."""
    results = machine.prepare(Batch(now, list(ops), entropy=1))
    machine._undo()
    return results[-1]


def claims_of(machine: Machine, now: int, queue: str, job_id: str) -> list[str]:
    """What one claim takes, when everybody else in the line has stepped aside."""
    others = [Hold(job_id=other) for other in IDS if other != job_id and is_pending(machine, other)]
    return [job.job_id for job in what_if(machine, now, *others, Claim(queues=(queue,))).jobs]


def is_pending(machine: Machine, job_id: str) -> bool:
    return machine._db.execute("SELECT state FROM job WHERE id = ?", (job_id,)).get == "pending"


def line_of(machine: Machine, now: int, queue: str) -> list[str]:
    """The whole line of a queue, in the order in which it would be claimed without any limit."""
    lifted = (ResumeQueue(queue=queue), LimitConcurrency(queue=queue), Throttle(queue=queue))
    return [job.job_id for job in what_if(machine, now, *lifted, Claim(queues=(queue,), count=100)).jobs]


def views(machine: Machine, now: int) -> dict[str, tuple[str, WhyView]]:
    """Every job with its queue and what is said of it."""
    rows: Any = machine._db.execute("SELECT job.id, queue.name FROM job JOIN queue ON queue.id = job.queue").fetchall()
    said = {}
    for job_id, queue in rows:
        view = explain(machine._db, job_id, now, now)
        assert view is not None
        said[job_id] = (queue, view)
    return said


@settings(deadline=None, max_examples=200)
@given(first_jobs, first_limits, steps)
def test_what_is_said_of_a_job_is_what_a_claim_shows(
    jobs: list[NewJob], set_limits: list[AnyOperation], history: list[tuple[AnyOperation, int]]
) -> None:
    now = START
    with Machine() as machine:
        machine.apply(Batch(now, [Enqueue(jobs=jobs), *set_limits], entropy=now))
        for op, pause in history:
            now += pause
            machine.apply(Batch(now, [op], entropy=now))

        said = views(machine, now)
        places: dict[str, dict[int, str]] = {"a": {}, "b": {}}
        for job_id, (queue, view) in said.items():
            assert view.runnable == (claims_of(machine, now, queue, job_id) == [job_id]), view
            if view.ahead is not None:
                assert view.position == view.ahead + 1
                places[queue][view.ahead] = job_id
            binding = [reason.__struct_config__.tag for reason in view.reasons][:1]
            assert not binding or (binding[0] in IN_LINE) == view.runnable, view
        for queue, line in places.items():
            assert [line[place] for place in sorted(line)] == line_of(machine, now, queue)
            assert sorted(line) == list(range(len(line)))
