"""A thousand jobs in 20 queues, lived through by a machine in a few minutes of its own time: every state, 40 kinds of
errors, tags, batches, unique keys, log lines, workers, schedules and webhooks. The same each time."""

import json
from pathlib import Path
from random import Random
from typing import Any

from rookery.engine import Batch, Machine
from rookery.engine.ops import (
    Ack,
    AnyOperation,
    AppendLogs,
    Cancel,
    Claim,
    ClaimedJob,
    Completion,
    Enqueue,
    Fail,
    Failure,
    Hold,
    LogLine,
    NewJob,
    NewJobBatch,
    NextRun,
    PauseQueue,
    Refusal,
    SaveSchedule,
    SaveWebhook,
)

JOBS = 1000
NUMBERED_FROM = 10_000_000
"""The number of the job before the first: each job has one of its own, which stands in its texts."""
AHEAD = 10 * 86_400_000
"""So far ahead is whatever is yet to happen, in milliseconds."""
FATES = {
    "completed": 700,
    "dead": 60,
    "retrying": 20,
    "active": 20,
    "pending": 150,
    "scheduled": 30,
    "held": 12,
    "cancelled": 8,
}
QUEUES = [f"{area}.{work}" for area in ("billing", "media", "mail", "search", "reports") for work in "abcd"]
TENANTS = 100
ROUND = 25
"""Jobs that are enqueued together."""

_FAULTS = ("could not connect to", "no answer from", "refused by", "bad certificate of", "unknown record in")
_PARTNERS = ("ledger", "mailer", "thumbnailer", "warehouse", "gateway", "crawler", "archive", "geocoder")
ERRORS = [f"{fault} {partner}" for fault in _FAULTS for partner in _PARTNERS]
_CLAIMED = ("completed", "dead", "retrying", "active")


def live(path: Path, begin: int, length: int) -> None:
    """Make a store with the jobs; nothing happens before `begin` or after `length` milliseconds."""
    machine = Machine(path, durability="relaxed")
    _Life(machine, begin, length).run()
    machine.close()


class _Life:
    """The machine, its time, and the number of the last job."""

    def __init__(self, machine: Machine, begin: int, length: int) -> None:
        self._machine = machine
        self._now = begin
        self._number = NUMBERED_FROM
        self._chance = Random(1)
        # What is to be claimed comes first, or workers would take what is to be left.
        kinds = ([fate for fate in FATES if fate in _CLAIMED], [fate for fate in FATES if fate not in _CLAIMED])
        self._rounds: list[list[str]] = []
        for kind in kinds:
            fates = [fate for fate in kind for _ in range(FATES[fate])]
            self._chance.shuffle(fates)
            self._rounds += [fates[at : at + ROUND] for at in range(0, len(fates), ROUND)]
        self._step = length // (3 * len(self._rounds) + 1)

    def run(self) -> None:
        for number, fates in enumerate(self._rounds):
            if fates[0] in _CLAIMED:
                self._work_off(f"worker-{number}", fates)
            else:
                self._leave(fates)
        ops: list[AnyOperation] = [PauseQueue(queue=QUEUES[-1])]
        for queue in QUEUES[:5]:
            next = NextRun("0 4 * * *", "UTC", self._now + AHEAD)
            ops.append(SaveSchedule(next=next, name=f"nightly {queue}", queue=queue, cron=next.cron, timezone="UTC"))
            # Nothing ever happens in that queue, so nothing is delivered.
            ops.append(SaveWebhook(url="http://127.0.0.1:9/told", events=["*"], queues=[f"{queue}.never"]))
        self._do(*ops)

    def _do(self, *ops: AnyOperation) -> list[Any]:
        """Apply operations at once, and let some time pass."""
        results = self._machine.apply(Batch(self._now, list(ops), entropy=self._chance.getrandbits(79)))
        for result in results:
            assert not isinstance(result, Refusal), result
        self._now += self._step
        return results

    def _enqueue(self, fates: list[str]) -> list[str]:
        """Their ids; about every other round is a job batch."""
        jobs = [self._new_job(fate) for fate in fates]
        batch = NewJobBatch() if self._chance.random() < 0.5 else None
        return [job.job_id for job in self._do(Enqueue(jobs=jobs, batch=batch))[0].jobs]

    def _new_job(self, fate: str) -> NewJob:
        self._number += 1
        number, chance = self._number, self._chance
        payload = {
            "to": f"user{number}@example.com",
            "template": chance.choice(("welcome", "invoice", "reminder")),
            "user": {"id": number, "age": chance.randrange(100), "plan": chance.choice(("free", "pro", "team"))},
            "items": [number % 7, "a", "b"],
            "note": "please handle with care, thank you",
            "urgent": False,
        }
        tags = {"tenant": f"tenant-{number // 3 % TENANTS}", "env": chance.choice(("prod", "test"))}
        return NewJob(
            queue=chance.choice(QUEUES),
            payload=_compact(payload),
            rank=chance.choice((0, 1, 2, 2, 2, 2)),
            max_retries=1 if fate == "dead" else 3,
            scheduled_at=self._now + AHEAD + number if fate == "scheduled" else None,
            unique_key=f"order-{number}" if number % 10 == 0 else None,
            unique_period=2 * AHEAD // 1000,
            tags=_compact(tags) if number % 3 == 0 else None,
        )

    def _work_off(self, worker: str, fates: list[str]) -> None:
        self._enqueue(fates)
        host = f"{worker}.internal"
        claim = Claim(queues=tuple(QUEUES), count=len(fates), worker_id=worker, hostname=host, lease=AHEAD)
        jobs: list[ClaimedJob] = self._do(claim)[0].jobs
        # They come by their priority: those that are to die are known by the one attempt that they have.
        others = [fate for fate in fates if fate != "dead"]
        self._do(*(self._end(job, "dead" if job.max_retries == 1 else others.pop()) for job in jobs))

    def _end(self, job: ClaimedJob, fate: str) -> AnyOperation:
        number = json.loads(job.payload)["user"]["id"]
        error = f"{self._chance.choice(ERRORS)}: request {number} timed out after {self._chance.randrange(9000)} ms"
        match fate:
            case "completed":
                return Ack(items=[Completion(job.job_id, job.lease, result=_compact({"sent": number}))])
            case "dead":
                return Fail(items=[Failure(job.job_id, job.lease, error, f"in send\n{error}")])
            case "retrying":
                return Fail(items=[Failure(job.job_id, job.lease, error, retry_after=AHEAD)])
        return AppendLogs(job_id=job.job_id, lines=[LogLine(message=f"took up order {number}", level="info")])

    def _leave(self, fates: list[str]) -> None:
        ops: list[AnyOperation] = []
        for job_id, fate in zip(self._enqueue(fates), fates, strict=True):
            if fate == "held":
                ops.append(Hold(job_id=job_id, reason="more than the limit"))
            elif fate == "cancelled":
                ops.append(Cancel(job_id=job_id))
        self._do(*ops)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
