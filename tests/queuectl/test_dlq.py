"""`queuectl dlq`: dead jobs, and running them again."""

from rookery.engine.ops import Ack, Claim, Claimed, Completion, Enqueue, Fail, Failure, NewJob
from rookery.queuectl.home import now_ms
from rookery.queuectl.jobs import JobRequest, enqueue_operation
from tests.queuectl.desk import Desk


def test_dead_jobs_are_listed_with_their_last_error(desk: Desk) -> None:
    desk.bury("a", "sh: nope: not found\n\x1b[2J")
    desk.bury("b", queue="other")
    desk.add(id="alive")

    head, first, second = desk.ok("dlq", "list").splitlines()
    assert head.split() == ["id", "attempts", "max_retries", "last_error"]
    assert first.split()[:3] == ["a", "1", "1"]
    assert "not found" in first
    assert "\x1b" not in first
    assert second.split(maxsplit=3) == ["b", "1", "1", "exit code 3"]
    assert [job["id"] for job in desk.json("dlq", "list", "--queue", "other")] == ["b"]
    assert desk.json("dlq", "list", "--limit", "1")[0]["last_error"] == "sh: nope: not found\n\x1b[2J"


def test_a_dead_job_runs_again_as_if_it_had_never_run(desk: Desk) -> None:
    desk.bury("x")
    dead = desk.job("x")
    assert (dead["state"], dead["attempts"], dead["exit_code"]) == ("dead", 1, 3)

    assert "x" in desk.ok("dlq", "retry", "x").split()

    job = desk.job("x")
    assert (job["state"], job["attempts"], job["last_error"], job["worker_id"]) == ("pending", 0, None, None)
    assert (job["exit_code"], job["started_at"], job["finished_at"]) == (None, None, None)
    assert job["next_run_at"] == job["updated_at"] >= dead["updated_at"]
    assert job["created_at"] == dead["created_at"]
    desk.fail(desk.claim(), "worse")
    again = desk.job("x")
    assert (again["state"], again["attempts"], again["last_error"]) == ("dead", 1, "worse")


def test_only_dead_jobs_can_be_retried(desk: Desk) -> None:
    desk.add(id="done")
    desk.succeed(desk.claim())
    desk.add(id="later", run_at="2090-01-01")
    desk.add(id="failed")
    desk.fail(desk.claim(), wait=3_600_000)
    before = desk.json("list")

    for job_id, state in (("done", "completed"), ("later", "pending"), ("failed", "failed")):
        assert f"not dead but {state}" in desk.refused("dlq", "retry", job_id, code=1)
    assert "nope not found" in desk.refused("dlq", "retry", "nope", code=1)
    assert desk.json("list") == before


def test_a_job_that_is_none_of_ours_cannot_be_retried(desk: Desk) -> None:
    desk.home.apply(Enqueue(jobs=[NewJob(queue="native", id="x", max_retries=1)]))
    _, claimed = desk.home.apply(Enqueue(jobs=[]), Claim(queues=("native",)))
    assert isinstance(claimed, Claimed)
    desk.home.apply(Fail(items=[Failure("x", claimed.jobs[0].lease, "boom")]))

    desk.refused("dlq", "retry", "x", code=1)
    assert desk.json("list") == desk.json("dlq", "list") == []


def test_all_dead_jobs_can_be_retried_however_many(desk: Desk) -> None:
    many = 1203
    jobs = [JobRequest(id=f"j{n}", command="false", max_retries=1, queue="ab"[n % 2]) for n in range(many)]
    desk.home.apply(*[enqueue_operation(job, 2, now_ms()) for job in jobs])
    (claimed,) = desk.home.apply(Claim(queues=("shell.a", "shell.b"), count=many))
    assert isinstance(claimed, Claimed)
    desk.home.apply(Fail(items=[Failure(job.job_id, job.lease, "boom") for job in claimed.jobs[1:]]))
    desk.home.apply(Ack(items=[Completion(claimed.jobs[0].job_id)]))
    assert desk.json("status")["jobs"]["dead"] == many - 1

    assert len(desk.run("dlq", "retry", "--all", "--queue", "b").stdout.splitlines()) == many // 2
    assert desk.json("status")["jobs"]["dead"] == many - 1 - many // 2
    assert desk.run("dlq", "retry", "--all").returncode == 0
    assert desk.json("status")["jobs"] == {"pending": many - 1, "processing": 0, "completed": 1, "failed": 0, "dead": 0}
    assert desk.run("dlq", "retry", "--all").returncode == 0


def test_retry_wants_an_id_or_all(desk: Desk) -> None:
    desk.refused("dlq", "retry", code=2)
    desk.refused("dlq", "retry", "x", "--all", code=2)
    desk.refused("dlq", "retry", "x", "--queue", "a", code=2)
