"""What a server tells of everything around jobs: queues, workers, schedules, webhooks, logs, events, itself."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from rookery.client.records import JobSummary, Record

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Page(Record, frozen=True, kw_only=True):
    """Jobs of a search, how many match in all (`is_partial`: more do), and where the next page begins."""

    jobs: list[JobSummary]
    total: int
    is_partial: bool = False
    cursor: str | None = None
    has_more: bool = False


class Hit(Record, frozen=True, kw_only=True):
    """A job that was found by its words; payload and tags are JSON text."""

    id: str
    queue: str
    state: str
    payload: str
    tags: str
    created_at: datetime


class Queue(Record, frozen=True, kw_only=True):
    """A queue's settings and counts. `enqueued` and `failed` count since it was made, the others count jobs of now."""

    name: str
    paused: bool
    max_concurrency: int | None = None
    rate_limit: int | None = None
    rate_window_ms: int | None = None
    created_at: datetime
    pending: int = 0
    active: int = 0
    held: int = 0
    completed: int = 0
    dead: int = 0
    scheduled: int = 0
    retrying: int = 0
    cancelled: int = 0
    enqueued: int = 0
    failed: int = 0
    oldest_pending_at: datetime | None = None
    throughput_per_min: int | None = None


class WorkerInfo(Record, frozen=True, kw_only=True):
    """A worker that has asked for work in the last day."""

    id: str
    hostname: str | None = None
    queues: list[str] = []
    last_heartbeat: datetime
    started_at: datetime
    active_jobs: int = 0
    slots: int | None = None
    """How many jobs it runs at a time, if it has said so."""
    draining: bool = False
    """Whether it takes no more jobs and finishes those it has."""


class BatchStatus(Record, frozen=True, kw_only=True):
    """How far a batch of jobs is."""

    id: str
    total: int
    pending: int
    succeeded: int
    failed: int
    callback_queue: str | None = None
    callback_payload: Any = None
    created_at: datetime

    @property
    def has_ended(self) -> bool:
        """Whether all its jobs have ended."""
        return self.pending == 0


class Schedule(Record, frozen=True, kw_only=True):
    """A schedule, and when it runs."""

    id: str
    name: str
    queue: str
    cron: str
    timezone: str
    payload: Any = None
    unique_key: str | None = None
    max_retries: int = 3
    enabled: bool = True
    overlap: str = "allow"
    missed: str = "once"
    last_run: datetime | None = None
    next_run: datetime | None = None
    next_runs: list[datetime] = []
    created_at: datetime


class Webhook(Record, frozen=True, kw_only=True):
    """A webhook, and how its deliveries go. Its secret is never shown."""

    id: str
    url: str
    events: list[str]
    queues: list[str] = []
    enabled: bool = True
    disabled_reason: str | None = None
    retry_limit: int = 3
    secret_set: bool = False
    waiting: int = 0
    dropped: int = 0
    failures: int = 0
    failing_since: datetime | None = None
    last_status_code: int | None = None
    last_error: str | None = None
    last_delivery_at: datetime | None = None
    created_at: datetime


class Delivery(Record, frozen=True, kw_only=True):
    """One attempt to deliver an event, and what was answered."""

    event_seq: int
    event_type: str
    attempt: int
    outcome: str
    status_code: int
    error: str | None = None
    answer: str | None = None
    duration_ms: float
    at: datetime


class Trial(Record, frozen=True, kw_only=True):
    """What came of trying a webhook: `delivered` or `failed`."""

    status: str
    status_code: int
    error: str | None = None
    answer: str | None = None
    duration_ms: float


class Reason(Record, frozen=True, kw_only=True, rename={"in_": "in"}):
    """Something that keeps a job from running; `detail` says it in words. Only what belongs to its `code` is there."""

    code: str
    detail: str
    at: datetime | None = None
    in_: str | None = None
    since: datetime | None = None
    worker_id: str | None = None
    hold_reason: str | None = None
    job_ids: list[str] | None = None
    active: int | None = None
    max: int | None = None
    rate: int | None = None
    period: str | None = None
    next_slot_at: datetime | None = None
    last_seen: datetime | None = None
    ahead: int | None = None
    eta: datetime | None = None


class Why(Record, frozen=True, kw_only=True):
    """Why a job is not running: all reasons, the binding one first."""

    job_id: str
    state: str
    runnable: bool
    reasons: list[Reason]
    position: int | None = None
    ahead: int | None = None


class LogLine(Record, frozen=True, kw_only=True):
    """One line of a job's log."""

    n: int
    message: str
    level: str
    at: datetime | None = None
    attempt: int = 0


class LogPage(Record, frozen=True, kw_only=True):
    """Lines of a job's log, oldest first; `next_after` is where the next page begins."""

    job_id: str
    lines: list[LogLine]
    dropped: int = 0
    has_more: bool = False
    next_after: int | None = None


class Event(Record, frozen=True, kw_only=True):
    """Something that happened to a job."""

    seq: int
    type: str
    job_id: str | None = None
    queue: str | None = None
    at_ns: int
    data: Any = None

    @property
    def at(self) -> datetime:
        """When."""
        return _EPOCH + timedelta(microseconds=self.at_ns // 1000)


class BulkFailure(Record, frozen=True, kw_only=True):
    """A job that an action on many jobs could not change, and why."""

    job_id: str
    error: str


class BulkStatus(Record, frozen=True, kw_only=True):
    """How far an action on many jobs is: `queued`, `running`, `completed` or `failed`.

    `failures` are the first 100 jobs that could not be changed; in all they are `processed` minus `affected`.
    """

    id: str
    status: str
    action: str
    total: int
    processed: int
    affected: int
    errors: int
    error: str | None = None
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None = None
    failures: list[BulkFailure] = []


class BulkProgress(Record, frozen=True, kw_only=True, rename={"operation_id": "task_id"}):
    """How far an action on many jobs has come."""

    operation_id: str
    status: str
    total: int
    processed: int
    affected: int
    percent: float
    error: str | None = None


class BulkResult(Record, frozen=True, kw_only=True):
    """What an action did to many jobs. If it goes on in the background, `operation_id` says where to look."""

    status: str = "completed"
    affected: int = 0
    errors: int = 0
    skipped: int = 0
    operation_id: str | None = None
    total: int | None = None


class Minute(Record, frozen=True, kw_only=True):
    """What happened in one minute."""

    minute: datetime
    enqueued: int
    completed: int
    failed: int


class Cost(Record, frozen=True, kw_only=True):
    """What attempts have cost; `key` is the queue, model or provider that it is about."""

    key: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    cost_usd: float = 0.0
    count: int = 0


class UsageSummary(Record, frozen=True, kw_only=True, rename={"begin": "from", "end": "to"}):
    """What attempts have cost in a period, in all and by group, the dearest first."""

    period: str
    begin: datetime
    end: datetime
    totals: Cost
    groups: list[Cost] = []


class Health(Record, frozen=True, kw_only=True):
    """Whether the server can do its work."""

    status: str
    raft_state: str
    leader: bool


class Info(Record, frozen=True, kw_only=True):
    """What runs there."""

    server_version: str
    api_version: str


class Node(Record, frozen=True, kw_only=True, rename={"is_self": "self"}):
    """One member of a cluster."""

    id: str
    role: str | None = None
    status: str | None = None
    is_self: bool = False
    voter: bool = False
    version: str | None = None
    started_at: datetime | None = None


class ServerStatus(Record, frozen=True, kw_only=True):
    """How the server, or the cluster, is."""

    mode: str
    status: str
    state: str | None = None
    node_id: str | None = None
    leader_id: str | None = None
    nodes: list[Node] = []
    applied_index: int | None = None
    apply_pending_now: int = 0
    apply_max_pending: int = 0
    overload_total: int = 0
    fetch_overload_total: int = 0
    applied_total: int = 0
    queue_time_hist: dict[str, Any] = msgspec.field(default_factory=dict)
    apply_time_hist: dict[str, Any] = msgspec.field(default_factory=dict)


class Restored(Record, frozen=True, kw_only=True):
    """How many jobs came back, and how many were there already."""

    restored_jobs: int
    skipped_jobs: int
    namespace: str
