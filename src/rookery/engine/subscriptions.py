"""Which events go to which webhook: what is kept in memory of the webhooks that are enabled."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from rookery.model.names import is_visible

ALL: Final = "*"


class Subscription:
    """The events that a webhook wants, how many of them already wait for it, and the last one it was told of."""

    __slots__ = ("_queues", "_types", "id", "namespace", "told", "waiting")

    def __init__(self, id: str, namespace: str, events: str, queues: str, waiting: int, told: int) -> None:
        types = frozenset(type.lower() for type in msgspec.json.decode(events, type=list[str]))
        self.id = id
        self.namespace = namespace
        self.waiting = waiting
        self.told = told
        self._types = None if ALL in types else types
        self._queues = frozenset(msgspec.json.decode(queues, type=list[str])) or None

    def wants(self, type: str, queue: str) -> bool:
        """Whether an event of that type is for it; what its namespace cannot see never is."""
        return (
            (self._types is None or type in self._types)
            and (self._queues is None or queue in self._queues)
            and is_visible(self.namespace, queue)
        )


def load_subscriptions(execute: Callable[..., Any]) -> dict[str, Subscription]:
    """Those of all enabled webhooks, the oldest first."""
    rows = execute(
        "SELECT id, namespace, events, queues, waiting, told FROM webhook WHERE enabled ORDER BY created_at, rowid"
    )
    return {row[0]: Subscription(*row) for row in rows}
