"""Fetching jobs and saying how they went, through both clients."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rookery import Ack, Agent, Beat, InvalidRequest, LeaseLost, NewJob, NewLine, NotFound, Usage
from tests.conftest import Api


def started(client: Any, queue: str, **options: Any) -> Any:
    client.enqueue(queue, {"n": 1}, **options)
    return client.fetch(queue, worker_id="w1", hostname="here", lease_duration="2m")


def test_a_fetched_job_has_everything_that_a_worker_needs(client: Any, queue: str) -> None:
    job = started(client, queue, priority="high", tags={"a": "b"}, checkpoint=[1], max_retries=5)
    assert (job.queue, job.payload, job.attempt, job.max_retries) == (queue, {"n": 1}, 1, 5)
    assert (job.lease_duration, job.tags, job.checkpoint, job.priority) == (120, {"a": "b"}, [1], 1)
    assert job.payload_as(dict[str, int]) == {"n": 1}
    assert client.get(job).worker.id == "w1"


def test_a_worker_of_ones_own_says_its_slots_and_that_it_drains(client: Any, queue: str) -> None:
    client.announce_worker(f"{queue}/1", hostname="here", queues=queue, slots=4)
    client.announce_worker(f"{queue}/1", draining=True)
    (worker,) = [worker for worker in client.workers() if worker.id == f"{queue}/1"]
    assert (worker.hostname, worker.queues, worker.slots, worker.draining) == ("here", [queue], 4, True)
    client.announce_worker(f"{queue}/1", queues=["a", "b"], draining=False)
    (worker,) = [worker for worker in client.workers() if worker.id == f"{queue}/1"]
    assert (worker.queues, worker.slots, worker.draining) == (["a", "b"], 4, False)
    with pytest.raises(InvalidRequest, match="slots"):
        client.announce_worker(queue, slots=0)


def test_a_fetch_with_no_time_answers_at_once(client: Any, queue: str) -> None:
    assert client.fetch(queue, timeout=0) is None
    assert client.fetch_many([queue, f"{queue}.other"], 5, timeout="1ms") == []


def test_several_jobs_are_fetched_at_once(client: Any, queue: str) -> None:
    client.enqueue_many([NewJob(queue, n) for n in range(5)])
    assert [job.payload for job in client.fetch_many([queue], 3)] == [0, 1, 2]


def test_an_acked_job_has_its_result(client: Any, queue: str) -> None:
    job = started(client, queue)
    client.ack(job, {"sent": True}, checkpoint="c", usage=Usage(input_tokens=5, model="m", cost_usd=0.1))
    done = client.get(job)
    assert (done.state, done.result, done.checkpoint) == ("completed", {"sent": True}, "c")
    assert done.is_completed
    assert done.has_ended
    assert done.result_as(dict[str, bool]) == {"sent": True}


def test_an_ack_can_be_said_twice(client: Any, queue: str) -> None:
    job = started(client, queue)
    client.ack(job)
    client.ack(job)
    with pytest.raises(InvalidRequest) as caught:
        client.ack(job.job_id)
    assert caught.value.code == "ACK_ERROR"


def test_who_has_lost_the_lease_is_told(client: Any, queue: str) -> None:
    job = started(client, queue)
    client.release(job)
    again = client.fetch(queue)
    assert (again.job_id, again.attempt) == (job.job_id, 1)
    for late in (
        lambda: client.ack(job),
        lambda: client.fail(job, "no"),
        lambda: client.release(job),
        lambda: client.progress(job, 1),
        lambda: client.add_logs(job, "late"),
    ):
        with pytest.raises(LeaseLost) as caught:
            late()
        assert caught.value.status == 409
    assert client.heartbeat([job]).to_stop == {job.job_id: "lost"}
    assert client.ack_many([job]).lost == [job.job_id]
    client.ack(job.job_id, lease_token=again.lease_token)


def test_a_failed_attempt_says_when_the_next_is(client: Any, queue: str) -> None:
    job = started(client, queue, max_retries=2, retry_backoff="fixed", retry_base_delay="5m")
    try:
        raise ValueError("mailbox full")
    except ValueError as error:
        failed = client.fail(job, error)
    assert (failed.status, failed.attempts_remaining, failed.attempt) == ("retrying", 1, 1)
    assert (failed.next_attempt_at - client.get(job).failed_at).total_seconds() == 300
    [error] = client.get(job).errors
    assert error.error == "ValueError: mailbox full"
    assert error.backtrace.endswith("ValueError: mailbox full\n")
    assert "test_a_failed_attempt_says_when_the_next_is" in error.backtrace


def test_a_worker_may_say_when_to_try_again_or_that_nobody_should(client: Any, queue: str) -> None:
    failed = client.fail(started(client, queue), "come back", retry_after="30m")
    assert failed.status == "retrying"
    assert timedelta(minutes=29) < failed.next_attempt_at - datetime.now(UTC) < timedelta(minutes=31)
    for end in ("dead", "cancelled"):
        job = started(client, queue)
        assert client.fail(job, "enough", end=end).status == end
        assert client.get(job).state == end


def test_a_job_that_is_handed_back_costs_no_attempt(client: Any, queue: str) -> None:
    job = started(client, queue)
    assert client.release(job, delay="1h", checkpoint={"page": 2}, reason="shutting down") == "scheduled"
    back = client.get(job)
    assert (back.state, back.attempt, back.checkpoint) == ("scheduled", 0, {"page": 2})


def test_heartbeats_say_which_jobs_to_stop(client: Any, queue: str) -> None:
    client.enqueue_many([NewJob(queue, n) for n in range(2)])
    one, two = client.fetch_many(queue, 2)
    client.cancel(two)
    beats = {one.job_id: Beat(lease_token=one.lease_token, progress=50), two.job_id: None, "job_none": None}
    answer = client.heartbeat(beats)
    assert answer.to_stop == {two.job_id: "cancel", "job_none": "cancel"}
    assert (answer.acked, answer.unknown, answer.canceled) == ([one.job_id], ["job_none"], [two.job_id])
    assert client.get(one).progress == 50
    assert client.heartbeat([]).jobs == {}


def test_progress_is_told_and_says_whether_to_go_on(client: Any, queue: str) -> None:
    job = started(client, queue)
    assert client.progress(job, {"percent": 40}, checkpoint={"page": 12}) is True
    seen = client.get(job)
    assert (seen.progress, seen.checkpoint) == ({"percent": 40}, {"page": 12})
    client.cancel(job)
    assert client.progress(job) is False


def test_many_acks_are_sent_in_parts(client: Any, queue: str) -> None:
    client.enqueue_many([NewJob(queue, n) for n in range(600)])
    jobs = client.fetch_many(queue, 512) + client.fetch_many(queue, 512)
    assert len(jobs) == 600
    assert client.ack_many(Ack(job=job, result=job.payload) for job in jobs).acked == 600
    assert [job.result for job in client.get_many(jobs[-2:])] == [598, 599]
    assert client.ack_many([]).acked == 0


def test_lines_of_a_log_are_added_and_read(client: Any, queue: str) -> None:
    job = started(client, queue)
    assert client.add_logs(job, "one", level="debug").last == 1
    assert client.add_logs(job, NewLine("two", "warning", at="2026-01-01T00:00:00Z", attempt=1)).appended == 1
    assert client.add_logs(job, [f"line {n}" for n in range(1500)]).appended == 1500
    assert client.add_logs(job, ["y" * 90_000] * 4).last == 1506
    lines = list(client.logs(job))
    assert [line.n for line in lines] == list(range(1, 1507))
    assert (lines[0].message, lines[0].level, lines[1].level, lines[1].at.year) == ("one", "debug", "warning", 2026)
    assert next(client.logs(job, after=1501)).message == "line 1499"


def test_a_log_is_followed_until_the_job_has_ended(client: Any, queue: str, api: Api) -> None:
    job = started(client, queue)
    client.add_logs(job, ["a", "b", "c"])
    lines = client.follow_logs(job, after=1)
    assert next(lines).message == "b"
    assert next(lines).message == "c"
    api.post(f"/jobs/{job.job_id}/logs", {"lines": [{"message": "d"}]})
    assert next(lines).message == "d"
    api.post(f"/ack/{job.job_id}", {})
    assert list(lines) == []


def test_an_agent_job_goes_round_until_it_is_done(client: Any, queue: str) -> None:
    job = started(client, queue, agent=Agent(max_iterations=5))
    client.ack(job, agent_status="continue", checkpoint={"thought": 1})
    job = client.fetch(queue)
    assert (job.agent["iteration"], job.checkpoint) == (2, {"thought": 1})
    client.ack(job, agent_status="hold", hold_reason="may I?")
    assert client.get(job).hold_reason == "may I?"


def test_a_job_that_there_is_not_is_not_found(client: Any) -> None:
    for call in (
        client.get,
        client.ack,
        client.retry,
        client.cancel,
        client.delete,
        client.hold,
        client.why,
        client.wait,
    ):
        with pytest.raises(NotFound):
            call("job_none")
    with pytest.raises(NotFound):
        next(client.follow_logs("job_none"))
    with pytest.raises(ValueError, match="'' is neither an id nor a name"):
        client.get("")
