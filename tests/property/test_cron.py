"""When a cron line comes, in every zone of the time zone database, against a walk through time minute by minute."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.node.cron import Cron, time_zones

MINUTE, HOUR, DAY = 60, 3600, 86_400
FROM, TO = int(datetime(1973, 1, 1, tzinfo=UTC).timestamp()), int(datetime(2045, 1, 1, tzinfo=UTC).timestamp())
ZONES = sorted(time_zones())


class Line(msgspec.Struct, frozen=True):
    """A cron line and, said another way, what it means."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int] | None
    months: frozenset[int]
    weekdays: frozenset[int] | None

    def matches(self, wall: datetime) -> bool:
        """Whether the time on the wall is one that the line names."""
        if wall.minute not in self.minutes or wall.hour not in self.hours or wall.month not in self.months:
            return False
        by_day = self.days is not None and wall.day in self.days
        by_weekday = self.weekdays is not None and wall.isoweekday() % 7 in self.weekdays
        return by_day or by_weekday or (self.days is None and self.weekdays is None)


def line(text: str, minutes: range, hours: range) -> Line:
    return Line(text, frozenset(minutes), frozenset(hours), None, frozenset(range(1, 13)), None)


PLAIN = [
    line("*/10 * * * *", range(0, 60, 10), range(24)),
    line("15 2 * * *", range(15, 16), range(2, 3)),
    line("30 0-3 * * *", range(30, 31), range(4)),
    line("@daily", range(1), range(1)),
]


def offset(zone: ZoneInfo, second: int) -> int:
    shift = datetime.fromtimestamp(second, zone).utcoffset()
    assert shift is not None
    return int(shift.total_seconds())


@cache
def changes(name: str) -> list[int]:
    """When the clocks of a zone were or will be changed: the first second of each new offset."""
    zone, found = ZoneInfo(name), []
    for start in range(FROM, TO, 7 * DAY):
        end = start + 7 * DAY
        if offset(zone, start) == offset(zone, end):
            continue
        while end - start > 1:
            middle = (start + end) // 2
            start, end = (middle, end) if offset(zone, middle) == offset(zone, start) else (start, middle)
        found.append(end)
    return found


def kinds_of_changes(name: str) -> list[int]:
    """The last change of each kind, by the offsets before and after it."""
    zone = ZoneInfo(name)
    return list({(offset(zone, at - 1), offset(zone, at)): at for at in changes(name)}.values())


def walls(zone: ZoneInfo, start: int, end: int) -> Iterator[tuple[int, datetime]]:
    """Every minute from start to end at which the clocks show what they have not shown in the day before."""
    shown: set[datetime] = set()
    for second in range(start - DAY - HOUR, end + 1, MINUTE):
        wall = datetime.fromtimestamp(second, zone).replace(tzinfo=None, fold=0)
        if wall not in shown:
            shown.add(wall)
            if second >= start:
                yield second * 1000, wall


def slots_by_walking(cron: Line, zone: ZoneInfo, start: int, end: int) -> list[int]:
    return [instant for instant, wall in walls(zone, start, end) if cron.matches(wall)]


def slots_after(cron: Cron, start: int, end: int) -> list[int]:
    """From just before the start until the end."""
    return list(takewhile(lambda slot: slot <= end * 1000, cron.after(start * 1000 - 1)))


def slots_until(cron: Cron, start: int, end: int) -> list[int]:
    """From the end back to the start, oldest first."""
    return list(takewhile(lambda slot: slot >= start * 1000, cron.until(end * 1000)))[::-1]


@pytest.mark.parametrize("name", ZONES)
def test_around_every_kind_of_change_of_the_clocks(name: str) -> None:
    zone = ZoneInfo(name)
    for at in kinds_of_changes(name) or [FROM + 20 * 365 * DAY]:
        reach = 3 * HOUR + abs(offset(zone, at) - offset(zone, at - 1))
        start, end = at - at % MINUTE - reach, at - at % MINUTE + reach
        shown = list(walls(zone, start, end))
        for plain in PLAIN:
            cron = Cron(plain.text, name)
            expected = [instant for instant, wall in shown if plain.matches(wall)]
            assert slots_after(cron, start, end) == expected, (plain.text, at)
            assert slots_until(cron, start, end) == expected, (plain.text, at)
            for moment in range(start, end, 37 * MINUTE):
                following = [slot for slot in expected if slot > moment * 1000]
                preceding = [slot for slot in expected if slot <= moment * 1000]
                assert not following or next(cron.after(moment * 1000)) == following[0], (plain.text, moment)
                assert not preceding or next(cron.until(moment * 1000)) == preceding[-1], (plain.text, moment)


def fields(low: int, high: int, *, may_be_free: bool = False) -> st.SearchStrategy[tuple[str, frozenset[int] | None]]:
    """A field and the numbers it means; None for a free day field."""
    numbers = st.integers(low, high)

    def span(ends: tuple[int, int]) -> tuple[str, frozenset[int]]:
        first, last = sorted(ends)
        return f"{first}-{last}", frozenset(range(first, last + 1))

    def stepped(ends: tuple[int, int], step: int) -> tuple[str, frozenset[int]]:
        first, last = sorted(ends)
        return f"{first}-{last}/{step}", frozenset(range(first, last + 1, step))

    pairs = st.tuples(numbers, numbers).filter(lambda ends: ends[0] != ends[1])
    steps = st.integers(2, 20)
    part = st.one_of(
        numbers.map(lambda number: (str(number), frozenset({number}))),
        pairs.map(span),
        st.builds(stepped, pairs, steps),
        steps.map(lambda step: (f"*/{step}", frozenset(range(low, high + 1, step)))),
    )
    parts = st.lists(part, min_size=1, max_size=3).map(
        lambda parts: (",".join(text for text, _ in parts), frozenset[int]().union(*(some for _, some in parts)))
    )
    everything = None if may_be_free else frozenset(range(low, high + 1))
    free: st.SearchStrategy[tuple[str, frozenset[int] | None]] = st.just(("*", everything))
    return free | parts


@st.composite
def lines(draw: st.DrawFn) -> Line:
    minutes, hours = draw(fields(0, 59)), draw(fields(0, 23))
    days = draw(fields(1, 31, may_be_free=True).filter(lambda field: field[1] is None or min(field[1]) <= 28))
    months, weekdays = draw(fields(1, 12)), draw(fields(0, 7, may_be_free=True))
    assert minutes[1] is not None
    assert hours[1] is not None
    assert months[1] is not None
    return Line(
        " ".join((minutes[0], hours[0], days[0], months[0], weekdays[0])),
        minutes[1],
        hours[1],
        days[1],
        months[1],
        None if weekdays[1] is None else frozenset(day % 7 for day in weekdays[1]),
    )


@settings(deadline=None, max_examples=200)
@given(lines(), st.sampled_from(ZONES), st.data())
def test_any_line_in_any_zone_comes_when_its_fields_match(cron: Line, name: str, data: st.DataObject) -> None:
    zone = ZoneInfo(name)
    anywhere = st.integers(FROM // MINUTE, TO // MINUTE).map(lambda minute: minute * MINUTE)
    near_changes = st.sampled_from(changes(name)) if changes(name) else anywhere
    middle = data.draw(anywhere | near_changes, label="moment")
    start, end = middle - middle % MINUTE - DAY, middle - middle % MINUTE + DAY
    expected = slots_by_walking(cron, zone, start, end)

    assert slots_after(Cron(cron.text, name), start, end) == expected
    assert slots_until(Cron(cron.text, name), start, end) == expected


@settings(deadline=None, max_examples=100)
@given(lines(), st.sampled_from(ZONES), st.integers(FROM * 1000, TO * 1000))
def test_slots_go_on_in_order_and_are_the_same_from_both_sides(cron: Line, name: str, instant: int) -> None:
    read = Cron(cron.text, name)
    coming = list(islice(read.after(instant), 20))

    assert coming == sorted(set(coming))
    assert coming[0] > instant
    assert [next(read.after(slot)) for slot in coming[:-1]] == coming[1:]
    assert list(takewhile(lambda slot: slot >= coming[0], read.until(coming[-1]))) == coming[::-1]
    assert next(read.until(coming[0] - 1)) <= instant
