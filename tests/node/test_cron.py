"""Cron lines: what they mean, which are refused and why, and what becomes of missed slots."""

from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from rookery.model.instants import format_instant, parse_instant
from rookery.node.cron import BadCron, BadTimezone, Cron, next_run
from rookery.node.schedules import slots_to_run


def at(local: str, zone: str = "UTC", fold: int = 0) -> int:
    """An instant by the clock on the wall."""
    wall = datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return int(wall.timestamp() * 1000)


def coming(line: str, after: str, zone: str = "UTC", count: int = 4) -> list[str]:
    """The next slots by the clock on the wall."""
    slots = islice(Cron(line, zone).after(at(after, zone)), count)
    return [datetime.fromtimestamp(slot / 1000, ZoneInfo(zone)).isoformat() for slot in slots]


def days(line: str, after: str, count: int) -> list[int]:
    """The days of the month on which the next slots are."""
    return [datetime.fromisoformat(slot).day for slot in coming(line, after, count=count)]


@pytest.mark.parametrize(
    ("line", "slots"),
    [
        ("* * * * *", ["05-04T10:31", "05-04T10:32"]),
        ("*/20 * * * *", ["05-04T10:40", "05-04T11:00"]),
        ("5,10-12 9 * * *", ["05-05T09:05", "05-05T09:10", "05-05T09:11"]),
        ("0 8-18/5 * * *", ["05-04T13:00", "05-04T18:00", "05-05T08:00"]),
        ("52-52/5 22-22/1 * * *", ["05-04T22:52", "05-05T22:52"]),
        ("0 9 * * 1-1/2", ["05-11T09:00", "05-18T09:00"]),
        ("0 9 * * MON-FRI", ["05-05T09:00", "05-06T09:00", "05-07T09:00", "05-08T09:00"]),
        ("0 9 * * sat-sun", ["05-09T09:00", "05-10T09:00", "05-16T09:00"]),
        ("0 9 * * 0", ["05-10T09:00", "05-17T09:00"]),
        ("0 9 * * 7", ["05-10T09:00", "05-17T09:00"]),
        ("0 0 1 jan,Jul *", ["07-01T00:00"]),
        ("0 0 13 * 5", ["05-08T00:00", "05-13T00:00", "05-15T00:00"]),
        ("@hourly", ["05-04T11:00", "05-04T12:00"]),
        ("@daily", ["05-05T00:00", "05-06T00:00"]),
        ("@midnight", ["05-05T00:00", "05-06T00:00"]),
        ("@weekly", ["05-10T00:00", "05-17T00:00"]),
        ("@monthly", ["06-01T00:00", "07-01T00:00"]),
        (" @Yearly ", []),
        ("0 0 L * *", ["05-31T00:00", "06-30T00:00"]),
        ("0 0 LW * *", ["05-29T00:00", "06-30T00:00"]),
        ("0 0 * * 5L", ["05-29T00:00", "06-26T00:00"]),
        ("0 0 * * mon#2", ["05-11T00:00", "06-08T00:00"]),
    ],
)
def test_a_line_comes_at_its_times(line: str, slots: list[str]) -> None:
    found = coming(line, "2026-05-04T10:30:00", count=max(1, len(slots)))
    assert found == ([f"2026-{slot}:00+00:00" for slot in slots] or ["2027-01-01T00:00:00+00:00"])


def test_if_both_days_are_restricted_either_will_do() -> None:
    assert days("0 0 1,15 * mon", "2026-05-01T00:00:00", 5) == [4, 11, 15, 18, 25]


def test_steps_through_all_days_are_a_restriction() -> None:
    assert days("0 0 */10 * mon", "2026-05-01T00:00:00", 5) == [4, 11, 18, 21, 25]
    assert days("0 0 13 * */3", "2026-05-01T00:00:00", 5) == [2, 3, 6, 9, 10]
    assert days("0 0 30 2 */3", "2026-01-01T00:00:00", 3) == [1, 4, 7]


def test_a_field_that_leaves_no_day_out_restricts_nothing() -> None:
    for free in ("*", "*/1", "1,*"):
        assert days(f"0 0 {free} * mon", "2026-05-01T00:00:00", 3) == [4, 11, 18]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("60 * * * *", ["minute", "60"]),
        ("* 24 * * *", ["hour", "24"]),
        ("* * 32 * *", ["day of month", "32"]),
        ("* * 0 * *", ["day of month", "0"]),
        ("* * * 13 *", ["month", "13"]),
        ("* * * Febr *", ["month", "Febr"]),
        ("* * * * 8", ["day of week", "8"]),
        ("* * * * mon#6", ["day of week", "mon#6"]),
        ("*/0 * * * *", ["minute", "*/0"]),
        ("30-10 * * * *", ["minute", "30-10"]),
        ("1,,2 * * * *", ["minute", "1,,2"]),
        ("-1 * * * *", ["minute", "-1"]),
        ("? * * * *", ["minute", "?"]),
        ("\u0661 * * * *", ["minute", "\u0661"]),
        ("9" * 500 + " * * * *", ["minute", "999"]),
        ("1," * 1000 + "1 * * * *", ["longer", "1,1,1"]),
        ("", ["0 fields"]),
        ("* * * *", ["4 fields", "* * * *"]),
        ("0 * * * * *", ["6 fields", "0 * * * * *"]),
        ("@reboot", ["@reboot", "@daily"]),
        ("@every 5m", ["@every 5m"]),
        ("0 0 30 2 *", ["0 0 30 2 *", "never"]),
        ("0 0 31 4,6,9,11 *", ["never"]),
    ],
)
def test_a_wrong_line_is_refused_by_its_field_and_its_text(line: str, words: list[str]) -> None:
    with pytest.raises(BadCron) as error:
        next_run(line, "UTC", 0)
    assert [word for word in words if word not in str(error.value)] == []


@pytest.mark.parametrize("name", ["", "utc", "Mars/Base", "Europe", "right/UTC", "../UTC", "/etc/localtime", "UTC\0"])
def test_a_wrong_zone_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(BadTimezone) as error:
        next_run("* * * * *", name, 0)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize(
    ("line", "zone", "after", "slots"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00", ["2026-03-30T02:30:00+02:00"]),
        ("30 1 * * *", "Europe/London", "2026-03-28T12:00:00", ["2026-03-30T01:30:00+01:00"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00", ["2026-10-05T02:15:00+11:00"]),
        ("45 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00", ["2026-10-04T02:45:00+11:00"]),
        ("30 2 * * *", "Antarctica/Troll", "2026-03-28T12:00:00", ["2026-03-30T02:30:00+02:00"]),
        ("0 12 * * *", "Pacific/Apia", "2011-12-29T11:00:00", ["2011-12-29T12:00:00-10:00"]),
        ("0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00", ["2011-12-31T12:00:00+14:00"]),
    ],
)
def test_times_that_a_change_skips_do_not_come(line: str, zone: str, after: str, slots: list[str]) -> None:
    assert coming(line, after, zone, count=1) == slots


@pytest.mark.parametrize(
    ("line", "zone", "after", "slots"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00", ["10-25T02:30:00+02:00", "10-26T02:30:00+01:00"]),
        ("30 1 * * *", "America/New_York", "2026-10-31T12:00:00", ["11-01T01:30:00-04:00", "11-02T01:30:00-05:00"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00", ["04-05T01:45:00+11:00", "04-06T01:45:00+10:30"]),
    ],
)
def test_times_that_a_change_repeats_come_once(line: str, zone: str, after: str, slots: list[str]) -> None:
    assert coming(line, after, zone, count=2) == [f"2026-{slot}" for slot in slots]


def test_an_hourly_line_does_not_come_in_the_repeated_hour() -> None:
    slots = coming("0 * * * *", "2026-10-25T01:30:00", "Europe/Berlin", count=3)
    assert slots == ["2026-10-25T02:00:00+02:00", "2026-10-25T03:00:00+01:00", "2026-10-25T04:00:00+01:00"]


def test_in_the_second_pass_of_an_hour_what_came_in_the_first_is_over() -> None:
    cron, second_pass = Cron("*/30 * * * *", "Europe/Berlin"), at("2026-10-25T02:10:00", "Europe/Berlin", fold=1)
    assert next(cron.after(second_pass)) == at("2026-10-25T03:00:00", "Europe/Berlin")
    assert next(cron.until(second_pass)) == at("2026-10-25T02:30:00", "Europe/Berlin", fold=0)


def test_a_slot_is_not_after_itself_but_up_to_itself() -> None:
    cron, noon = Cron("0 12 * * *", "UTC"), at("2026-05-04T12:00:00")
    assert next(cron.after(noon - 1)) == noon
    assert next(cron.after(noon)) == noon + 86_400_000
    assert next(cron.until(noon)) == noon
    assert next(cron.until(noon + 1)) == noon
    assert next(cron.until(noon - 1)) == noon - 86_400_000


# --- missed slots


def shown(slots: list[int]) -> list[str]:
    return [format_instant(slot)[11:16] for slot in slots]


@pytest.mark.parametrize(
    ("missed", "now", "slots"),
    [
        ("once", "10:00:00.001", ["10:00"]),
        ("skip", "10:00:00.001", ["10:00"]),
        ("all", "10:00:00.001", ["10:00"]),
        ("once", "10:40:00", ["10:30"]),
        ("skip", "10:40:00", []),
        ("skip", "10:30:59.999", ["10:30"]),
        ("skip", "10:31:00", []),
        ("all", "10:40:00", ["10:00", "10:15", "10:30"]),
    ],
)
def test_missed_slots_are_run_as_the_schedule_says(missed: str, now: str, slots: list[str]) -> None:
    cron, due = Cron("*/15 * * * *", "UTC"), parse_instant("2026-05-04T10:00:00Z")
    assert shown(slots_to_run(cron, missed, due, parse_instant(f"2026-05-04T{now}Z"))) == slots


def test_of_too_many_missed_slots_the_newest_hundred_are_run() -> None:
    due, now = parse_instant("2021-05-04T10:00:00Z"), parse_instant("2026-05-04T10:00:30Z")
    slots = slots_to_run(Cron("* * * * *", "UTC"), "all", due, now)
    assert slots == [now - 30_000 - minute * 60_000 for minute in range(99, -1, -1)]


def test_a_slot_that_is_none_any_more_is_run_all_the_same() -> None:
    """The clocks' rules may have changed since it was computed."""
    due = parse_instant("2026-05-04T10:07:00Z")
    for missed in ("once", "skip", "all"):
        assert slots_to_run(Cron("0 12 * * *", "UTC"), missed, due, due + 5) == [due]


@pytest.mark.parametrize("line", ["30 2 * 3 0L", "* 2 * 3 7L"])
def test_a_line_whose_times_the_clocks_always_skip_never_comes(line: str) -> None:
    with pytest.raises(BadCron, match="never comes"):
        next_run(line, "Europe/Paris", at("2026-05-04T10:30:00"))


def test_the_29th_of_february_is_waited_for_however_far_it_is() -> None:
    assert coming("0 0 29 2 *", "2096-03-01T00:00:00", count=1) == ["2104-02-29T00:00:00+00:00"]
