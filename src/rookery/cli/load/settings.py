"""What is measured, and how hard."""

from typing import Final

import msgspec

PROTOCOLS: Final = ("http", "http-batch", "stream")
MATRIX: Final = "matrix"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a run, as they are printed and saved. Durations are milliseconds."""

    server: str
    protocol: str
    jobs: int
    concurrency: int
    workers: int
    worker_queues: bool
    queue: str
    enqueue_batch_size: int
    fetch_batch_size: int
    ack_batch_size: int
    work_duration: int
    combined: bool
    repeats: int
    repeat_pause: int

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols to measure, one after the other."""
        return PROTOCOLS if self.protocol == MATRIX else (self.protocol,)

    def queue_of(self, number: int) -> str:
        """The queue of a job, or of a worker, by its number."""
        return f"{self.queue}.{number % self.workers + 1}" if self.worker_queues else self.queue

    @property
    def queues(self) -> list[str]:
        """All queues that are used."""
        return list(dict.fromkeys(self.queue_of(number) for number in range(self.workers)))

    def slots_of(self, worker: int) -> int:
        """How many claims a worker has under way at a time: its share of the concurrency, at least one."""
        return max(1, len(range(worker, self.concurrency, self.workers)))
