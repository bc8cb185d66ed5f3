"""What can go wrong with a call, as status, code and text. Refusals of the engine are mapped here, in one table."""

import math
from typing import Any, Final

import msgspec

from rookery.engine.ops import Refusal
from rookery.node.batcher import Overloaded, StorageDown
from rookery.node.reads import ReadTimeout

RATE_LIMITED: Final = "RATE_LIMITED"


class ApiError(Exception):
    """An answer with status 400 or above."""

    def __init__(self, status: int, code: str, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.extra = extra
        self.allowed: tuple[str, ...] = ()
        """The methods that would have done, of a call with another one."""

    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """What answers with this status say beside their body."""
        if self.status == 405:
            return ((b"allow", ", ".join(self.allowed).encode()),)
        if self.status == 413:
            return ((b"connection", b"close"),)
        if self.status == 426:
            return (b"upgrade", b"websocket"), (b"connection", b"upgrade")
        if self.status == 429:
            # Whole seconds, at least one.
            seconds = max(1, math.ceil(self.extra.get("retry_after_ms", 1000) / 1000))
            return ((b"retry-after", b"%d" % seconds),)
        return ()

    def body(self, **about: Any) -> bytes:
        """The error as JSON, after what it is about."""
        return msgspec.json.encode({**about, "error": self.message, "code": self.code, **self.extra})


_KINDS: Final[dict[str, tuple[int, str | None]]] = {
    Refusal.NOT_FOUND: (404, "NOT_FOUND"),
    Refusal.WRONG_STATE: (400, None),
    Refusal.INVALID: (400, None),
    Refusal.LEASE_LOST: (409, "LEASE_LOST"),
    Refusal.NOT_HOLDER: (403, "FORBIDDEN"),
    Refusal.CONFLICT: (409, "CONFLICT"),
    Refusal.IDEMPOTENCY_MISMATCH: (422, "IDEMPOTENCY_MISMATCH"),
    Refusal.STALE: (409, "CONFLICT"),
}


def refused(refusal: Refusal, action_code: str) -> ApiError:
    """A refusal as an error; what the job's state forbids has the code of the action."""
    status, code = _KINDS[refusal.kind]
    extra = {"job_id": refusal.job_id} if refusal.kind == Refusal.CONFLICT and refusal.job_id else {}
    return ApiError(status, code or action_code, refusal.message, **extra)


def invalid(message: str) -> ApiError:
    """A field is missing, blank or out of range."""
    return ApiError(400, "VALIDATION_ERROR", message)


def unparsable(message: str) -> ApiError:
    """The body is not JSON, or a field has the wrong type."""
    return ApiError(400, "PARSE_ERROR", message)


def forbidden(message: str) -> ApiError:
    """The caller may not."""
    return ApiError(403, "FORBIDDEN", message)


def not_found(message: str) -> ApiError:
    """There is no such thing."""
    return ApiError(404, "NOT_FOUND", message)


def not_allowed(method: str, allowed: set[str]) -> ApiError:
    """The path is right and the method is not."""
    methods = tuple(sorted(allowed))
    error = ApiError(405, "METHOD_NOT_ALLOWED", f"{method} is not allowed here, use {', '.join(methods)}")
    error.allowed = methods
    return error


def too_large(message: str) -> ApiError:
    """A payload or a body is over its limit."""
    return ApiError(413, "PAYLOAD_TOO_LARGE", message)


def overloaded(retry_after_ms: int, message: str = "the server is overloaded, try again shortly") -> ApiError:
    """Too much waits already."""
    return ApiError(
        429,
        "OVERLOADED",
        message,
        retry_after_ms=retry_after_ms,
        retry_after=retry_after_ms / 1000,
    )


def storage_down(reason: str) -> ApiError:
    """The store cannot be written."""
    return ApiError(503, "UNHEALTHY", f"the store cannot be written: {reason}")


def search_timeout(seconds: float) -> ApiError:
    """A read took too long."""
    return ApiError(503, "SEARCH_TIMEOUT", f"the search took longer than {seconds:g} s: narrow it down")


def api_error(error: BaseException) -> ApiError | None:
    """What has gone wrong, as callers are told it; None if nobody thought of it."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, Overloaded):
        return overloaded(error.retry_after_ms)
    if isinstance(error, StorageDown):
        return storage_down(str(error))
    if isinstance(error, ReadTimeout):
        return search_timeout(error.seconds)
    return None


def internal_error() -> ApiError:
    """Nobody thought of it: the log says more."""
    return ApiError(500, "INTERNAL_ERROR", "internal error")
