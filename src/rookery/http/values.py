"""Checking and turning single values of requests: JSON text, times, durations, priorities, leases."""

import re
from typing import Final

import msgspec

from rookery.http.errors import invalid, unparsable
from rookery.model.durations import BadDuration, parse_duration
from rookery.model.instants import BadInstant, parse_instant
from rookery.model.job import NORMAL_RANK, rank_of

LARGEST_COUNT: Final = 2**31 - 1
LONGEST_LEASE: Final = 86_400
DEEPEST: Final = 200
"""How deep JSON values may be nested, so that whoever parses them later can."""
_ESCAPE: Final = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.DOTALL
)
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')

Raw = msgspec.Raw
_compact = msgspec.json.format


def compact_json(raw: Raw, field: str) -> str | None:
    """A JSON value as compact text, its characters as themselves where they can be; None if it was not given."""
    if not raw:
        return None
    try:
        text = str(raw, "utf-8")
        if " " in text or "\n" in text or "\t" in text or "\r" in text:
            text = _compact(raw, indent=-1).decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise unparsable(f"invalid request: {field} is not valid JSON in UTF-8") from None
    if text.count("[") + text.count("{") > DEEPEST and _depth(text) > DEEPEST:
        raise invalid(f"{field} is nested deeper than {DEEPEST} levels")
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(escape: re.Match[str]) -> str:
    """The character that an escape stands for, so that it is found as itself; some can only be written as escapes."""
    high, low, code, other = escape.groups()
    if high:
        return chr(0x10000 + (int(high, 16) - 0xD800 << 10) + int(low, 16) - 0xDC00)
    if code:
        character = chr(int(code, 16))
        return escape[0] if character < " " or character in '"\\' else character
    return "/" if other == "/" else escape[0]


def _depth(compact: str) -> int:
    """How deep arrays and objects are nested; brackets inside strings do not count."""
    depth = deepest = 0
    for token in _TOKENS.findall(compact):
        if token in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token in "]}":
            depth -= 1
    return deepest


def given_json(raw: Raw, field: str) -> str | None:
    """The same where `null` means not given."""
    text = compact_json(raw, field) if raw else None
    return None if text == "null" else text


def duration(text: str | None, default: int, field: str) -> int:
    """Milliseconds; an absent or empty text is the default."""
    if not text:
        return default
    try:
        return parse_duration(text)
    except BadDuration as error:
        raise invalid(f"{field}: {error}") from None


def instant(text: str, field: str) -> int:
    """Milliseconds since 1970."""
    try:
        return parse_instant(text)
    except BadInstant as error:
        raise unparsable(f"{field}: {error}") from None


def rank(priority: str | int | None) -> int:
    """The rank of a priority, given by name or by number."""
    if isinstance(priority, int):
        if not 0 <= priority <= NORMAL_RANK:
            raise invalid(f"priority must be 0, 1 or 2, not {priority}")
        return priority
    return rank_of(priority)


def count(value: int | None, default: int, field: str) -> int:
    """A number that cannot be negative."""
    if value is None:
        return default
    if not 0 <= value <= LARGEST_COUNT:
        raise invalid(f"{field} must be between 0 and {LARGEST_COUNT}, not {value}")
    return value


def whole_number(text: str | None, field: str, default: int, *, least: int) -> int:
    """A number of the query; an absent or empty one is the default."""
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
        raise invalid(f"{field} must be a whole number, at least {least}, not {text[:32]!r}")
    return int(text)


def lease_length(seconds: int | None, field: str) -> int | None:
    """The length of a lease in milliseconds."""
    if seconds is None:
        return None
    if not 1 <= seconds <= LONGEST_LEASE:
        raise invalid(f"{field} must be between 1 and {LONGEST_LEASE} seconds, not {seconds}")
    return seconds * 1000


def lease_text(lease: int) -> str:
    """A lease token as callers get it."""
    return str(lease)


def lease_number(text: str | None) -> int | None:
    """A lease token as it is kept; one that was never given out is a token all the same, but nobody's."""
    if not text:
        return None
    try:
        number = int(text)
    except ValueError:
        return -1
    return number if lease_text(number) == text and number < 1 << 62 else -1
