"""The logs of jobs: append lines, read them page by page, follow them as they come."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from functools import partial
from typing import Annotated, Final

import msgspec

from rookery.engine.ops import AppendLogs, LogLine, Refusal
from rookery.http.call import Answer, Call, Parameter, Route, Stream, json_answer, says
from rookery.http.errors import invalid, not_found, refused
from rookery.http.sse import Pulse, frame
from rookery.http.values import count, instant, lease_number, whole_number
from rookery.model.job import TERMINAL
from rookery.store.joblogs import LogLineView, LogPage, find_log, read_lines, read_log

MOST_LINES: Final = 1000
LARGEST_BODY: Final = 262_144
LONGEST_LEVEL: Final = 32
DEFAULT_PAGE: Final = 100
LARGEST_PAGE: Final = 1000
READ_WINDOW: Final = 200
"""How many lines a stream reads at a time."""


class LogLineRequest(msgspec.Struct):
    """Something to remember of a job's work."""

    message: Annotated[str | None, says("Required. The text; it may be empty")] = None
    at: Annotated[str | None, says("When, as RFC 3339; now by default")] = None
    level: Annotated[str | None, says("Up to 32 characters, kept in lower case; `info` by default")] = None
    attempt: Annotated[int | None, says("Of which attempt; the job's current one by default")] = None


class AppendLogsRequest(msgspec.Struct):
    """Lines for a job's log."""

    lines: Annotated[
        list[LogLineRequest] | None, says("Required. 1 to 1,000 lines; 10,000 of a job are kept, the oldest go first")
    ] = None
    lease_token: Annotated[
        str | None,
        says("From fetch; 409 `LEASE_LOST` if the job has been taken away since. Without it that is not checked"),
    ] = None


class AppendLogsAnswer(msgspec.Struct):
    """How many lines were added, and the number of the last."""

    status: str
    appended: int
    last: int


class DroppedNotice(msgspec.Struct):
    """How many lines went before the reader could have them."""

    dropped: int


class EndNotice(msgspec.Struct):
    """How the job has ended: a terminal state, or `deleted`."""

    state: str


_append_decoder = msgspec.json.Decoder(AppendLogsRequest)


async def append(call: Call) -> Answer:
    """Add lines to a job's log."""
    request = await call.parse(_append_decoder, LARGEST_BODY)
    if not request.lines:
        raise invalid("lines is required")
    if len(request.lines) > MOST_LINES:
        raise invalid(f"lines has {len(request.lines)} items, the limit is {MOST_LINES}")
    op = AppendLogs(
        job_id=call.params["job_id"],
        lines=[_line(line, f"lines[{number}]") for number, line in enumerate(request.lines)],
        lease=lease_number(request.lease_token),
        namespace=call.namespace,
    )
    appended = await call.node.submit(op)
    if isinstance(appended, Refusal):
        raise refused(appended, "LOGS_ERROR")
    return json_answer(AppendLogsAnswer("ok", len(op.lines), appended.last))


def _line(line: LogLineRequest, field: str) -> LogLine:
    if line.message is None:
        raise invalid(f"{field}.message is required")
    level = (line.level or "").strip().lower() or "info"
    if len(level) > LONGEST_LEVEL:
        raise invalid(f"{field}.level is longer than {LONGEST_LEVEL} characters")
    return LogLine(
        line.message,
        level,
        instant(line.at, f"{field}.at") if line.at else None,
        None if line.attempt is None else count(line.attempt, 0, f"{field}.attempt"),
    )


async def get_page(call: Call) -> Answer:
    """A page of a job's log."""
    job_id, query = call.params["job_id"], call.query()
    after = whole_number(query.get("after"), "after", 0, least=0)
    limit = min(LARGEST_PAGE, whole_number(query.get("limit"), "limit", DEFAULT_PAGE, least=1))
    page = await call.node.reads.run(
        partial(read_log, job_id=job_id, after=after, limit=limit, namespace=call.namespace)
    )
    if page is None:
        raise not_found(f"job {job_id} not found")
    return json_answer(page)


async def stream(call: Call) -> Stream:
    """A job's log as it grows, as server-sent events, until the job has ended."""
    job_id = call.params["job_id"]
    given = call.headers.get(b"last-event-id", b"").decode("latin-1") or call.query().get("after")
    after = whole_number(given, "after", 0, least=0)
    found = find_log(call.node.reader, job_id, call.namespace)
    if found is None:
        raise not_found(f"job {job_id} not found")
    return Stream(_frames(call, job_id, found[0], after))


async def _frames(call: Call, job_id: str, seq: int, after: int) -> AsyncGenerator[bytes, None]:
    """Read what is new, wait for more, read again. Nothing is kept for a reader who is slow."""
    node, pulse = call.node, Pulse(call.settings.stream_keepalive)
    while True:
        news = node.watch_log(job_id)
        try:
            # The state is read before the lines: a job that has ended by then has all its lines in the store.
            found = find_log(node.reader, job_id, call.namespace)
            state = found[1] if found is not None and found[0] == seq else "deleted"
            while state != "deleted" and (lines := read_lines(node.reader, seq, after, READ_WINDOW)):
                for part in _line_frames(lines, after):
                    yield part
                pulse.beat()
                after = lines[-1].n
                await asyncio.sleep(0)
            if state == "deleted" or state in TERMINAL:
                yield frame("end", msgspec.json.encode(EndNotice(state)))
                return
            if node.is_closing:
                return
            sign_of_life = await pulse.wait(news)
        finally:
            news.cancel()
        if sign_of_life is not None:
            yield sign_of_life


def _line_frames(lines: list[LogLineView], after: int) -> Iterator[bytes]:
    """The lines behind `after`; if some of those have been dropped, that is said first."""
    first = lines[0].n
    if first > after + 1:
        yield frame("dropped", msgspec.json.encode(DroppedNotice(first - after - 1)), first - 1)
    for line in lines:
        yield frame("log", msgspec.json.encode(line), line.n)


_PATH: Final = "/api/v1/jobs/{job_id}/logs"

ROUTES = [
    Route(
        method="POST",
        path=_PATH,
        handler=append,
        summary="Add lines to a job's log",
        request=AppendLogsRequest,
        answers={200: AppendLogsAnswer},
        tag="Job logs",
    ),
    Route(
        method="GET",
        path=_PATH,
        handler=get_page,
        summary="A page of a job's log",
        answers={200: LogPage},
        parameters=(
            Parameter("after", "Only lines with a greater number", "integer"),
            Parameter("limit", "At most so many: 100 by default, 1000 at the most", "integer"),
        ),
        tag="Job logs",
    ),
    Route(
        method="GET",
        path=f"{_PATH}/stream",
        handler=stream,
        summary="A job's log as it grows, until the job has ended (server-sent events)",
        answers={200: "text/event-stream"},
        parameters=(Parameter("after", "Begin behind this line; `Last-Event-ID` goes before it", "integer"),),
        tag="Job logs",
    ),
]
