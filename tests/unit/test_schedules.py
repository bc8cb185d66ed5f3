"""Schedules in the engine: one job a slot, whoever asks for it how often."""

from typing import Any

import msgspec
import pytest

from rookery.engine.ops import (
    Delete,
    DeleteSchedule,
    Done,
    Enqueued,
    NextRun,
    Refusal,
    Retry,
    RunSchedule,
    RunScheduleNow,
    SavedSchedule,
    SaveSchedule,
)
from rookery.store.schedules import Schedule, due_schedules, read_schedule, read_schedules
from tests.conftest import START
from tests.unit.workbench import Workbench, kind_of

CRON, ZONE = "*/5 * * * *", "UTC"
FIVE_MINUTES = 300_000
FIRST = START + FIVE_MINUTES


def save(bench: Workbench, *, next_at: int = FIRST, **fields: Any) -> Any:
    """Make a schedule, or change the one that `schedule_id` names."""
    made = {} if "schedule_id" in fields else {"name": "report", "queue": "q", "cron": CRON, "timezone": ZONE}
    fields = {**made, **fields}
    basis = NextRun(fields.get("cron", CRON), fields.get("timezone", ZONE), next_at)
    return bench.do(SaveSchedule(**{"next": basis, **fields}))


def new(bench: Workbench, **fields: Any) -> str:
    saved = save(bench, **fields)
    assert isinstance(saved, SavedSchedule), saved
    return saved.schedule_id


def schedule(bench: Workbench, schedule_id: str) -> Schedule:
    found = read_schedule(bench.machine._db, schedule_id)
    assert found is not None
    return found


def run(bench: Workbench, schedule_id: str, *slots: int, due: int | None = None, next_run: int | None = None) -> Any:
    """Run slots as the node would, at the time of the last."""
    bench.now = max(bench.now, slots[-1]) if slots else bench.now
    following = bench.now + FIVE_MINUTES if next_run is None else next_run
    op = RunSchedule(
        schedule_id=schedule_id, due=slots[0] if due is None else due, slots=tuple(slots), next_run=following
    )
    return bench.do(op)


def jobs(bench: Workbench, queue: str = "q") -> int:
    return len(bench.jobs_of(queue))


def test_a_new_schedule_has_the_defaults_and_waits_for_its_first_slot(bench: Workbench) -> None:
    made = schedule(bench, new(bench))
    assert made.id.startswith("sched_")
    assert len(made.id) == 32
    assert (made.payload, made.unique_key, made.max_retries) == ("{}", None, 3)
    assert (made.enabled, made.overlap, made.missed) == (True, "allow", "once")
    assert (made.last_run, made.next_run, made.created_at) == (None, FIRST, START)
    assert bench.machine.next_slot == FIRST


def test_a_slot_brings_one_job_as_the_schedule_wants_it(bench: Workbench) -> None:
    schedule_id = new(bench, payload='{"n":1}', max_retries=7)
    result = run(bench, schedule_id, FIRST)
    assert isinstance(result, Enqueued)
    job = bench.job(result.jobs[0].job_id)
    assert (job.queue, bytes(job.payload), job.max_retries, job.state) == ("q", b'{"n":1}', 7, "pending")
    ran = schedule(bench, schedule_id)
    assert (ran.last_run, ran.next_run) == (FIRST, FIRST + FIVE_MINUTES)
    assert bench.machine.next_slot == FIRST + FIVE_MINUTES


def test_the_timeline_says_which_schedule_and_slot_a_job_is_from(bench: Workbench) -> None:
    schedule_id = new(bench)
    run(bench, schedule_id, FIRST)
    bench.do(RunScheduleNow(schedule_id=schedule_id))
    assert [data for (data,) in bench.rows("SELECT data FROM event WHERE type = 'enqueued' ORDER BY seq")] == [
        '{"schedule":"report","slot":"2027-01-15T08:05:00.000Z"}',
        '{"schedule":"report","slot":null}',
    ]


def test_a_slot_runs_once_however_often_it_is_proposed(bench: Workbench) -> None:
    schedule_id = new(bench)
    run(bench, schedule_id, FIRST)
    again = run(bench, schedule_id, FIRST)
    assert kind_of(again) == Refusal.STALE
    assert jobs(bench) == 1
    assert schedule(bench, schedule_id).next_run == FIRST + FIVE_MINUTES


def test_a_slot_runs_once_also_if_it_is_proposed_twice_in_one_batch(bench: Workbench) -> None:
    schedule_id = new(bench)
    op = RunSchedule(schedule_id=schedule_id, due=FIRST, slots=(FIRST,), next_run=FIRST + FIVE_MINUTES)
    first, second = bench.do(op, op)
    assert isinstance(first, Enqueued)
    assert kind_of(second) == Refusal.STALE
    assert jobs(bench) == 1


def test_several_slots_bring_a_job_each_in_their_order(bench: Workbench) -> None:
    schedule_id = new(bench)
    slots = [FIRST + n * FIVE_MINUTES for n in range(3)]
    assert len(run(bench, schedule_id, *slots).jobs) == 3
    told = [msgspec.json.decode(data)["slot"] for (data,) in bench.rows("SELECT data FROM event ORDER BY seq")]
    assert told == [f"2027-01-15T08:{minute}:00.000Z" for minute in ("05", "10", "15")]
    assert jobs(bench) == 3


def test_no_slot_to_run_moves_the_schedule_on(bench: Workbench) -> None:
    schedule_id = new(bench)
    assert run(bench, schedule_id, due=FIRST, next_run=FIRST + FIVE_MINUTES).jobs == []
    moved = schedule(bench, schedule_id)
    assert (moved.last_run, moved.next_run, jobs(bench)) == (None, FIRST + FIVE_MINUTES, 0)


# --- overlap


@pytest.mark.parametrize(("overlap", "expected"), [("allow", 2), ("skip", 1)])
def test_overlap_says_whether_a_slot_waits_for_the_last_job(bench: Workbench, overlap: str, expected: int) -> None:
    schedule_id = new(bench, overlap=overlap)
    run(bench, schedule_id, FIRST)
    bench.take()
    run(bench, schedule_id, FIRST + FIVE_MINUTES)
    after = schedule(bench, schedule_id)
    assert jobs(bench) == expected
    assert after.last_run == (FIRST if overlap == "skip" else FIRST + FIVE_MINUTES)
    assert after.next_run == FIRST + 2 * FIVE_MINUTES


def test_a_slot_runs_when_the_last_job_has_ended_or_is_gone(bench: Workbench) -> None:
    schedule_id = new(bench, overlap="skip")
    run(bench, schedule_id, FIRST)
    bench.run()
    second = run(bench, schedule_id, FIRST + FIVE_MINUTES).jobs[0].job_id
    bench.do(Delete(job_id=second))
    assert len(run(bench, schedule_id, FIRST + 2 * FIVE_MINUTES).jobs) == 1


def test_of_several_slots_only_the_first_runs_if_they_may_not_overlap(bench: Workbench) -> None:
    schedule_id = new(bench, overlap="skip")
    assert len(run(bench, schedule_id, FIRST, FIRST + FIVE_MINUTES).jobs) == 1
    assert jobs(bench) == 1


def test_a_job_that_was_retried_by_hand_is_unfinished_again(bench: Workbench) -> None:
    schedule_id = new(bench, overlap="skip")
    run(bench, schedule_id, FIRST)
    bench.do(Retry(job_id=bench.run()))
    assert run(bench, schedule_id, FIRST + FIVE_MINUTES).jobs == []
    bench.run()
    assert len(run(bench, schedule_id, FIRST + 2 * FIVE_MINUTES).jobs) == 1


# --- unique keys


def test_a_duplicate_skips_the_run(bench: Workbench) -> None:
    schedule_id = new(bench, unique_key="k")
    first = run(bench, schedule_id, FIRST).jobs[0]
    second = run(bench, schedule_id, FIRST + FIVE_MINUTES).jobs[0]
    assert (second.job_id, second.status) == (first.job_id, "duplicate")
    after = schedule(bench, schedule_id)
    assert (jobs(bench), after.last_run, after.next_run) == (1, FIRST, FIRST + 2 * FIVE_MINUTES)


def test_the_unique_key_is_held_for_an_hour(bench: Workbench) -> None:
    schedule_id = new(bench, unique_key="k")
    job_id = run(bench, schedule_id, FIRST).jobs[0].job_id
    assert (bench.job(job_id).unique_key, bench.job(job_id).unique_period) == ("k", 3600)
    run(bench, schedule_id, FIRST + 3_600_000, due=FIRST + FIVE_MINUTES)
    assert jobs(bench) == 2


# --- by hand


def test_a_run_by_hand_leaves_the_slots_alone(bench: Workbench) -> None:
    schedule_id = new(bench)
    bench.advance(1000)
    assert bench.do(RunScheduleNow(schedule_id=schedule_id)).jobs[0].status == "pending"
    ran = schedule(bench, schedule_id)
    assert (ran.last_run, ran.next_run, jobs(bench)) == (START + 1000, FIRST, 1)


def test_a_paused_schedule_can_be_run_by_hand_and_waits_for_nothing(bench: Workbench) -> None:
    schedule_id = new(bench, enabled=False)
    assert bench.machine.next_slot is None
    assert bench.do(RunScheduleNow(schedule_id=schedule_id)).jobs[0].status == "pending"
    assert schedule(bench, schedule_id).next_run is None


def test_a_run_by_hand_is_the_last_run_that_a_slot_waits_for(bench: Workbench) -> None:
    schedule_id = new(bench, overlap="skip")
    bench.do(RunScheduleNow(schedule_id=schedule_id))
    assert run(bench, schedule_id, FIRST).jobs == []
    bench.do(RunScheduleNow(schedule_id=schedule_id))
    assert jobs(bench) == 2


# --- changing


def test_only_what_is_given_changes(bench: Workbench) -> None:
    schedule_id = new(bench, payload="[1]", unique_key="k", overlap="skip", missed="all", max_retries=1)
    before = schedule(bench, schedule_id)
    save(bench, schedule_id=schedule_id, payload="[2]", next_at=FIRST + 1)
    after = schedule(bench, schedule_id)
    assert after.payload == "[2]"
    assert {field for field in before.__struct_fields__ if getattr(before, field) != getattr(after, field)} == {
        "payload"
    }


def test_another_time_gives_another_next_run(bench: Workbench) -> None:
    schedule_id = new(bench)
    save(bench, schedule_id=schedule_id, cron="0 0 * * *", next_at=FIRST + 5)
    assert schedule(bench, schedule_id).next_run == FIRST + 5
    save(bench, schedule_id=schedule_id, cron="0 0 * * *", timezone="Asia/Tokyo", next_at=FIRST + 9)
    assert schedule(bench, schedule_id).next_run == bench.machine.next_slot == FIRST + 9


def test_a_next_run_that_was_computed_for_other_times_is_refused(bench: Workbench) -> None:
    schedule_id = new(bench)
    save(bench, schedule_id=schedule_id, cron="0 0 * * *", next_at=FIRST + 5)
    late = SaveSchedule(schedule_id=schedule_id, timezone="Asia/Tokyo", next=NextRun(CRON, "Asia/Tokyo", FIRST + 7))
    assert kind_of(bench.do(late)) == Refusal.STALE
    kept = schedule(bench, schedule_id)
    assert (kept.cron, kept.timezone, kept.next_run) == ("0 0 * * *", "UTC", FIRST + 5)


def test_a_slot_that_is_due_is_not_lost_by_a_change_of_something_else(bench: Workbench) -> None:
    schedule_id = new(bench)
    bench.now = FIRST + 1
    save(bench, schedule_id=schedule_id, payload="[2]", next_at=FIRST + FIVE_MINUTES)
    save(bench, schedule_id=schedule_id, enabled=True, next_at=FIRST + FIVE_MINUTES)
    assert schedule(bench, schedule_id).next_run == FIRST


def test_pausing_forgets_the_next_slot_and_resuming_takes_the_next(bench: Workbench) -> None:
    schedule_id = new(bench)
    save(bench, schedule_id=schedule_id, enabled=False)
    assert (schedule(bench, schedule_id).next_run, bench.machine.next_slot) == (None, None)
    bench.now = FIRST + 10 * FIVE_MINUTES
    save(bench, schedule_id=schedule_id, enabled=True, next_at=FIRST + 11 * FIVE_MINUTES)
    assert schedule(bench, schedule_id).next_run == FIRST + 11 * FIVE_MINUTES


def test_a_slot_proposed_before_a_pause_does_not_run_after_it(bench: Workbench) -> None:
    schedule_id = new(bench)
    save(bench, schedule_id=schedule_id, enabled=False)
    assert kind_of(run(bench, schedule_id, FIRST)) == Refusal.STALE
    assert jobs(bench) == 0


def test_an_empty_unique_key_takes_it_away(bench: Workbench) -> None:
    schedule_id = new(bench, unique_key="k")
    save(bench, schedule_id=schedule_id, unique_key="")
    assert schedule(bench, schedule_id).unique_key is None


def test_a_name_can_be_taken_once(bench: Workbench) -> None:
    first, second = new(bench, name="a"), new(bench, name="b")
    assert kind_of(save(bench, name="a")) == Refusal.CONFLICT
    assert kind_of(save(bench, schedule_id=second, name="a")) == Refusal.CONFLICT
    assert schedule(bench, second).name == "b"
    assert isinstance(save(bench, schedule_id=first, name="a"), SavedSchedule)
    assert [found.name for found in read_schedules(bench.machine._db)] == ["a", "b"]


def test_a_deleted_schedule_is_gone_and_its_jobs_stay(bench: Workbench) -> None:
    schedule_id = new(bench)
    run(bench, schedule_id, FIRST)
    assert bench.do(DeleteSchedule(schedule_id=schedule_id)) == Done("deleted")
    assert (read_schedules(bench.machine._db), bench.machine.next_slot, jobs(bench)) == ([], None, 1)
    for op in (
        DeleteSchedule(schedule_id=schedule_id),
        RunScheduleNow(schedule_id=schedule_id),
        RunSchedule(schedule_id=schedule_id, due=FIRST, slots=(FIRST,), next_run=None),
        SaveSchedule(schedule_id=schedule_id, name="x", next=NextRun(CRON, ZONE, FIRST)),
    ):
        assert kind_of(bench.do(op)) == Refusal.NOT_FOUND


# --- namespaces


def test_a_schedule_belongs_to_the_namespace_of_its_queue(bench: Workbench) -> None:
    ours = new(bench, queue="a::q")
    theirs = new(bench, queue="b::q")
    assert [found.id for found in read_schedules(bench.machine._db, "a")] == [ours]
    assert [found.id for found in read_schedules(bench.machine._db)] == [ours, theirs]
    assert kind_of(bench.do(DeleteSchedule(schedule_id=theirs, namespace="a"))) == Refusal.NOT_FOUND
    assert kind_of(bench.do(RunScheduleNow(schedule_id=theirs, namespace="a"))) == Refusal.NOT_FOUND
    assert kind_of(save(bench, schedule_id=theirs, name="x", namespace="a")) == Refusal.NOT_FOUND
    run(bench, ours, FIRST)
    assert (jobs(bench, "a::q"), jobs(bench, "b::q")) == (1, 0)


def test_a_schedule_that_gets_a_queue_elsewhere_goes_there(bench: Workbench) -> None:
    moving, _ = new(bench, queue="a::q", name="n"), new(bench, queue="b::q", name="n")
    assert kind_of(save(bench, schedule_id=moving, queue="b::other")) == Refusal.CONFLICT
    save(bench, schedule_id=moving, queue="b::other", name="m")
    assert [found.name for found in read_schedules(bench.machine._db, "b")] == ["m", "n"]


# --- what is due


def test_the_longest_due_come_first_and_paused_ones_never(bench: Workbench) -> None:
    late = new(bench, name="late", next_at=FIRST + 2)
    early = new(bench, name="early", next_at=FIRST + 1)
    new(bench, name="future", next_at=FIRST + 100)
    new(bench, name="paused", enabled=False)
    assert [found.id for found in due_schedules(bench.machine._db, FIRST + 2, 10)] == [early, late]
    assert [found.id for found in due_schedules(bench.machine._db, FIRST + 2, 1)] == [early]
    assert due_schedules(bench.machine._db, FIRST, 10) == []
    assert bench.machine.next_slot == FIRST + 1


def test_the_next_slot_is_known_again_after_a_restart(tmp_path: Any) -> None:
    first = Workbench(str(tmp_path / "store.db"))
    schedule_id = new(first)
    first.machine.close()
    second = Workbench(str(tmp_path / "store.db"))
    second.tick()
    assert second.machine.next_slot == FIRST
    assert len(run(second, schedule_id, FIRST).jobs) == 1
    second.machine.close()
