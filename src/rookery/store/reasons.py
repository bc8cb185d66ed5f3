"""The reasons why a job is not running, as the API shows them."""

import msgspec


class Finished(msgspec.Struct, frozen=True, tag="finished", tag_field="code"):
    """It has ended."""

    detail: str
    at: str


class Running(msgspec.Struct, frozen=True, tag="running", tag_field="code"):
    """A worker has it."""

    detail: str
    worker_id: str | None
    since: str


class Held(msgspec.Struct, frozen=True, tag="held", tag_field="code"):
    """It waits for a person."""

    detail: str
    hold_reason: str | None
    since: str


class Scheduled(msgspec.Struct, frozen=True, tag="scheduled", tag_field="code", rename={"in_": "in"}):
    """Its time has not come."""

    detail: str
    at: str
    in_: str


class RetryBackoff(msgspec.Struct, frozen=True, tag="retry_backoff", tag_field="code", rename={"in_": "in"}):
    """An attempt has failed, and the time of the next one has not come."""

    detail: str
    at: str
    in_: str


class DependencyState(msgspec.Struct, frozen=True):
    """A job that must complete first, with its state, or `deleted` if it is gone."""

    job_id: str
    state: str


class WaitingForDependencies(msgspec.Struct, frozen=True, tag="waiting_for_dependencies", tag_field="code"):
    """Other jobs must complete first."""

    detail: str
    job_ids: list[str]
    dependencies: list[DependencyState]


class QueuePaused(msgspec.Struct, frozen=True, tag="queue_paused", tag_field="code"):
    """Its queue hands out nothing."""

    detail: str
    since: str


class QueueAtConcurrency(msgspec.Struct, frozen=True, tag="queue_at_concurrency", tag_field="code"):
    """As many jobs of its queue run as may."""

    detail: str
    active: int
    max: int


class RateLimited(msgspec.Struct, frozen=True, tag="rate_limited", tag_field="code"):
    """As many jobs of its queue have begun in the period as may."""

    detail: str
    rate: int
    period: str
    next_slot_at: str


class NoWorkers(msgspec.Struct, frozen=True, tag="no_workers", tag_field="code"):
    """No worker has asked for its queue in the last 60 seconds."""

    detail: str
    last_seen: str | None


class BehindOthers(msgspec.Struct, frozen=True, tag="behind_others", tag_field="code"):
    """It is in line: so many go first. `eta` is when its turn comes if the queue goes on as in the last minutes."""

    detail: str
    ahead: int
    eta: str | None


Reason = (
    Finished
    | Running
    | Held
    | Scheduled
    | RetryBackoff
    | WaitingForDependencies
    | QueuePaused
    | QueueAtConcurrency
    | RateLimited
    | NoWorkers
    | BehindOthers
)


class WhyView(msgspec.Struct, omit_defaults=True):
    """Why a job is not running. It is runnable if a claim would hand it out once nobody is ahead of it."""

    job_id: str
    state: str
    runnable: bool
    reasons: list[Reason]
    position: int | None = None
    ahead: int | None = None
