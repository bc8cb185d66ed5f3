"""What jobs have cost, added up."""

from typing import Final

from rookery.http.call import Answer, Call, Parameter, Route, json_answer
from rookery.http.errors import ApiError
from rookery.model.durations import BadDuration, parse_duration
from rookery.store.usage import GROUPINGS, UsageSummary, summarize_usage

DEFAULT_PERIOD: Final = "24h"


async def get_summary(call: Call) -> Answer:
    """Tokens and costs of a while, in all and by group."""
    query = call.query()
    period = query.get("period", "").strip() or DEFAULT_PERIOD
    length, group_by = _length(period), _grouping(query.get("group_by", "").strip())
    now = call.node.clock.now()
    start = max(0, now - length)
    return await call.node.overviews.run(
        lambda db: json_answer(summarize_usage(db, period, start, now, group_by, call.namespace))
    )


def _length(period: str) -> int:
    try:
        length = parse_duration(period)
    except BadDuration as error:
        raise _refused(f"period: {error}") from None
    if length == 0:
        raise _refused("period must be more than 0")
    return length


def _grouping(group_by: str) -> str | None:
    if group_by in ("", "none"):
        return None
    if group_by not in GROUPINGS:
        raise _refused(f"group_by must be {', '.join(GROUPINGS)} or none, not {group_by[:64]!r}")
    return group_by


def _refused(message: str) -> ApiError:
    return ApiError(400, "USAGE_SUMMARY_ERROR", message)


ROUTES: Final = [
    Route(
        method="GET",
        path="/api/v1/usage/summary",
        handler=get_summary,
        summary="Tokens and costs that workers have reported, added up",
        answers={200: UsageSummary},
        parameters=(
            Parameter("period", "How far back to look: a duration, `24h` by default"),
            Parameter("group_by", "`queue`, `model` or `provider`: also add up by this; nothing or `none`: do not"),
        ),
        tag="Looking on",
    ),
]
