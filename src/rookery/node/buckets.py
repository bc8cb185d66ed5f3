"""Token buckets, one for each of many callers: how much may be asked for at a time."""

import time
from typing import Final

MOST_KEYS: Final = 100_000


class Bucket:
    """Tokens that come back with time."""

    __slots__ = ("at", "tokens")

    def __init__(self, tokens: float, at: float) -> None:
        self.tokens = tokens
        self.at = at


class Buckets:
    """So many tokens a second come back into each bucket, up to the burst."""

    def __init__(self, per_second: float, burst: int) -> None:
        self.burst = burst
        self._per_second = per_second
        self._buckets: dict[bytes, Bucket] = {}

    def take(self, key: bytes, tokens: int = 1) -> float:
        """Take tokens; if there are too few, take none and say in how many seconds there will be enough."""
        bucket = self._bucket(key)
        if bucket.tokens < tokens:
            return (tokens - bucket.tokens) / self._per_second
        bucket.tokens -= tokens
        return 0.0

    def reserve(self, key: bytes) -> float:
        """Take one token in any case, and say in how many seconds it will be there."""
        bucket = self._bucket(key)
        bucket.tokens -= 1
        return max(0.0, -bucket.tokens / self._per_second)

    def _bucket(self, key: bytes) -> Bucket:
        """A bucket with the tokens that it has by now."""
        now = time.monotonic()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._add(key, now)
        bucket.tokens = min(self.burst, bucket.tokens + (now - bucket.at) * self._per_second)
        bucket.at = now
        return bucket

    def give_back(self, key: bytes, tokens: int = 1) -> None:
        """Undo a `take`."""
        bucket = self._buckets.get(key)
        if bucket is not None:
            bucket.tokens += tokens

    def _add(self, key: bytes, now: float) -> Bucket:
        if len(self._buckets) >= MOST_KEYS:
            self._forget_idle(now)
        bucket = self._buckets[key] = Bucket(self.burst, now)
        return bucket

    def _forget_idle(self, now: float) -> None:
        """Drop buckets that are full again by now; if all are in use, start anew."""
        for key, bucket in list(self._buckets.items()):
            if bucket.tokens + (now - bucket.at) * self._per_second >= self.burst:
                del self._buckets[key]
        if len(self._buckets) >= MOST_KEYS:
            self._buckets.clear()
