"""The machine: applies batches of operations to one SQLite file, in their order and by the rules.

It reads no clock and draws no chance: the same batches always make the same file.
"""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Self

import apsw

from rookery.engine import (
    bulk,
    callbacks,
    claim,
    enqueue,
    fail,
    finish,
    heartbeat,
    joblogs,
    limits,
    manage,
    ops,
    outbox,
    queues,
    ready_hooks,
    release,
    restore,
    retention,
    schedules,
    settings,
    taking,
    tallies,
    timers,
    webhooks,
    workers,
)
from rookery.engine.ledger import NEVER, Fate, Happening, Ledger
from rookery.engine.ops import AnyOperation, Batch, Result
from rookery.store.connections import BUSY_TIMEOUT_MS, open_writer

_ONE_BY_ONE: Final[dict[type, Callable[[Ledger, Any], Any]]] = {
    ops.Enqueue: enqueue.enqueue,
    ops.Fail: fail.fail,
    ops.Release: release.release,
    ops.Heartbeat: heartbeat.heartbeat,
    ops.LoseLeases: timers.lose_leases,
    ops.SeeWorker: workers.see,
    ops.AnnounceWorker: workers.announce,
    ops.TakeNext: taking.take_next,
    ops.RegisterWorker: workers.register,
    ops.RemoveWorker: workers.remove,
    **dict.fromkeys(manage.RULES, manage.manage),
    ops.AppendLogs: joblogs.append,
    ops.Bulk: bulk.do,
    ops.StartBulk: bulk.start,
    ops.AddBulkTargets: bulk.add_targets,
    ops.RunBulk: bulk.run,
    ops.StopBulk: bulk.stop,
    ops.PauseQueue: queues.pause,
    ops.ResumeQueue: queues.resume,
    ops.LimitConcurrency: queues.limit_concurrency,
    ops.Throttle: queues.throttle,
    ops.ClearQueue: queues.clear,
    ops.DeleteQueue: queues.delete,
    ops.SaveSchedule: schedules.save,
    ops.DeleteSchedule: schedules.delete,
    ops.RunSchedule: schedules.run,
    ops.RunScheduleNow: schedules.run_now,
    ops.SaveWebhook: webhooks.save,
    ops.DeleteWebhook: webhooks.delete,
    ops.RecordDeliveries: webhooks.record,
    ops.TellWebhooks: outbox.tell,
    ops.SaveSetting: settings.save,
    ops.AddToTally: tallies.add,
    ops.RecordCallbacks: callbacks.record,
    ops.SubscribeToReady: ready_hooks.subscribe,
    ops.RenewReadyHook: ready_hooks.renew,
    ops.RestoreJobs: restore.restore_jobs,
    ops.RestoreQueue: restore.restore_queue,
    ops.RestoreSchedule: restore.restore_schedule,
    ops.Tick: timers.tick,
    ops.Sweep: timers.sweep,
    ops.Purge: retention.purge,
    ops.DeleteUnchanged: retention.delete_unchanged,
}
_TOGETHER: Final[dict[type, Callable[[Ledger, Any], Any]]] = {
    ops.Claim: claim.claim,
    ops.Ack: finish.ack,
}


class Machine:
    """One store and the rules that change it. Several processes may each have a machine on one file."""

    def __init__(
        self, path: str | Path = ":memory:", *, durability: str = "full", busy_timeout: int = BUSY_TIMEOUT_MS
    ) -> None:
        self._db = open_writer(path, durability=durability, busy_timeout=busy_timeout)
        self._ledger = Ledger(self._db)

    def apply(self, batch: Batch) -> list[Result]:
        """Apply a batch and make it durable: one result for each operation."""
        results = self.prepare(batch)
        self.commit()
        return results

    def prepare(self, batch: Batch) -> list[Result]:
        """Apply a batch, all but its commit. The results are worth nothing before that."""
        try:
            self._ledger.begin(batch.now, batch.entropy)
            results = self._run(batch.ops)
            self._ledger.flush()
        except BaseException:
            self._undo()
            raise
        return results

    def commit(self) -> None:
        """Make the prepared batch durable. Another thread may do this, while nothing else touches the machine."""
        try:
            self._db.execute("COMMIT")
        except BaseException:
            self._undo()
            raise

    def _run(self, operations: list[AnyOperation]) -> list[Result]:
        ledger = self._ledger
        results: list[Result] = []
        for kind, group in groupby(operations, key=type):
            if kind is not ops.Enqueue:
                ledger.insert_jobs()
            together = _TOGETHER.get(kind)
            if together is not None:
                results.extend(together(ledger, list(group)))
            else:
                one = _ONE_BY_ONE[kind]
                results.extend([one(ledger, op) for op in group])
        return results

    def _undo(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self._ledger.forget()

    @property
    def connection(self) -> apsw.Connection:
        """For reading beside the machine: a store in memory has no other connection."""
        return self._db

    # --- what the last batch has brought

    @property
    def now(self) -> int:
        """The time of the last batch."""
        return self._ledger.now

    @property
    def has_changes(self) -> bool:
        """Whether the last batch has written anything, so that its commit will take a while."""
        return self._ledger.has_changes

    @property
    def events(self) -> list[Happening]:
        """The events of the last batch."""
        return self._ledger.events

    @property
    def waits(self) -> list[tuple[str, int]]:
        """How long each job that the last batch handed out had waited for that: its queue, and milliseconds."""
        return self._ledger.waits

    @property
    def runs(self) -> list[tuple[str, int]]:
        """How long each worker that the last batch heard from had its job: the queue, and milliseconds."""
        return self._ledger.runs

    @property
    def events_ever(self) -> int:
        """How many events there have been in the life of the store."""
        return self._ledger.event_seq

    @property
    def logged_jobs(self) -> list[str]:
        """The jobs whose logs have got lines in the last batch."""
        return list(self._ledger.logged)

    @property
    def has_deliveries(self) -> bool:
        """Whether the last batch has changed what is to be delivered, or somebody else may have."""
        return self._ledger.has_deliveries or self._ledger.is_fresh

    @property
    def has_callbacks(self) -> bool:
        """The same for what is told to the URLs of jobs that have ended."""
        return self._ledger.has_callbacks or self._ledger.is_fresh

    @property
    def has_new_hooks(self) -> bool:
        """Whether the last batch has changed who wants to hear of ready jobs, or somebody else may have."""
        return self._ledger.has_new_hooks or self._ledger.is_fresh

    @property
    def fates(self) -> list[Fate]:
        """What the last batch has brought to jobs that belong to other faces."""
        return self._ledger.fates

    @property
    def changed_queues(self) -> list[str]:
        """The queues that the last batch has changed; all of them, if somebody else may have."""
        if self._ledger.is_fresh:
            return self._ledger.queue_names()
        return [queue.name for queue in self._ledger.changed]

    # --- what is to come

    @property
    def has_untold(self) -> bool:
        """Whether there are events that webhooks have not been told of."""
        return self._ledger.has_untold()

    @property
    def is_outdated(self) -> bool:
        """Whether another process has written to the file since the last batch."""
        return self._ledger.is_outdated()

    @property
    def next_due(self) -> int | None:
        """When time alone will next change something; a tick is wanted then."""
        due = self._ledger.next_due
        return None if due == NEVER else due

    @property
    def next_slot(self) -> int | None:
        """When the next schedule is to be run."""
        slot = self._ledger.next_slot
        return None if slot == NEVER else slot

    def ready(self, queue_name: str) -> int:
        """How many jobs of a queue wait for nothing but a worker."""
        queue = self._ledger.find_queue(queue_name)
        return 0 if queue is None else queue.ready

    def queue_names(self) -> list[str]:
        """All queues."""
        return self._ledger.queue_names()

    def claimable(self, queue_name: str, now: int) -> int:
        """How many jobs of a queue could be claimed now, at the most."""
        queue = self._ledger.find_queue(queue_name)
        if queue is None or queue.ready <= 0:
            return 0
        return min(queue.ready, limits.open_slots(self._ledger, queue, now))

    def open_slots(self, queue_name: str, now: int) -> int:
        """How many jobs of a queue its limits would let go, if there were enough."""
        queue = self._ledger.find_queue(queue_name)
        return limits.UNLIMITED if queue is None else limits.open_slots(self._ledger, queue, now)

    def opens_at(self, queue_name: str, now: int) -> int | None:
        """When a queue that its rate holds back opens again; None if it is not held back by that."""
        queue = self._ledger.find_queue(queue_name)
        if queue is None or queue.paused_at is not None or queue.ready <= 0:
            return None
        return limits.next_slot_at(self._ledger, queue, now)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
