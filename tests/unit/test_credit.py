"""How many jobs a worker takes in hand."""

from rookery.client.worker.credit import MOST, Credit


def work(credit: Credit, begin: float, rate: float, seconds: float) -> float:
    """Finish jobs at this rate for a while; when it is over."""
    now = begin
    while now < begin + seconds:
        now += 0.025
        credit.observe(round(rate * 0.025), now)
    return now


def test_a_worker_that_has_done_nothing_takes_as_many_as_it_can_run() -> None:
    assert Credit(10, 0.0).window == 10


def test_short_jobs_are_taken_for_fifty_milliseconds_ahead() -> None:
    credit = Credit(10, 0.0)
    work(credit, 0.0, 2000, 1)

    assert 10 + 75 <= credit.window <= 10 + 125
    assert credit.is_off


def test_never_more_than_the_most() -> None:
    credit = Credit(10, 0.0)
    work(credit, 0.0, 100_000, 1)

    assert credit.window == MOST


def test_when_jobs_become_long_none_is_taken_ahead() -> None:
    credit = Credit(10, 0.0)
    now = work(credit, 0.0, 10_000, 1)
    for _ in range(10):
        now += 5
        credit.observe(1, now)

    assert credit.window == 10


def test_a_small_change_of_pace_is_not_worth_telling_the_server() -> None:
    credit = Credit(10, 0.0)
    now = work(credit, 0.0, 2000, 1)
    credit.is_off = False
    work(credit, now, 2200, 1)

    assert not credit.is_off


def test_a_worker_with_more_hands_than_the_most_takes_what_it_can_run() -> None:
    credit = Credit(1000, 0.0)
    work(credit, 0.0, 100_000, 1)

    assert credit.window == 1000
