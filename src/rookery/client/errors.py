"""What can go wrong when a program talks to a Rookery server, each as a class of its own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rookery.client.records import Job
    from rookery.client.reports import BulkStatus
    from rookery.client.transport.requests import Response


class RookeryError(Exception):
    """Anything that this package raises on purpose."""


class ServerUnreachable(RookeryError):
    """No connection, a broken one, or no answer in time. `was_sent`: the server may have heard the request."""

    def __init__(self, message: str, *, was_sent: bool = False) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class AnswerTimeout(ServerUnreachable):
    """A connection, but no answer in time. Such a request is not sent again: the time was the caller's to set."""


class UnexpectedAnswer(RookeryError):
    """An answer that no Rookery server gives: the URL probably leads to something else."""


class ApiError(RookeryError):
    """The server refused: `status` and `code` say why, `message` says it in words, `fields` has what else it told."""

    def __init__(self, status: int, code: str, message: str, fields: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.fields = dict(fields or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.code, self.message, self.fields)


class InvalidRequest(ApiError):
    """A field is wrong, or the job's state does not allow it (400, 422)."""


class IdempotencyMismatch(InvalidRequest):
    """The same idempotency key was used for something else (422)."""


class Unauthorized(ApiError):
    """The API key is missing, wrong or expired (401)."""


class Forbidden(ApiError):
    """The API key is not allowed to do this (403)."""


class NotFound(ApiError):
    """There is no such job, queue, schedule, … (404)."""


class Conflict(ApiError):
    """The id or name is taken (409); `job_id` is the job that has it."""

    @property
    def job_id(self) -> str | None:
        """The job that has the id, if it is one."""
        return self.fields.get("job_id")


class LeaseLost(ApiError):
    """The job was given to somebody else meanwhile, or taken away: drop what you did (409)."""


class PayloadTooLarge(ApiError):
    """The payload is over the server's limit (413)."""


class Overloaded(ApiError):
    """Too many requests, too much work waiting, or a budget is spent (429). Try again after `retry_after` seconds."""

    @property
    def retry_after(self) -> float:
        """Seconds to wait before trying again."""
        milliseconds = self.fields.get("retry_after_ms")
        if isinstance(milliseconds, int | float):
            return max(0.0, milliseconds / 1000)
        seconds = self.fields.get("retry_after")
        return max(0.0, float(seconds)) if isinstance(seconds, int | float) else 1.0


class ServerError(ApiError):
    """Something is wrong with the server (5xx)."""


class StorageUnavailable(ServerError):
    """The server cannot write at the moment (503)."""


class WaitTimeout(RookeryError):
    """The job has not ended in time; `job` is how it stood."""

    def __init__(self, job: "Job") -> None:
        super().__init__(f"job {job.id} is still {job.state}")
        self.job = job

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.job,)


class JobFailed(RookeryError):
    """The job whose result was waited for is dead or was cancelled; `job` is how it ended."""

    def __init__(self, job: "Job") -> None:
        reason = f": {job.last_error}" if job.last_error else ""
        super().__init__(f"job {job.id} is {job.state}{reason}")
        self.job = job

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.job,)


class BulkFailed(RookeryError):
    """An action on many jobs ended before it was through, or was cancelled; `status` is how far it got."""

    def __init__(self, status: "BulkStatus") -> None:
        super().__init__(f"{status.action} ended after {status.processed} of {status.total} jobs: {status.error}")
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status,)


_BY_CODE: Final[dict[tuple[int, str], type[ApiError]]] = {
    (409, "LEASE_LOST"): LeaseLost,
    (422, "IDEMPOTENCY_MISMATCH"): IdempotencyMismatch,
}
_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: PayloadTooLarge,
    422: InvalidRequest,
    429: Overloaded,
    503: StorageUnavailable,
}


def error_of(response: "Response") -> ApiError:
    """The error that an answer with status 400 or above stands for."""
    import json  # Here, and not msgspec: commands load this module, and have to start fast.

    status = response.status
    try:
        fields = json.loads(response.body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        fields = {}
    code = str(fields.pop("code", ""))
    message = str(fields.pop("error", "")) or f"the server answered {status}"
    if "retry_after_ms" not in fields and "retry_after" not in fields:
        fields |= _told_to_wait(response.headers)
    kind = _BY_CODE.get((status, code)) or _BY_STATUS.get(status)
    return (kind or (ServerError if status >= 500 else ApiError))(status, code, message, fields)


def _told_to_wait(headers: Mapping[str, str]) -> dict[str, float]:
    seconds = headers.get("retry-after", "")
    return {"retry_after": float(seconds)} if seconds.isascii() and seconds.isdigit() else {}
