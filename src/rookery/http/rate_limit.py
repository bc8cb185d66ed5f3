"""Requests per client: a token bucket for reading and one for writing."""

import math
import time
from hashlib import sha256
from typing import Final

from rookery.http.errors import RATE_LIMITED, ApiError
from rookery.http.settings import HttpSettings

MOST_CLIENTS: Final = 100_000


class Bucket:
    """Tokens that come back with time."""

    __slots__ = ("at", "tokens")

    def __init__(self, tokens: float, at: float) -> None:
        self.tokens = tokens
        self.at = at


class RateLimiter:
    """One bucket for each client and direction."""

    def __init__(self, settings: HttpSettings) -> None:
        self._limits = {
            True: (settings.read_rps, settings.read_burst),
            False: (settings.write_rps, settings.write_burst),
        }
        self._buckets: dict[tuple[bytes, bool], Bucket] = {}

    def charge_items(self, client: bytes, is_read: bool, items: int) -> None:
        """Take tokens for the items of a request that has paid for one already; no more than the burst in all."""
        try:
            self.charge(client, is_read, min(items, self._limits[is_read][1]) - 1)
        except ApiError:
            self._buckets[client, is_read].tokens += 1
            raise

    def charge_frame(self, client: bytes, items: int) -> None:
        """Take tokens for a frame of a stream, which writes: for its items, at least one, no more than the burst."""
        self.charge(client, False, max(1, min(items, self._limits[False][1])))

    def charge(self, client: bytes, is_read: bool, cost: int) -> None:
        """Take tokens, or refuse."""
        rps, burst = self._limits[is_read]
        now = time.monotonic()
        bucket = self._buckets.get((client, is_read))
        if bucket is None:
            bucket = self._add(client, is_read, burst, now)
        bucket.tokens = min(burst, bucket.tokens + (now - bucket.at) * rps)
        bucket.at = now
        if bucket.tokens < cost:
            raise ApiError(429, RATE_LIMITED, "rate limit exceeded", retry_after=1, retry_after_ms=1000)
        bucket.tokens -= cost

    def _add(self, client: bytes, is_read: bool, burst: int, now: float) -> Bucket:
        if len(self._buckets) >= MOST_CLIENTS:
            self._forget_idle(now)
        bucket = self._buckets[client, is_read] = Bucket(burst, now)
        return bucket

    def _forget_idle(self, now: float) -> None:
        """Drop buckets that are full again by now; if all are in use, start anew."""
        for key, bucket in list(self._buckets.items()):
            rps, burst = self._limits[key[1]]
            if bucket.tokens + (now - bucket.at) * rps >= burst:
                del self._buckets[key]
        if len(self._buckets) >= MOST_CLIENTS:
            self._buckets.clear()


def client_of(headers: dict[bytes, bytes], peer: tuple[str, int] | None) -> bytes:
    """Who calls: by key, by authorization, by the address a proxy names, or by the address itself."""
    for name in (b"x-api-key", b"authorization"):
        secret = headers.get(name)
        if secret:
            return sha256(secret).digest()
    forwarded = headers.get(b"x-forwarded-for")
    if forwarded:
        return forwarded.split(b",", 1)[0].strip()[:64]
    return peer[0].encode() if peer else b""


def retry_after_seconds(error: ApiError) -> bytes:
    """The header `Retry-After`: whole seconds, at least one."""
    return str(max(1, math.ceil(error.extra.get("retry_after_ms", 1000) / 1000))).encode()
