"""Points in time: whole milliseconds since 1970 inside, RFC 3339 outside."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_TIME: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9}))?([Zz]|[+-]\d{2}:?\d{2})", re.ASCII
)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)

LATEST: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""


class BadInstant(ValueError):
    """Text that is no point in time."""


def parse_instant(text: str) -> int:
    """RFC 3339 with any offset; a part of a millisecond counts as a whole one, so that nothing runs early."""
    ms = _milliseconds(text, round_up=True)
    if not 0 <= ms <= LATEST:
        raise BadInstant(f"time {text[:64]!r} is out of range")
    return ms


def parse_bound(text: str, *, round_up: bool) -> int:
    """Where a range of times begins or ends: RFC 3339, or a day, which means its first moment in UTC."""
    return _milliseconds(f"{text.strip()}T00:00:00Z" if _DAY.fullmatch(text.strip()) else text, round_up)


def _milliseconds(text: str, round_up: bool) -> int:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise BadInstant(f"invalid time {text[:64]!r} (write it like 2026-02-10T12:00:00Z)")
    day, clock, fraction, offset = match.groups()
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if offset in 'Zz' else offset}")
        ms = (whole - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError) as error:
        raise BadInstant(f"invalid time {text[:64]!r} ({error})") from None
    nanoseconds = int(fraction.ljust(9, "0")) if fraction else 0
    return ms + (-(-nanoseconds // 1_000_000) if round_up else nanoseconds // 1_000_000)


def format_instant(ms: int) -> str:
    """`2026-02-10T12:00:00.123Z`."""
    whole = _EPOCH + timedelta(seconds=ms // 1000)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z" if whole.year > 999 else _early(whole, ms)


def format_known(ms: int | None) -> str | None:
    """The same for a time that there may not be."""
    return None if ms is None else format_instant(ms)


def _early(whole: datetime, ms: int) -> str:
    return f"{whole.year:04d}-{whole:%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"
