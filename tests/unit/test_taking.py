"""A worker that has only the store takes its next job: in order, when it is due, unless it is told to stop."""

from typing import Any

import pytest

from rookery.engine.ops import (
    CHUNK,
    Ack,
    AddToTally,
    Completion,
    Count,
    Done,
    Enqueue,
    Fail,
    Failure,
    LoseLeases,
    LostJob,
    NewJob,
    RegisterWorker,
    SaveSetting,
    Taken,
    TakeNext,
)
from tests.conftest import START, Clockwork

POWER: dict[str, Any] = {
    "backoff": "power",
    "base_delay": 2000,
    "max_delay": 0,
    "order_by_due": True,
    "on_lost_lease": "retry_now",
    "max_lost_leases": 5,
}


def add(clockwork: Clockwork, id: str, queue: str = "shell.a", **fields: Any) -> None:
    clockwork.do(Enqueue(jobs=[NewJob(**{"queue": queue, "id": id, **POWER, **fields})]))


def take(clockwork: Clockwork, *queues: str, worker_id: str = "w1") -> Taken:
    taken = clockwork.do(TakeNext(worker_id=worker_id, queues=queues, prefix="shell.", lease=30_000))
    assert isinstance(taken, Taken)
    return taken


def taken_id(clockwork: Clockwork, *queues: str) -> str | None:
    job = take(clockwork, *queues).job
    return None if job is None else job.job_id


def lose(clockwork: Clockwork, taken: Taken) -> None:
    assert taken.job is not None
    clockwork.do(LoseLeases(items=[LostJob(taken.job.job_id, taken.job.lease)]))


def test_lower_ranks_go_first_then_what_was_due_first_then_what_was_there_first(clockwork: Clockwork) -> None:
    add(clockwork, "late", scheduled_at=START + 100)
    add(clockwork, "early", scheduled_at=START + 50)
    add(clockwork, "old")
    add(clockwork, "young")
    add(clockwork, "urgent", queue="shell.b", rank=1)
    clockwork.advance(200)
    add(clockwork, "new")

    order = [taken_id(clockwork) for _ in range(7)]
    assert order == ["urgent", "old", "young", "early", "late", "new", None]


def test_a_job_of_the_future_does_not_stand_in_the_way(clockwork: Clockwork) -> None:
    add(clockwork, "tomorrow", rank=0, scheduled_at=START + 86_400_000)
    add(clockwork, "now")

    assert [taken_id(clockwork) for _ in range(2)] == ["now", None]


def test_all_queues_of_the_prefix_are_served_also_new_ones_or_only_those_named(clockwork: Clockwork) -> None:
    add(clockwork, "other", queue="mail")
    assert taken_id(clockwork) is None
    add(clockwork, "a", queue="shell.a")
    add(clockwork, "b", queue="shell.b")

    assert taken_id(clockwork, "shell.b", "shell.none") == "b"
    assert taken_id(clockwork) == "a"


def test_while_more_is_due_than_a_chunk_nobody_is_first(clockwork: Clockwork) -> None:
    jobs = [NewJob(queue="shell.a", id=f"j{n}", scheduled_at=START + n, **POWER) for n in range(1, CHUNK + 1)]
    clockwork.do(Enqueue(jobs=jobs))
    add(clockwork, "urgent", rank=0, scheduled_at=START + CHUNK + 1)
    clockwork.advance(10_000)

    assert take(clockwork) == Taken(more=True)
    assert taken_id(clockwork) == "urgent"


def test_nothing_is_taken_while_workers_are_told_to_stop(clockwork: Clockwork) -> None:
    add(clockwork, "a")
    clockwork.do(SaveSetting(key="shutdown", value="true"))
    assert take(clockwork) == Taken(is_stopped=True)

    clockwork.do(SaveSetting(key="shutdown", value="false"))
    assert taken_id(clockwork) == "a"


def test_who_was_told_to_stop_stops_even_if_others_were_started_since(clockwork: Clockwork) -> None:
    add(clockwork, "a")
    clockwork.do(RegisterWorker(worker_id="old", pid=1, pid_started=""))
    clockwork.advance(10)
    clockwork.do(SaveSetting(key="stopped_at", value=str(clockwork.now)))
    clockwork.advance(10)
    clockwork.do(RegisterWorker(worker_id="new", pid=2, pid_started=""))

    assert take(clockwork, worker_id="old").is_stopped
    assert take(clockwork, worker_id="new").job is not None


def test_what_has_not_ended_is_counted(clockwork: Clockwork) -> None:
    add(clockwork, "waits", scheduled_at=START + 1000)
    add(clockwork, "runs")
    add(clockwork, "other", queue="shell.b")

    first = take(clockwork, "shell.a")
    assert first.job is not None
    clockwork.do(Fail(items=[Failure("runs", lease=first.job.lease)]))
    assert (first.unended, take(clockwork, "shell.a").unended, take(clockwork, "shell.none").unended) == (2, 2, 0)


def test_an_idle_look_writes_nothing(clockwork: Clockwork) -> None:
    take(clockwork)

    assert not clockwork.machine.has_changes


@pytest.mark.parametrize(
    ("base", "delays"),
    [
        (None, [2000, 4000, 8000]),
        ("3", [3000, 9000, 27_000]),
        ("1.5", [1500, 2250, 3375]),
        ("2.3", [2300, 5290, 12_167]),
        ("1", [1000, 1000, 1000]),
        ("0", [0, 0, 0]),
    ],
)
def test_the_base_of_the_delay_is_that_of_the_moment(clockwork: Clockwork, base: str | None, delays: list[int]) -> None:
    add(clockwork, "a", max_retries=10)
    clockwork.do(SaveSetting(key="backoff_base", value=base))
    waited = []
    for _ in delays:
        job = take(clockwork).job
        assert job is not None
        failed = clockwork.do(Fail(items=[Failure("a", lease=job.lease)])).outcomes[0]
        waited.append(failed.next_attempt_at - clockwork.now)
        clockwork.now = failed.next_attempt_at

    assert waited == delays


def test_no_delay_is_longer_than_time(clockwork: Clockwork) -> None:
    add(clockwork, "a", max_retries=10)
    clockwork.do(SaveSetting(key="backoff_base", value="1e300"))
    for _ in range(2):
        job = take(clockwork).job
        assert job is not None
        failed = clockwork.do(Fail(items=[Failure("a", lease=job.lease)])).outcomes[0]
        clockwork.now = failed.next_attempt_at

    assert failed.status == "retrying"


def test_a_lost_job_is_due_at_once_and_the_fifth_loss_is_a_failure_at_the_base_of_the_moment(
    clockwork: Clockwork,
) -> None:
    add(clockwork, "a", max_retries=2)
    clockwork.do(SaveSetting(key="backoff_base", value="7"))
    for lost in range(5):
        taken = take(clockwork)
        assert taken.job is not None
        assert (taken.lost_leases, taken.job.attempt) == (lost, 1)
        lose(clockwork, taken)

    assert clockwork.rows("SELECT state, failures, scheduled_at FROM job") == [("retrying", 1, clockwork.now + 7000)]


def test_a_run_of_a_job_that_was_lost_is_not_counted(clockwork: Clockwork) -> None:
    add(clockwork, "a")
    late = take(clockwork)
    lose(clockwork, late)
    current = take(clockwork)
    assert late.job is not None
    assert current.job is not None
    counts = [Count("runs", "success", 1)]

    for job in (late.job, current.job):
        told = AddToTally(counts=counts, job_id="a", lease=job.lease)
        clockwork.do(told, Ack(items=[Completion("a", lease=job.lease)]))
        assert isinstance(clockwork.do(told), Done)

    assert clockwork.rows("SELECT * FROM tally") == [("runs", "success", 1.0)]
