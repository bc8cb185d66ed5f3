"""What happened in each minute, and what of it is kept."""

from typing import Any

import pytest

from rookery.engine.ops import (
    CHUNK,
    Ack,
    Completion,
    DeleteQueue,
    Enqueue,
    Fail,
    Failure,
    Move,
    NewJob,
    NewJobBatch,
    Purge,
    Retry,
    Sweep,
)
from rookery.store.throughput import MINUTE, completed_in_last_minute, read_throughput
from tests.conftest import START
from tests.unit.test_flat import steps_of
from tests.unit.workbench import Workbench

CHAIN = '{"steps":[{"queue":"q"},{"queue":"next"}],"on_exit":{"queue":"last"}}'
START_MINUTE = START - START % MINUTE


def total(bench: Workbench, namespace: str = "default") -> tuple[int, int, int]:
    """Enqueued, completed and failed in the last hour."""
    minutes = read_throughput(bench.machine._db, bench.now, namespace)
    assert len(minutes) == 60
    return tuple(sum(getattr(minute, what) for minute in minutes) for what in ("enqueued", "completed", "failed"))


def by_queue(bench: Workbench) -> dict[Any, tuple[int, int, int]]:
    rows = bench.rows(
        """
        SELECT queue.name, sum(throughput.enqueued), sum(throughput.completed), sum(throughput.failed)
          FROM throughput LEFT JOIN queue ON queue.id = throughput.queue
         GROUP BY throughput.queue
        """
    )
    return {name: (enqueued, completed, failed) for name, enqueued, completed, failed in rows}


def test_jobs_of_one_batch_are_counted_by_queue(bench: Workbench) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="a"), NewJob(queue="b"), NewJob(queue="a")]), Enqueue(jobs=[NewJob(queue="a")]))

    assert by_queue(bench) == {"a": (3, 0, 0), "b": (1, 0, 0)}


def test_completions_and_failed_attempts_are_counted(bench: Workbench) -> None:
    for _ in range(4):
        bench.add(max_retries=2)
    first, second, third, _ = bench.claim()
    bench.do(Ack(items=[Completion(first.job_id), Completion(second.job_id)]), Fail(items=[Failure(third.job_id)]))

    assert total(bench) == (4, 2, 1)


def test_what_is_said_twice_counts_once(bench: Workbench) -> None:
    bench.add()
    job = bench.take()
    bench.ack(job)
    bench.ack(job)
    bench.complete("nobody")

    assert total(bench) == (1, 1, 0)


@pytest.mark.parametrize("on_conflict", ["keep", "replace", "reschedule"])
def test_duplicates_do_not_count(bench: Workbench, on_conflict: str) -> None:
    bench.add(unique_key="k")
    bench.add(unique_key="k", on_conflict=on_conflict)

    assert total(bench) == (1, 0, 0)


def test_steps_of_a_chain_and_callbacks_count(bench: Workbench) -> None:
    bench.add(chain_config=CHAIN, starts_chain=True)
    bench.run()
    bench.run("next")
    bench.enqueue(NewJob(queue="member"), batch=NewJobBatch("done"))
    bench.run("member")

    assert by_queue(bench) == {
        "q": (1, 1, 0),
        "next": (1, 1, 0),
        "last": (1, 0, 0),
        "member": (1, 1, 0),
        "done": (1, 0, 0),
    }


def test_an_agent_completes_only_when_it_is_done(bench: Workbench) -> None:
    bench.add(agent="{}")
    bench.ack(bench.take(), agent_status="continue")
    assert total(bench) == (1, 0, 0)
    bench.ack(bench.take(), agent_status="done")
    assert total(bench) == (1, 1, 0)


def test_a_job_that_runs_again_completes_again_but_is_not_enqueued_again(bench: Workbench) -> None:
    bench.add()
    job_id = bench.run()
    bench.do(Retry(job_id=job_id))
    bench.run()

    assert total(bench) == (1, 2, 0)


def test_a_moved_job_completes_where_it_is(bench: Workbench) -> None:
    job_id = bench.add("a")
    bench.do(Move(job_id=job_id, queue="b"))
    bench.run("b")

    assert by_queue(bench) == {"a": (1, 0, 0), "b": (0, 1, 0)}


def test_the_past_is_not_changed_by_purging(bench: Workbench) -> None:
    bench.add()
    bench.run()
    bench.advance(1)
    bench.do(Purge(before=bench.now))

    assert total(bench) == (1, 1, 0)


def test_each_minute_has_its_own_figures(bench: Workbench) -> None:
    bench.add()
    bench.advance(MINUTE)
    bench.add()
    bench.add()
    bench.run()

    minutes = read_throughput(bench.machine._db, bench.now)

    assert [(minute.enqueued, minute.completed) for minute in minutes[-3:]] == [(0, 0), (1, 0), (2, 1)]
    assert [minute.minute[-8:] for minute in minutes] == [":00.000Z"] * 60
    assert sorted({minute.minute for minute in minutes}) == [minute.minute for minute in minutes]


def test_only_the_last_hour_is_shown(bench: Workbench) -> None:
    bench.now = START_MINUTE
    bench.add()
    bench.advance(60 * MINUTE - 1)
    assert total(bench) == (1, 0, 0)
    assert read_throughput(bench.machine._db, bench.now)[0].enqueued == 1
    bench.advance(1)
    assert total(bench) == (0, 0, 0)


def test_a_namespace_sees_its_own(bench: Workbench) -> None:
    bench.add("ours::q")
    bench.add("theirs::q")
    bench.add("q")

    assert total(bench, "ours") == (1, 0, 0)
    assert total(bench, "nobody") == (0, 0, 0)
    assert total(bench) == (3, 0, 0)


def test_what_happened_to_a_deleted_queue_has_happened(bench: Workbench) -> None:
    bench.add("a")
    bench.add("b")
    bench.do(Enqueue(jobs=[NewJob(queue="a")]), DeleteQueue(queue="a"))
    bench.do(DeleteQueue(queue="b"))

    assert total(bench) == (3, 0, 0)
    assert by_queue(bench) == {None: (3, 0, 0)}


def test_a_new_queue_does_not_inherit_a_deleted_ones_figures(bench: Workbench) -> None:
    bench.add("old")
    bench.run("old")
    bench.do(DeleteQueue(queue="old"))
    bench.add("new")

    assert by_queue(bench) == {None: (1, 1, 0), "new": (1, 0, 0)}
    assert bench.queue("new").throughput_per_min == 0


def test_figures_are_kept_for_a_day(bench: Workbench) -> None:
    bench.now = START_MINUTE
    bench.add()
    bench.advance(24 * 60 * MINUTE)
    bench.add()
    bench.do(Sweep())
    assert by_queue(bench) == {"q": (2, 0, 0)}
    bench.advance(1)
    bench.do(Sweep())
    assert by_queue(bench) == {"q": (1, 0, 0)}


def test_old_figures_go_in_chunks(bench: Workbench) -> None:
    for _ in range(2):
        bench.do(Enqueue(jobs=[NewJob(queue=f"q{number}") for number in range(CHUNK + 1)]))
        bench.advance(25 * 60 * MINUTE)

    assert bench.do(Sweep()).more
    assert not bench.do(Sweep()).more
    assert set(by_queue(bench).values()) == {(1, 0, 0)}


def test_a_minute_that_is_past_leaves_the_row_of_its_queue(bench: Workbench) -> None:
    bench.now = START_MINUTE
    bench.add()
    bench.add()
    bench.advance(MINUTE)
    bench.add()

    assert bench.rows("SELECT minute, enqueued FROM past_throughput") == [(START_MINUTE, 2)]
    assert bench.rows("SELECT minute, enqueued FROM throughput ORDER BY minute") == [
        (START_MINUTE, 2),
        (START_MINUTE + MINUTE, 1),
    ]


def test_the_rate_of_a_queue_looks_one_minute_back(bench: Workbench) -> None:
    bench.now = START_MINUTE
    for _ in range(4):
        bench.add()
    for _ in range(4):
        bench.run()
    bench.add("other")
    queue_id = bench.rows("SELECT id FROM queue WHERE name = 'q'")[0][0]

    def completed(after: int) -> int:
        now = START_MINUTE + after * 1000
        found = completed_in_last_minute(bench.machine._db, now)
        assert completed_in_last_minute(bench.machine._db, now, queue_id).get(queue_id, 0) == found.get(queue_id, 0)
        return found.get(queue_id, 0)

    assert [completed(after) for after in (0, 59, 61, 90, 120)] == [4, 4, 4, 2, 0]
    assert bench.queue().throughput_per_min == 4


def test_nobody_reads_the_minutes_from_end_to_end(bench: Workbench) -> None:
    bench.add()

    def look() -> None:
        total(bench)
        total(bench, "ours")
        bench.queue()
        bench.do(Sweep())
        bench.do(DeleteQueue(queue="q"))

    steps = [
        step for sql, step in steps_of(bench.machine._db, look) if "throughput" in sql and "past_throughput" in step
    ]

    assert len(steps) >= 5
    assert [step for step in steps if not step.startswith("SEARCH")] == []
