"""Finding jobs: search by filters, the dead ones, many by their ids."""

import base64
import binascii
from time import perf_counter
from typing import Annotated, Any, Final

import apsw
import msgspec

from rookery.http.call import Answer, Call, Parameter, Route, json_answer, says
from rookery.http.errors import invalid, unparsable
from rookery.http.values import rank
from rookery.model.instants import BadInstant, parse_bound
from rookery.model.job import DEAD, STATES
from rookery.store import payload_jq
from rookery.store.dead import DeadGroupsView, read_dead_groups
from rookery.store.failures import LOOKED_AT
from rookery.store.filters import INT64, JobFilter
from rookery.store.search import DEFAULT_SORT, SORTS, Order, Position, search
from rookery.store.summaries import JobSummary, read_summaries
from rookery.store.views import JobView, read_job

DEFAULT_PAGE: Final = 50
LARGEST_PAGE: Final = 1000
MOST_IDS: Final = 1000
MOST_TAGS: Final = 100
LONGEST_TEXT: Final = 4096
MOST_COUNTED: Final = 1_000_000_000

_TIME: Final = "RFC 3339, or a day like `2026-02-10`"


class SearchRequest(msgspec.Struct):
    """Which jobs, in which order, and which page. Filters are combined with AND."""

    queue: Annotated[str | None, says("Jobs of this queue")] = None
    state: Annotated[list[str] | str | None, says("Jobs in any of these states")] = None
    priority: Annotated[str | int | None, says("Jobs of this priority: `critical`, `high`, `normal` or 0, 1, 2")] = None
    tags: Annotated[dict[str, str | int | float | bool | None] | None, says("Jobs that have all these tags")] = None
    payload_contains: Annotated[
        str | None, says("Text in the payload's compact JSON; ASCII letters of either case")
    ] = None
    payload_jq: Annotated[
        str | None, says("A condition on the payload like `.user.age >= 18` or `.to | length > 2`")
    ] = None
    created_after: Annotated[str | None, says(f"Created later than this: {_TIME}")] = None
    created_before: Annotated[str | None, says(f"Created earlier than this: {_TIME}")] = None
    scheduled_after: Annotated[str | None, says(f"Due later than this: {_TIME}")] = None
    scheduled_before: Annotated[str | None, says(f"Due earlier than this: {_TIME}")] = None
    started_after: Annotated[str | None, says(f"Last fetched later than this: {_TIME}")] = None
    started_before: Annotated[str | None, says(f"Last fetched earlier than this: {_TIME}")] = None
    completed_after: Annotated[str | None, says(f"Completed later than this: {_TIME}")] = None
    completed_before: Annotated[str | None, says(f"Completed earlier than this: {_TIME}")] = None
    expire_after: Annotated[str | None, says(f"Expiring later than this: {_TIME}")] = None
    expire_before: Annotated[str | None, says(f"Expiring earlier than this: {_TIME}")] = None
    attempt_min: Annotated[int | None, says("At least so many attempts")] = None
    attempt_max: Annotated[int | None, says("At most so many attempts")] = None
    unique_key: Annotated[str | None, says("Jobs enqueued with this unique key")] = None
    batch_id: Annotated[str | None, says("Jobs of this batch")] = None
    worker_id: Annotated[str | None, says("Jobs that this worker has, or has finished")] = None
    parent_id: Annotated[str | None, says("Jobs with this parent")] = None
    chain_id: Annotated[str | None, says("Jobs of this chain")] = None
    depends_on: Annotated[str | None, says("Jobs that wait, or have waited, for the job with this id")] = None
    has_errors: Annotated[bool | None, says("Whether any attempt has failed")] = None
    error_contains: Annotated[str | None, says("Text in any of the job's errors; ASCII letters of either case")] = None
    error_matches: Annotated[
        str | None,
        says(
            "The first line of the job's last error, in which `*` stands for anything without a space; "
            "empty: it says nothing"
        ),
    ] = None
    job_id_prefix: Annotated[str | None, says("Jobs whose id begins with this")] = None
    sort: Annotated[
        str | None, says("`created_at` (default), `priority`, `started_at`, `completed_at` or `attempt`")
    ] = None
    order: Annotated[str | None, says("`desc` (default) or `asc`; ties by id in the same direction")] = None
    limit: Annotated[int | None, says("Jobs a page: 50 by default, 1000 at the most")] = None
    cursor: Annotated[str | None, says("The `cursor` of the page before, with the same sort and order")] = None
    total_up_to: Annotated[
        int | None,
        says("Count no more matches than these, unless their number is known without counting; by default all"),
    ] = None


class SearchAnswer(msgspec.Struct):
    """A page of jobs, and how many match in all; `is_partial`: more than `total` do, but no more were counted."""

    jobs: list[JobSummary]
    total: int
    is_partial: bool
    cursor: str | None
    has_more: bool
    duration_ms: float


class BulkGetRequest(msgspec.Struct):
    """Which jobs."""

    job_ids: Annotated[list[str] | None, says("At most 1000 ids")] = None


class BulkGetAnswer(msgspec.Struct):
    """The jobs that there are, whole, in the order of the ids."""

    jobs: list[JobView]


_search_decoder = msgspec.json.Decoder(SearchRequest)
_bulk_get_decoder = msgspec.json.Decoder(BulkGetRequest)
_cursor_decoder = msgspec.json.Decoder(tuple[str, bool, int, str])


async def search_jobs(call: Call) -> Answer:
    """A page of the jobs that match."""
    return await _answer(call, await call.parse(_search_decoder))


async def list_dead(call: Call) -> Answer:
    """A page of the jobs that have failed for good."""
    query = call.query()
    request = SearchRequest(
        queue=query.get("queue"),
        state=DEAD,
        sort=query.get("sort"),
        order=query.get("order"),
        limit=_limit_of(query.get("limit")),
        cursor=query.get("cursor"),
    )
    return await _answer(call, request)


async def group_dead(call: Call) -> Answer:
    """The jobs that have failed for good, by what was said."""
    queue = call.query().get("queue")
    stored = call.queue(queue) if queue and queue.strip() else None
    return json_answer(await call.node.overviews.run(lambda db: read_dead_groups(db, call.namespace, stored)))


async def bulk_get(call: Call) -> Answer:
    """Jobs by their ids."""
    ids = (await call.parse(_bulk_get_decoder)).job_ids or []
    if len(ids) > MOST_IDS:
        raise invalid(f"job_ids has {len(ids)} ids, the limit is {MOST_IDS}")

    def read(db: apsw.Connection) -> Answer:
        jobs = (read_job(db, job_id, call.namespace) for job_id in ids)
        return json_answer(BulkGetAnswer([job for job in jobs if job is not None]))

    return await call.node.reads.run(read)


async def _answer(call: Call, request: SearchRequest) -> Answer:
    """Look in one view of the store; the answer is put together beside the server's loop, as it can be long."""
    wanted = job_filter(call, request)
    sort = request.sort if request.sort in SORTS else DEFAULT_SORT
    order = Order(sort, is_descending=request.order != "asc")
    limit = min(request.limit, LARGEST_PAGE) if request.limit is not None and request.limit > 0 else DEFAULT_PAGE
    after = _position(request.cursor, order)
    up_to = request.total_up_to
    if up_to is not None and up_to not in range(MOST_COUNTED + 1):
        raise invalid(f"total_up_to must be from 0 to {MOST_COUNTED}")

    def read(db: apsw.Connection) -> Answer:
        started = perf_counter()
        rows, total, is_partial = search(db, wanted, call.namespace, order, limit + 1, after, up_to)
        jobs = read_summaries(db, [seq for _, _, seq in rows[:limit]], call.namespace)
        has_more = len(rows) > limit
        cursor = _cursor(order, rows[limit - 1][:2]) if has_more else None
        duration = round((perf_counter() - started) * 1000, 3)
        return json_answer(SearchAnswer(jobs, total, is_partial, cursor, has_more, duration))

    return await call.node.reads.run(read)


_TEXTS: Final = (
    "payload_contains",
    "unique_key",
    "batch_id",
    "worker_id",
    "parent_id",
    "chain_id",
    "depends_on",
    "error_contains",
    "job_id_prefix",
)


def job_filter(call: Call, request: SearchRequest) -> JobFilter:
    """Check what is asked for and say it in the store's words; an empty text asks for nothing."""
    if request.payload_jq:
        try:
            payload_jq.parse(request.payload_jq)
        except payload_jq.BadExpression as error:
            raise invalid(f"payload_jq: {error}") from None
    texts: dict[str, Any] = {field: _text(getattr(request, field), field) for field in _TEXTS}
    return JobFilter(
        queue=call.queue(request.queue) if request.queue and request.queue.strip() else None,
        states=_states(request.state),
        rank=None if request.priority in (None, "") else rank(request.priority),
        tags=_tags(request.tags),
        payload_jq=request.payload_jq or None,
        has_errors=request.has_errors,
        error_matches=_line(request.error_matches, "error_matches"),
        attempt_min=_attempts(request.attempt_min, "attempt_min"),
        attempt_max=_attempts(request.attempt_max, "attempt_max"),
        **texts,
        **_times(request),
    )


def _text(text: str | None, field: str) -> str | None:
    if text and len(text) > LONGEST_TEXT:
        raise invalid(f"{field} has {len(text)} characters, the limit is {LONGEST_TEXT}")
    return text or None


def _line(line: str | None, field: str) -> str | None:
    """A text that is wanted even if it is empty."""
    return None if line is None else _text(line, field) or ""


def _states(given: list[str] | str | None) -> tuple[str, ...]:
    states = [given] if isinstance(given, str) else given or []
    for state in states:
        if state not in STATES:
            raise invalid(f"state: {state[:64]!r} is not one of {', '.join(STATES)}")
    return tuple(dict.fromkeys(states))


def _tags(tags: dict[str, Any] | None) -> str | None:
    if not tags:
        return None
    if len(tags) > MOST_TAGS:
        raise invalid(f"tags has {len(tags)} pairs, the limit is {MOST_TAGS}")
    return msgspec.json.encode(tags).decode()


def _attempts(number: int | None, field: str) -> int | None:
    if number is not None and number not in INT64:
        raise invalid(f"{field} must fit into 64 bits")
    return number


def _times(request: SearchRequest) -> dict[str, Any]:
    times: dict[str, Any] = {}
    for name in ("created", "scheduled", "started", "completed", "expire"):
        for side in ("after", "before"):
            field = f"{name}_{side}"
            if (text := getattr(request, field)) is not None:
                try:
                    times[field] = parse_bound(text, round_up=side == "before")
                except BadInstant as error:
                    raise unparsable(f"{field}: {error}") from None
    return times


def _limit_of(text: str | None) -> int | None:
    if not text:
        return None
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 1000:
        raise invalid(f"limit must be a whole number, not {text[:32]!r}")
    return int(text)


def _cursor(order: Order, position: Position) -> str:
    text = msgspec.json.encode((order.sort, order.is_descending, *position))
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _position(cursor: str | None, order: Order) -> Position | None:
    """Where a page begins; what is no cursor of this order means the start."""
    padded = (cursor or "").encode() + b"=" * (-len(cursor or "") % 4)
    try:
        text = base64.b64decode(padded, altchars=b"-_", validate=True)
        sort, is_descending, value, id = _cursor_decoder.decode(text)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return None
    if (sort, is_descending) != order or value not in INT64:
        return None
    return value, id


_PAGING: Final = (
    Parameter("queue", "Jobs of this queue"),
    Parameter("sort", "`created_at` (default), `priority`, `started_at`, `completed_at` or `attempt`"),
    Parameter("order", "`desc` (default) or `asc`"),
    Parameter("limit", "Jobs a page: 50 by default, 1000 at the most", "integer"),
    Parameter("cursor", "The `cursor` of the page before"),
)

ROUTES = [
    Route(
        method="POST",
        path="/api/v1/jobs/search",
        handler=search_jobs,
        summary="Find jobs",
        request=SearchRequest,
        answers={200: SearchAnswer},
        tag="Jobs",
    ),
    Route(
        method="POST",
        path="/api/v1/jobs/bulk-get",
        handler=bulk_get,
        summary="Many jobs by their ids",
        request=BulkGetRequest,
        answers={200: BulkGetAnswer},
        tag="Jobs",
    ),
    Route(
        method="GET",
        path="/api/v1/dead",
        handler=list_dead,
        summary="The jobs that have failed for good",
        answers={200: SearchAnswer},
        parameters=_PAGING,
        tag="Jobs",
    ),
    Route(
        method="GET",
        path="/api/v1/dead/groups",
        handler=group_dead,
        summary=f"The newest {LOOKED_AT} jobs that have failed for good, taken together by their last error",
        answers={200: DeadGroupsView},
        parameters=(Parameter("queue", "Jobs of this queue"),),
        tag="Jobs",
    ),
]
