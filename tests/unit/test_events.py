"""The timeline: one event for each transition, numbered without a gap."""

import re
from pathlib import Path

import pytest

from rookery import engine
from rookery.engine.ops import (
    Approve,
    Cancel,
    Delete,
    Enqueue,
    Hold,
    Move,
    NewJob,
    Reject,
    Retry,
)
from rookery.model.events import EVENT_TYPES
from tests.unit.workbench import Workbench


def test_events_are_numbered_from_one_without_a_gap(bench: Workbench) -> None:
    for _ in range(20):
        bench.add()
    for job in bench.claim():
        bench.ack(job)

    assert [seq for (seq,) in bench.rows("SELECT seq FROM event ORDER BY seq")] == list(range(1, 61))


def test_a_whole_life_is_told_in_order(bench: Workbench) -> None:
    job_id = bench.add(scheduled_at=bench.now + 1000, max_retries=2)
    bench.tick(1000)
    bench.fail(bench.take())
    bench.tick(5000)
    bench.take(lease=1000)
    bench.tick(1001)
    bench.do(Hold(job_id=job_id), Approve(job_id=job_id), Move(job_id=job_id, queue="new"))
    job = bench.take("new")
    bench.beat(job, progress="1")
    bench.fail(job)
    bench.do(Retry(job_id=job_id), Cancel(job_id=job_id), Retry(job_id=job_id))
    bench.release(bench.take("new"))
    bench.run("new")
    bench.do(Delete(job_id=job_id))

    told = "enqueued promoted started failed promoted started reclaimed held approved moved started progress failed"
    told += " dead retried cancelled retried started released started completed deleted"
    assert bench.events_of(job_id) == told.split()


def test_a_refused_operation_tells_nothing(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(Approve(job_id=job_id), Reject(job_id=job_id), Retry(job_id=job_id), Delete(job_id="job_nowhere"))
    bench.complete(job_id)

    assert bench.events_of(job_id) == ["enqueued"]


def test_the_machine_hands_over_the_events_of_its_last_batch(bench: Workbench) -> None:
    bench.add()
    bench.do(Enqueue(jobs=[NewJob(queue="a"), NewJob(queue="b")]))

    assert [(event.type, event.queue, event.before, len(event.job_ids)) for event in bench.machine.events] == [
        ("enqueued", "a", 1, 1),
        ("enqueued", "b", 2, 1),
    ]
    bench.claim("nowhere")
    assert bench.machine.events == []


def test_an_event_tells_when_and_where(bench: Workbench) -> None:
    bench.add("mails")
    bench.advance(7)
    job = bench.take("mails", worker_id="w1")

    rows = bench.rows("SELECT type, job_id, queue, at, data FROM event ORDER BY seq")
    assert rows == [
        ("enqueued", job.job_id, "mails", bench.now - 7, None),
        ("started", job.job_id, "mails", bench.now, '{"attempt":1,"worker_id":"w1"}'),
    ]


def test_the_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    first = Workbench(path)
    first.add()
    first.machine.close()

    second = Workbench(path)
    second.add()
    assert second.rows("SELECT seq FROM event ORDER BY seq") == [(1,), (2,)]
    second.machine.close()


def test_the_numbers_have_no_gap_after_a_batch_that_broke(bench: Workbench) -> None:
    bench.add()
    broken = NewJob(queue="q")
    broken.payload = None  # type: ignore[assignment]
    with pytest.raises(Exception, match="NOT NULL"):
        bench.do(Enqueue(jobs=[NewJob(queue="q")]), Enqueue(jobs=[broken]))
    bench.add()

    assert bench.rows("SELECT seq FROM event ORDER BY seq") == [(1,), (2,)]


def test_the_timeline_of_a_deleted_job_stays(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(Delete(job_id=job_id))

    assert bench.events_of(job_id) == ["enqueued", "deleted"]


def test_every_event_that_a_rule_tells_of_is_in_the_list_of_types() -> None:
    sources = "".join(path.read_text() for path in Path(engine.__file__).parent.glob("*.py"))
    told = set(re.findall(r'emit(?:_all)?\(\s*"(\w+)"', sources)) | {"replaced", "rescheduled"}
    assert told == set(EVENT_TYPES)
