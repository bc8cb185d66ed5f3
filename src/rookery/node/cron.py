"""When a cron line comes: five fields or a name like `@daily`, read by the clock on the wall of a time zone.

A local time that a change of the clocks skips does not come; one that they repeat comes once, the first time.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

NAMED: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
FIELDS: Final = ("minute", "hour", "day of month", "month", "day of week")
LONGEST: Final = 1000
_SHOWN: Final = 100
_SECOND: Final = timedelta(seconds=1)
_PATIENCE: Final = timedelta(days=12 * 366)
"""A line whose times of day are all skipped for so long never comes; 29 February can be 8 years away."""
_ANY_DAY: Final = datetime(2000, 1, 1)
_STAR: Final = re.compile(r"(?:^|(?<=,))\*")
_SINGLE: Final = re.compile(r"\b(\w+)-\1/\d+")
"""A range of one value: the library takes its step for one up to the end."""
_UP_TO_SUNDAY: Final = re.compile(r"\b([1-6]|mon|tue|wed|thu|fri|sat)-sun\b")


class BadCron(ValueError):
    """Text that is no cron line, or one that never comes."""


class BadTimezone(ValueError):
    """Text that is no name of a time zone."""


class Cron:
    """A cron line in a time zone. Instants are milliseconds since 1970."""

    def __init__(self, text: str, timezone: str) -> None:
        """Raises BadCron or BadTimezone."""
        self._line = _parse(text)
        self._zone = _zone(timezone)

    def after(self, instant: int) -> Iterator[int]:
        """Every slot after an instant, in order."""
        wall = self._wall(instant).replace(tzinfo=None)
        for slot in self._slots(CronSim(self._line, wall), wall):
            if slot > instant:
                yield slot

    def until(self, instant: int) -> Iterator[int]:
        """Every slot up to an instant (and at it), the newest first."""
        wall = self._wall(instant)
        if wall.fold:
            # The clocks went back a moment ago: later times of day than this one have already been.
            wall += _offset(wall.replace(fold=0)) - _offset(wall)
        start = wall.replace(tzinfo=None, fold=0) + _SECOND
        for slot in self._slots(CronSim(self._line, start, reverse=True), start):
            if slot <= instant:
                yield slot

    def _wall(self, instant: int) -> datetime:
        return datetime.fromtimestamp(instant / 1000, self._zone)

    def _slots(self, walls: CronSim, start: datetime) -> Iterator[int]:
        """The first instant at which each time of day is on the wall, for those that ever are."""
        last = start
        for wall in walls:
            if abs(wall - last) > _PATIENCE:
                return
            local = wall.replace(tzinfo=self._zone)
            instant = local.astimezone(UTC)
            if instant.astimezone(self._zone).replace(tzinfo=None) == wall:
                last = wall
                yield int(instant.timestamp()) * 1000


@lru_cache(1024)
def read_cron(text: str, timezone: str) -> Cron:
    """A cron line in a time zone. Raises BadCron or BadTimezone."""
    return Cron(text, timezone)


def next_run(cron: str, timezone: str, after: int) -> int:
    """The first slot after an instant. Raises BadCron, also for a line that never comes, or BadTimezone."""
    slot = next(read_cron(cron, timezone).after(after), None)
    if slot is None:
        raise _never(cron)
    return slot


@cache
def time_zones() -> frozenset[str]:
    """Every name of the time zone database."""
    return frozenset(available_timezones())


def _zone(name: str) -> ZoneInfo:
    if name not in time_zones():
        raise BadTimezone(f"unknown time zone {name[:_SHOWN]!r} (write it like Europe/Paris or UTC)")
    return ZoneInfo(name)


def _offset(wall: datetime) -> timedelta:
    return wall.utcoffset() or timedelta()


def _parse(text: str) -> str:
    """A cron line in the words of the library, which knows no names and has other rules for days."""
    text = text.strip()
    if len(text) > LONGEST:
        raise BadCron(f"{text[:_SHOWN]!r}… is longer than {LONGEST} characters")
    line = text.lower()
    if line.startswith("@"):
        if line not in NAMED:
            raise BadCron(f"unknown name {text[:_SHOWN]!r} (there are {', '.join(NAMED)})")
        line = NAMED[line]
    fields = line.split()
    if len(fields) != len(FIELDS):
        raise BadCron(f"{text[:_SHOWN]!r} has {len(fields)} fields, not 5 ({', '.join(FIELDS)})")
    fields[4] = _UP_TO_SUNDAY.sub(r"\1-7", fields[4])
    for position, field in enumerate(fields):
        alone = ["*"] * len(FIELDS)
        alone[position] = field
        try:
            CronSim(" ".join(alone), _ANY_DAY)
        except CronSimError:
            given = text.split()[position][:_SHOWN]
            raise BadCron(f"bad {FIELDS[position]} {given!r} in {text[:_SHOWN]!r}") from None
    fields = [_SINGLE.sub(r"\1", field) for field in fields]
    fields[2], fields[4] = _days(fields[2], "1-31"), _days(fields[4], "0-7")
    line = " ".join(fields)
    try:
        CronSim(line, _ANY_DAY)
    except CronSimError:
        raise _never(text) from None
    return line


def _days(field: str, all_days: str) -> str:
    """The same days, but with a star in front only if the field leaves no day out.

    The library lets either day field decide if neither begins with a star, and asks for both otherwise.
    """
    if any(part in ("*", "*/1") for part in field.split(",")):
        return "*"
    return _STAR.sub(all_days, field)


def _never(text: str) -> BadCron:
    return BadCron(f"{text.strip()[:_SHOWN]!r} never comes")
