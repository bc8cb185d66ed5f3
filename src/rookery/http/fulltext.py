"""Full text over HTTP: searching, and making the index anew."""

from typing import Final

import msgspec

from rookery.http.call import Answer, Call, Parameter, Route, json_answer
from rookery.http.errors import ApiError, invalid
from rookery.node.fulltext import IndexDown
from rookery.store.fulltext import FullTextHit

DEFAULT_HITS: Final = 50
MOST_HITS: Final = 500
LONGEST_QUERY: Final = 16_384


class FullTextAnswer(msgspec.Struct):
    """What was asked, and the jobs that were found, newest first."""

    q: str
    results: list[FullTextHit]


class RebuildAnswer(msgspec.Struct):
    """The index was made anew."""

    status: str
    rebuilt: bool
    duration_ms: int


async def search(call: Call) -> Answer:
    """Find jobs by words, or by text."""
    query = call.query()
    q = query.get("q", "")
    text = q.strip()
    if not text:
        raise invalid("q is required")
    if len(text.encode()) > LONGEST_QUERY:
        raise invalid(f"q is longer than {LONGEST_QUERY} bytes")
    hits = await call.node.fulltext.search(text, _limit(query.get("limit", "")), call.namespace)
    return json_answer(FullTextAnswer(q, hits))


def _limit(text: str) -> int:
    """How many are wanted; anything but a number from 1 to 500 means the default."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    return number if 1 <= number <= MOST_HITS else DEFAULT_HITS


async def rebuild(call: Call) -> Answer:
    """Make the index anew from the jobs."""
    if not call.node.fulltext.is_enabled:
        raise ApiError(501, "UNSUPPORTED", "there is nothing to rebuild: the server runs with --fulltext-enabled=false")
    try:
        duration = await call.node.fulltext.rebuild()
    except IndexDown as error:
        raise ApiError(503, "UNHEALTHY", f"the full-text index cannot be written: {error}") from None
    return json_answer(RebuildAnswer("ok", True, duration))


ROUTES = [
    Route(
        method="GET",
        path="/api/v1/search/fulltext",
        handler=search,
        summary="Find jobs by words of their queue, state, payload, tags and errors",
        answers={200: FullTextAnswer},
        parameters=(
            Parameter("q", "An FTS5 query; if it is none or finds nothing, text to look for as it stands"),
            Parameter("limit", "At most so many: 1 to 500, otherwise 50", "integer"),
        ),
        tag="Jobs",
    ),
    Route(
        method="POST",
        path="/api/v1/admin/rebuild-sqlite",
        handler=rebuild,
        summary="Make the full-text index anew from the jobs",
        answers={200: RebuildAnswer},
        tag="Looking on",
    ),
]
