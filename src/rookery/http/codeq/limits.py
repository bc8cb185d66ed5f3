"""Requests per token: a bucket for each of codeQ's scopes, if the operator wants one."""

import math
from collections import Counter
from typing import Final

from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.settings import CodeqSettings
from rookery.node.buckets import Buckets

OPERATIONS: Final = {"producer": "create_task", "worker": "claim", "admin": "cleanup"}
"""What the requests of a scope are called."""
WEBHOOK: Final = "webhook"
"""The scope of what we send ourselves; there it is the URL that has a bucket."""
NOTIFICATION: Final = "queue_ready"
CALLBACK: Final = "task_result"


class RateLimits:
    """Lets so many requests of each token through, and so many to each URL. Counts those that it does not."""

    def __init__(self, settings: CodeqSettings, hits: Counter[tuple[str, str]]) -> None:
        self._hits = hits
        self._buckets = {
            scope: Buckets(limit.requests_per_minute / 60, limit.burst_size)
            for scope, limit in settings.rate_limits.items()
            if limit.is_on
        }

    def charge(self, scope: str, bearer: str) -> None:
        """Count a request, or refuse it."""
        buckets = self._buckets.get(scope)
        wait = 0.0 if buckets is None else buckets.take(bearer.encode())
        if wait:
            operation, seconds = OPERATIONS[scope], max(1, math.ceil(wait))
            self._hits[scope, operation] += 1
            raise CodeqError(429, "rate limit exceeded", scope=scope, operation=operation, retryAfterSeconds=seconds)

    def may_notify(self, url: str) -> bool:
        """Count a notification to a URL, if there is room for it."""
        buckets = self._buckets.get(WEBHOOK)
        if buckets is None or not buckets.take(url.encode()):
            return True
        self._hits[WEBHOOK, NOTIFICATION] += 1
        return False

    def callback_turn(self, url: str) -> int:
        """Count a callback to a URL in any case; in how many milliseconds it may go."""
        buckets = self._buckets.get(WEBHOOK)
        wait = 0.0 if buckets is None else buckets.reserve(url.encode())
        if wait > 0:
            self._hits[WEBHOOK, CALLBACK] += 1
        return math.ceil(wait * 1000)
