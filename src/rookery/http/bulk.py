"""One action on many jobs: at once if they are few, else in the background, with its progress as a stream."""

from collections.abc import AsyncGenerator
from time import perf_counter
from typing import Annotated, Final, NamedTuple

import apsw
import msgspec

from rookery.engine.bulk import fault_of
from rookery.engine.ops import Bulk, BulkOperation, Refusal, StartBulk
from rookery.http.call import LARGE_BODY, Answer, Call, Route, Stream, json_answer, says
from rookery.http.errors import invalid, not_found, refused
from rookery.http.search import SearchRequest, job_filter
from rookery.http.sse import Pulse, frame
from rookery.http.values import rank
from rookery.store.bulks import BulkRecord, BulkView, read_bulk
from rookery.store.filters import JobFilter
from rookery.store.search import count_jobs, find_ids

MOST_AT_ONCE: Final = 10_000
"""More jobs than these are worked off in the background."""


class BulkFilter(SearchRequest, forbid_unknown_fields=True):
    """A filter of `/jobs/search`. A field that it does not have is refused: without it, too many jobs would match."""


class BulkRequest(msgspec.Struct):
    """Which jobs, and what is to be done to them."""

    job_ids: Annotated[list[str] | None, says("The jobs. If there are any, `filter` does not count")] = None
    filter: Annotated[BulkFilter | None, says("Or all the jobs that a search with it finds")] = None
    action: Annotated[
        str | None,
        says(
            "Required: `retry`, `delete`, `cancel`, `move`, `requeue`, `change_priority`, `hold`, `approve`, `reject`"
        ),
    ] = None
    move_to_queue: Annotated[str | None, says("Where to `move` them")] = None
    priority: Annotated[str | int | None, says("What to `change_priority` to")] = None
    in_background: Annotated[
        bool | None, says(f"Answer at once and go on in the background, as always with more than {MOST_AT_ONCE} jobs")
    ] = msgspec.field(default=False, name="async")


class BulkAnswer(msgspec.Struct):
    """What was done."""

    affected: int
    errors: int
    skipped: int
    duration_ms: float


class BulkBegun(msgspec.Struct):
    """Where to look how far it is."""

    bulk_operation_id: str
    status: str
    estimated_total: int
    progress_url: str


class BulkEvent(msgspec.Struct, omit_defaults=True, kw_only=True):
    """How far it is, as the stream tells it; `created_at_ns` is when it got there."""

    type: str
    task_id: str
    status: str
    total: int
    processed: int
    affected: int
    percent: float
    error: str | None = None
    created_at_ns: int


class Targets(NamedTuple):
    """The jobs that are meant: named, or those that a filter finds. Of a filter, only a few are known by name."""

    total: int
    job_ids: list[str]
    wanted: JobFilter | None = None
    are_many: bool = False


_decoder = msgspec.json.Decoder(BulkRequest)
_LATEST: Final = 1 << 62


async def act_on_many(call: Call) -> Answer:
    """Do it now, or begin to do it."""
    started = perf_counter()
    request = await call.parse(_decoder, LARGE_BODY)
    deed = msgspec.structs.asdict(_deed(call, request))
    targets = await _targets(call, request)
    if request.in_background or targets.are_many:
        op = StartBulk(total=targets.total, wanted=targets.wanted, **deed)
        bulk_id = await call.node.bulks.begin(op, targets.job_ids if targets.wanted is None else [])
        begun = BulkBegun(bulk_id, "processing", targets.total, f"/api/v1/bulk/{bulk_id}/progress")
        return json_answer(begun, 202)
    done = await call.node.bulks.do(Bulk(job_ids=targets.job_ids, wanted=targets.wanted, **deed))
    duration_ms = round((perf_counter() - started) * 1000, 3)
    return json_answer(BulkAnswer(done.affected, done.errors, done.skipped, duration_ms))


def _deed(call: Call, request: BulkRequest) -> BulkOperation:
    """What is to be done, once it is sure that it can be."""
    action = (request.action or "").strip()
    if not action:
        raise invalid("action is required")
    queue = request.move_to_queue or ""
    deed = BulkOperation(
        action=action,
        queue=call.queue(queue, "move_to_queue") if queue.strip() else None,
        rank=None if request.priority in (None, "") else rank(request.priority),
        namespace=call.namespace,
    )
    fault = fault_of(deed)
    if fault is not None:
        raise refused(fault, "BULK_ERROR")
    return deed


async def _targets(call: Call, request: BulkRequest) -> Targets:
    if request.job_ids or request.filter is None:
        job_ids = list(dict.fromkeys(request.job_ids or ()))
        return Targets(len(job_ids), job_ids, are_many=len(job_ids) > MOST_AT_ONCE)
    wanted = job_filter(call, request.filter)

    def find(db: apsw.Connection) -> Targets:
        if not request.in_background:
            job_ids, _ = find_ids(db, wanted, call.namespace, up_to=_LATEST, after=None, limit=MOST_AT_ONCE + 1)
            if len(job_ids) <= MOST_AT_ONCE:
                return Targets(len(job_ids), job_ids, wanted)
        return Targets(count_jobs(db, wanted, call.namespace), [], wanted, are_many=True)

    return await call.node.reads.run(find)


def _record(call: Call) -> BulkRecord:
    bulk_id = call.params["bulk_id"]
    record = read_bulk(call.node.reader, bulk_id, call.namespace)
    if record is None:
        raise not_found(f"bulk operation {bulk_id} not found")
    return record


async def get_bulk(call: Call) -> Answer:
    """How far it is."""
    return json_answer(_record(call).view())


async def cancel_bulk(call: Call) -> Answer:
    """Stop it after the chunk that is under way."""
    stopped = await call.node.bulks.cancel(call.params["bulk_id"], call.namespace)
    if isinstance(stopped, Refusal):
        raise refused(stopped, "BULK_ERROR")
    return json_answer(_record(call).view())


async def follow_bulk(call: Call) -> Stream:
    """How far it is, as it goes on, as server-sent events."""
    return Stream(_frames(call, _record(call)))


async def _frames(call: Call, known: BulkRecord) -> AsyncGenerator[bytes, None]:
    """Tell where it stands, wait for news, tell again. Who is slow hears of the latest only."""
    node, pulse, has_begun = call.node, Pulse(call.settings.stream_keepalive), False
    if known.finished_at is not None:
        yield _frame(known.status, known, known.status)
        return
    while not node.is_closing:
        news = node.bulks.news.next()
        record = read_bulk(node.reader, known.id)
        if record is None:
            return
        if not has_begun and record.status != "queued":
            has_begun = True
            yield _frame("started", known, "running")
        if record.processed > known.processed:
            pulse.beat()
            yield _frame("progress", record, "running")
        known = record
        if known.finished_at is not None:
            yield _frame(known.status, known, known.status)
            return
        if keepalive := await pulse.wait(news):
            yield keepalive


def _frame(word: str, record: BulkRecord, status: str) -> bytes:
    event = BulkEvent(
        type=f"bulk.async.{word}",
        task_id=record.id,
        status=status,
        total=record.total,
        processed=record.processed,
        affected=record.affected,
        percent=_percent(record, status),
        error=record.error,
        created_at_ns=record.updated_at * 1_000_000,
    )
    return frame(event.type, msgspec.json.encode(event))


def _percent(record: BulkRecord, status: str) -> float:
    """Jobs may come and go meanwhile, so that the total of the beginning need not be met."""
    if status == "completed":
        return 100.0
    return min(100.0, round(100 * record.processed / record.total, 2)) if record.total else 0.0


_PATH: Final = "/api/v1/bulk/{bulk_id}"

ROUTES = [
    Route(
        method="POST",
        path="/api/v1/jobs/bulk",
        handler=act_on_many,
        summary="Do one thing to many jobs",
        request=BulkRequest,
        answers={200: BulkAnswer, 202: BulkBegun},
        tag="Many jobs",
    ),
    Route(
        method="GET",
        path=_PATH,
        handler=get_bulk,
        summary="How far a bulk operation is",
        answers={200: BulkView},
        tag="Many jobs",
    ),
    Route(
        method="GET",
        path=f"{_PATH}/progress",
        handler=follow_bulk,
        summary="A bulk operation as it goes on (server-sent events)",
        answers={200: "text/event-stream"},
        tag="Many jobs",
    ),
    Route(
        method="POST",
        path=f"{_PATH}/cancel",
        handler=cancel_bulk,
        summary="Stop a bulk operation after the chunk that is under way",
        answers={200: BulkView},
        tag="Many jobs",
    ),
]
