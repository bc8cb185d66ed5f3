"""Backups: what a namespace sees as a JSON document, and the whole store as it lies on disk."""

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

import apsw

from rookery.http.call import Call, CallerGone, Parameter, Route, Stream
from rookery.http.errors import ApiError, forbidden, invalid, overloaded
from rookery.model.names import DEFAULT_NAMESPACE, is_namespace, may_see
from rookery.node.backups import TooManyAtOnce
from rookery.store.backup import BackupDocument

T = TypeVar("T")

SNAPSHOT_TYPE: Final = "application/vnd.sqlite3"
_RETRY_AFTER: Final = 5000


async def back_up(call: Call) -> Stream:
    """What a namespace sees, as a JSON document."""
    namespace = chosen_namespace(call)
    download = await _begun(call, call.node.backups.document(namespace, call.node.clock.now()))
    return Stream(download, content_type=b"application/json")


async def snapshot(call: Call) -> Stream:
    """The whole store, as it lies on disk."""
    if call.namespace != DEFAULT_NAMESPACE:
        raise forbidden("a copy of the store holds all namespaces: only callers of the default one may have it")
    download, size = await _begun(call, call.node.backups.snapshot())
    return Stream(download, content_type=SNAPSHOT_TYPE.encode(), headers=((b"content-length", b"%d" % size),))


def chosen_namespace(call: Call, fallback: str | None = None) -> str:
    """The namespace that the query names, or else `fallback`, or else the caller's own; others than that are barred."""
    chosen = call.query().get("namespace") or fallback or call.namespace
    if not is_namespace(chosen):
        raise invalid(f"namespace: {chosen[:64]!r} is not the name of a namespace")
    if not may_see(call.namespace, chosen):
        raise forbidden(f"namespace {chosen} is not yours: you work in {call.namespace}")
    return chosen


def too_many(error: TooManyAtOnce) -> ApiError:
    """As many as may be are under way: later."""
    return overloaded(_RETRY_AFTER, str(error))


async def _begun(call: Call, backup: Awaitable[T]) -> T:
    """A backup whose first bytes are there, unless the caller goes before."""
    beginning, gone = asyncio.ensure_future(backup), call.watch_gone()
    try:
        await asyncio.wait({beginning, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not beginning.done():
            raise CallerGone
        return beginning.result()
    except TooManyAtOnce as error:
        raise too_many(error) from None
    except (apsw.Error, OSError) as error:
        raise ApiError(500, "BACKUP_ERROR", f"the store could not be copied: {error}") from None
    finally:
        gone.cancel()
        beginning.cancel()
        await asyncio.wait({beginning})


ROUTES = [
    Route(
        method="GET",
        path="/api/v1/admin/backup",
        handler=back_up,
        summary="What a namespace sees, as a JSON document that can be restored",
        answers={200: BackupDocument},
        parameters=(Parameter("namespace", "The caller's own by default; `default` sees everything"),),
        tag="Backup",
    ),
    Route(
        method="GET",
        path="/api/v1/admin/snapshot",
        handler=snapshot,
        summary="A copy of the whole store, as it lies on disk",
        answers={200: SNAPSHOT_TYPE},
        tag="Backup",
    ),
]
