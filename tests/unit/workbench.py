"""A machine in memory with short words for what producers, workers and people do to it."""

from typing import Any

import msgspec

from rookery.engine.ops import (
    Ack,
    Beat,
    Cancel,
    Claim,
    ClaimedJob,
    Completion,
    Enqueue,
    Enqueued,
    Fail,
    FailedJob,
    Failure,
    Heartbeat,
    Hold,
    NewJob,
    NewJobBatch,
    Refusal,
    Release,
    Return,
    Tick,
    Ticked,
)
from rookery.store.views import JobBatchView, JobView, QueueView, read_job, read_job_batch, read_queue
from tests.conftest import Clockwork


class Workbench(Clockwork):
    """Everything a test does, as one call each."""

    def add(self, queue: str = "q", **fields: Any) -> str:
        """Enqueue a job; its id."""
        enqueued = self.enqueue(NewJob(queue=queue, **fields))
        assert isinstance(enqueued, Enqueued), enqueued
        return enqueued.jobs[0].job_id

    def enqueue(self, *jobs: NewJob, batch: NewJobBatch | None = None) -> Enqueued | Refusal:
        """Enqueue jobs in one request."""
        result: Enqueued | Refusal = self.do(Enqueue(jobs=list(jobs), batch=batch))
        return result

    def claim(self, *queues: str, count: int = 100, **fields: Any) -> list[ClaimedJob]:
        """Claim up to `count` jobs."""
        jobs: list[ClaimedJob] = self.do(Claim(queues=queues or ("q",), count=count, **fields)).jobs
        return jobs

    def take(self, *queues: str, **fields: Any) -> ClaimedJob:
        """Claim one job, which must be there."""
        (job,) = self.claim(*queues, count=1, **fields)
        return job

    def claimed_ids(self, *queues: str, **fields: Any) -> list[str]:
        """Claim jobs; their ids, in the order they came."""
        return [job.job_id for job in self.claim(*queues, **fields)]

    def ack(self, job: ClaimedJob, **fields: Any) -> Refusal | None:
        """Finish a job with its lease token."""
        return self.complete(job.job_id, lease=job.lease, **fields)

    def complete(self, job_id: str, **fields: Any) -> Refusal | None:
        """Finish a job by its id."""
        outcome: Refusal | None = self.do(Ack(items=[Completion(job_id, **fields)])).outcomes[0]
        return outcome

    def fail(self, job: ClaimedJob, error: str = "boom", **fields: Any) -> FailedJob | Refusal:
        """Give an attempt up with its lease token."""
        outcome: FailedJob | Refusal = self.do(Fail(items=[Failure(job.job_id, job.lease, error, **fields)])).outcomes[
            0
        ]
        return outcome

    def release(self, job: ClaimedJob, **fields: Any) -> str | Refusal:
        """Hand a job back with its lease token."""
        outcome: str | Refusal = self.do(Release(items=[Return(job.job_id, job.lease, **fields)])).outcomes[0]
        return outcome

    def beat(self, job: ClaimedJob, **fields: Any) -> str:
        """Send a heartbeat with the lease token."""
        outcome: str = self.do(Heartbeat(items=[Beat(job.job_id, job.lease, **fields)])).outcomes[0]
        return outcome

    def tick(self, after: int = 0) -> Ticked:
        """Let time pass, then do what is due, one chunk of it."""
        self.advance(after)
        ticked: Ticked = self.do(Tick())
        return ticked

    def tick_all(self, after: int = 0) -> None:
        """Let time pass, then do all that is due."""
        while self.tick(after).more:
            after = 0

    def run(self, queue: str = "q", **fields: Any) -> str:
        """Claim a job and finish it; its id."""
        job = self.take(queue)
        assert self.ack(job, **fields) is None
        return job.job_id

    def bury(self, queue: str = "q", error: str = "boom") -> str:
        """Claim a job and fail it until it is dead; its id."""
        while True:
            job = self.take(queue)
            failed = self.fail(job, error)
            assert isinstance(failed, FailedJob)
            if failed.next_attempt_at is None:
                return job.job_id
            self.now = failed.next_attempt_at
            self.tick()

    def add_in(self, state: str, queue: str = "q", **fields: Any) -> str:
        """Enqueue a job and bring it into a state, in a queue without other ready jobs; its id."""
        fields = {"scheduled_at": self.now + 9_000_000} | fields if state == "scheduled" else fields
        fields = {"max_retries": 1} | fields if state == "dead" else fields
        job_id = self.add(queue, **fields)
        if state == "active":
            self.take(queue)
        elif state == "retrying":
            self.fail(self.take(queue))
        elif state == "completed":
            self.run(queue)
        elif state == "dead":
            self.bury(queue)
        elif state in ("held", "cancelled"):
            self.do(Hold(job_id=job_id) if state == "held" else Cancel(job_id=job_id))
        assert self.state(job_id) == state
        return job_id

    def job(self, job_id: str) -> JobView:
        """A job, whole."""
        job = read_job(self.machine._db, job_id)
        assert job is not None, f"there is no job {job_id}"
        return job

    def exists(self, job_id: str) -> bool:
        """Whether the job is there."""
        return read_job(self.machine._db, job_id) is not None

    def state(self, job_id: str) -> str:
        """The state a job is in."""
        return self.job(job_id).state

    def payload(self, job_id: str) -> Any:
        """A job's payload, decoded."""
        return msgspec.json.decode(self.job(job_id).payload)

    def queue(self, name: str = "q") -> QueueView:
        """A queue's settings and counts."""
        queue = read_queue(self.machine._db, name)
        assert queue is not None, f"there is no queue {name}"
        return queue

    def batch(self, batch_id: str) -> JobBatchView:
        """How far a job batch is."""
        batch = read_job_batch(self.machine._db, batch_id)
        assert batch is not None, f"there is no batch {batch_id}"
        return batch

    def events_of(self, job_id: str) -> list[str]:
        """The types of a job's events, in order."""
        return [type for (type,) in self.rows("SELECT type FROM event WHERE job_id = ? ORDER BY seq", job_id)]

    def jobs_of(self, queue: str) -> list[str]:
        """The ids of a queue's jobs, in the order they came."""
        sql = "SELECT job.id FROM job JOIN queue ON queue.id = job.queue WHERE queue.name = ? ORDER BY seq"
        return [job_id for (job_id,) in self.rows(sql, queue)]


def kind_of(result: object) -> str | None:
    """The kind of a refusal; None for anything else."""
    return result.kind if isinstance(result, Refusal) else None


def plain(raw: msgspec.Raw | None) -> Any:
    """A JSON value of a view, decoded; None if there is none."""
    return None if raw is None else msgspec.json.decode(raw)
