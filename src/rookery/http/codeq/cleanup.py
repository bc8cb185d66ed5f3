"""Forgetting tasks that nothing has happened to for long, when an admin says so."""

from functools import partial
from typing import Final

import msgspec

from rookery.engine.ops import CHUNK, Deleted, DeleteUnchanged
from rookery.http.call import Answer, json_answer
from rookery.http.codeq.call import CodeqCall, Route
from rookery.http.codeq.tasks import instant
from rookery.model.instants import format_instant
from rookery.store.tasks import find_unchanged

RETENTION: Final = 24 * 3_600_000
"""So long after its last change a task may go."""
DEFAULT_LIMIT: Final = 1000


class CleanupRequest(msgspec.Struct):
    """How many tasks may go, and which."""

    limit: int | None = None
    before: str | None = None


class CleanupAnswer(msgspec.Struct):
    """How many went."""

    deleted: int
    before: str
    limit: int


_decoder = msgspec.json.Decoder(CleanupRequest)


async def clean_up(call: CodeqCall) -> Answer:
    """Forget tasks whose retention was over at `before`, chunk by chunk, with their results, keys and artifacts."""
    request = await call.read(_decoder, may_be_empty=True)
    given = (request.before or "").strip()
    before = instant(given, "before") if given else call.node.clock.now()
    limit = request.limit or 0
    deleted = await _delete(call, before - RETENTION, limit if limit > 0 else DEFAULT_LIMIT)
    return json_answer(CleanupAnswer(deleted, format_instant(before), limit))


async def _delete(call: CodeqCall, since: int, limit: int) -> int:
    """Delete up to so many tasks; whoever is faster than we are may keep some alive."""
    count = 0
    while count < limit and not call.node.is_closing:
        most = min(CHUNK, limit - count)
        look = partial(find_unchanged, namespace=call.namespace, since=since, limit=most)
        ids = await call.node.reads.run(look)
        if not ids:
            break
        op = DeleteUnchanged(job_ids=ids, since=since, namespace=call.namespace)
        deleted: Deleted = await call.node.submit(op)
        await call.artifacts.forget(deleted.job_ids)
        count += len(deleted.job_ids)
        if len(ids) < most:
            break
    return count


ROUTES: Final = [
    Route(method="POST", path="/admin/tasks/cleanup", handler=clean_up, who="admin", limit="admin"),
]
