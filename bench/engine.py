"""The engine alone: enqueue, claim and ack in batches of 500, beside the same rows without any rules."""

import time
from pathlib import Path

from bench.bare import BareStore
from bench.filled import QUEUE
from rookery.engine import Batch, Machine
from rookery.engine.ops import Ack, Claim, Completion, Enqueue, NewJob

BATCH = 500
PAYLOAD = '{"to":"someone@example.com","template":"welcome","n":42}'


class EngineLife:
    """Lives of jobs through the machine."""

    def __init__(self, path: Path) -> None:
        self.machine = Machine(path)
        self.now = 1_800_000_000_000

    def run(self, batches: int) -> float:
        """Jobs a second."""
        started = time.perf_counter()
        for _ in range(batches):
            self.now += 20
            jobs = [Enqueue(jobs=[NewJob(queue=QUEUE, payload=PAYLOAD)]) for _ in range(BATCH)]
            self.machine.apply(Batch(self.now, list(jobs), entropy=self.now))
            claimed = self.machine.apply(Batch(self.now, [Claim(queues=(QUEUE,), count=BATCH, worker_id="w")]))[0]
            items = [Completion(job.job_id, job.lease) for job in claimed.jobs]
            self.machine.apply(Batch(self.now, [Ack(items=items)]))
        return batches * BATCH / (time.perf_counter() - started)


class BareLife:
    """The same rows, written without looking."""

    def __init__(self, path: Path) -> None:
        self.store = BareStore(str(path))
        self.now = 1_800_000_000_000

    def run(self, batches: int) -> float:
        """Jobs a second."""
        started = time.perf_counter()
        for _ in range(batches):
            self.now += 20
            self.store.enqueue(BATCH, PAYLOAD, self.now)
            rows = self.store.claim(BATCH, self.now)
            self.store.ack([row[1] for row in rows], self.now)
        return batches * BATCH / (time.perf_counter() - started)
