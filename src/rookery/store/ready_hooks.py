"""Reading who wants to hear that a queue, which was empty, has jobs again."""

from typing import Final

import apsw
import msgspec

from rookery.model.names import namespace_of

ALL: Final = "*"
FANOUT: Final = "fanout"
GROUP: Final = "group"
HASH: Final = "hash"


class ReadyHook(msgspec.Struct, frozen=True):
    """One subscription. Its queues are stored names, with how the subscriber writes them."""

    id: str
    namespace: str
    url: str
    queues: dict[str, str]
    mode: str
    group_id: str | None
    min_interval: int
    expires_at: int


class Audience:
    """Who wants to hear of which queue; of many subscriptions most are about others."""

    def __init__(self, hooks: list[ReadyHook]) -> None:
        self._of_one: dict[str, list[ReadyHook]] = {}
        self._of_all: dict[str, list[ReadyHook]] = {}
        for hook in hooks:
            if ALL in hook.queues:
                self._of_all.setdefault(hook.namespace, []).append(hook)
                continue
            for queue in hook.queues:
                self._of_one.setdefault(queue, []).append(hook)

    def of(self, queue: str) -> list[ReadyHook]:
        """The subscriptions that are about a queue: those to it first, then those to all of its namespace."""
        return self._of_one.get(queue, []) + self._of_all.get(namespace_of(queue), [])


def read_ready_hooks(db: apsw.Connection, now: int) -> list[ReadyHook]:
    """Those that have not run out, the oldest first."""
    rows = db.execute(
        """
        SELECT id, namespace, url, queues, mode, group_id, min_interval, expires_at
          FROM ready_hook
         WHERE expires_at > ?
         ORDER BY created_at, rowid
        """,
        (now,),
    )
    return [
        ReadyHook(id, namespace, url, msgspec.json.decode(queues), mode, group_id, min_interval, expires_at)
        for id, namespace, url, queues, mode, group_id, min_interval, expires_at in rows
    ]
