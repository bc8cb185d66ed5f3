"""Rookery: a job server with an embedded store, for any language."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rookery.client.async_client import AsyncClient
    from rookery.client.calls.work import Ack, Beat, NewLine, Usage
    from rookery.client.client import Client
    from rookery.client.errors import (
        AnswerTimeout,
        ApiError,
        BulkFailed,
        Conflict,
        Forbidden,
        IdempotencyMismatch,
        InvalidRequest,
        JobFailed,
        LeaseLost,
        NotFound,
        Overloaded,
        PayloadTooLarge,
        RookeryError,
        ServerError,
        ServerUnreachable,
        StorageUnavailable,
        Unauthorized,
        UnexpectedAnswer,
        WaitTimeout,
    )
    from rookery.client.functions.app import App
    from rookery.client.functions.current import CurrentJob, JobCancelled, current_job
    from rookery.client.functions.dependencies import Depends, injected
    from rookery.client.functions.functions import JobFunction
    from rookery.client.functions.outcomes import Cancel, Retry, Snooze
    from rookery.client.functions.running import JobTimeout
    from rookery.client.functions.signatures import InvalidPayload
    from rookery.client.newjobs import Agent, Batch, NewJob, Step
    from rookery.client.records import Enqueued, EnqueuedMany, FetchedJob, Job, JobSummary
    from rookery.client.reports import (
        BatchStatus,
        BulkFailure,
        BulkProgress,
        BulkResult,
        BulkStatus,
        Event,
        LogLine,
        Page,
        Queue,
        Schedule,
        Webhook,
        Why,
    )
    from rookery.client.worker.worker import Worker

_PLACES: Final = {
    "async_client": ("AsyncClient",),
    "functions.signatures": ("InvalidPayload",),
    "worker.worker": ("Worker",),
    "functions.running": ("JobTimeout",),
    "functions.outcomes": (
        "Cancel",
        "Retry",
        "Snooze",
    ),
    "functions.functions": ("JobFunction",),
    "functions.dependencies": (
        "Depends",
        "injected",
    ),
    "functions.current": (
        "CurrentJob",
        "JobCancelled",
        "current_job",
    ),
    "functions.app": ("App",),
    "calls.work": ("Ack", "Beat", "NewLine", "Usage"),
    "client": ("Client",),
    "errors": (
        "AnswerTimeout",
        "ApiError",
        "BulkFailed",
        "Conflict",
        "Forbidden",
        "IdempotencyMismatch",
        "InvalidRequest",
        "JobFailed",
        "LeaseLost",
        "NotFound",
        "Overloaded",
        "PayloadTooLarge",
        "RookeryError",
        "ServerError",
        "ServerUnreachable",
        "StorageUnavailable",
        "Unauthorized",
        "UnexpectedAnswer",
        "WaitTimeout",
    ),
    "newjobs": ("Agent", "Batch", "NewJob", "Step"),
    "records": ("Enqueued", "EnqueuedMany", "FetchedJob", "Job", "JobSummary"),
    "reports": (
        "BatchStatus",
        "BulkFailure",
        "BulkProgress",
        "BulkResult",
        "BulkStatus",
        "Event",
        "LogLine",
        "Page",
        "Queue",
        "Schedule",
        "Webhook",
        "Why",
    ),
}
_HOMES: Final = {name: f"rookery.client.{module}" for module, names in _PLACES.items() for name in names}
__all__ = [
    "Ack",
    "Agent",
    "AnswerTimeout",
    "ApiError",
    "App",
    "AsyncClient",
    "Batch",
    "BatchStatus",
    "Beat",
    "BulkFailed",
    "BulkFailure",
    "BulkProgress",
    "BulkResult",
    "BulkStatus",
    "Cancel",
    "Client",
    "Conflict",
    "CurrentJob",
    "Depends",
    "Enqueued",
    "EnqueuedMany",
    "Event",
    "FetchedJob",
    "Forbidden",
    "IdempotencyMismatch",
    "InvalidPayload",
    "InvalidRequest",
    "Job",
    "JobCancelled",
    "JobFailed",
    "JobFunction",
    "JobSummary",
    "JobTimeout",
    "LeaseLost",
    "LogLine",
    "NewJob",
    "NewLine",
    "NotFound",
    "Overloaded",
    "Page",
    "PayloadTooLarge",
    "Queue",
    "Retry",
    "RookeryError",
    "Schedule",
    "ServerError",
    "ServerUnreachable",
    "Snooze",
    "Step",
    "StorageUnavailable",
    "Unauthorized",
    "UnexpectedAnswer",
    "Usage",
    "WaitTimeout",
    "Webhook",
    "Why",
    "Worker",
    "__version__",
    "current_job",
    "injected",
]


if not TYPE_CHECKING:
    # A type checker must not see this: to it, every name would be one of ours.
    def __getattr__(name: str) -> Any:
        """The names of the SDK, loaded with their first use: the server and the commands start without them."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'rookery' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
