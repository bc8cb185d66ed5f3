"""A node in memory: whatever is asked of it is done at once, at a time that only the test moves.

It has no loop, no thread and no file. The same calls at the same times give the same jobs with the same ids.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, cast

import apsw

from rookery.engine import Batch, Machine
from rookery.engine.ops import AnyOperation, Claim, ClaimedJob, Purged, Refusal, Retry, SeeWorker, Sweep, Tick
from rookery.model.names import namespace_of
from rookery.node.batcher import Batcher, Deliver
from rookery.node.bulks import Bulks
from rookery.node.clock import Clock
from rookery.node.fulltext import FullText
from rookery.node.measures import Measures
from rookery.node.node import Node, NodeSettings
from rookery.node.reads import Reads
from rookery.node.schedules import MOST_AT_ONCE, runs_of
from rookery.store.schedules import due_schedules
from rookery.store.views import JobView, read_job

T = TypeVar("T")


class Added(NamedTuple):
    """A job as it was when it came to be."""

    namespace: str
    job: JobView


class Settled(Generic[T]):
    """A future that is done already: to await it never waits, and there is nothing to cancel."""

    def __init__(self, result: T) -> None:
        self._result = result

    def __await__(self) -> Generator[None, None, T]:
        yield from ()
        return self._result

    def cancel(self) -> None:
        """Nobody has to be told."""


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing to its end; it needs no loop, and does not mind one."""
    while True:
        try:
            awaited = work.send(None)
        except StopIteration as end:
            return cast(T, end.value)
        if awaited is not None:
            work.close()
            raise RuntimeError(f"the call waits for {awaited!r}, which never comes without a server")


class _Batcher(Batcher):
    """Every operation is a batch of its own, applied when it comes."""

    def __init__(self, apply: Callable[[AnyOperation], Any]) -> None:
        self.storage_fault = None
        self.is_committing = False
        self.submitted = 0
        self._waiting = deque()
        self._apply_now = apply

    def submit(self, op: AnyOperation, deliver: Deliver) -> None:
        deliver(self._apply_now(op))

    def put(self, op: AnyOperation, deliver: Deliver) -> None:
        deliver(self._apply_now(op))

    def apply(self, op: AnyOperation, *, may_be_refused: bool = True) -> asyncio.Future[Any]:
        return cast("asyncio.Future[Any]", Settled(self._apply_now(op)))


class _Reads(Reads):
    """Reads on the one connection that there is."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    async def run(self, read: Callable[[apsw.Connection], T]) -> T:
        return read(self._db)


class MemoryNode(Node):
    """A machine in memory and its time, as the routes of the API want to see a node."""

    def __init__(self, now: int, seed: int = 0) -> None:
        self.now = now
        self.settings = NodeSettings(data_dir=Path(":memory:"), fulltext_enabled=False)
        self.is_closing = True
        """Nobody is to wait for what comes later: it comes when the test says so."""
        self.measures = Measures()
        self.tracing = None
        self.started_at = now
        self.clock = Clock(wall=lambda: self.now, monotonic=lambda: 0)
        self._random = random.Random(seed)
        self._machine = Machine(":memory:", durability="relaxed")
        self.reader = self._machine.connection
        self.reads = self.overviews = _Reads(self.reader)
        self._batcher = _Batcher(self.apply)
        self.bulks = Bulks(self._batcher, self.reads, self.reader)
        self.fulltext = FullText(
            Path(), Path(), self.reads, self.clock, self.news, lambda: self.applied_index, is_enabled=False
        )
        self.added: list[Added] = []
        """Every job that ever came to be here, whoever added it, as it was then."""
        self._asked: dict[str, int] = {}

    def close(self) -> None:
        """Forget everything."""
        self._machine.close()

    # --- what the routes ask for

    def apply(self, op: AnyOperation) -> Any:
        """Do it, and whatever is due because of it."""
        result = self._do(op)
        self.settle()
        return result

    def claim(self, op: Claim) -> list[ClaimedJob]:
        """Lease what there is now. A worker is seen also when there is nothing."""
        self._asked.update(dict.fromkeys(op.queues, self.now))
        jobs: list[ClaimedJob] = self.apply(op).jobs
        if not jobs and op.worker_id:
            self.apply(
                SeeWorker(worker_id=op.worker_id, hostname=op.hostname, queues=op.queues, namespace=op.namespace)
            )
        return jobs

    def last_asked(self, queue: str) -> int | None:
        """When somebody last asked for jobs of a queue."""
        return self._asked.get(queue)

    def watch_end(self, job_id: str) -> asyncio.Future[None]:
        """Nobody waits, so nobody is told."""
        return cast("asyncio.Future[None]", Settled(None))

    def finish_bulks(self) -> None:
        """Do what was begun in the background to its end."""
        while drive(self.bulks.step()):
            pass

    # --- jobs that wait for their time

    def timed_jobs(self) -> list[tuple[str, str]]:
        """Ids and queues of the jobs that wait for their time, the first that is due first."""
        rows = self.reader.execute(
            """
            SELECT job.id, queue.name FROM job JOIN queue ON queue.id = job.queue
             WHERE job.scheduled_at IS NOT NULL
             ORDER BY job.scheduled_at, job.seq
            """
        )
        return [(str(job_id), str(queue)) for job_id, queue in rows.fetchall()]

    def make_ready(self, job_id: str) -> None:
        """Let a job wait no longer for its time. For a retry the clock is moved on, as that has to be counted."""
        if isinstance(self.apply(Retry(job_id=job_id)), Refusal):
            due = self.reader.execute("SELECT scheduled_at FROM job WHERE id = ?", (job_id,)).get
            while self.step(int(due)):
                pass

    # --- the passing of time

    def step(self, end: int, *, and_rates: bool = False) -> bool:
        """Go on to the next moment at which something happens by itself, at most to `end`; False once that is reached.

        With `and_rates` the moments count too at which a rate lets the next job through.
        """
        moments = [self._machine.next_due, self._machine.next_slot, *(self._openings() if and_rates else ())]
        due = min((moment for moment in moments if moment is not None and moment <= end), default=None)
        self.now = max(self.now, end if due is None else due)
        self.settle()
        if due is None:
            self._sweep()
        return due is not None

    def settle(self) -> None:
        """Do all that is due by now."""
        machine = self._machine
        while True:
            if machine.next_due is not None and machine.next_due <= self.now:
                self._do(Tick())
            elif machine.next_slot is not None and machine.next_slot <= self.now:
                for run in runs_of(due_schedules(self.reader, self.now, MOST_AT_ONCE), self.now):
                    self._do(run)
            else:
                return

    def _openings(self) -> list[int | None]:
        queues = self.reader.execute("SELECT name FROM queue WHERE rate IS NOT NULL ORDER BY name").fetchall()
        openings = (self._machine.opens_at(str(queue), self.now) for (queue,) in queues)
        return [at for at in openings if at is not None and at > self.now]

    def _sweep(self) -> None:
        more = True
        while more:
            swept: Purged = self._do(Sweep())
            more = swept.more

    def _do(self, op: AnyOperation) -> Any:
        result = self._machine.apply(Batch(self.now, [op], self._random.getrandbits(79)))[0]
        for event in self._machine.events:
            for job_id in event.job_ids if event.type == "enqueued" else ():
                namespace = namespace_of(event.queue)
                job = read_job(self.reader, job_id, namespace)
                if job is not None:
                    self.added.append(Added(namespace, job))
        return result

    # --- what only a server does

    def start(self) -> NoReturn:
        """There is nothing to start."""
        raise RuntimeError("a node in memory does not run by itself")

    async def stop(self) -> None:
        """There is nothing to stop but the machine."""
        self.close()
