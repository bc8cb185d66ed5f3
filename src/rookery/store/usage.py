"""Adding up what workers have reported of their costs."""

from math import fsum
from typing import Any, Final

import apsw
import msgspec

from rookery.model.instants import format_instant
from rookery.model.names import DEFAULT_NAMESPACE, NAMESPACE_MARK, shown_name

GROUPINGS: Final = ("queue", "model", "provider")

_TOKENS: Final = ("input_tokens", "output_tokens", "cache_creation_tokens", "cache_read_tokens")
# A sum that is beyond 64 bits is an error in SQL, so each half is added up by itself.
_SUMS: Final = ", ".join(f"sum({column} >> 32), sum({column} & 0xffffffff)" for column in _TOKENS)


class UsageTotals(msgspec.Struct, kw_only=True):
    """Tokens and costs of so many reports."""

    input_tokens: int
    output_tokens: int
    cache_creation_tokens: int
    cache_read_tokens: int
    cost_usd: float
    count: int


class UsageGroup(UsageTotals, kw_only=True):
    """The same for one queue, model or provider; those who named none are under an empty key."""

    key: str


class UsageSummary(msgspec.Struct, omit_defaults=True):
    """What was reported in a while, in all and by group, dearest first."""

    period: str
    start: str = msgspec.field(name="from")
    end: str = msgspec.field(name="to")
    totals: UsageTotals
    groups: list[UsageGroup] | None = None


def summarize_usage(
    db: apsw.Connection, period: str, start: int, end: int, group_by: str | None, namespace: str = DEFAULT_NAMESPACE
) -> UsageSummary:
    """Add up the reports of the queues that the caller may see, from `start` to `end`."""
    key = group_by or "''"
    rows = db.execute(
        f"""
        SELECT {key}, total(cost_usd), count(*), {_SUMS}
          FROM usage
         WHERE at >= ? AND at <= ? {"" if namespace == DEFAULT_NAMESPACE else "AND queue >= ? AND queue < ?"}
         GROUP BY 1
         ORDER BY 2 DESC, 1
        """,
        (start, end, *_bounds(namespace)),
    ).fetchall()
    groups = [_group(row, namespace if group_by == "queue" else DEFAULT_NAMESPACE) for row in rows]
    totals = UsageTotals(
        input_tokens=sum(group.input_tokens for group in groups),
        output_tokens=sum(group.output_tokens for group in groups),
        cache_creation_tokens=sum(group.cache_creation_tokens for group in groups),
        cache_read_tokens=sum(group.cache_read_tokens for group in groups),
        cost_usd=fsum(group.cost_usd for group in groups),
        count=sum(group.count for group in groups),
    )
    shown = groups if group_by else None
    return UsageSummary(period, format_instant(start), format_instant(end), totals, shown)


def _bounds(namespace: str) -> tuple[str, ...]:
    """Between which names the queues of a namespace lie: the character behind a colon is a semicolon."""
    if namespace == DEFAULT_NAMESPACE:
        return ()
    first = namespace + NAMESPACE_MARK
    return first, f"{first[:-1]};"


def _group(row: tuple[Any, ...], namespace: str) -> UsageGroup:
    key, cost_usd, count, *halves = row
    input, output, created, hits = ((high << 32) + low for high, low in zip(halves[::2], halves[1::2], strict=True))
    return UsageGroup(
        key=shown_name(namespace, key),
        input_tokens=input,
        output_tokens=output,
        cache_creation_tokens=created,
        cache_read_tokens=hits,
        cost_usd=cost_usd,
        count=count,
    )
