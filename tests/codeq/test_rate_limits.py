"""How many requests of one token are let through."""

from collections import Counter

import pytest

from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.limits import RateLimits
from rookery.http.codeq.settings import read_settings
from rookery.node.buckets import Buckets


def limits(hits: Counter[tuple[str, str]], **variables: str) -> RateLimits:
    return RateLimits(read_settings({f"CODEQ_RATE_LIMIT_{name}": value for name, value in variables.items()}), hits)


def test_a_limit_counts_for_each_scope_and_each_token() -> None:
    hits: Counter[tuple[str, str]] = Counter()
    limited = limits(hits, WORKER_REQUESTS_PER_MINUTE="2", WORKER_BURST_SIZE="2")
    limited.charge("worker", "a")
    limited.charge("worker", "a")
    with pytest.raises(CodeqError) as refused:
        limited.charge("worker", "a")
    assert refused.value.status == 429
    assert refused.value.extra == {"scope": "worker", "operation": "claim", "retryAfterSeconds": 30}
    limited.charge("worker", "b")
    for _ in range(10):
        limited.charge("producer", "a")
        limited.charge("admin", "a")
    assert hits == {("worker", "claim"): 1}


@pytest.mark.parametrize("name", ["PRODUCER_REQUESTS_PER_MINUTE", "PRODUCER_BURST_SIZE"])
def test_half_a_limit_is_none(name: str) -> None:
    limited = limits(Counter(), **{name: "1"})
    for _ in range(10):
        limited.charge("producer", "a")


def test_the_wait_is_never_told_as_less_than_a_second() -> None:
    limited = limits(Counter(), ADMIN_REQUESTS_PER_MINUTE="60000", ADMIN_BURST_SIZE="1")
    refusals = []
    for _ in range(1000):
        try:
            limited.charge("admin", "a")
        except CodeqError as refused:
            refusals.append(refused.extra["retryAfterSeconds"])
    assert set(refusals) == {1}


def test_a_bucket_says_how_long_until_there_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("rookery.node.buckets.time.monotonic", lambda: now)
    buckets = Buckets(0.5, 3)
    assert buckets.take(b"a", 3) == 0
    assert buckets.take(b"a") == 2
    now += 1
    assert buckets.take(b"a") == 1
    now += 1
    assert buckets.take(b"a") == 0
    buckets.give_back(b"a")
    assert buckets.take(b"a") == 0
    now += 1000
    assert buckets.take(b"a", 4) == 2
    assert buckets.take(b"a", 3) == 0


def test_there_is_an_end_to_how_many_buckets_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.node.buckets.MOST_KEYS", 10)
    buckets = Buckets(0.001, 1)
    for number in range(100):
        assert buckets.take(str(number).encode()) == 0
    assert len(buckets._buckets) <= 10
