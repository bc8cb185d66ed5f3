"""Why a job is not running: every reason, all that apply, the binding one first."""

from typing import Any

import msgspec
import pytest

from rookery.engine.ops import (
    AnnounceWorker,
    Cancel,
    Delete,
    Enqueue,
    Hold,
    LimitConcurrency,
    NewJob,
    OldJob,
    PauseQueue,
    Purge,
    RestoreJobs,
    Retry,
    SeeWorker,
    Throttle,
)
from rookery.model.job import TERMINAL
from rookery.store.why import explain
from tests.conftest import START
from tests.unit.workbench import Workbench

MINUTE = 60_000
START_TEXT = "2027-01-15T08:00:00.000Z"


def why(bench: Workbench, job_id: str, *, asked: int | None = START, namespace: str = "default") -> dict[str, Any]:
    """The answer as the API gives it; somebody has just asked for the queue unless told otherwise."""
    view = explain(bench.machine._db, job_id, bench.now, asked, namespace)
    assert view is not None
    answer: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(view))
    return answer


def codes(answer: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in answer["reasons"]]


def only(answer: dict[str, Any]) -> dict[str, Any]:
    (reason,) = answer["reasons"]
    found: dict[str, Any] = reason
    return found


def note_throughput(bench: Workbench, minutes_ago: int, completed: int, queue: str = "q") -> None:
    minute = bench.now - bench.now % MINUTE - minutes_ago * MINUTE
    (queue_id,) = bench.rows("SELECT id FROM queue WHERE name = ?", queue)[0]
    bench.rows("INSERT OR REPLACE INTO past_throughput VALUES (?, ?, 0, ?, 0)", minute, queue_id, completed)


def test_the_first_in_line_is_next(bench: Workbench) -> None:
    job_id = bench.add()

    assert why(bench, job_id) == {
        "job_id": job_id,
        "state": "pending",
        "runnable": True,
        "reasons": [
            {"code": "behind_others", "detail": "It is next in line in queue q.", "ahead": 0, "eta": None},
        ],
        "position": 1,
        "ahead": 0,
    }


def test_a_place_in_line_is_by_rank_and_age(bench: Workbench) -> None:
    slow, normal, other = bench.add(), bench.add(), bench.add()
    urgent = bench.add(rank=0)
    bench.add("elsewhere", rank=0)

    assert [why(bench, job_id)["position"] for job_id in (urgent, slow, normal, other)] == [1, 2, 3, 4]
    reason = only(why(bench, other))
    assert (reason["code"], reason["ahead"], reason["eta"]) == ("behind_others", 3, None)
    assert reason["detail"] == "3 jobs are ahead of it in queue q."
    assert only(why(bench, slow))["detail"] == "1 job is ahead of it in queue q."


def test_only_jobs_that_can_be_claimed_are_ahead(bench: Workbench) -> None:
    bench.add(scheduled_at=START + 1000)
    held, done = bench.add(), bench.add()
    bench.do(Hold(job_id=held), Cancel(job_id=done))
    bench.add(depends_on=[held])
    bench.add(expire_after="1s")
    bench.add(expire_after="1h")
    last = bench.add()
    assert why(bench, last)["ahead"] == 2
    bench.advance(1000)

    assert why(bench, last)["ahead"] == 1


def test_a_job_whose_time_is_over_is_not_runnable(bench: Workbench) -> None:
    job_id = bench.add(expire_after="1s")
    bench.advance(1000)

    answer = why(bench, job_id)
    assert (answer["state"], answer["runnable"], answer["reasons"]) == ("pending", False, [])
    assert "position" not in answer


def test_a_running_job_tells_who_runs_it(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take(worker_id="w1")

    assert why(bench, job_id) == {
        "job_id": job_id,
        "state": "active",
        "runnable": False,
        "reasons": [
            {
                "code": "running",
                "detail": f"Worker w1 has been working on it since {START_TEXT}.",
                "worker_id": "w1",
                "since": START_TEXT,
            }
        ],
    }


def test_a_job_may_run_with_a_worker_of_no_name(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take()

    reason = only(why(bench, job_id))
    assert reason["worker_id"] is None
    assert reason["detail"].startswith("A worker ")


@pytest.mark.parametrize("ending", ["completed", "dead", "cancelled", "cancelled while it ran"])
def test_a_finished_job_tells_when(bench: Workbench, ending: str) -> None:
    job_id = bench.add(max_retries=1)
    bench.advance(10)
    if ending == "cancelled":
        bench.do(Cancel(job_id=job_id))
    else:
        job = bench.take()
        if ending == "completed":
            bench.ack(job)
        elif ending == "dead":
            bench.fail(job)
        else:
            bench.do(Cancel(job_id=job_id))
    bench.advance(10)

    reason = only(why(bench, job_id))
    assert (reason["code"], reason["at"]) == ("finished", "2027-01-15T08:00:00.010Z")
    assert reason["at"] in reason["detail"]
    assert why(bench, job_id)["runnable"] is False


def test_a_job_that_was_finished_twice_tells_of_the_second_time(bench: Workbench) -> None:
    job_id = bench.add(max_retries=1)
    bench.do(Cancel(job_id=job_id))
    bench.advance(10)
    bench.do(Retry(job_id=job_id))
    bench.do(Cancel(job_id=job_id))

    assert only(why(bench, job_id))["at"] == "2027-01-15T08:00:00.010Z"


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_a_restored_job_that_does_not_say_when_it_ended_tells_so(bench: Workbench, state: str) -> None:
    new = NewJob(queue="q", id="old")
    past = OldJob(new=new, namespace="default", state=state, created_at=START, order_key=START)
    bench.do(RestoreJobs(jobs=[past]))

    reason = only(why(bench, "old"))
    assert (reason["code"], reason["at"]) == ("finished", START_TEXT)
    assert "nobody wrote down when" in reason["detail"]
    assert reason["detail"].endswith(f"its retention counts from {START_TEXT}.")


def test_a_restored_job_that_says_when_it_died_tells_it(bench: Workbench) -> None:
    new = NewJob(queue="q", id="old")
    past = OldJob(new=new, namespace="default", state="dead", created_at=0, order_key=0, failed_at=START)
    bench.do(RestoreJobs(jobs=[past]))

    assert only(why(bench, "old"))["detail"] == f"It died at {START_TEXT}."


@pytest.mark.parametrize("reason", ["a person must look", None])
def test_a_held_job_tells_why_and_since_when(bench: Workbench, reason: str | None) -> None:
    job_id = bench.add()
    bench.do(Hold(job_id=job_id, reason=reason))
    bench.advance(10)

    found = only(why(bench, job_id))
    assert (found["code"], found["hold_reason"], found["since"]) == ("held", reason, START_TEXT)
    assert (reason or "approve") in found["detail"]


def test_a_scheduled_job_tells_when_it_is_due(bench: Workbench) -> None:
    job_id = bench.add(scheduled_at=START + 90_000)

    assert only(why(bench, job_id)) == {
        "code": "scheduled",
        "detail": "It is scheduled for 2027-01-15T08:01:30.000Z, in 1m30s.",
        "at": "2027-01-15T08:01:30.000Z",
        "in": "1m30s",
    }
    bench.advance(90_001)
    assert only(why(bench, job_id, asked=bench.now))["in"] == "0s"


def test_a_retry_tells_when_it_is_due(bench: Workbench) -> None:
    job_id = bench.add()
    bench.fail(bench.take())

    assert only(why(bench, job_id)) == {
        "code": "retry_backoff",
        "detail": "1 of 3 attempts are used up; the next one is due at 2027-01-15T08:00:05.000Z, in 5s.",
        "at": "2027-01-15T08:00:05.000Z",
        "in": "5s",
    }


def test_a_blocked_job_tells_what_it_waits_for(bench: Workbench) -> None:
    first, second, third = bench.add("a"), bench.add("b"), bench.add("c")
    job_id = bench.add(depends_on=[third, first, second])
    bench.run("b")
    bench.take("a")

    answer = why(bench, job_id)
    assert (answer["state"], answer["runnable"]) == ("pending", False)
    assert "position" not in answer
    assert only(answer) == {
        "code": "waiting_for_dependencies",
        "detail": f"It waits for 2 jobs to complete: {third} is pending, {first} is active.",
        "job_ids": [third, first],
        "dependencies": [{"job_id": third, "state": "pending"}, {"job_id": first, "state": "active"}],
    }


def test_a_dependency_that_is_gone_is_said_to_be(bench: Workbench) -> None:
    deleted, purged, open = bench.add("a"), bench.add("b"), bench.add("c")
    job_id = bench.add(depends_on=[purged, deleted, open])
    bench.run("b")
    bench.advance(1)
    bench.do(Purge(before=bench.now), Delete(job_id=deleted))
    assert not bench.exists(purged)

    assert only(why(bench, job_id))["dependencies"] == [
        {"job_id": deleted, "state": "deleted"},
        {"job_id": open, "state": "pending"},
    ]


def test_a_new_job_with_the_id_of_a_dependency_is_another_one(bench: Workbench) -> None:
    bench.add("a", id="mine")
    job_id = bench.add(depends_on=["mine"])
    bench.do(Delete(job_id="mine"))
    bench.add("a", id="mine")

    assert only(why(bench, job_id))["dependencies"] == [{"job_id": "mine", "state": "deleted"}]


def test_of_many_dependencies_the_sentence_names_a_few(bench: Workbench) -> None:
    ids = [bench.add("a") for _ in range(10)]
    reason = only(why(bench, bench.add(depends_on=ids)))

    assert reason["job_ids"] == ids
    assert reason["detail"].endswith("and 7 more.")


def test_a_paused_queue_is_said_before_the_place_in_line(bench: Workbench) -> None:
    bench.add()
    job_id = bench.add()
    bench.do(PauseQueue(queue="q"))
    note_throughput(bench, 1, 100)
    bench.advance(10)

    answer = why(bench, job_id)
    assert codes(answer) == ["queue_paused", "behind_others"]
    assert (answer["runnable"], answer["position"]) == (False, 2)
    assert answer["reasons"][0] == {
        "code": "queue_paused",
        "detail": f"Queue q has been paused since {START_TEXT}.",
        "since": START_TEXT,
    }
    assert answer["reasons"][1]["eta"] is None


def test_a_full_queue_tells_how_full(bench: Workbench) -> None:
    bench.add(), bench.add()
    job_id = bench.add()
    bench.do(LimitConcurrency(queue="q", max_active=2))
    assert why(bench, job_id)["runnable"] is True
    bench.claim()

    answer = why(bench, job_id)
    assert answer["runnable"] is False
    assert only(answer) == {
        "code": "queue_at_concurrency",
        "detail": "Queue q may run 2 jobs at a time, and 2 are running.",
        "active": 2,
        "max": 2,
    }


def test_a_throttled_queue_tells_when_it_opens(bench: Workbench) -> None:
    for _ in range(3):
        bench.add()
    job_id = bench.add()
    bench.do(Throttle(queue="q", rate=2, window=60_000))
    bench.claim(count=1)
    assert why(bench, job_id)["runnable"] is True
    bench.advance(1000)
    bench.claim(count=1)

    answer = why(bench, job_id)
    assert answer["runnable"] is False
    assert codes(answer) == ["rate_limited", "behind_others"]
    assert answer["reasons"][0] == {
        "code": "rate_limited",
        "detail": "Queue q may begin 2 jobs in 1m; the next may begin at 2027-01-15T08:01:00.000Z.",
        "rate": 2,
        "period": "1m",
        "next_slot_at": "2027-01-15T08:01:00.000Z",
    }
    bench.advance(59_000)
    assert why(bench, job_id, asked=bench.now)["runnable"] is True


def test_no_workers_is_a_reason_but_no_rule(bench: Workbench) -> None:
    job_id = bench.add()

    answer = why(bench, job_id, asked=None)
    assert (answer["runnable"], answer["position"]) == (True, 1)
    assert only(answer) == {
        "code": "no_workers",
        "detail": "No worker has asked for queue q in the last 60 s, and none is known.",
        "last_seen": None,
    }


def test_workers_are_gone_after_a_minute(bench: Workbench) -> None:
    job_id = bench.add()
    bench.advance(59_999)
    assert codes(why(bench, job_id, asked=START)) == ["behind_others"]
    bench.advance(1)

    reason = only(why(bench, job_id, asked=START))
    assert (reason["code"], reason["last_seen"]) == ("no_workers", START_TEXT)
    assert START_TEXT in reason["detail"]


def test_a_registered_worker_of_the_queue_counts(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(SeeWorker(worker_id="w1", queues=("other", "q")), SeeWorker(worker_id="w2", queues=("qq",)))
    assert codes(why(bench, job_id, asked=None)) == ["behind_others"]
    bench.advance(60_000)
    bench.do(SeeWorker(worker_id="w2", queues=("qq",)))

    assert only(why(bench, job_id, asked=None))["last_seen"] == START_TEXT
    assert only(why(bench, job_id, asked=START - 5))["last_seen"] == START_TEXT


def test_a_worker_that_drains_has_asked_for_nothing_since(bench: Workbench) -> None:
    taken, waiting = bench.add(), bench.add()
    job = bench.take(worker_id="w1")
    assert job.job_id == taken
    bench.do(AnnounceWorker(worker_id="w1", draining=True))
    bench.advance(50_000)
    bench.beat(job)
    assert codes(why(bench, waiting, asked=None)) == ["behind_others"]
    bench.advance(10_000)

    assert only(why(bench, waiting, asked=None))["last_seen"] == START_TEXT


def test_all_reasons_are_told_and_the_binding_one_first(bench: Workbench) -> None:
    other = bench.add("other")
    ahead = bench.add(rank=0)
    bench.do(LimitConcurrency(queue="q", max_active=1), Throttle(queue="q", rate=1, window=3_600_000))
    bench.take()
    waiting = bench.add()
    own = {
        "held": bench.add(depends_on=[other]),
        "scheduled": bench.add(depends_on=[other], scheduled_at=START + 10**7),
        "retrying": ahead,
        "blocked": bench.add(depends_on=[other]),
    }
    last = bench.add()
    bench.do(PauseQueue(queue="q"), Hold(job_id=own["held"]))
    bench.advance(70_000)
    of_queue = ["queue_paused", "queue_at_concurrency", "rate_limited", "no_workers"]

    assert codes(why(bench, waiting)) == of_queue
    assert codes(why(bench, last)) == [*of_queue, "behind_others"]
    assert codes(why(bench, own["held"])) == ["held", "waiting_for_dependencies", *of_queue]
    assert codes(why(bench, own["scheduled"])) == ["scheduled", "waiting_for_dependencies", *of_queue]
    assert codes(why(bench, own["blocked"])) == ["waiting_for_dependencies", *of_queue]
    bench.complete(ahead)
    bench.do(Retry(job_id=ahead))
    assert codes(why(bench, waiting)) == ["queue_paused", "rate_limited", "no_workers", "behind_others"]


def test_the_time_of_its_turn_comes_from_the_last_minutes(bench: Workbench) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(30)]))
    job_id = bench.add()
    bench.advance(10 * MINUTE + 30_000)
    for minutes_ago, completed in ((6, 10**6), (5, 40), (1, 60), (0, 10)):
        note_throughput(bench, minutes_ago, completed)
    bench.add("other")
    note_throughput(bench, 2, 10**6, "other")

    # 110 in 5 minutes and a half are 20 a minute; 30 are ahead.
    reason = only(why(bench, job_id, asked=bench.now))
    assert (reason["ahead"], reason["eta"]) == (30, "2027-01-15T08:12:00.000Z")
    assert reason["detail"].endswith("its turn comes at about 2027-01-15T08:12:00.000Z.")


def test_a_young_queue_is_judged_by_its_own_age(bench: Workbench) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(10)]))
    job_id = bench.add()
    bench.advance(20_000)
    note_throughput(bench, 0, 20)

    assert only(why(bench, job_id))["eta"] == "2027-01-15T08:00:30.000Z"


def test_without_recent_completions_nobody_knows_when(bench: Workbench) -> None:
    bench.add()
    job_id = bench.add()
    note_throughput(bench, 6, 100)
    note_throughput(bench, 1, 0)

    assert only(why(bench, job_id))["eta"] is None


def test_without_workers_nobody_knows_when(bench: Workbench) -> None:
    bench.add()
    job_id = bench.add()
    note_throughput(bench, 1, 100)
    assert why(bench, job_id)["reasons"][-1]["eta"] is not None

    assert why(bench, job_id, asked=None)["reasons"][-1]["eta"] is None


def test_names_are_those_of_the_callers_namespace(bench: Workbench) -> None:
    job_id = bench.add("team::q")
    bench.do(PauseQueue(queue="team::q"))

    assert "Queue q has" in only(why(bench, job_id, namespace="team"))["detail"]
    assert "Queue team::q has" in only(why(bench, job_id))["detail"]
    assert explain(bench.machine._db, job_id, bench.now, None, "other") is None


def test_there_is_nothing_to_say_of_an_unknown_job(bench: Workbench) -> None:
    assert explain(bench.machine._db, "nobody", bench.now, None) is None


def test_a_long_line_is_counted_by_its_index(bench: Workbench) -> None:
    job_id = bench.add()
    plans: list[str] = []
    db = bench.machine._db

    def note(_cursor: object, sql: str, bindings: Any) -> bool:
        if "count(*)" in sql and "EXPLAIN" not in sql:
            plans.extend(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", bindings))
        return True

    db.exec_trace = note
    why(bench, job_id)
    db.exec_trace = None
    assert [plan.partition(" (")[0] for plan in plans] == [
        "SEARCH job USING COVERING INDEX job_ready",
        "SEARCH job USING INDEX job_expiring",
    ]
