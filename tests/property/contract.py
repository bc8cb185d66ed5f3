"""The contract of a job's life in plain Python: small, slow, and written apart from the engine."""

import math
from collections import Counter
from dataclasses import dataclass, field

LIVE = ("pending", "scheduled", "retrying", "held", "active")
WAITING = ("pending", "scheduled", "retrying", "held")
TERMINAL = ("completed", "dead", "cancelled")
MINUTE = 60_000

Origin = tuple[str, str, int]
"""Why a job was born of another: the relation, who it was, and the new job's step."""


class Refused(Exception):
    """The contract says no; the text says why."""


@dataclass
class Chain:
    """Queues to go through, and what follows an end."""

    steps: list[str]
    on_failure: str | None = None
    failure_queue: str | None = None
    exit_queue: str | None = None


@dataclass
class Job:
    """A job as anybody can see it, and what the rules must remember of it."""

    id: str
    queue: str
    seq: int
    created_at: int
    rank: int = 2
    state: str = "pending"
    attempt: int = 0
    failures: int = 0
    lost: int = 0
    max_retries: int = 3
    max_lost: int = 5
    on_lost: str = "requeue"
    backoff: str = "exponential"
    base: int = 5000
    cap: int = 600_000
    scheduled_at: int | None = None
    expire_after: int | None = None
    expire_at: int | None = None
    failed_at: int | None = None
    completed_at: int | None = None
    unique_key: str | None = None
    batch: str | None = None
    is_counted: bool = False
    depends_on: list[str] = field(default_factory=list)
    waits_for: set[int] = field(default_factory=set)
    was_completed: bool = False
    chain: Chain | None = None
    step: int | None = None
    max_iterations: int | None = None
    iteration: int = 1
    lease: int | None = None
    lease_length: int = MINUTE
    lease_until: int | None = None
    said: tuple[str, object] | None = None
    errors: int = 0

    @property
    def ended_at(self) -> int:
        if self.state == "completed":
            assert self.completed_at is not None
            return self.completed_at
        return self.created_at if self.failed_at is None else self.failed_at


@dataclass
class Queue:
    """A queue's settings and its two counters."""

    paused: bool = False
    max_active: int | None = None
    rate: int | None = None
    window: int = 0
    claims: list[int] = field(default_factory=list)
    enqueued: int = 0
    failed: int = 0


@dataclass
class JobBatch:
    """How far a job batch is."""

    created_at: int
    callback: str | None
    total: int = 0
    pending: int = 0
    succeeded: int = 0
    failed: int = 0


@dataclass
class Wish:
    """A job as its producer wants it, before it has an id."""

    job: Job
    own_id: str | None = None
    depends_on: list[str] = field(default_factory=list)
    unique_period: int = 3600
    on_conflict: str = "keep"


class World:
    """Everything there is, and how it changes."""

    def __init__(self, now: int) -> None:
        self.now = now
        self.jobs: dict[str, Job] = {}
        self.queues: dict[str, Queue] = {}
        self.batches: dict[str, JobBatch] = {}
        self.locks: dict[tuple[str, str], tuple[str, int]] = {}
        self.events: dict[str, list[str]] = {}
        self.births: list[tuple[Origin, Job]] = []
        self.callbacks: Counter[str] = Counter()

    def emit(self, job: Job, event: str) -> None:
        self.events.setdefault(job.id, []).append(event)

    def queue(self, name: str) -> Queue:
        return self.queues.setdefault(name, Queue())

    def find(self, job_id: str, *states: str) -> Job:
        job = self.jobs.get(job_id)
        if job is None:
            raise Refused("not found")
        if states and job.state not in states:
            raise Refused("wrong state")
        return job

    def is_expired(self, job: Job) -> bool:
        return job.expire_at is not None and job.expire_at <= self.now

    def holder(self, queue: str, key: str) -> Job | None:
        job_id, until = self.locks.get((queue, key), ("", 0))
        return self.jobs.get(job_id) if until > self.now else None

    # --- producing

    def check(self, wishes: list[Wish]) -> None:
        own: set[str] = set()
        sure: set[str] = set()
        for wish in wishes:
            if not set(wish.depends_on) <= self.jobs.keys() | sure:
                raise Refused("depends on nothing")
            if wish.own_id is not None:
                if wish.own_id in own or wish.own_id in self.jobs:
                    raise Refused("taken")
                own.add(wish.own_id)
                if wish.job.unique_key is None:
                    sure.add(wish.own_id)

    def enqueue(self, wish: Wish, job_id: str, seq: int, batch: str | None) -> str:
        """What becomes of one wish; `job_id` is the id it gets if it is new."""
        job = wish.job
        if job.unique_key is not None:
            holder = self.holder(job.queue, job.unique_key)
            if holder is not None:
                return self.conflict(wish, holder)
            self.locks[job.queue, job.unique_key] = (job_id, self.now + wish.unique_period * 1000)
        job.id, job.seq, job.created_at = job_id, seq, self.now
        job.state = "pending" if job.scheduled_at is None else "scheduled"
        job.expire_at = None if job.expire_after is None else self.now + job.expire_after
        job.batch = batch
        job.depends_on = wish.depends_on
        job.waits_for = {self.jobs[other].seq for other in wish.depends_on if not self.jobs[other].was_completed}
        self.add(job)
        return job.state

    def add(self, job: Job) -> None:
        self.jobs[job.id] = job
        self.queue(job.queue).enqueued += 1
        self.emit(job, "enqueued")

    def conflict(self, wish: Wish, holder: Job) -> str:
        if wish.on_conflict == "keep" or holder.state not in ("pending", "scheduled", "retrying"):
            return "duplicate"
        new = wish.job
        assert new.unique_key is not None
        holder.scheduled_at = new.scheduled_at
        holder.state = "pending" if new.scheduled_at is None else "scheduled"
        self.locks[new.queue, new.unique_key] = (holder.id, self.now + wish.unique_period * 1000)
        status = "replaced" if wish.on_conflict == "replace" else "rescheduled"
        if status == "replaced":
            holder.rank, holder.expire_after = new.rank, new.expire_after
            holder.expire_at = None if new.expire_after is None else self.now + new.expire_after
        self.emit(holder, status)
        return status

    def open_batch(self, batch_id: str, callback: str | None, members: int) -> None:
        self.batches[batch_id] = JobBatch(self.now, callback, members, members)
        self.call_back(batch_id)

    def count(self, job: Job, *, succeeded: bool) -> None:
        if job.batch is None or job.is_counted:
            return
        job.is_counted = True
        batch = self.batches[job.batch]
        batch.pending -= 1
        if succeeded:
            batch.succeeded += 1
        else:
            batch.failed += 1
        self.call_back(job.batch)

    def call_back(self, batch_id: str) -> None:
        batch = self.batches[batch_id]
        if batch.pending == 0 and batch.callback is not None:
            self.callbacks[batch_id] += 1
            self.births.append((("batch", batch_id, 0), Job("", batch.callback, 0, self.now)))

    # --- working

    def slots(self, name: str) -> float:
        queue = self.queues.get(name)
        if queue is None or queue.paused:
            return 0
        slots = math.inf
        if queue.max_active is not None:
            active = sum(job.state == "active" and job.queue == name for job in self.jobs.values())
            slots = max(0, queue.max_active - active)
        if queue.rate is not None:
            recent = sum(at > self.now - queue.window for at in queue.claims)
            slots = min(slots, max(0, queue.rate - recent))
        return slots

    def runnable(self, queues: set[str]) -> list[Job]:
        """The jobs that may be claimed now, in their order."""
        slots = {name: self.slots(name) for name in queues}
        line = []
        for job in sorted(self.jobs.values(), key=lambda job: (job.rank, job.created_at, job.seq)):
            is_ready = job.state == "pending" and not job.waits_for and not self.is_expired(job)
            if is_ready and slots.get(job.queue, 0) > 0:
                slots[job.queue] -= 1
                line.append(job)
        return line

    def claim(self, queues: set[str], count: int, lease: int, tokens: list[int]) -> list[str]:
        taken = self.runnable(queues)[:count]
        for job, token in zip(taken, tokens, strict=False):
            job.state, job.lease, job.lease_length = "active", token, lease
            job.lease_until, job.said = self.now + lease, None
            job.attempt += 1
            queue = self.queue(job.queue)
            if queue.rate is not None:
                queue.claims.append(self.now)
            self.emit(job, "started")
        return [job.id for job in taken]

    def held_by(self, job_id: str, token: int | None) -> Job:
        """The job, if the bearer of this token may end its attempt."""
        job = self.find(job_id)
        if token is not None and token != job.lease:
            raise Refused("lease lost")
        if job.state != "active":
            raise Refused("wrong state")
        return job

    def said_before(self, job_id: str, token: int | None, what: str) -> tuple[str, object] | None:
        job = self.jobs.get(job_id)
        if job is None or token is None or token != job.lease or job.state == "active":
            return None
        return job.said if job.said is not None and job.said[0] == what else None

    def ack(self, job_id: str, token: int | None, agent_status: str | None, step_status: str | None) -> None:
        if self.said_before(job_id, token, "ack"):
            return
        job = self.held_by(job_id, token)
        if agent_status is not None and job.max_iterations is None:
            raise Refused("no agent")
        job.said = ("ack", None)
        job.lost = 0
        job.lease_until = None
        if job.max_iterations is not None and agent_status == "continue":
            self.go_on(job)
        elif job.max_iterations is not None and agent_status == "hold":
            job.failures = 0
            job.state = "held"
            self.emit(job, "held")
        else:
            self.complete(job, step_status)

    def go_on(self, job: Job) -> None:
        assert job.max_iterations is not None
        job.iteration += 1
        if 0 < job.max_iterations < job.iteration:
            job.failures = 0
            job.state = "held"
            self.emit(job, "held")
        elif self.is_expired(job):
            self.expire(job)
        else:
            job.state, job.attempt, job.failures = "pending", 0, 0
            self.emit(job, "continued")

    def complete(self, job: Job, step_status: str | None) -> None:
        job.state, job.completed_at, job.was_completed = "completed", self.now, True
        self.emit(job, "completed")
        self.unlock(job)
        self.count(job, succeeded=True)
        for other in self.jobs.values():
            other.waits_for.discard(job.seq)
        chain, step = job.chain, job.step
        if chain is None or step is None or step < 0:
            return
        if step_status != "exit" and step + 1 < len(chain.steps):
            self.bear(job, "previous", chain.steps[step + 1], step + 1)
        elif chain.exit_queue is not None:
            self.bear(job, "previous", chain.exit_queue, -1)

    def bear(self, parent: Job, relation: str, queue: str, step: int) -> None:
        child = Job("", queue, 0, self.now, chain=parent.chain, step=step)
        self.births.append(((relation, parent.id, step), child))

    def unlock(self, job: Job) -> None:
        if job.unique_key is not None and self.locks.get((job.queue, job.unique_key), ("", 0))[0] == job.id:
            del self.locks[job.queue, job.unique_key]

    def fail(
        self, job_id: str, token: int | None, retry_after: int | None = None, end: str | None = None
    ) -> tuple[str, int | None, int, int]:
        """Status, next attempt, attempts left, attempt."""
        before = self.said_before(job_id, token, "fail")
        if before is not None:
            return before[1]  # type: ignore[return-value]
        job = self.held_by(job_id, token)
        if end != "cancelled":
            return self.attempt_failed(job, retry_after, is_last=end == "dead")
        job.errors += 1
        job.lost, job.failed_at = 0, self.now
        self.cancel(job_id)
        answer = ("cancelled", None, 0, job.attempt)
        job.said = ("fail", answer)
        return answer

    def attempt_failed(
        self, job: Job, retry_after: int | None = None, *, is_last: bool = False
    ) -> tuple[str, int | None, int, int]:
        job.failures += 1
        job.errors += 1
        job.lost = 0
        job.failed_at = self.now
        job.lease_until = None
        left = 0 if is_last or self.is_expired(job) else max(0, job.max_retries - job.attempt)
        self.queue(job.queue).failed += 1
        self.emit(job, "failed")
        answer: tuple[str, int | None, int, int]
        if left:
            job.state, job.scheduled_at = (
                "retrying",
                self.now + (self.delay(job) if retry_after is None else retry_after),
            )
            answer = ("retrying", job.scheduled_at, left, job.attempt)
        else:
            answer = ("dead", None, 0, job.attempt)
            self.bury(job)
        job.said = ("fail", answer)
        return answer

    def delay(self, job: Job) -> int:
        if job.backoff == "power":
            return round((job.base / 1000) ** job.failures * 1000)
        factor = {"none": 0, "fixed": 1, "linear": job.attempt, "exponential": 2 ** max(0, job.attempt - 1)}
        delay = job.base * factor[job.backoff]
        return min(delay, job.cap) if job.cap else delay

    def bury(self, job: Job) -> None:
        job.state, job.failed_at, job.scheduled_at, job.lease_until = "dead", self.now, None, None
        self.emit(job, "dead")
        self.count(job, succeeded=False)
        chain, step = job.chain, job.step
        if chain is None or step is None or step < 0:
            return
        if chain.on_failure == "continue":
            if step + 1 < len(chain.steps):
                self.bear(job, "previous", chain.steps[step + 1], step + 1)
            elif chain.exit_queue is not None:
                self.bear(job, "previous", chain.exit_queue, -1)
        elif chain.failure_queue is not None:
            self.bear(job, "failed", chain.failure_queue, -2)

    def expire(self, job: Job) -> None:
        job.errors += 1
        self.emit(job, "expired")
        self.bury(job)

    def release(self, job_id: str, token: int | None, delay: int) -> str:
        job = self.held_by(job_id, token)
        job.state = "scheduled" if delay else "pending"
        job.scheduled_at = self.now + delay if delay else None
        job.attempt = max(0, job.attempt - 1)
        job.lost, job.lease, job.lease_until = 0, None, None
        self.emit(job, "released")
        return job.state

    def heartbeat(self, job_id: str, token: int | None, *, progress: bool) -> str:
        job = self.jobs.get(job_id)
        if job is None:
            return "unknown"
        if token is not None and token != job.lease:
            return "lost"
        if job.state != "active":
            return "inactive"
        job.lease_until = self.now + max(MINUTE, job.lease_length)
        if progress:
            self.emit(job, "progress")
        return "ok"

    # --- managing

    def retry(self, job_id: str) -> str:
        job = self.find(job_id, "dead", "cancelled", "completed", "scheduled")
        job.state, job.attempt, job.failures, job.lost = "pending", 0, 0, 0
        job.scheduled_at = job.failed_at = job.completed_at = None
        job.expire_at = None if job.expire_after is None else self.now + job.expire_after
        self.emit(job, "retried")
        return "retried"

    def cancel(self, job_id: str) -> str:
        job = self.find(job_id, "pending", "scheduled", "retrying", "active")
        status = "cancelling" if job.state == "active" else "cancelled"
        job.state, job.scheduled_at, job.lease_until = "cancelled", None, None
        self.emit(job, "cancelled")
        self.count(job, succeeded=False)
        return status

    def hold(self, job_id: str) -> str:
        job = self.find(job_id, "pending", "scheduled", "retrying", "active")
        job.state, job.scheduled_at, job.lease_until = "held", None, None
        self.emit(job, "held")
        return "held"

    def approve(self, job_id: str) -> str:
        job = self.find(job_id, "held")
        job.state = "pending"
        self.emit(job, "approved")
        return "pending"

    def reject(self, job_id: str) -> str:
        job = self.find(job_id, "held")
        self.emit(job, "rejected")
        self.bury(job)
        return "dead"

    def move(self, job_id: str, target: str, rank: int | None, *, reset: bool) -> str:
        job = self.find(job_id, *WAITING, *TERMINAL)
        self.queue(target)
        if rank is not None:
            job.rank = rank
        if reset:
            job.attempt = 0
        if target != job.queue:
            self.carry_key(job, target)
            job.queue = target
            self.emit(job, "moved")
        return "moved"

    def carry_key(self, job: Job, target: str) -> None:
        if job.unique_key is None:
            return
        lock = self.locks.get((job.queue, job.unique_key))
        if lock is not None and lock[0] == job.id:
            del self.locks[job.queue, job.unique_key]
            if self.holder(target, job.unique_key) is None:
                self.locks[target, job.unique_key] = lock

    def delete(self, job_id: str) -> str:
        job = self.find(job_id)
        self.emit(job, "deleted")
        self.forget(job)
        return "deleted"

    def forget(self, job: Job) -> None:
        self.unlock(job)
        del self.jobs[job.id]
        self.count(job, succeeded=False)

    def clear(self, name: str, states: tuple[str, ...]) -> int:
        gone = [job for job in self.jobs.values() if job.queue == name and job.state in states]
        for job in gone:
            self.delete(job.id)
        return len(gone)

    def delete_queue(self, name: str) -> int:
        gone = self.clear(name, (*LIVE, *TERMINAL))
        self.locks = {place: lock for place, lock in self.locks.items() if place[0] != name}
        old = self.queues.pop(name, None)
        if old is not None and any(child.queue == name for _, child in self.births):
            self.queues[name] = Queue(enqueued=old.enqueued, failed=old.failed)
        return gone

    def throttle(self, name: str, rate: int | None, window: int) -> None:
        if rate is None and name not in self.queues:
            return
        queue = self.queue(name)
        queue.rate, queue.window = rate, window
        if rate is None:
            queue.claims.clear()

    # --- time passing

    def tick(self) -> None:
        for job in list(self.jobs.values()):
            if job.state in WAITING and self.is_expired(job):
                self.expire(job)
        for job in list(self.jobs.values()):
            if job.lease_until is not None and job.lease_until < self.now:
                self.lose_lease(job)
        for job in self.jobs.values():
            if job.scheduled_at is not None and job.scheduled_at <= self.now:
                job.state, job.scheduled_at = "pending", None
                self.emit(job, "promoted")

    def lose_lease(self, job: Job) -> None:
        self.emit(job, "reclaimed")
        job.lost += 1
        job.lease = job.lease_until = None
        is_poison = 0 < job.max_lost <= job.lost
        if self.is_expired(job):
            self.expire(job)
        elif job.on_lost == "back_off" or (job.on_lost == "retry_now" and is_poison):
            self.attempt_failed(job)
        elif job.on_lost == "retry_now":
            job.state, job.scheduled_at = "retrying", self.now
            job.attempt -= 1
        elif is_poison:
            job.errors += 1
            self.bury(job)
        else:
            job.state = "pending"

    def sweep(self) -> None:
        for queue in self.queues.values():
            queue.claims = [at for at in queue.claims if at > self.now - queue.window]

    def purge(self, before: int) -> int:
        gone = [job for job in self.jobs.values() if job.state in TERMINAL and job.ended_at < before]
        for job in gone:
            self.forget(job)
        done = [id for id, batch in self.batches.items() if batch.pending == 0 and batch.created_at < before]
        for batch_id in done:
            del self.batches[batch_id]
        return len(gone)

    def next_due(self) -> int | None:
        """When time alone will next change something."""
        due = [job.scheduled_at for job in self.jobs.values() if job.scheduled_at is not None]
        due += [job.lease_until + 1 for job in self.jobs.values() if job.lease_until is not None]
        due += [job.expire_at for job in self.jobs.values() if job.expire_at is not None and job.state in WAITING]
        return min(due, default=None)
