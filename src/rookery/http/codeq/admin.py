"""Looking at the queues as an admin: all buckets of all commands, and the figures of one command."""

from typing import TYPE_CHECKING, Final

import msgspec

from rookery.http.call import Answer, json_answer
from rookery.http.codeq.call import CodeqCall, Route
from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.names import command_of
from rookery.http.codeq.priorities import PRIORITIES, priority_of
from rookery.store.depths import count_by_rank, read_depth, read_depths

if TYPE_CHECKING:
    import apsw


class QueueStats(msgspec.Struct, rename="camel"):
    """How many tasks of a command are where."""

    command: str
    ready: int
    delayed: int
    in_progress: int
    dlq: int


async def list_queues(call: CodeqCall) -> Answer:
    """Every bucket of every command, with how many tasks it has."""
    namespace = call.namespace
    return await call.node.overviews.run(lambda db: json_answer(_buckets(db, namespace)))


def _buckets(db: "apsw.Connection", namespace: str) -> dict[str, int]:
    buckets: dict[str, int] = {}
    for depth in read_depths(db, namespace):
        command = command_of(namespace, depth.name)
        if command is None:
            continue
        tiers = dict.fromkeys(PRIORITIES, 0)
        for rank, count in count_by_rank(db, depth.id).items() if depth.ready else ():
            tiers[priority_of(rank)] += count
        queue = f"codeq:q:{command}"
        buckets |= {f"{queue}:pending:{priority}": count for priority, count in tiers.items()}
        buckets |= {f"{queue}:inprog": depth.active, f"{queue}:delayed": depth.delayed, f"{queue}:dlq": depth.dead}
    return buckets


async def get_queue(call: CodeqCall) -> Answer:
    """The figures of one command; zeros if nobody has heard of it."""
    command = call.params.get("command", "")
    if not command.strip():
        raise CodeqError(400, "command is required")
    depth = read_depth(call.node.reader, call.queue(command))
    return json_answer(QueueStats(command, depth.ready, depth.delayed, depth.active, depth.dead))


ROUTES: Final = [
    Route(method="GET", path="/admin/queues", handler=list_queues, who="admin"),
    Route(method="GET", path="/admin/queues/", handler=get_queue, who="admin"),
    Route(method="GET", path="/admin/queues/{command}", handler=get_queue, who="admin"),
]
