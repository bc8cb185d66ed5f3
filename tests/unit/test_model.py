"""The words of a job's life: durations, instants, ids, names, priorities."""

import contextlib
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.model import durations, instants
from rookery.model.durations import BadDuration, format_duration, parse_duration
from rookery.model.ids import IdSequence, decode_ulid, encode_ulid
from rookery.model.instants import BadInstant, format_instant, parse_instant
from rookery.model.job import priority_name, rank_of
from rookery.model.names import (
    is_job_id,
    is_namespace,
    is_visible,
    namespace_of,
    queue_name_fault,
    shown_name,
    stored_name,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("5s", 5000),
        ("10m", 600_000),
        ("1h0m0s", 3_600_000),
        ("1.5h", 5_400_000),
        ("500ms", 500),
        ("1d", 86_400_000),
        ("1h30m", 5_400_000),
        ("0s", 0),
        ("1us", 1),
        ("1500us", 2),
        ("1000000ns", 1),
        (".5s", 500),
        (" 2s ", 2000),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", " ", "5", "s", "-5s", "+5s", "5 s", "1h-5m", "1e3s", "5S", "\u0665s", "200y"])
def test_a_text_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(BadDuration):
        parse_duration(text)


def test_a_duration_of_more_than_a_century_is_refused() -> None:
    assert parse_duration("36500d") == durations.LONGEST
    with pytest.raises(BadDuration):
        parse_duration("36501d")


@pytest.mark.parametrize(
    ("ms", "text"),
    [(5000, "5s"), (600_000, "10m"), (5_400_000, "1h30m"), (1500, "1.5s"), (250, "250ms"), (0, "0s"), (1, "1ms")],
)
def test_a_duration_is_shown_as_short_as_can_be(ms: int, text: str) -> None:
    assert format_duration(ms) == text


@given(st.integers(0, durations.LONGEST))
def test_a_duration_comes_back_from_its_text(ms: int) -> None:
    assert parse_duration(format_duration(ms)) == ms


@given(st.text(max_size=80))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    with contextlib.suppress(BadDuration):
        assert 0 <= parse_duration(text) <= durations.LONGEST


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-02-10T12:00:00Z", "2026-02-10T12:00:00.000Z"),
        ("2026-02-10t12:00:00z", "2026-02-10T12:00:00.000Z"),
        ("2026-02-10T12:00:00.5Z", "2026-02-10T12:00:00.500Z"),
        ("2026-02-10T14:30:00+02:30", "2026-02-10T12:00:00.000Z"),
        ("2026-02-10T12:00:00.123456789Z", "2026-02-10T12:00:00.124Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
    ],
)
def test_an_instant_is_read_with_any_offset_and_shown_in_utc(text: str, shown: str) -> None:
    assert format_instant(parse_instant(text)) == shown


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-02-10", "2026-02-10T12:00:00", "2026-13-10T12:00:00Z", "2026-02-30T12:00:00Z", "12:00:00Z"],
)
def test_a_text_that_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(BadInstant):
        parse_instant(text)


@pytest.mark.parametrize("text", ["1969-12-31T23:59:59Z", "1970-01-01T00:00:00+01:00", "9999-12-31T23:59:59.9999Z"])
def test_an_instant_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(BadInstant):
        parse_instant(text)


@given(st.integers(0, instants.LATEST))
def test_an_instant_comes_back_from_its_text(ms: int) -> None:
    assert parse_instant(format_instant(ms)) == ms


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(9998, 12, 31)),
    st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
def test_an_instant_of_any_zone_is_never_early(when: datetime, zone: timezone) -> None:
    moment = when.replace(tzinfo=zone)

    ms = parse_instant(moment.isoformat())

    assert timedelta(0) <= EPOCH + timedelta(milliseconds=ms) - moment < timedelta(milliseconds=1)


@given(st.text(max_size=40))
def test_any_text_is_an_instant_or_refused(text: str) -> None:
    with contextlib.suppress(BadInstant):
        assert 0 <= parse_instant(text) <= instants.LATEST


@given(st.integers(0, 2**128 - 1))
def test_a_ulid_comes_back_from_its_letters(number: int) -> None:
    text = encode_ulid(number)

    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", text)
    assert decode_ulid(text) == number


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**128 - 1))
def test_ulids_sort_like_their_numbers(one: int, other: int) -> None:
    assert (encode_ulid(one) < encode_ulid(other)) == (one < other)


@given(
    st.integers(0, 2**100),
    st.lists(st.tuples(st.integers(0, 2**42), st.integers(0, 2**90), st.integers(0, 40)), max_size=20),
)
def test_ids_only_ever_grow_whatever_the_clock_does(last: int, moves: list[tuple[int, int, int]]) -> None:
    sequence = IdSequence(last)
    ids = []
    for now, entropy, count in moves:
        sequence.advance(now, entropy)
        ids += [sequence.text() for _ in range(count)]

    assert sorted(set(ids)) == ids
    assert {len(text) for text in ids} <= {26}


def test_ids_grow_across_the_end_of_their_last_letters() -> None:
    sequence = IdSequence((1 << 20) - 3)
    ids = [sequence.text() for _ in range(6)]

    assert ids == [encode_ulid((1 << 20) - 2 + n) for n in range(6)]


@given(st.integers(0, 2**47), st.integers(0, 2**80))
def test_an_id_carries_its_time(now: int, entropy: int) -> None:
    sequence = IdSequence(0)
    sequence.advance(now, entropy)

    assert decode_ulid(sequence.text()) >> 80 == now


@pytest.mark.parametrize(
    ("priority", "rank"),
    [("critical", 0), ("high", 1), ("normal", 2), ("low", 2), ("", 2), (None, 2), ("whatever", 2), ("CRITICAL", 2)],
)
def test_a_priority_that_nobody_knows_means_normal(priority: str | None, rank: int) -> None:
    assert rank_of(priority) == rank


@pytest.mark.parametrize(
    ("rank", "name"), [(0, "critical"), (1, "high"), (2, "normal"), (-3, "critical"), (9, "normal")]
)
def test_every_rank_has_a_name(rank: int, name: str) -> None:
    assert priority_name(rank) == name


@pytest.mark.parametrize("name", ["q", "mails.send", "a b", "日本語", "x" * 255, "a/b?c#d"])
def test_a_queue_may_have_almost_any_name(name: str) -> None:
    assert queue_name_fault(name) is None


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x00", "\x7f", "\x85", "x" * 256, "é" * 128])
def test_a_queue_name_is_not_blank_nor_long_nor_strange(name: str) -> None:
    assert queue_name_fault(name) is not None


@pytest.mark.parametrize("text", ["a", "order-4711", "A.b_c:d-9", "x" * 128])
def test_a_callers_job_id_has_plain_letters(text: str) -> None:
    assert is_job_id(text)


@pytest.mark.parametrize("text", ["", "x" * 129, "a b", "a/b", "é", "a\n", "\u0663"])
def test_another_text_is_no_job_id(text: str) -> None:
    assert not is_job_id(text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("a", True), ("acme-1", True), ("a" * 63, True), ("a" * 64, False), ("-a", False), ("a-", False), ("A", False)],
)
def test_a_namespace_has_small_letters_digits_and_dashes(text: str, is_one: bool) -> None:
    assert is_namespace(text) is is_one


@given(st.sampled_from(["default", "acme", "x"]), st.text(min_size=1).filter(lambda name: "::" not in name))
def test_a_queue_is_known_to_its_namespace_by_its_own_name(namespace: str, queue: str) -> None:
    stored = stored_name(namespace, queue)

    assert shown_name(namespace, stored) == queue
    assert is_visible(namespace, stored)
    assert is_visible("default", stored)
    assert not is_visible("other", stored)


@given(st.sampled_from(["default", "acme"]), st.from_regex("[a-z]{1,9}", fullmatch=True))
def test_a_stored_name_tells_its_namespace(namespace: str, queue: str) -> None:
    assert namespace_of(stored_name(namespace, queue)) == namespace
