"""Finding jobs, and doing one thing to many of them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypedDict

import msgspec

from rookery.client.newjobs import Priority, Tags, unknown_name
from rookery.client.reports import BulkResult, BulkStatus, Hit, Page
from rookery.client.transport.requests import (
    API,
    Request,
    Response,
    Retry,
    answer_as,
    no_answer,
    part_of_path,
    query_of,
)
from rookery.client.values import Day, JobRef, job_id_of, json_of, time_text

State = Literal["pending", "active", "held", "completed", "dead", "scheduled", "retrying", "cancelled"]
Sort = Literal["created_at", "priority", "started_at", "completed_at", "attempt"]
Order = Literal["asc", "desc"]
Action = Literal["retry", "delete", "cancel", "move", "requeue", "change_priority", "hold", "approve", "reject"]

ACCEPTED: Final = 202
_LONG: Final = 600.0
"""Seconds that an action on thousands of jobs may take before it is answered."""


class Filters(TypedDict, total=False):
    """Which jobs: those that meet all of these."""

    queue: str | None
    state: State | Iterable[State] | None
    priority: Priority | None
    tags: Tags | None
    payload_contains: str | None
    payload_jq: str | None
    created_after: Day | None
    created_before: Day | None
    scheduled_after: Day | None
    scheduled_before: Day | None
    started_after: Day | None
    started_before: Day | None
    completed_after: Day | None
    completed_before: Day | None
    expire_after: Day | None
    expire_before: Day | None
    attempt_min: int | None
    attempt_max: int | None
    unique_key: str | None
    batch_id: str | None
    worker_id: str | None
    parent_id: str | None
    chain_id: str | None
    depends_on: JobRef | None
    has_errors: bool | None
    error_contains: str | None
    error_matches: str | None
    job_id_prefix: str | None


class _Begun(msgspec.Struct):
    bulk_operation_id: str
    status: str
    estimated_total: int


class _Hits(msgspec.Struct):
    results: list[Hit]


def search(
    filters: Mapping[str, Any],
    sort: Sort | None,
    order: Order | None,
    limit: int,
    cursor: str | None,
    total_up_to: int | None,
) -> Request[Page]:
    """A page of the jobs that match."""
    paging = {"sort": sort, "order": order, "limit": limit, "cursor": cursor, "total_up_to": total_up_to}
    body = {**_filter_body(filters), **paging}
    return Request("POST", f"{API}/jobs/search", answer_as(Page), body=msgspec.json.encode(body))


def dead(queue: str | None, limit: int, cursor: str | None) -> Request[Page]:
    """A page of the jobs that have failed for good."""
    return Request("GET", f"{API}/dead", answer_as(Page), query=query_of(queue=queue, limit=limit, cursor=cursor))


def find(text: str, limit: int) -> Request[list[Hit]]:
    """Jobs by their words."""
    return Request("GET", f"{API}/search/fulltext", _hits, query=query_of(q=text, limit=limit))


def _hits(response: Response) -> list[Hit]:
    hits: _Hits = answer_as(_Hits)(response)
    return hits.results


def _filter_body(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Filters as the API reads them. One that there is not is refused: without it, too many jobs would match."""
    body: dict[str, Any] = {}
    for name, value in filters.items():
        if name not in Filters.__annotations__:
            raise unknown_name(name, Filters.__annotations__, "jobs cannot be searched by")
        if value is not None:
            convert = _CONVERSIONS.get(name)
            body[name] = value if convert is None else convert(value, name)
    return body


def _states(value: str | Iterable[str], _: str) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


_CONVERSIONS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "state": _states,
    "tags": json_of,
    "depends_on": lambda job, _: job_id_of(job),
    **{
        f"{time}_{side}": time_text
        for time in ("created", "scheduled", "started", "completed", "expire")
        for side in ("after", "before")
    },
}


def bulk(
    action: Action,
    jobs: Iterable[JobRef] | None,
    filters: Filters | None,
    to_queue: str | None,
    priority: Priority | None,
    in_background: bool,
) -> Request[BulkResult]:
    """Do one thing to many jobs."""
    if (jobs is None) == (filters is None):
        raise TypeError("bulk takes either jobs or a filter")
    body = {
        "action": action,
        "job_ids": None if jobs is None else [job_id_of(job) for job in jobs],
        "filter": None if filters is None else _narrowing(filters),
        "move_to_queue": to_queue,
        "priority": priority,
        "async": in_background,
    }
    return Request(
        "POST", f"{API}/jobs/bulk", _done_or_begun, body=msgspec.json.encode(body), retry=Retry.UNSENT, waits=_LONG
    )


def _narrowing(filters: Filters) -> dict[str, Any]:
    """A filter that surely leaves jobs out: a mistake in a search is seen, one in an action is done to all jobs."""
    if not filters:
        raise ValueError("filter must name at least one condition: without any, every job would match")
    for name, value in filters.items():
        if value is None:
            raise ValueError(f"filter: {name} must not be None: more jobs would match than were meant")
    return _filter_body(filters)


def _done_or_begun(response: Response) -> BulkResult:
    if response.status == ACCEPTED:
        begun: _Begun = answer_as(_Begun)(response)
        return BulkResult(status=begun.status, operation_id=begun.bulk_operation_id, total=begun.estimated_total)
    done: BulkResult = answer_as(BulkResult)(response)
    return done


def bulk_status(operation_id: str) -> Request[BulkStatus]:
    """How far it is."""
    return Request("GET", f"{API}/bulk/{part_of_path(operation_id)}", answer_as(BulkStatus))


def follow_bulk(operation_id: str) -> Request[None]:
    """How far it is, as a stream."""
    return Request("GET", f"{API}/bulk/{part_of_path(operation_id)}/progress", no_answer)


def cancel_bulk(operation_id: str) -> Request[BulkStatus]:
    """Stop it."""
    path = f"{API}/bulk/{part_of_path(operation_id)}/cancel"
    return Request("POST", path, answer_as(BulkStatus), retry=Retry.UNSENT)
