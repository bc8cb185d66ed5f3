"""Durations, times and errors as people give them and get them."""

import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from rookery import Conflict, Job, JobFailed, Overloaded, ServerUnreachable, WaitTimeout
from rookery.client.transport.addresses import read_url
from rookery.client.transport.requests import part_of_path, query_of
from rookery.client.values import duration_text, milliseconds_of, seconds_of, time_text, whole_seconds_of


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        (timedelta(minutes=5), 300_000),
        (timedelta(microseconds=1), 1),
        (5, 5000),
        (0.25, 250),
        (0, 0),
    ],
)
def test_a_duration_is_text_a_timedelta_or_seconds(given: Any, milliseconds: int) -> None:
    assert milliseconds_of(given, "x") == milliseconds
    assert seconds_of(given, "x") == pytest.approx(milliseconds / 1000)
    assert milliseconds_of(duration_text(given, "x"), "x") == milliseconds
    assert whole_seconds_of(given, "x") == -(-milliseconds // 1000)


def test_text_goes_to_the_server_as_it_is() -> None:
    assert duration_text("90s", "x") == "90s"
    assert time_text("tomorrow", "x") == "tomorrow"
    assert duration_text(timedelta(seconds=90), "x") == "1m30s"


@pytest.mark.parametrize("wrong", ["soon", "", timedelta(-1), -0.5])
def test_what_is_no_duration_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(ValueError, match="x"):
        milliseconds_of(wrong, "x")


def test_a_time_is_told_in_utc() -> None:
    zone = timezone(timedelta(hours=2))
    assert time_text(datetime(2026, 1, 1, 12, tzinfo=zone), "at") == "2026-01-01T10:00:00+00:00"
    assert time_text(date(2026, 1, 1), "after") == "2026-01-01"
    with pytest.raises(ValueError, match="at: 2026-01-01T12:00:00 has no time zone"):
        time_text(datetime(2026, 1, 1, 12), "at")


@pytest.mark.parametrize(
    ("url", "host", "port", "authority", "prefix"),
    [
        ("localhost:8080", "localhost", 8080, "localhost:8080", ""),
        ("http://jobs.example.com", "jobs.example.com", 80, "jobs.example.com", ""),
        ("https://jobs.example.com/", "jobs.example.com", 443, "jobs.example.com", ""),
        ("https://jobs.example.com:443", "jobs.example.com", 443, "jobs.example.com", ""),
        ("http://[::1]:9000/a/b/", "::1", 9000, "[::1]:9000", "/a/b"),
        ("http://bücher.example", "xn--bcher-kva.example", 80, "xn--bcher-kva.example", ""),
        ("http://x/a b", "x", 80, "x", "/a%20b"),
    ],
)
def test_a_url_is_taken_apart(url: str, host: str, port: int, authority: str, prefix: str) -> None:
    address = read_url(url)
    assert (address.host, address.port, address.authority, address.prefix) == (host, port, authority, prefix)
    assert address.is_tls == url.startswith("https")


def test_paths_and_queries_are_encoded() -> None:
    assert part_of_path("a/b ü") == "a%2Fb%20%C3%BC"
    assert query_of(a="x y&z", b=None, c=True, d=3) == "a=x%20y%26z&c=true&d=3"
    for nothing in ("", ".", ".."):
        with pytest.raises(ValueError, match="is neither an id nor a name"):
            part_of_path(nothing)


def test_errors_can_be_sent_to_another_process() -> None:
    job = Job(id="job_1", queue="q", state="dead", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    for error in (
        Conflict(409, "CONFLICT", "taken", {"job_id": "job_1"}),
        Overloaded(429, "OVERLOADED", "busy", {"retry_after_ms": 5}),
        ServerUnreachable("gone", was_sent=True),
        JobFailed(job),
        WaitTimeout(job),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert (str(copy), copy.__dict__) == (str(error), error.__dict__)


def test_overload_says_how_long_to_wait() -> None:
    for fields, seconds in (
        ({"retry_after_ms": 5}, 0.005),
        ({"retry_after": 2}, 2.0),
        ({}, 1.0),
        ({"retry_after": "x"}, 1.0),
    ):
        assert Overloaded(429, "OVERLOADED", "busy", fields).retry_after == seconds


def test_what_a_newer_server_adds_is_no_problem() -> None:
    text = b'{"id":"j","queue":"q","state":"levitating","created_at":"2026-01-01T00:00:00.123Z","aura":"green"}'
    job = msgspec.json.decode(text, type=Job)
    assert (job.state, job.created_at.microsecond, job.errors, job.has_ended) == ("levitating", 123_000, [], False)
