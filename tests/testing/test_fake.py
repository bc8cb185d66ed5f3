"""Jobs that only wait, until the test drains them."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any
from unittest.mock import ANY

import msgspec
import pytest

from rookery import InvalidRequest
from rookery.client.functions.app import App
from rookery.client.functions.outcomes import Snooze
from rookery.testing import Fake

app = App()
sent: list[tuple[str, str]] = []


class Address(msgspec.Struct):
    street: str
    zip: int = 0


@app.job(queue="emails.send")
async def send_email(to: str, template: str = "welcome", day: date | None = None) -> None:
    await asyncio.sleep(0)
    if to == "bad":
        raise ValueError("bad address")
    sent.append((to, template))


@app.job
def deliver(address: Address, queue: str = "fast") -> None:
    send_email.enqueue_sync(address.street)


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    sent.clear()


def test_nothing_runs_before_it_is_drained(fake: Fake) -> None:
    deliver.enqueue_sync(Address("High Street"))
    assert (len(fake.enqueued), sent) == (1, [])

    assert fake.drain().completed == 2

    assert sent == [("High Street", "welcome")]
    fake.assert_enqueued(send_email, to="High Street")


def test_jobs_that_wait_for_their_time_are_drained_too(fake: Fake) -> None:
    send_email.options(delay="2h").enqueue_sync("later")
    send_email.options(scheduled_at="2999-01-01T00:00:00Z").enqueue_sync("much later")
    before = fake.now

    assert fake.drain().completed == 2

    assert (sent, fake.now) == ([("later", "welcome"), ("much later", "welcome")], before)


def test_an_error_is_raised_unless_the_test_wants_to_go_on(fake: Fake) -> None:
    send_email.enqueue_sync("bad")
    send_email.enqueue_sync("good")

    with pytest.raises(ValueError, match="bad address"):
        fake.drain()
    drained = fake.drain(raise_errors=False)

    assert (drained.failed, drained.completed, drained.dead) == (1, 1, 0)
    assert fake.drain(raise_errors=False).dead == 1


def test_a_job_that_comes_back_is_not_run_for_ever(fake: Fake) -> None:
    @app.job
    def not_yet() -> Any:
        return Snooze("1h")

    not_yet.enqueue_sync()

    assert fake.drain().snoozed == 2
    del app.functions["not_yet"]


def test_options_are_checked_by_the_rules_of_the_server(fake: Fake) -> None:
    with pytest.raises(InvalidRequest, match="max_retries"):
        send_email.options(max_retries=-1).enqueue_sync("a")
    with pytest.raises(TypeError, match="to"):
        send_email.enqueue_sync(5)  # type: ignore[arg-type]
    assert fake.enqueued == []


def test_a_job_is_found_by_what_matters(fake: Fake) -> None:
    send_email.options(priority="high", tags={"team": "a", "n": 1}, delay="5m", unique_key="k").enqueue_sync(
        "a@example.com", day=date(2026, 1, 1)
    )

    found = fake.assert_enqueued(send_email, to="a@example.com")
    assert [job.id for job in found] == [fake.enqueued[0].id]
    for expected in (
        {"times": 1},
        {"to": ANY},
        {"to": str},
        {"to": lambda to: to.endswith("@example.com")},
        {"template": "welcome"},
        {"day": date(2026, 1, 1)},
        {"day": "2026-01-01"},
        {"priority": "high"},
        {"priority": 1},
        {"tags": {"team": "a"}},
        {"tags": {"n": lambda n: n > 0}},
        {"delay": "5m"},
        {"delay": timedelta(minutes=5)},
        {"scheduled_at": fake.now + timedelta(minutes=5)},
        {"scheduled_at": lambda at: at > fake.now},
        {"unique_key": "k"},
        {"queue": "emails.send"},
        {"where": lambda job: job.max_retries == 3},
    ):
        fake.assert_enqueued(send_email, **expected)
    fake.assert_enqueued("emails.send", to="a@example.com")
    fake.assert_enqueued(to="a@example.com")
    for otherwise in (
        {"times": 2},
        {"to": "b@example.com"},
        {"to": int},
        {"to": lambda to: False},
        {"template": "bye"},
        {"day": date(2026, 1, 2)},
        {"priority": "normal"},
        {"tags": {"team": "b"}},
        {"tags": {"city": "x"}},
        {"delay": "6m"},
        {"scheduled_at": None},
        {"scheduled_at": fake.now},
        {"unique_key": "l"},
        {"queue": "other"},
        {"where": lambda job: False},
    ):
        with pytest.raises(AssertionError):
            fake.assert_enqueued(send_email, **otherwise)
        fake.refute_enqueued(send_email, **otherwise) if "times" not in otherwise else None
    with pytest.raises(AssertionError):
        fake.refute_enqueued(send_email)


def test_an_argument_may_have_the_name_of_an_option(fake: Fake) -> None:
    deliver.enqueue_sync(Address("High Street", 7), queue="slow")
    fake.assert_enqueued(deliver, address=Address("High Street", 7), arguments={"queue": "slow"})
    fake.assert_enqueued(deliver, address={"street": "High Street", "zip": 7}, queue="deliver")
    fake.refute_enqueued(deliver, arguments={"queue": "fast"})


def test_times_may_be_nought(fake: Fake) -> None:
    assert fake.assert_enqueued(send_email, times=0) == []


def test_what_could_never_be_found_is_an_error(fake: Fake) -> None:
    with pytest.raises(TypeError, match=r"send_email has no parameter 'too' \(did you mean 'to'\?\)"):
        fake.refute_enqueued(send_email, too="a")
    with pytest.raises(ValueError, match="priority must be one of critical, high, normal, not 'urgent'"):
        fake.refute_enqueued(send_email, priority="urgent")
    with pytest.raises(TypeError, match="expected a job function or the name of a queue, not 5"):
        fake.refute_enqueued(5)  # type: ignore[arg-type]
    send_email.enqueue_sync("a")
    with pytest.raises(ValueError, match="delay: invalid duration"):
        fake.refute_enqueued(send_email, delay="soon")


def message(fake: Fake, *what: Any, **expected: Any) -> str:
    with pytest.raises(AssertionError) as raised:
        fake.assert_enqueued(*what, **expected)
    return str(raised.value)


def test_the_message_shows_what_was_enqueued_and_what_is_otherwise(fake: Fake) -> None:
    at = datetime(2999, 1, 1, tzinfo=UTC)
    fake.client.enqueue("reports", [1, 2])
    send_email.enqueue_sync("a@example.com", "bye")
    send_email.options(priority="high", scheduled_at=at).enqueue_sync("b@example.com")

    assert message(fake, send_email, to="b@example.com", template="welcome", scheduled_at=None) == (
        """\
no job was enqueued like
    send_email(to="b@example.com", template="welcome"), scheduled_at null

enqueued were:
  send_email(to="b@example.com"), priority high, scheduled for 2999-01-01T00:00:00.000Z
      it is scheduled for 2999-01-01T00:00:00.000Z, not for at once
  send_email(to="a@example.com", template="bye")
      to is "a@example.com", not "b@example.com"
      template is "bye", not "welcome"
  reports([1,2])"""
    )


def test_the_message_shows_which_ones_were_counted(fake: Fake) -> None:
    send_email.enqueue_sync("a")
    send_email.enqueue_sync("b")

    assert message(fake, send_email, times=2, to="a") == (
        """\
expected 2 jobs like
    send_email(to="a")
but found 1 (*)

enqueued were:
* send_email(to="a")
  send_email(to="b")
      to is "b", not "a\""""
    )


def test_the_message_says_so_when_there_is_nothing_and_not_all_when_there_is_much(fake: Fake) -> None:
    assert message(fake, send_email) == ("no job was enqueued like\n    send_email()\n\nnothing was enqueued at all")
    for number in range(25):
        send_email.enqueue_sync(f"{number}")
    assert message(fake, send_email, to="x").endswith('"19", not "x"\n  … and 5 more')
    fake.client.enqueue("big", "x" * 5000)
    assert len(message(fake, "big", times=2)) < 2000


def test_what_should_not_be_there_is_shown(fake: Fake) -> None:
    send_email.enqueue_sync("a")
    with pytest.raises(AssertionError) as raised:
        fake.refute_enqueued(send_email, to=str)
    assert str(raised.value) == (
        'expected no job like\n    send_email(to=str)\n\nbut found 1 job:\n  send_email(to="a")'
    )
