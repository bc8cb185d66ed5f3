"""Requests per client: a token bucket for reading and one for writing."""

from hashlib import sha256

from rookery.http.errors import RATE_LIMITED, ApiError
from rookery.http.settings import HttpSettings
from rookery.node.buckets import Buckets


class RateLimiter:
    """One bucket for each client and direction."""

    def __init__(self, settings: HttpSettings) -> None:
        self._buckets = {
            True: Buckets(settings.read_rps, settings.read_burst),
            False: Buckets(settings.write_rps, settings.write_burst),
        }

    def charge_items(self, client: bytes, is_read: bool, items: int) -> None:
        """Take tokens for the items of a request that has paid for one already; no more than the burst in all."""
        buckets = self._buckets[is_read]
        try:
            self.charge(client, is_read, min(items, buckets.burst) - 1)
        except ApiError:
            buckets.give_back(client)
            raise

    def charge_frame(self, client: bytes, items: int) -> None:
        """Take tokens for a frame of a stream, which writes: for its items, at least one, no more than the burst."""
        self.charge(client, False, max(1, min(items, self._buckets[False].burst)))

    def charge(self, client: bytes, is_read: bool, cost: int) -> None:
        """Take tokens, or refuse."""
        if self._buckets[is_read].take(client, cost):
            raise ApiError(429, RATE_LIMITED, "rate limit exceeded", retry_after=1, retry_after_ms=1000)


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
