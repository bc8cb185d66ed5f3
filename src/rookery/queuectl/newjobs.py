"""What somebody says a new job should be, as JSON or as flags: checked to the letter, before anything is stored."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from rookery.model.instants import LATEST
from rookery.model.names import LONGEST_QUEUE_NAME
from rookery.queuectl.jobs import QUEUE_PREFIX, JobRequest
from rookery.queuectl.settings import LARGEST_INT, LONGEST_TIME, Settings

LONGEST_ID: Final = 128
LOWEST_PRIORITY: Final = 3 - (1 << 63)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_QUEUE: Final = re.compile(r"[A-Za-z0-9._:-]+", re.ASCII)
_LONGEST_QUEUE: Final = LONGEST_QUEUE_NAME - len(QUEUE_PREFIX)
_INT: Final = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST: Final = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


class BadInput(Exception):
    """Something about a new job cannot be; the text names the field."""


def read_document(document: bytes) -> dict[str, Any]:
    """The fields of a JSON object."""
    try:
        fields = msgspec.json.decode(document.removeprefix(b"\xef\xbb\xbf"))
    except UnicodeDecodeError:
        raise BadInput("the JSON is not valid UTF-8") from None
    except RecursionError:
        raise BadInput("the JSON is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise BadInput(f"malformed JSON: {error}") from None
    if not isinstance(fields, dict):
        raise BadInput('the JSON must be an object, like {"command": "echo hi"}')
    return fields


def read_flag(field: str, text: str) -> Any:
    """The value of a flag as it would stand in JSON."""
    if field in ("max_retries", "priority"):
        if not _INT.fullmatch(text):
            raise BadInput(f"{field}: must be an integer, not {text[:64]!r}")
        return int(text[:40])  # which is out of range if there was more
    if field in ("timeout", "delay"):
        if not _NUMBER.fullmatch(text):
            raise BadInput(f"{field}: must be a number of seconds, not {text[:64]!r}")
        return float(text)
    return text


def check_fields(fields: dict[str, Any], now: int) -> dict[str, Any]:
    """What is wanted, as the engine takes it. A field that is null is not there; one that nobody knows is ignored."""
    given = {field: value for field, value in fields.items() if field in _CHECKS and value is not None}
    if "command" not in given:
        raise BadInput("command: is required")
    checked = {field: _CHECKS[field](field, value) for field, value in given.items()}
    delay = checked.pop("delay", None)
    if delay:
        checked["run_at"] = now + -(-int(delay * 1_000_000) // 1000)
        if checked["run_at"] > LATEST:
            raise BadInput("delay: is too long")
    return checked


def complete_job(checked: dict[str, Any], settings: Settings) -> JobRequest:
    """The job with what the settings say of fields that were not given."""
    return JobRequest(**{"max_retries": settings.max_retries, "timeout": settings.job_timeout, **checked})


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{field}: must be a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadInput(f"{field}: is not valid Unicode") from None
    if "\0" in value:
        raise BadInput(f"{field}: has a NUL character")
    return value


def _id(field: str, value: Any) -> str:
    text = _text(field, value)
    if not 1 <= len(text) <= LONGEST_ID:
        raise BadInput(f"{field}: must have 1 to {LONGEST_ID} characters")
    if _CONTROL.search(text):
        raise BadInput(f"{field}: has a control character")
    return text


def _command(field: str, value: Any) -> str:
    text = _text(field, value)
    if not text.strip():
        raise BadInput(f"{field}: must not be blank")
    return text


def queue_name(field: str, value: Any) -> str:
    """The name of a queue, if it can be one."""
    text = _text(field, value)
    if not _QUEUE.fullmatch(text):
        raise BadInput(f"{field}: must be made of letters, digits and . _ : -")
    if len(text) > _LONGEST_QUEUE:
        raise BadInput(f"{field}: is longer than {_LONGEST_QUEUE} characters")
    return text


def _key(field: str, value: Any) -> str:
    text = _text(field, value)
    if not text:
        raise BadInput(f"{field}: must not be empty")
    return text


def _int(field: str, value: Any, lowest: int) -> int:
    if type(value) is not int:
        raise BadInput(f"{field}: must be an integer")
    if value < lowest:
        raise BadInput(f"{field}: must be at least {lowest}")
    if value > LARGEST_INT:
        raise BadInput(f"{field}: must be at most {LARGEST_INT}")
    return value


def _max_retries(field: str, value: Any) -> int:
    return _int(field, value, 0)


def _priority(field: str, value: Any) -> int:
    return _int(field, value, LOWEST_PRIORITY)


def _seconds(field: str, value: Any) -> float:
    if type(value) not in (int, float):
        raise BadInput(f"{field}: must be a number of seconds")
    if not value >= 0:
        raise BadInput(f"{field}: must not be negative")
    if value > LONGEST_TIME:
        raise BadInput(f"{field}: must be at most {LONGEST_TIME} seconds")
    return float(value)


def _timeout(field: str, value: Any) -> float:
    seconds = _seconds(field, value)
    if seconds == 0:
        raise BadInput(f"{field}: must be above 0")
    return seconds


def _run_at(field: str, value: Any) -> int:
    """ISO 8601; without an offset it is UTC. Parts of a millisecond count as a whole one: nothing runs early."""
    text = _text(field, value)
    try:
        at = datetime.fromisoformat(text.strip())
        since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        raise BadInput(f"{field}: must be a time like 2026-02-10T12:00:00Z, not {text[:64]!r}") from None
    ms = -(-since // timedelta(milliseconds=1))
    if ms > LATEST:
        raise BadInput(f"{field}: is out of range")
    return max(ms, _EARLIEST)  # East of Greenwich the calendar begins before it does in UTC.


_CHECKS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "id": _id,
    "command": _command,
    "max_retries": _max_retries,
    "priority": _priority,
    "run_at": _run_at,
    "delay": _seconds,
    "timeout": _timeout,
    "queue": queue_name,
    "idempotency_key": _key,
}
"""How each field is read; all but the command may be missing."""
