"""Durations as people write them (`5s`, `1h30m`, `500ms`), as whole milliseconds inside."""

import re
from decimal import Decimal
from typing import Final

_UNIT_MS: Final = {
    "d": Decimal(86_400_000),
    "h": Decimal(3_600_000),
    "m": Decimal(60_000),
    "s": Decimal(1000),
    "ms": Decimal(1),
    "us": Decimal("0.001"),
    "ns": Decimal("0.000001"),
}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|us|ns|d|h|m|s)", re.ASCII)
_LONGEST_TEXT: Final = 64

LONGEST: Final = 100 * 365 * 86_400_000
"""A hundred years: longer durations are refused."""


class BadDuration(ValueError):
    """Text that is no duration."""


def parse_duration(text: str) -> int:
    """Milliseconds; any part of one counts as a whole one. Raises BadDuration."""
    text = text.strip()
    total, end = Decimal(0), 0
    if len(text) <= _LONGEST_TEXT:
        for part in _PART.finditer(text):
            if part.start() != end:
                break
            total += Decimal(part[1]) * _UNIT_MS[part[2]]
            end = part.end()
    if not text or end != len(text):
        raise BadDuration(f"invalid duration {text[:_LONGEST_TEXT]!r} (write it like 5s, 1h30m or 500ms)")
    if total > LONGEST:
        raise BadDuration(f"duration {text!r} is too long")
    return int(total.to_integral_value(rounding="ROUND_CEILING"))


def format_duration(ms: int) -> str:
    """The shortest text: `5s`, `10m`, `1h30m`, `1.5s`, `250ms`."""
    if ms < 1000:
        return f"{ms}ms" if ms else "0s"
    text = ""
    for unit, size in (("h", 3_600_000), ("m", 60_000)):
        if ms >= size:
            text += f"{ms // size}{unit}"
            ms %= size
    if ms:
        text += f"{Decimal(ms) / 1000:f}s"
    return text
