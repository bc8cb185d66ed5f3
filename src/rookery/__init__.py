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
    from rookery.client.newjobs import Agent, Batch, NewJob, Step
    from rookery.client.records import Enqueued, EnqueuedMany, FetchedJob, Job, JobSummary

_PLACES: Final = {
    "async_client": ("AsyncClient",),
    "calls.work": ("Ack", "Beat", "NewLine", "Usage"),
    "client": ("Client",),
    "errors": (
        "AnswerTimeout",
        "ApiError",
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
}
_HOMES: Final = {name: f"rookery.client.{module}" for module, names in _PLACES.items() for name in names}
__all__ = [
    "Ack",
    "Agent",
    "AnswerTimeout",
    "ApiError",
    "AsyncClient",
    "Batch",
    "Beat",
    "Client",
    "Conflict",
    "Enqueued",
    "EnqueuedMany",
    "FetchedJob",
    "Forbidden",
    "IdempotencyMismatch",
    "InvalidRequest",
    "Job",
    "JobFailed",
    "JobSummary",
    "LeaseLost",
    "NewJob",
    "NewLine",
    "NotFound",
    "Overloaded",
    "PayloadTooLarge",
    "RookeryError",
    "ServerError",
    "ServerUnreachable",
    "Step",
    "StorageUnavailable",
    "Unauthorized",
    "UnexpectedAnswer",
    "Usage",
    "WaitTimeout",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """The names of the SDK, loaded with their first use: the server and the commands start without them."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'rookery' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
