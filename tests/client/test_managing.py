"""Looking at jobs, finding them, and acting on one or many, through both clients."""

import threading
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from rookery import (
    BulkFailed,
    BulkFailure,
    BulkProgress,
    InvalidRequest,
    JobFailed,
    NewJob,
    NotFound,
    Usage,
    WaitTimeout,
)
from rookery.client import async_client
from rookery.client import client as sync_client
from tests.client.conftest import Connect
from tests.conftest import Api, ServerProcess, wait_for


def test_waiting_ends_when_the_job_has(client: Any, queue: str, api: Api) -> None:
    job = client.enqueue(queue)
    threading.Timer(0.2, lambda: api.post(f"/ack/{api.fetch(queue)['job_id']}", {"result": [1, 2]})).start()
    assert client.result(job, timeout="20s") == [1, 2]
    assert client.wait(job).state == "completed"


def test_who_waits_too_long_is_told_how_the_job_stands(client: Any, queue: str) -> None:
    job = client.enqueue(queue)
    with pytest.raises(WaitTimeout, match=f"job {job.job_id} is still pending") as caught:
        client.wait(job, timeout=0.05)
    assert caught.value.job.state == "pending"
    with pytest.raises(WaitTimeout):
        client.result(job, timeout=timedelta(0))


def test_waiting_goes_on_over_many_requests(client: Any, queue: str, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_client, "LONGEST_POLL", 0.05)
    monkeypatch.setattr(async_client, "LONGEST_POLL", 0.05)
    job = client.enqueue(queue)
    threading.Timer(0.3, lambda: api.post(f"/ack/{api.fetch(queue)['job_id']}", {})).start()
    assert client.wait(job).is_completed


def test_a_result_that_will_never_come_is_an_error(client: Any, queue: str) -> None:
    job = client.enqueue(queue, max_retries=1)
    client.fail(client.fetch(queue), "boom")
    with pytest.raises(JobFailed, match=f"job {job.job_id} is dead: boom") as caught:
        client.result(job)
    assert caught.value.job.last_error == "boom"
    client.retry(job)
    client.cancel(job)
    with pytest.raises(JobFailed, match="is cancelled"):
        client.result(job)


def test_a_job_is_cancelled_retried_moved_held_approved_rejected_and_deleted(client: Any, queue: str) -> None:
    job = client.enqueue(queue)
    client.cancel(job)
    assert client.get(job).state == "cancelled"
    client.retry(job)
    assert client.get(job).state == "pending"
    client.move(job, f"{queue}.other", priority="high")
    assert (client.get(job).queue, client.get(job).priority) == (f"{queue}.other", 1)
    client.hold(job, "let me see")
    assert (client.get(job).state, client.get(job).hold_reason) == ("held", "let me see")
    client.approve(job)
    assert client.get(job).state == "pending"
    client.hold(job)
    client.reject(job)
    assert client.get(job).state == "dead"
    with pytest.raises(InvalidRequest) as caught:
        client.approve(job)
    assert caught.value.code == "APPROVE_ERROR"
    client.delete(job)
    with pytest.raises(NotFound):
        client.get(job)


def test_why_a_job_is_not_running(client: Any, queue: str) -> None:
    job = client.enqueue(queue, delay="1h")
    client.pause(queue)
    why = client.why(job)
    assert (why.state, why.runnable) == ("scheduled", False)
    reasons = {reason.code: reason for reason in why.reasons}
    assert reasons["scheduled"].at == client.get(job).scheduled_at
    assert reasons["scheduled"].in_
    assert reasons["queue_paused"].since is not None
    assert "paused" in reasons["queue_paused"].detail


def test_the_history_of_a_job(client: Any, queue: str) -> None:
    job = client.enqueue(queue)
    client.ack(client.fetch(queue))
    history = client.history(job)
    assert [event.type for event in history] == ["enqueued", "started", "completed"]
    assert history[0].at == client.get(job).created_at
    assert client.event_page(queues=queue, types=["started"], after=history[0].seq, limit=5) == [history[1]]


def test_a_search_goes_through_all_pages(client: Any, queue: str) -> None:
    added = client.enqueue_many([NewJob(queue, {"n": n}) for n in range(450)])
    assert [job.id for job in client.search(queue=queue, order="asc")] == added.job_ids
    assert [job.payload["n"] for job in client.search(queue=queue, limit=250)] == list(range(449, 199, -1))
    assert list(client.search(queue=queue, limit=0)) == []
    page = client.search_page(queue=queue, limit=3)
    assert (len(page.jobs), page.total, page.has_more) == (3, 450, True)
    follower = client.search_page(queue=queue, limit=3, cursor=page.cursor)
    assert follower.jobs[0].payload == {"n": 446}
    assert client.count(queue=queue, payload_jq=".n >= 440") == 10


def test_jobs_are_found_by_anything(client: Any, queue: str) -> None:
    job = client.enqueue(queue, {"to": "ada"}, tags={"team": "blue"}, priority="high", unique_key="k")
    client.enqueue(queue, {"to": "bob"})
    now = datetime.now(UTC)
    for filters in (
        {"tags": {"team": "blue"}},
        {"state": ["pending", "dead"], "priority": "high"},
        {"state": "pending", "unique_key": "k"},
        {"payload_contains": "ada"},
        {"created_after": now - timedelta(hours=1), "created_before": now + timedelta(hours=1), "priority": 1},
        {"created_after": date(2020, 1, 1), "has_errors": False, "tags": {"team": "blue"}},
        {"job_id_prefix": job.job_id},
    ):
        assert [found.id for found in client.search(queue=queue, **filters)] == [job.job_id], filters
    assert client.count(queue=queue, error_contains="x") == 0
    waiting = client.enqueue(f"{queue}-after", depends_on=[job])
    for first in (job, job.job_id):
        assert [found.id for found in client.search(depends_on=first)] == [waiting.job_id]


def test_a_filter_that_there_is_not_is_refused(client: Any) -> None:
    with pytest.raises(TypeError, match=r"jobs cannot be searched by 'states' \(did you mean 'state'\?\)"):
        list(client.search(states="dead"))
    with pytest.raises(TypeError, match="'payload_has'"):
        client.bulk("delete", filter={"payload_has": "x"})
    with pytest.raises(InvalidRequest, match="state"):
        client.count(state="asleep")


def test_the_dead_are_listed(client: Any, queue: str) -> None:
    client.enqueue_many([NewJob(queue, n, max_retries=1) for n in range(3)])
    for job in client.fetch_many(queue, 3):
        client.fail(job, f"no {job.payload}")
    assert [(job.payload, job.last_error) for job in client.dead(queue)] == [(2, "no 2"), (1, "no 1"), (0, "no 0")]


def test_jobs_are_found_by_their_words(client: Any, queue: str) -> None:
    job = client.enqueue(queue, {"text": f"wombat{abs(hash(queue))}"})
    [hit] = wait_for(lambda: client.find(f"wombat{abs(hash(queue))}", limit=3))
    assert (hit.id, hit.queue, hit.state) == (job.job_id, queue, "pending")


def test_many_jobs_by_their_ids(client: Any, queue: str) -> None:
    ids = client.enqueue_many([NewJob(queue, n) for n in range(1100)]).job_ids
    assert [job.id for job in client.get_many([*ids, "job_none"])] == ids
    assert client.get_many([]) == []


def test_one_thing_is_done_to_many_jobs(client: Any, queue: str) -> None:
    ids = client.enqueue_many([NewJob(queue, {"n": n}) for n in range(5)]).job_ids
    result = client.bulk("cancel", jobs=[*ids[:2], "job_none"])
    assert (result.status, result.affected, result.skipped, result.operation_id) == ("completed", 2, 1, None)
    assert client.bulk("retry", filter={"queue": queue, "state": "cancelled"}).affected == 2
    assert client.bulk("move", filter={"queue": queue}, to_queue=f"{queue}.b").affected == 5
    assert client.bulk("change_priority", filter={"queue": f"{queue}.b"}, priority="high").affected == 5
    assert client.bulk("delete", jobs=[]).affected == 0
    assert client.count(queue=f"{queue}.b", priority="high") == 5
    with pytest.raises(TypeError, match="either jobs or a filter"):
        client.bulk("delete")
    with pytest.raises(InvalidRequest):
        client.bulk("explode", jobs=ids)


def test_very_many_jobs_are_done_in_the_background(client: Any, queue: str) -> None:
    client.enqueue_many([NewJob(queue) for _ in range(10_001)])
    told: list[Any] = []
    result = client.bulk("cancel", filter={"queue": queue}, on_progress=told.append)
    assert (result.status, result.affected, result.total) == ("completed", 10_001, 10_001)
    assert (told[-1].status, told[-1].percent) == ("completed", 100.0)
    assert client.bulk_status(result.operation_id).affected == 10_001


def test_nobody_has_to_wait_for_it(client: Any, queue: str) -> None:
    client.enqueue_many([NewJob(queue) for _ in range(20)])
    begun = client.bulk("cancel", filter={"queue": queue}, wait=False)
    assert (begun.status, begun.total) == ("processing", 20)
    wait_for(lambda: client.bulk_status(begun.operation_id).status == "completed")
    with pytest.raises(InvalidRequest):
        client.cancel_bulk(begun.operation_id)
    with pytest.raises(NotFound):
        client.bulk_status("bulk_none")


def test_what_could_not_be_changed_is_named(client: Any, queue: str) -> None:
    job = client.enqueue(queue)
    client.hold(job)
    begun = client.bulk("cancel", jobs=[job.job_id, "job_none"], wait=False)
    wait_for(lambda: client.bulk_status(begun.operation_id).status == "completed")
    assert client.bulk_status(begun.operation_id).failures == [
        BulkFailure(job_id=job.job_id, error="cannot cancel it: it is held"),
        BulkFailure(job_id="job_none", error="not found"),
    ]


@pytest.mark.parametrize("filter", [{}, {"queue": None}, {"state": "dead", "queue": None}])
def test_a_filter_that_was_left_empty_by_mistake_does_nothing(client: Any, queue: str, filter: Any) -> None:
    job = client.enqueue(queue)

    with pytest.raises(ValueError, match="would match"):
        client.bulk("cancel", filter=filter)
    assert client.get(job).state == "pending"
    assert client.count(queue=queue, state=None) == 1


def test_a_bulk_operation_that_is_cancelled_has_failed(client: Any, queue: str, api: Api) -> None:
    client.enqueue_many([NewJob(queue) for _ in range(19_000)])

    def stop(progress: BulkProgress) -> None:
        api.post(f"/bulk/{progress.operation_id}/cancel")

    with pytest.raises(BulkFailed, match=r"cancel ended after .* of 19000 jobs: cancelled") as caught:
        client.bulk("cancel", filter={"queue": queue}, on_progress=stop)
    assert caught.value.status.processed < 19_000


def test_queues_are_looked_at_and_set(client: Any, queue: str) -> None:
    client.enqueue_many([NewJob(queue, n) for n in range(3)])
    seen = client.queue(queue)
    assert (seen.name, seen.pending, seen.paused, seen.enqueued) == (queue, 3, False, 3)
    assert queue in [listed.name for listed in client.queues()]
    client.pause(queue)
    assert client.queue(queue).paused
    assert client.fetch(queue, timeout=0) is None
    client.resume(queue)
    client.set_concurrency(queue, 1)
    client.throttle(queue, 100, timedelta(minutes=1))
    seen = client.queue(queue)
    assert (seen.paused, seen.max_concurrency, seen.rate_limit, seen.rate_window_ms) == (False, 1, 100, 60_000)
    client.set_concurrency(queue, None)
    client.remove_throttle(queue)
    seen = client.queue(queue)
    assert (seen.max_concurrency, seen.rate_limit) == (None, None)
    client.drain(queue)
    assert client.queue(queue).paused
    assert client.clear(queue) == 3
    client.delete_queue(queue)
    with pytest.raises(NotFound):
        client.queue(queue)


def test_a_queue_may_have_any_name(client: Any, queue: str) -> None:
    name = f"{queue}/ü #?%.."
    client.enqueue(name)
    assert client.queue(name).pending == 1
    client.delete_queue(name)


def test_schedules_live_their_life(client: Any, queue: str) -> None:
    made = client.create_schedule(queue, queue, "0 3 * * *", timezone="Europe/Paris", payload={"a": 1}, unique_key="k")
    assert (made.name, made.cron, made.timezone, made.enabled) == (queue, "0 3 * * *", "Europe/Paris", True)
    assert made.next_runs[0] == made.next_run
    assert client.schedule(made) == made
    assert queue in [schedule.name for schedule in client.schedules()]
    changed = client.update_schedule(made, cron="@hourly", payload=None, unique_key=None, overlap="skip", missed="all")
    assert (changed.cron, changed.payload, changed.unique_key) == ("@hourly", None, None)
    assert (changed.overlap, changed.missed) == ("skip", "all")
    assert client.pause_schedule(made.id).next_run is None
    assert client.resume_schedule(made).enabled
    assert client.get(client.run_schedule(made)).queue == queue
    with pytest.raises(TypeError, match="a schedule has no option 'time_zone'"):
        client.create_schedule("x", "x", "* * * * *", time_zone="UTC")
    with pytest.raises(InvalidRequest, match="cron"):
        client.update_schedule(made, cron="often")
    client.delete_schedule(made)
    with pytest.raises(NotFound):
        client.schedule(made)


def test_webhooks_live_their_life(client: Any, queue: str) -> None:
    made = client.create_webhook("https://example.com/x", events=["dead"], queues=[queue], secret="s", retry_limit=2)
    hook = client.webhook(made)
    assert (hook.url, hook.events, hook.queues, hook.secret_set) == ("https://example.com/x", ["dead"], [queue], True)
    assert made in [listed.id for listed in client.webhooks()]
    client.update_webhook(hook, enabled=False, url="https://example.com/y")
    assert (client.webhook(made).enabled, client.webhook(made).url) == (False, "https://example.com/y")
    assert client.webhook_deliveries(made) == []
    own = client.create_webhook("http://127.0.0.1:1/", id=f"own-{len(queue)}")
    assert client.test_webhook(own).status == "failed"
    for webhook in (made, own):
        client.delete_webhook(webhook)
        client.delete_webhook(webhook)
    with pytest.raises(NotFound):
        client.webhook(made)
    with pytest.raises(TypeError, match="a webhook has no option 'event'"):
        client.create_webhook("http://x", event=["dead"])


def test_the_server_tells_about_itself(client: Any, queue: str) -> None:
    client.fetch(queue, worker_id=queue, hostname="here", timeout=0)
    [worker] = wait_for(lambda: [worker for worker in client.workers() if worker.id == queue])
    assert (worker.hostname, worker.queues) == ("here", [queue])
    assert client.health().status == "ok"
    assert client.info().server_version == client.info().api_version
    status = client.status()
    assert (status.mode, status.status, status.nodes[0].is_self) == ("single", "healthy", True)
    assert len(client.throughput()) == 60
    assert client.runtime()["pid"] > 1
    assert "rookery_queues_total" in client.metrics()
    client.rebuild_index()


def test_what_attempts_have_cost(client: Any, queue: str) -> None:
    client.enqueue(queue)
    client.ack(client.fetch(queue), usage=Usage(input_tokens=7, model="m", cost_usd=0.25))
    summary = client.usage("1h", group_by="queue")
    [cost] = [group for group in summary.groups if group.key == queue]
    assert (cost.input_tokens, cost.cost_usd, cost.count) == (7, 0.25, 1)
    assert summary.totals.count >= 1
    assert summary.end - summary.begin == timedelta(hours=1)


def test_a_namespace_is_backed_up_and_restored(connect: Connect, server: ServerProcess, queue: str) -> None:
    client = connect(server.url, namespace="precious")
    job = client.enqueue(queue, {"precious": True})
    document = client.backup()
    client.delete(job)
    restored = client.restore(document)
    assert restored.restored_jobs == 1
    assert client.get(job).payload == {"precious": True}
