"""What the rules work with: the connection, the time, ids, queues with their counts, and the timeline.

The ledger keeps copies of a few rows between batches. They are only copies: whenever somebody else has
written to the file, or a batch was undone, they are thrown away and read again.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import apsw

from rookery.engine.columns import ADD_JOB
from rookery.engine.subscriptions import Subscription, load_subscriptions
from rookery.model.ids import IdSequence, decode_ulid, encode_ulid
from rookery.model.job import PENDING, STATES
from rookery.model.names import is_visible, namespace_of

NEVER: Final = 1 << 62

_QUEUE_COLUMNS: Final = (
    "id",
    "name",
    "created_at",
    "paused_at",
    "max_concurrency",
    "rate",
    "window",
    *STATES,
    "blocked",
    "enqueued",
    "failed",
    "dead_by_result",
    "spelling",
    "minute",
    "minute_enqueued",
    "minute_completed",
    "minute_failed",
)
_SELECT_QUEUE: Final = f"SELECT {', '.join(_QUEUE_COLUMNS)} FROM queue"
_UPDATE_COUNTS: Final = (
    f"UPDATE queue SET {', '.join(f'{state} = ?' for state in STATES)}, blocked = ?, enqueued = ?, failed = ?, "
    "dead_by_result = ?, minute = ?, minute_enqueued = ?, minute_completed = ?, minute_failed = ? WHERE id = ?"
)

ADD_TAGS: Final = "INSERT OR IGNORE INTO job_tag SELECT key, value, job FROM tag_of_job WHERE job = ?"
REMOVE_TAGS: Final = (
    "DELETE FROM job_tag WHERE (key, value, job) IN (SELECT key, value, job FROM tag_of_job WHERE job = ?)"
)
MINUTE: Final = 60_000

_INSERT_EVENTS: Final = "INSERT INTO event SELECT ? + given.rowid, ?, given.value, ?, ?, ? FROM carray(?) AS given"

Event = tuple[int, str, str, str, int, str | None]
"""seq, type, job id, queue, time, data as JSON text."""


class Happening(NamedTuple):
    """The same event of one job after another: written as a set, not row by row."""

    type: str
    queue: str
    data: str | None
    before: int
    """The seq of the event before the first of them."""
    job_ids: list[str]


LEASE_LOST: Final = "lease_lost"


class Fate(NamedTuple):
    """What became of a job that belongs to another face, and how long after it was made."""

    queue: str
    what: str
    """completed, dead, cancelled, or lease_lost if its worker went silent."""
    age: int


class Queue:
    """A queue: its settings, and how many of its jobs are in which state."""

    __slots__ = (
        "blocked",
        "completions",
        "counts",
        "created_at",
        "dead_by_result",
        "enqueued",
        "failed",
        "id",
        "max_concurrency",
        "minute",
        "minute_completed",
        "minute_enqueued",
        "minute_failed",
        "name",
        "paused_at",
        "rate",
        "spelling",
        "told_enqueued",
        "told_failed",
        "window",
    )

    def __init__(self, row: Sequence[Any]) -> None:
        self.id: int = row[0]
        self.name: str = row[1]
        self.created_at: int = row[2]
        self.paused_at: int | None = row[3]
        self.max_concurrency: int | None = row[4]
        self.rate: int | None = row[5]
        self.window: int | None = row[6]
        self.counts: dict[str, int] = dict(zip(STATES, row[7:15], strict=True))
        self.blocked: int = row[15]
        self.enqueued: int = row[16]
        self.failed: int = row[17]
        self.dead_by_result: int = row[18]
        self.spelling: str | None = row[19]
        self.minute: int = row[20]
        self.minute_enqueued: int = row[21]
        self.minute_completed: int = row[22]
        self.minute_failed: int = row[23]
        self.completions = 0
        self.told_enqueued = self.enqueued
        self.told_failed = self.failed

    @property
    def ready(self) -> int:
        """Pending jobs that wait for nothing but a worker."""
        return self.counts[PENDING] - self.blocked


class Ledger:
    """The one place through which the rules read and write."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.execute: Callable[..., Any] = db.execute
        self.executemany: Callable[..., Any] = db.executemany
        self.now = 0
        self.job_seq = 0
        self.event_seq = 0
        self.ids = IdSequence(0)
        self.next_due = NEVER
        self.next_slot = NEVER
        self.has_changes = False
        self.is_fresh = False
        self.events: list[Happening] = []
        self.changed: dict[Queue, None] = {}
        self.waits: list[tuple[str, int]] = []
        self.runs: list[tuple[str, int]] = []
        self.logged: dict[str, None] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.has_deliveries = False
        self.has_callbacks = False
        self.has_new_hooks = False
        self.fates: list[Fate] = []
        self.seen_workers: dict[tuple[str, str], tuple[int, str | None, str]] = {}
        self._new_jobs: list[tuple[Any, ...]] = []
        self._new_tagged: list[tuple[int]] = []
        self._new_events: list[Happening] = []
        self._queues: dict[str, Queue] = {}
        self._queues_by_id: dict[int, Queue] = {}
        self._data_version = -1
        self._stored_now = 0
        self._changes_before = 0

    # --- a batch, from its beginning to its end

    def begin(self, now: int, entropy: int) -> None:
        """Start a batch at `now`, or at the latest time ever seen if the caller's clock has gone back."""
        self.execute("BEGIN IMMEDIATE")
        data_version = self._read_data_version()
        self.is_fresh = data_version != self._data_version
        if self.is_fresh:
            self._reload()
            self._data_version = data_version
        self.now = max(now, self._stored_now)
        self.ids.advance(self.now, entropy)
        self.events = []
        self.has_deliveries = False
        self.has_callbacks = False
        self.has_new_hooks = False
        self.fates = []
        self.changed = {}
        self.waits = []
        self.runs = []
        self.logged = {}
        self._changes_before = self.db.total_changes()

    def flush(self) -> None:
        """Write what the batch has gathered, so that only the commit is left to do."""
        self.insert_jobs()
        self.insert_events()
        for queue in self.changed:
            self.count_minute(queue)
            self.execute(
                _UPDATE_COUNTS,
                (
                    *queue.counts.values(),
                    queue.blocked,
                    queue.enqueued,
                    queue.failed,
                    queue.dead_by_result,
                    queue.minute,
                    queue.minute_enqueued,
                    queue.minute_completed,
                    queue.minute_failed,
                    queue.id,
                ),
            )
        self.has_changes = self.db.total_changes() != self._changes_before
        if self.has_changes:
            self._stored_now = self.now
            self.execute(
                "UPDATE machine SET now = ?, last_id = ?, job_seq = ?, event_seq = ?",
                (self.now, encode_ulid(self.ids.last), self.job_seq, self.event_seq),
            )

    def forget(self) -> None:
        """The batch was undone: throw away what it brought and every copy of a row, and read them again."""
        self._data_version = -1
        self.events = []
        self.fates = []
        self.changed = {}
        self.waits = []
        self.runs = []
        self.logged = {}
        with suppress(apsw.Error):
            self._reload()

    def is_outdated(self) -> bool:
        """Whether somebody else has written to the file since the last batch."""
        return self._read_data_version() != self._data_version

    def _read_data_version(self) -> int:
        version: int = self.execute("PRAGMA data_version").get
        return version

    def queue_names(self) -> list[str]:
        """All queues."""
        return list(self._queues)

    def _reload(self) -> None:
        self.is_fresh = True
        row = self.execute("SELECT now, last_id, job_seq, event_seq FROM machine").get
        self._stored_now, last_id, self.job_seq, self.event_seq = row
        self.ids = IdSequence(decode_ulid(last_id))
        self._queues = {}
        self._queues_by_id = {}
        for queue in self.execute(_SELECT_QUEUE):
            self._keep(Queue(queue))
        self.subscriptions = load_subscriptions(self.execute)
        self.seen_workers = {}
        self._new_jobs = []
        self._new_tagged = []
        self._new_events = []
        self.find_next_due()
        self.find_next_slot()

    # --- the time

    def due(self, at: int) -> None:
        """Something will have to be done at this time."""
        if at < self.next_due:
            self.next_due = at

    def find_next_due(self) -> None:
        """Look up when the next thing is due."""
        self.next_due = self.execute(
            """
            SELECT min(
              coalesce((SELECT min(scheduled_at) FROM job WHERE scheduled_at IS NOT NULL), ?1),
              coalesce((SELECT min(lease_until) + 1 FROM job WHERE lease_until IS NOT NULL), ?1),
              coalesce((SELECT min(expire_at) FROM job
                         WHERE expire_at IS NOT NULL AND state IN ('pending', 'scheduled', 'retrying', 'held')), ?1),
              iif((SELECT min(dependency) FROM unblocking) IS NULL, ?1, 0))
            """,
            (NEVER,),
        ).get

    def find_next_slot(self) -> None:
        """Look up when the next schedule is to be run."""
        slot = self.execute("SELECT min(next_run) FROM schedule WHERE next_run IS NOT NULL").get
        self.next_slot = NEVER if slot is None else slot

    # --- queues

    def find_queue(self, name: str) -> Queue | None:
        """A queue by its stored name, if there is one."""
        return self._queues.get(name)

    def queue(self, name: str) -> Queue:
        """A queue by its stored name; it comes into being if it is new."""
        queue = self._queues.get(name)
        if queue is None:
            row = self.execute(
                "INSERT INTO queue (namespace, name, created_at) VALUES (?, ?, ?) "
                f"RETURNING {', '.join(_QUEUE_COLUMNS)}",
                (namespace_of(name), name, self.now),
            ).fetchone()
            queue = self._keep(Queue(row))
        return queue

    def spell(self, queue: Queue, spelling: str) -> None:
        """Keep how a queue's name is written by those who use it, unless that is known already."""
        if queue.spelling is None:
            queue.spelling = spelling
            self.execute("UPDATE queue SET spelling = ? WHERE id = ?", (spelling, queue.id))

    def queue_of(self, queue_id: int) -> Queue:
        """The queue that a job's row names."""
        return self._queues_by_id[queue_id]

    def throttled_queues(self) -> list[Queue]:
        """The queues that have a rate."""
        return [queue for queue in self._queues.values() if queue.rate is not None]

    def sees(self, namespace: str, queue_id: int) -> bool:
        """Whether a caller of that namespace may see the queue."""
        return is_visible(namespace, self.queue_of(queue_id).name)

    def count_minute(self, queue: Queue) -> None:
        """Add what happened to a queue's jobs since the last time to the current minute."""
        enqueued, failed = queue.enqueued - queue.told_enqueued, queue.failed - queue.told_failed
        if enqueued or failed or queue.completions:
            minute = self.now - self.now % MINUTE
            if queue.minute != minute:
                self.end_minute(queue)
                queue.minute = minute
            queue.minute_enqueued += enqueued
            queue.minute_completed += queue.completions
            queue.minute_failed += failed
            queue.completions, queue.told_enqueued, queue.told_failed = 0, queue.enqueued, queue.failed

    def end_minute(self, queue: Queue) -> None:
        """What happened in a queue's last minute is past."""
        if queue.minute:
            figures = (queue.minute_enqueued, queue.minute_completed, queue.minute_failed)
            self.execute("INSERT INTO past_throughput VALUES (?, ?, ?, ?, ?)", (queue.minute, queue.id, *figures))
            queue.minute = queue.minute_enqueued = queue.minute_completed = queue.minute_failed = 0

    def forget_queue(self, queue: Queue) -> None:
        """The queue's row is gone."""
        self._queues.pop(queue.name, None)
        self._queues_by_id.pop(queue.id, None)
        self.changed.pop(queue, None)

    def touch(self, queue: Queue) -> None:
        """The queue's counts or settings have changed."""
        self.changed[queue] = None

    def _keep(self, queue: Queue) -> Queue:
        self._queues[queue.name] = queue
        self._queues_by_id[queue.id] = queue
        return queue

    # --- jobs and the timeline

    def insert_job(self, row: tuple[Any, ...], has_tags: bool) -> None:
        """Take in a new job, the values of `NEW_JOB_COLUMNS`; rows are written together."""
        self._new_jobs.append(row)
        if has_tags:
            self._new_tagged.append((row[0],))

    def insert_jobs(self) -> None:
        """Write the new rows; anything that looks at jobs comes after this."""
        if self._new_jobs:
            self.executemany(ADD_JOB, self._new_jobs)
            self._new_jobs = []
        if self._new_tagged:
            self.executemany(ADD_TAGS, self._new_tagged)
            self._new_tagged = []

    def emit(self, type: str, job_id: str, queue: str, data: str | None = None) -> None:
        """Put an event on the timeline."""
        if self._new_events:
            last = self._new_events[-1]
            if last.type == type and last.queue == queue and last.data == data:
                last.job_ids.append(job_id)
                self.event_seq += 1
                return
        self.emit_all(type, [job_id], queue, data)

    def emit_all(self, type: str, job_ids: list[str], queue: str, data: str | None = None) -> None:
        """Put the same event of several jobs on the timeline, in their order. The list is the ledger's from now on."""
        self._new_events.append(Happening(type, queue, data, self.event_seq, job_ids))
        self.event_seq += len(job_ids)

    def insert_events(self) -> None:
        """Write the new events; anything that looks at the timeline comes after this."""
        if self._new_events:
            self.executemany(
                _INSERT_EVENTS,
                [
                    (before, type, queue, self.now, data, apsw.carray(tuple(job_ids)))
                    for type, queue, data, before, job_ids in self._new_events
                ],
            )
            self.events += self._new_events
            self._new_events = []

    def untold(self) -> list[Subscription]:
        """The webhooks that have not been told of all events."""
        return [hook for hook in self.subscriptions.values() if hook.told < self.event_seq]

    def has_untold(self) -> bool:
        """Whether there is such a webhook."""
        return any(hook.told < self.event_seq for hook in self.subscriptions.values())
