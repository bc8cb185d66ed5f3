"""Looking on: job batches, events as a list and as a stream, health."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import msgspec

from rookery import __version__
from rookery.engine.ops import Sweep
from rookery.http.call import Answer, Call, Parameter, Route, Stream, json_answer
from rookery.http.errors import ApiError, invalid, not_found
from rookery.http.request_ids import request_id_header
from rookery.http.sse import Pulse, frame
from rookery.http.values import duration, whole_number
from rookery.model.names import stored_name
from rookery.store.changes import ChangeView, read_change
from rookery.store.events import EventFilter, EventView, first_event, last_event, read_events
from rookery.store.views import JobBatchView, read_job_batch

DEFAULT_PAGE: Final = 100
LARGEST_PAGE: Final = 1000
READ_WINDOW: Final = 2000
"""How many events one read looks at."""
MOST_FILTER_VALUES: Final = 1000
DEFAULT_EVERY: Final = 1_000
LEAST_EVERY: Final = 100
MOST_EVERY: Final = 60_000
"""Milliseconds between two changes that are told."""


class EventsAnswer(msgspec.Struct):
    """Events, oldest first."""

    events: list[EventView]


class Position(msgspec.Struct):
    """Where the timeline stands."""

    seq: int


class Health(msgspec.Struct):
    """Whether the server can do its work."""

    status: str
    raft_state: str
    leader: bool


class Info(msgspec.Struct):
    """What runs here."""

    server_version: str
    api_version: str


async def get_batch(call: Call) -> Answer:
    """How far a job batch is."""
    batch_id = call.params["batch_id"]
    batch = read_job_batch(call.node.reader, batch_id, call.namespace)
    if batch is None:
        raise not_found(f"batch {batch_id} not found")
    return json_answer(batch)


async def list_events(call: Call) -> Answer:
    """A page of the timeline."""
    query = call.query()
    after = whole_number(query.get("after_seq"), "after_seq", 0, least=0)
    limit = min(LARGEST_PAGE, whole_number(query.get("limit"), "limit", DEFAULT_PAGE, least=1))
    wanted = _filter(call, query)
    events: list[EventView] = []
    async for page in _pages(call, after, last_event(call.node.reader), wanted):
        events.extend(page[: limit - len(events)])
        if len(events) == limit:
            break
    return json_answer(EventsAnswer(events))


async def _pages(call: Call, after: int, newest: int, wanted: EventFilter) -> AsyncIterator[list[EventView]]:
    """What came behind `after` up to `newest`, in windows small enough that no read holds up the server."""
    after = max(after, first_event(call.node.reader) - 1)
    while after < newest:
        until = newest if wanted.job_ids else min(after + READ_WINDOW, newest)
        page = read_events(call.node.reader, after, until, READ_WINDOW, wanted, call.namespace)
        yield page
        after = page[-1].seq if page else until
        await asyncio.sleep(0)


async def stream_events(call: Call) -> Stream:
    """The timeline as it happens, as server-sent events."""
    query = call.query()
    given = call.headers.get(b"last-event-id", b"").decode("latin-1") or query.get("last_event_id")
    after = last_event(call.node.reader) if not given else whole_number(given, "last_event_id", 0, least=0)
    return Stream(_event_frames(call, after, _filter(call, query)))


async def _event_frames(call: Call, after: int, wanted: EventFilter) -> AsyncGenerator[bytes, None]:
    """Read what is new, wait for news, read again. Nothing is kept for a reader who is slow."""
    node, pulse = call.node, Pulse(call.settings.stream_keepalive)
    while True:
        news, newest = node.news(), last_event(node.reader)
        async for page in _pages(call, after, newest, wanted):
            for event in page:
                yield frame(event.type, msgspec.json.encode(event), event.seq)
                pulse.beat()
        after = max(after, newest)
        if node.is_closing:
            return
        sign_of_life = await pulse.wait(news)
        if sign_of_life is not None:
            yield sign_of_life


async def stream_changes(call: Call) -> Stream:
    """What changed, summed up: however much happens, a reader is told now and then."""
    every = duration(call.query().get("every"), DEFAULT_EVERY, "every")
    if not LEAST_EVERY <= every <= MOST_EVERY:
        raise invalid(f"every must be between {LEAST_EVERY}ms and {MOST_EVERY // 1000}s")
    return Stream(_change_frames(call, every / 1000))


async def _change_frames(call: Call, every: float) -> AsyncGenerator[bytes, None]:
    """Where the timeline stands, then a frame for all that came since the last one."""
    node, pulse, after = call.node, Pulse(call.settings.stream_keepalive), last_event(call.node.reader)
    yield frame("position", msgspec.json.encode(Position(after)), after)
    while not node.is_closing:
        news, newest = node.news(), last_event(node.reader)
        if newest == after:
            sign_of_life = await pulse.wait(news)
            if sign_of_life is not None:
                yield sign_of_life
            continue
        change = read_change(node.reader, after, newest, call.namespace)
        after = newest
        if change.events:
            yield frame("change", msgspec.json.encode(change), newest)
            pulse.beat()
        await asyncio.sleep(every)


def _filter(call: Call, query: dict[str, str]) -> EventFilter:
    def values(name: str) -> tuple[str, ...]:
        parts = tuple(part.strip() for part in query.get(name, "").split(",") if part.strip())
        if len(parts) > MOST_FILTER_VALUES:
            raise invalid(f"{name} has {len(parts)} values, the limit is {MOST_FILTER_VALUES}")
        return parts

    queues = tuple(stored_name(call.namespace, queue) for queue in values("queues"))
    return EventFilter(queues, values("job_ids"), values("types"))


async def health(call: Call) -> Answer:
    """Whether the store can be read and written; after a fault, try."""
    node = call.node
    if node.storage_fault is not None:
        try:
            await node.submit(Sweep())
        except Exception:
            raise ApiError(503, "UNHEALTHY", f"the store cannot be written: {node.storage_fault}") from None
    body = msgspec.json.encode(Health("ok", "Leader", True))
    return Answer(200, body, headers=(request_id_header(call.headers),))


async def info(call: Call) -> Answer:
    """What runs here."""
    return json_answer(Info(__version__, __version__))


_FILTERS: Final = (
    Parameter("queues", "Comma list; only events of these queues"),
    Parameter("job_ids", "Comma list; only events of these jobs"),
    Parameter("types", "Comma list; only events of these types"),
)

ROUTES = [
    Route(
        method="GET",
        path="/api/v1/batches/{batch_id}",
        handler=get_batch,
        summary="How far a job batch is",
        answers={200: JobBatchView},
        tag="Looking on",
    ),
    Route(
        method="GET",
        path="/api/v1/cluster/events",
        handler=list_events,
        summary="A page of the timeline",
        answers={200: EventsAnswer},
        parameters=(
            Parameter("after_seq", "Only events behind this one", "integer"),
            Parameter("limit", "At most so many: 100 by default, 1000 at the most", "integer"),
            *_FILTERS,
        ),
        tag="Looking on",
    ),
    Route(
        method="GET",
        path="/api/v1/events",
        handler=stream_events,
        summary="The timeline as it happens (server-sent events)",
        answers={200: "text/event-stream"},
        parameters=(Parameter("last_event_id", "Replay what came behind this event first", "integer"), *_FILTERS),
        tag="Looking on",
    ),
    Route(
        method="GET",
        path="/api/v1/changes",
        handler=stream_changes,
        summary="What changed, summed up, at most once in a while (server-sent events)",
        description=(
            "For dashboards: the first frame, `position`, says where the timeline stands; each `change` sums up the "
            "events since the frame before: `events` by type, the `queues` and `job_ids` they were about, and whether "
            "there was more than is named (`is_partial`)."
        ),
        answers={200: "text/event-stream"},
        frames=(ChangeView,),
        parameters=(Parameter("every", "Time between two frames: 1s by default, 100ms to 60s"),),
        tag="Looking on",
    ),
    Route(
        method="GET",
        path="/api/v1/info",
        handler=info,
        summary="What runs here",
        answers={200: Info},
        tag="Looking on",
        is_public=True,
    ),
    Route(
        method="GET",
        path="/healthz",
        handler=health,
        summary="Whether the server can do its work",
        answers={200: Health},
        tag="Looking on",
        is_public=True,
    ),
]
