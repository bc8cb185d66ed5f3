"""The log of a job: lines with numbers, and what becomes of them."""

from typing import Any

import pytest

from rookery.engine import joblogs
from rookery.engine.ops import (
    CHUNK,
    Appended,
    AppendLogs,
    Cancel,
    ClearQueue,
    Delete,
    Hold,
    LogLine,
    NewJob,
    Purge,
    Refusal,
    Retry,
    Sweep,
)
from rookery.store.events import LARGEST_READ
from rookery.store.joblogs import LogPage, read_log
from tests.conftest import START
from tests.unit.workbench import Workbench, kind_of


def say(bench: Workbench, job_id: str, *messages: str, lease: int | None = None) -> Any:
    return bench.do(AppendLogs(job_id=job_id, lines=[LogLine(message) for message in messages], lease=lease))


def page(bench: Workbench, job_id: str, after: int = 0, limit: int = 100_000) -> LogPage:
    found = read_log(bench.machine._db, job_id, after, limit)
    assert found is not None
    return found


def messages(bench: Workbench, job_id: str) -> list[str]:
    return [line.message for line in page(bench, job_id).lines]


def lines_stored(bench: Workbench) -> int:
    count: int = bench.rows("SELECT count(*) FROM job_log")[0][0]
    return count


def test_lines_are_numbered_on_and_on(bench: Workbench) -> None:
    job_id = bench.add()

    assert say(bench, job_id, "one", "two") == Appended(2)
    assert say(bench, job_id, "three") == Appended(3)
    assert [(line.n, line.message) for line in page(bench, job_id).lines] == [(1, "one"), (2, "two"), (3, "three")]


def test_each_job_has_numbers_of_its_own(bench: Workbench) -> None:
    first, second = bench.add(), bench.add()
    say(bench, first, "a")

    assert say(bench, second, "b") == Appended(1)
    assert messages(bench, first) == ["a"]


def test_a_line_is_of_now_and_of_the_current_attempt_unless_it_says_otherwise(bench: Workbench) -> None:
    bench.add()
    job = bench.take()
    bench.advance(5)
    bench.do(AppendLogs(job_id=job.job_id, lines=[LogLine("a"), LogLine("b", "error", START + 1, 7)]))

    first, second = page(bench, job.job_id).lines
    assert (first.at, first.level, first.attempt) == ("2027-01-15T08:00:00.005Z", "info", 1)
    assert (second.at, second.level, second.attempt) == ("2027-01-15T08:00:00.001Z", "error", 7)


def test_only_so_many_lines_are_kept_and_the_oldest_go(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joblogs, "MOST_LINES", 5)
    job_id = bench.add()
    say(bench, job_id, "1", "2", "3", "4")
    assert page(bench, job_id).dropped == 0

    assert say(bench, job_id, "5", "6", "7") == Appended(7)
    assert messages(bench, job_id) == ["3", "4", "5", "6", "7"]
    assert page(bench, job_id).dropped == 2
    assert page(bench, job_id, after=7).dropped == 2


@pytest.mark.parametrize("state", ["pending", "scheduled", "active", "held", "retrying", "completed", "dead"])
def test_without_a_token_lines_are_taken_in_every_state(bench: Workbench, state: str) -> None:
    job_id = bench.add(
        scheduled_at=START + 1000 if state == "scheduled" else None, max_retries=1 if state == "dead" else 3
    )
    if state in ("active", "retrying", "completed", "dead"):
        job = bench.take()
        if state in ("retrying", "dead"):
            bench.fail(job)
        elif state == "completed":
            bench.ack(job)
    elif state == "held":
        bench.do(Hold(job_id=job_id))
    assert bench.state(job_id) == state

    assert say(bench, job_id, "hello") == Appended(1)


@pytest.mark.parametrize("ending", ["none", "ack", "fail", "cancel", "retry by hand"])
def test_the_holder_of_the_last_claim_may_speak_until_the_next_one(bench: Workbench, ending: str) -> None:
    bench.add(backoff="none")
    job = bench.take()
    if ending in ("ack", "retry by hand"):
        bench.ack(job)
    if ending == "retry by hand":
        bench.do(Retry(job_id=job.job_id))
    if ending == "fail":
        bench.fail(job)
    if ending == "cancel":
        bench.do(Cancel(job_id=job.job_id))

    assert say(bench, job.job_id, "late", lease=job.lease) == Appended(1)


@pytest.mark.parametrize("loss", ["lease ran out", "release", "claimed again", "never given out"])
def test_whoever_has_lost_the_job_is_refused_and_changes_nothing(bench: Workbench, loss: str) -> None:
    bench.add(backoff="none")
    job = bench.take(lease=1000)
    lease = job.lease
    if loss == "lease ran out":
        bench.tick(1001)
    elif loss == "release":
        bench.release(job)
    elif loss == "claimed again":
        bench.fail(job)
        bench.tick()
        bench.take()
    else:
        lease = -1

    assert kind_of(say(bench, job.job_id, "zombie", lease=lease)) == Refusal.LEASE_LOST
    assert messages(bench, job.job_id) == []


def test_there_is_no_log_of_an_unknown_job(bench: Workbench) -> None:
    assert kind_of(say(bench, "nobody", "hello")) == Refusal.NOT_FOUND
    assert read_log(bench.machine._db, "nobody", 0, 10) is None


def test_other_namespaces_see_no_log(bench: Workbench) -> None:
    job_id = bench.add("team::q")
    say(bench, job_id, "hello")
    stranger = AppendLogs(job_id=job_id, lines=[LogLine("x")], namespace="other")

    assert kind_of(bench.do(stranger)) == Refusal.NOT_FOUND
    assert read_log(bench.machine._db, job_id, 0, 10, "other") is None
    assert read_log(bench.machine._db, job_id, 0, 10, "team") == page(bench, job_id)


def test_a_page_tells_where_the_next_one_begins(bench: Workbench) -> None:
    job_id = bench.add()
    assert page(bench, job_id) == LogPage(job_id, [], 0, False, None)
    say(bench, job_id, *"abcde")

    first = page(bench, job_id, limit=2)
    assert ([line.message for line in first.lines], first.has_more, first.next_after) == (["a", "b"], True, 2)
    last = page(bench, job_id, after=2, limit=3)
    assert ([line.message for line in last.lines], last.has_more, last.next_after) == (["c", "d", "e"], False, None)
    assert page(bench, job_id, after=5) == LogPage(job_id, [], 0, False, None)
    assert page(bench, job_id, after=9) == LogPage(job_id, [], 0, False, None)


def test_a_page_of_long_lines_is_shorter(bench: Workbench) -> None:
    job_id = bench.add()
    say(bench, job_id, *["x" * (LARGEST_READ // 2)] * 5)

    first = page(bench, job_id)
    assert (len(first.lines), first.has_more, first.next_after) == (3, True, 3)
    assert len(page(bench, job_id, after=3).lines) == 2


def test_a_batch_notes_which_logs_have_grown(bench: Workbench) -> None:
    first, second = bench.add(), bench.add()
    op = AppendLogs(job_id=second, lines=[LogLine("x")])

    bench.do(op, op, AppendLogs(job_id=first, lines=[LogLine("x")], lease=5))
    assert bench.machine.logged_jobs == [second]
    bench.add()
    assert bench.machine.logged_jobs == []


@pytest.mark.parametrize("way", ["delete", "clear", "purge"])
def test_the_lines_go_with_the_job(bench: Workbench, way: str) -> None:
    gone, kept = bench.add("q"), bench.add("kept")
    say(bench, gone, *["x"] * 3)
    say(bench, kept, *["y"] * 3)
    if way == "delete":
        bench.do(Delete(job_id=gone))
    elif way == "clear":
        bench.do(ClearQueue(queue="q"))
    else:
        bench.run("q")
        bench.advance(1)
        bench.do(Purge(before=bench.now))
    assert read_log(bench.machine._db, gone, 0, 10) is None

    bench.do(Sweep())
    assert lines_stored(bench) == 3
    assert messages(bench, kept) == ["y"] * 3
    assert bench.rows("SELECT * FROM job_log_left") == []


def test_the_lines_of_many_jobs_go_chunk_by_chunk(bench: Workbench) -> None:
    ids = [bench.add() for _ in range(6)]
    for job_id, count in zip(ids, (CHUNK, 1, 2 * CHUNK + 1, 1, 1, 1), strict=True):
        say(bench, job_id, *["x"] * count)
    for job_id in ids:
        bench.do(Delete(job_id=job_id))

    sizes = [lines_stored(bench)]
    while bench.do(Sweep()).more:
        sizes.append(lines_stored(bench))
    assert sizes == [3 * CHUNK + 5, 2 * CHUNK + 5, CHUNK + 5, 5]
    assert lines_stored(bench) == 0
    assert bench.rows("SELECT * FROM job_log_left") == []


def test_a_new_job_of_an_old_id_begins_an_empty_log(bench: Workbench) -> None:
    bench.enqueue(NewJob(queue="q", id="mine"))
    say(bench, "mine", "old")
    bench.do(Delete(job_id="mine"))
    bench.enqueue(NewJob(queue="q", id="mine"))

    assert messages(bench, "mine") == []
    assert say(bench, "mine", "new") == Appended(1)
    bench.do(Sweep())
    assert messages(bench, "mine") == ["new"]
