"""Every operation that can change state, what comes back from it, and how it is refused.

Operations are plain immutable records. All that is not decided by the rules (time, randomness, defaults)
is already in them. JSON values travel as compact JSON text.
"""

from typing import ClassVar, Final

import msgspec

from rookery.model.job import NORMAL_RANK
from rookery.model.names import DEFAULT_NAMESPACE
from rookery.store.filters import JobFilter

DEFAULT_LEASE: Final = 60_000
IDEMPOTENCY_LIFETIME: Final = 24 * 3_600_000
CHUNK: Final = 500
"""How many jobs one maintenance or clearing operation touches at the most."""


class Operation(msgspec.Struct, frozen=True, omit_defaults=True, tag=True, kw_only=True):
    """Something that somebody wants done. `namespace` is the caller's: it sees no other."""

    namespace: str = DEFAULT_NAMESPACE


class Batch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Operations that are applied together, at one instant, with randomness for the ids they need."""

    now: int
    ops: "list[AnyOperation]"
    entropy: int = 0


# --- producing


class NewJob(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A job as its producer wants it. Times and durations are milliseconds."""

    queue: str
    payload: str = "{}"
    id: str | None = None
    rank: int = NORMAL_RANK
    max_retries: int = 3
    backoff: str = "exponential"
    base_delay: int = 5000
    max_delay: int = 600_000
    scheduled_at: int | None = None
    expire_after: str | None = None
    unique_key: str | None = None
    unique_period: int = 3600
    on_conflict: str = "keep"
    tags: str | None = None
    checkpoint: str | None = None
    agent: str | None = None
    depends_on: list[str] | None = None
    parent_id: str | None = None
    chain_id: str | None = None
    chain_step: int | None = None
    chain_config: str | None = None
    starts_chain: bool = False
    max_lost_leases: int = 5
    on_lost_lease: str = "requeue"
    order_by_due: bool = False
    trace: str | None = None
    face: str | None = None
    """What another face of the server keeps with its job, a JSON object; the rules do not look into it."""
    callback: str | None = None
    """A URL that is told how the job ended."""
    spelling: str | None = None
    """The queue's name as its callers write it, if they may do so in several ways; the first one stays."""


class NewJobBatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Jobs that are followed together, and the job to enqueue when all of them have ended."""

    callback_queue: str | None = None
    callback_payload: str | None = None


class IdempotencyKey(msgspec.Struct, frozen=True):
    """A caller's own mark of a request, with the digest of its body."""

    key: str
    digest: str
    lifetime: int | None = IDEMPOTENCY_LIFETIME
    """How long it is known, in milliseconds; None: for ever."""
    names_job: bool = False
    """Whether it stands for the job: a second request finds that as a duplicate; when it is gone, so is the key."""


class Enqueue(Operation, frozen=True):
    """Add jobs: all of them or none."""

    jobs: list[NewJob]
    batch: NewJobBatch | None = None
    idempotency: IdempotencyKey | None = None


class EnqueuedJob(msgspec.Struct, frozen=True, array_like=True):
    """What became of one new job: pending, scheduled, duplicate, replaced or rescheduled."""

    job_id: str
    status: str


class Enqueued(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of the jobs, in the order they were given."""

    jobs: list[EnqueuedJob]
    batch_id: str | None = None


# --- working


class Claim(Operation, frozen=True):
    """Lease up to `count` jobs of these queues to a worker."""

    queues: tuple[str, ...]
    count: int = 1
    worker_id: str | None = None
    hostname: str | None = None
    lease: int = DEFAULT_LEASE
    in_order: bool = False
    """Whether an earlier queue goes before a later one, whatever the priorities of their jobs."""


class ClaimedJob(msgspec.Struct, frozen=True):
    """A job as its worker gets it."""

    job_id: str
    queue: str
    payload: str
    attempt: int
    max_retries: int
    lease_length: int
    lease: int
    checkpoint: str | None
    tags: str | None
    agent: str | None
    rank: int
    trace: str | None = None


class Claimed(msgspec.Struct, frozen=True):
    """The jobs that were leased; none is fine."""

    jobs: list[ClaimedJob]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker says an attempt has cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    model: str = ""
    provider: str = ""
    cost_usd: float = 0.0


class Completion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One job that its worker has finished. `holder` is the worker who says so, if that is to be checked."""

    job_id: str
    lease: int | None = None
    result: str | None = None
    checkpoint: str | None = None
    usage: Usage | None = None
    agent_status: str | None = None
    hold_reason: str | None = None
    step_status: str | None = None
    exit_reason: str | None = None
    face: str | None = None
    """What a face has to add to what it keeps with the job."""
    holder: str | None = None


class Ack(Operation, frozen=True):
    """Jobs are done. Each item stands alone."""

    items: list[Completion]


class Acked(msgspec.Struct, frozen=True):
    """None for each job that was taken, else why not."""

    outcomes: "list[Refusal | None]"


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt that its worker gave up; it may say when the next one is to come, or that there is to be none.

    `end` is `dead` or `cancelled`, or `result` if that the job failed is its result: then it is dead, but nobody
    will want to retry it.
    """

    job_id: str
    lease: int | None = None
    error: str = ""
    backtrace: str | None = None
    retry_after: int | None = None
    end: str | None = None
    result: str | None = None
    face: str | None = None
    holder: str | None = None
    last_error: str | None = None
    """The error instead, if there is no attempt left."""


class Fail(Operation, frozen=True):
    """Attempts have failed. Each item stands alone."""

    items: list[Failure]


class FailedJob(msgspec.Struct, frozen=True):
    """What became of a job whose attempt failed."""

    status: str
    next_attempt_at: int | None
    attempts_remaining: int
    attempt: int


class Failed(msgspec.Struct, frozen=True):
    """What became of each, or why it was not taken; and when that was."""

    outcomes: "list[FailedJob | Refusal]"
    at: int


class Return(msgspec.Struct, frozen=True, omit_defaults=True):
    """One job that its worker hands back unfinished."""

    job_id: str
    lease: int | None = None
    delay: int = 0
    checkpoint: str | None = None
    reason: str | None = None
    holder: str | None = None
    keep_attempt: bool = False
    """Whether the attempt counts although it was handed back."""


class Release(Operation, frozen=True):
    """Claims are undone. Each item stands alone."""

    items: list[Return]


class Released(msgspec.Struct, frozen=True):
    """The state each job went to, or why it was not taken."""

    outcomes: "list[str | Refusal]"


class Beat(msgspec.Struct, frozen=True, omit_defaults=True):
    """One job that its worker still works on."""

    job_id: str
    lease: int | None = None
    progress: str | None = None
    checkpoint: str | None = None
    usage: Usage | None = None
    renew_for: int | None = None
    """How long the lease lasts from now, in milliseconds; without it, what was granted, and a minute at the least."""
    holder: str | None = None


class Heartbeat(Operation, frozen=True):
    """Renew leases. Each item stands alone."""

    items: list[Beat]


class Beaten(msgspec.Struct, frozen=True):
    """For each job: ok, lost, unknown, inactive or another's."""

    outcomes: list[str]


class LostJob(msgspec.Struct, frozen=True):
    """One job whose worker is known to be gone."""

    job_id: str
    lease: int


class LoseLeases(Operation, frozen=True):
    """Workers are gone: treat their leases as if they had run out. Each item stands alone."""

    items: list[LostJob]


class SeeWorker(Operation, frozen=True):
    """A worker asks for work of these queues."""

    worker_id: str
    queues: tuple[str, ...]
    hostname: str | None = None


class AnnounceWorker(Operation, frozen=True):
    """A worker says of itself how many jobs it runs at a time, and whether it drains; what is None stays as it is."""

    worker_id: str
    hostname: str | None = None
    queues: tuple[str, ...] | None = None
    slots: int | None = None
    draining: bool | None = None


class RegisterWorker(Operation, frozen=True):
    """A worker begins on the machine of the store: `pid_started` tells its process from a later one of that pid."""

    worker_id: str
    pid: int
    pid_started: str
    queues: tuple[str, ...] = ()
    hostname: str | None = None


class RemoveWorker(Operation, frozen=True):
    """A worker has ended."""

    worker_id: str


class TakeNext(Operation, frozen=True):
    """A worker that has only the store wants its next job, after all that time has made due.

    It serves these queues, or without any all whose names begin with `prefix`.
    """

    worker_id: str
    queues: tuple[str, ...] = ()
    prefix: str = ""
    hostname: str | None = None
    lease: int = DEFAULT_LEASE


class Taken(msgspec.Struct, frozen=True, omit_defaults=True):
    """The job, if there was one to take."""

    job: ClaimedJob | None = None
    lost_leases: int = 0
    """How often in a row workers have lost it."""
    unended: int = 0
    """How many jobs of its queues had not ended before."""
    more: bool = False
    """Whether so much was due that this worker has to ask again."""
    is_stopped: bool = False
    """Whether this worker is to end."""


# --- managing


class JobOperation(Operation, frozen=True):
    """Something done to one job, whoever holds it."""

    job_id: str


class Retry(JobOperation, frozen=True):
    """Run it again from the start."""


class Requeue(JobOperation, frozen=True):
    """Run it once more."""


class Cancel(JobOperation, frozen=True):
    """Take it out, waiting or running."""


class Move(JobOperation, frozen=True):
    """Put it into another queue."""

    queue: str
    reset_attempt: bool = False
    rank: int | None = None


class ChangePriority(JobOperation, frozen=True):
    """Put it into another rank."""

    rank: int


class Delete(JobOperation, frozen=True):
    """Forget it."""


class Hold(JobOperation, frozen=True):
    """Make it wait for a person."""

    reason: str | None = None


class Approve(JobOperation, frozen=True):
    """Let a held job go on."""


class Reject(JobOperation, frozen=True):
    """Bury a held job."""


class LogLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something a worker says while it works. It is said now, by the current attempt, unless told otherwise."""

    message: str
    level: str = "info"
    at: int | None = None
    attempt: int | None = None


class AppendLogs(JobOperation, frozen=True):
    """Add lines to a job's log, whatever its state."""

    lines: list[LogLine]
    lease: int | None = None


class Appended(msgspec.Struct, frozen=True):
    """The number of the last line."""

    last: int


class BulkOperation(Operation, frozen=True, kw_only=True):
    """One action on many jobs: `queue` is where to move them, `rank` what to change their priority to."""

    action: str
    queue: str | None = None
    rank: int | None = None


class Bulk(BulkOperation, frozen=True):
    """Do it to one chunk of jobs now, if they still are what was looked for."""

    job_ids: list[str]
    wanted: JobFilter | None = None


class BulkDone(msgspec.Struct, frozen=True):
    """How many jobs were changed, and how many were not there or in no state for it."""

    affected: int
    skipped: int


class StartBulk(BulkOperation, frozen=True):
    """Begin a record of an action on `total` jobs: those of a filter, or those that will be listed."""

    total: int
    wanted: JobFilter | None = None


class BulkStarted(msgspec.Struct, frozen=True):
    """The id of the record."""

    bulk_id: str


class AddBulkTargets(Operation, frozen=True):
    """List some of a record's jobs. All but the last such list are full chunks."""

    bulk_id: str
    job_ids: list[str]


class RunBulk(Operation, frozen=True):
    """Do a record's action to its next chunk, if the record still stands at `position`.

    `failed_at` are jobs that a bug showed in: they are left alone, counted and named.
    """

    bulk_id: str
    position: str | None = None
    next_position: str | None = None
    job_ids: list[str] = []
    failed_at: list[str] = []
    is_last: bool = False


class StopBulk(Operation, frozen=True):
    """Do no more of a record's work; `error` says why."""

    bulk_id: str
    error: str


class QueueOperation(Operation, frozen=True):
    """Something done to a queue; it comes into being if it is new."""

    queue: str


class PauseQueue(QueueOperation, frozen=True):
    """No new claims."""


class ResumeQueue(QueueOperation, frozen=True):
    """Claims again."""


class LimitConcurrency(QueueOperation, frozen=True):
    """At most this many active jobs; None lifts the limit."""

    max_active: int | None = None


class Throttle(QueueOperation, frozen=True):
    """At most `rate` claims in any `window` milliseconds; None lifts the limit."""

    rate: int | None = None
    window: int | None = None


class ClearQueue(QueueOperation, frozen=True):
    """Delete one chunk of its pending and scheduled jobs that were there at the first call (see `Cleared`)."""

    up_to: int | None = None
    created_by: int | None = None


class DeleteQueue(QueueOperation, frozen=True):
    """Delete one chunk of all its jobs that were there at the first call; with the last, the queue itself."""

    up_to: int | None = None
    created_by: int | None = None


class Cleared(msgspec.Struct, frozen=True):
    """How many jobs went, whether that was all, and where the next chunk must stop."""

    deleted: int
    done: bool
    up_to: int
    created_by: int


# --- schedules


class NextRun(msgspec.Struct, frozen=True):
    """When a cron line next comes in a time zone. That is computed outside, and good for nothing but that line."""

    cron: str
    timezone: str
    at: int


class SaveSchedule(Operation, frozen=True):
    """Make a schedule, or change what is given of the one with that id; an empty `unique_key` means none."""

    next: NextRun
    schedule_id: str | None = None
    name: str | None = None
    queue: str | None = None
    cron: str | None = None
    timezone: str | None = None
    payload: str | None = None
    unique_key: str | None = None
    max_retries: int | None = None
    enabled: bool | None = None
    overlap: str | None = None
    missed: str | None = None


class SavedSchedule(msgspec.Struct, frozen=True):
    """The id of the schedule."""

    schedule_id: str


class ScheduleOperation(Operation, frozen=True):
    """Something done to one schedule."""

    schedule_id: str


class DeleteSchedule(ScheduleOperation, frozen=True):
    """Forget it; its jobs stay."""


class RunSchedule(ScheduleOperation, frozen=True):
    """Enqueue a job for each of these slots, if the schedule still waits for `due`; then it waits for `next_run`."""

    due: int
    slots: tuple[int, ...]
    next_run: int | None


class RunScheduleNow(ScheduleOperation, frozen=True):
    """Enqueue one job of it beside its slots."""


# --- webhooks


class SaveWebhook(Operation, frozen=True):
    """Make a webhook, or change one: what is None stays as it is, an empty secret takes it away."""

    webhook_id: str | None = None
    url: str | None = None
    events: list[str] | None = None
    queues: list[str] | None = None
    secret: str | None = None
    enabled: bool | None = None
    retry_limit: int | None = None


class DeleteWebhook(Operation, frozen=True):
    """Forget a webhook and one chunk of what still waits to be delivered to it."""

    webhook_id: str


class Delivery(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one attempt to deliver an event went; a trial without an entry in the outbox is never repeated."""

    webhook_id: str
    outbox_id: int | None
    event_seq: int
    event_type: str
    status_code: int
    duration_ms: float
    error: str | None = None
    answer: str | None = None


class RecordDeliveries(Operation, frozen=True):
    """Attempts have been made. Each item stands alone."""

    items: list[Delivery]


class TellWebhooks(Operation, frozen=True):
    """Write down one chunk of the deliveries that follow from events since webhooks were last told."""


class Told(msgspec.Struct, frozen=True):
    """Webhooks have been told of some events, maybe of all."""

    more: bool


class SavedWebhook(msgspec.Struct, frozen=True):
    """The webhook that was made or changed."""

    webhook_id: str


# --- settings and counts of the store


class SaveSetting(Operation, frozen=True):
    """Set what the users of the store have agreed on; None takes it back."""

    key: str
    value: str | None


class Count(msgspec.Struct, frozen=True, array_like=True):
    """How much one count grows."""

    name: str
    label: str
    value: float


class AddToTally(Operation, frozen=True):
    """Add to counts that outlive the processes that count."""

    counts: list[Count]
    job_id: str | None = None
    lease: int | None = None
    """The claim of that job that must still stand, or nothing is counted."""


# --- what other faces tell the URLs of their callers


class CallbackAttempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt to tell a URL how its job ended; none was made if it is only to wait, until `postponed_to`."""

    outbox_id: int
    succeeded: bool = False
    postponed_to: int | None = None


class RecordCallbacks(Operation, frozen=True):
    """Attempts have been made. Each item stands alone. Pauses double from `base_delay` up to `max_delay`."""

    items: list[CallbackAttempt]
    most_attempts: int = 5
    base_delay: int = 2000
    max_delay: int = 60_000


class RecordedCallbacks(msgspec.Struct, frozen=True):
    """For each attempt: delivered, retrying, given up, postponed, or gone if nobody waited for it any more."""

    outcomes: list[str]


class SubscribeToReady(Operation, frozen=True):
    """Tell a URL when one of these queues, which was empty, has jobs again. Durations are milliseconds."""

    hook_id: str
    url: str
    queues: dict[str, str]
    """Stored names, and how the subscriber writes them; `*` stands for all."""
    mode: str
    min_interval: int
    lifetime: int
    group_id: str | None = None


class RenewReadyHook(Operation, frozen=True):
    """Let such a subscription live for so long from now on."""

    hook_id: str
    lifetime: int


class ReadyHookLives(msgspec.Struct, frozen=True):
    """The subscription is there, until then."""

    hook_id: str
    expires_at: int


# --- restoring


class OldError(msgspec.Struct, frozen=True, array_like=True):
    """A failed attempt of an old job."""

    attempt: int
    error: str
    backtrace: str | None
    created_at: int


class OldJob(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A job with its past, as it was when somebody wrote it down."""

    new: NewJob
    namespace: str
    state: str
    created_at: int
    order_key: int
    attempt: int = 0
    failures: int = 0
    lost_leases: int = 0
    was_completed: bool = False
    by_result: bool = False
    started_at: int | None = None
    completed_at: int | None = None
    failed_at: int | None = None
    held_at: int | None = None
    expire_at: int | None = None
    worker_id: str | None = None
    hostname: str | None = None
    batch_id: str | None = None
    hold_reason: str | None = None
    progress: str | None = None
    result: str | None = None
    unique_until: int | None = None
    gone_dependencies: int = 0
    errors: list[OldError] = []


class RestoreJobs(Operation, frozen=True):
    """Bring one chunk of old jobs back; those whose id is there already are left alone."""

    jobs: list[OldJob]


class Restored(msgspec.Struct, frozen=True):
    """How many came back, and how many were there already."""

    restored: int
    skipped: int


class RestoreQueue(QueueOperation, frozen=True):
    """Set a queue as it was set once; what is not given stays as it is."""

    paused: bool | msgspec.UnsetType = msgspec.UNSET
    max_active: int | msgspec.UnsetType | None = msgspec.UNSET
    rate: int | msgspec.UnsetType | None = msgspec.UNSET
    window: int | None = None
    created_at: int | None = None


class RestoreSchedule(Operation, frozen=True):
    """Make a schedule as it was once, or set the one that has its name now in the same way."""

    schedule: SaveSchedule
    id: str | None = None
    last_run: int | None = None
    created_at: int | None = None


# --- time passing


class Tick(Operation, frozen=True):
    """Time has passed: expire, reclaim and promote what is due, one chunk of each."""


class Sweep(Operation, frozen=True):
    """Forget what nobody needs any more: locks, keys, rate windows, silent workers, logs, hooks; a chunk of each."""


class Purge(Operation, frozen=True):
    """Delete one chunk of what ended before `before`."""

    before: int


class DeleteUnchanged(Operation, frozen=True):
    """Delete those of a chunk of jobs that nothing has happened to after `since`, whatever their state."""

    job_ids: list[str]
    since: int


class Deleted(msgspec.Struct, frozen=True):
    """The jobs that went."""

    job_ids: list[str]


class Ticked(msgspec.Struct, frozen=True):
    """How much was due, and whether more is."""

    promoted: int
    reclaimed: int
    expired: int
    more: bool


class Purged(msgspec.Struct, frozen=True):
    """How many jobs went, and whether there is more to forget."""

    jobs: int
    more: bool


class Done(msgspec.Struct, frozen=True):
    """It is done; `status` says in a word what it came to."""

    status: str


# --- refusals


class Refusal(msgspec.Struct, frozen=True):
    """Why an operation changed nothing."""

    NOT_FOUND: ClassVar[str] = "not_found"
    WRONG_STATE: ClassVar[str] = "wrong_state"
    INVALID: ClassVar[str] = "invalid"
    LEASE_LOST: ClassVar[str] = "lease_lost"
    NOT_HOLDER: ClassVar[str] = "not_holder"
    CONFLICT: ClassVar[str] = "conflict"
    IDEMPOTENCY_MISMATCH: ClassVar[str] = "idempotency_mismatch"
    STALE: ClassVar[str] = "stale"

    kind: str
    message: str
    job_id: str | None = None

    @staticmethod
    def not_found(job_id: str) -> "Refusal":
        """There is no such job."""
        return Refusal(Refusal.NOT_FOUND, f"job {job_id} not found", job_id)

    @staticmethod
    def wrong_state(job_id: str, state: str, action: str) -> "Refusal":
        """The job's state forbids it."""
        return Refusal(Refusal.WRONG_STATE, f"cannot {action} job {job_id}: it is {state}", job_id)

    @staticmethod
    def lease_lost(job_id: str) -> "Refusal":
        """The caller's claim is no longer the job's claim."""
        return Refusal(Refusal.LEASE_LOST, f"lease lost: job {job_id} is no longer yours", job_id)

    @staticmethod
    def not_holder(job_id: str) -> "Refusal":
        """Another worker has the job, or none."""
        return Refusal(Refusal.NOT_HOLDER, f"job {job_id} is not held by this worker", job_id)

    @staticmethod
    def invalid(message: str) -> "Refusal":
        """An argument cannot be."""
        return Refusal(Refusal.INVALID, message)


AnyOperation = (
    Enqueue
    | Claim
    | Ack
    | Fail
    | Release
    | Heartbeat
    | LoseLeases
    | SeeWorker
    | AnnounceWorker
    | TakeNext
    | RegisterWorker
    | RemoveWorker
    | Retry
    | Requeue
    | Cancel
    | Move
    | ChangePriority
    | Delete
    | Hold
    | Approve
    | Reject
    | AppendLogs
    | Bulk
    | StartBulk
    | AddBulkTargets
    | RunBulk
    | StopBulk
    | PauseQueue
    | ResumeQueue
    | LimitConcurrency
    | Throttle
    | ClearQueue
    | DeleteQueue
    | SaveSchedule
    | DeleteSchedule
    | RunSchedule
    | RunScheduleNow
    | SaveWebhook
    | DeleteWebhook
    | RecordDeliveries
    | TellWebhooks
    | SaveSetting
    | AddToTally
    | RecordCallbacks
    | SubscribeToReady
    | RenewReadyHook
    | RestoreJobs
    | RestoreQueue
    | RestoreSchedule
    | Tick
    | Sweep
    | Purge
    | DeleteUnchanged
)
Result = (
    Enqueued
    | Claimed
    | Taken
    | Acked
    | Failed
    | Released
    | Beaten
    | Appended
    | Cleared
    | SavedSchedule
    | SavedWebhook
    | Told
    | RecordedCallbacks
    | ReadyHookLives
    | Restored
    | BulkDone
    | BulkStarted
    | Ticked
    | Purged
    | Deleted
    | Done
    | Refusal
)
