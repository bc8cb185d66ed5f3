"""Looking on: events, workers, batches, figures, and the server itself; backups."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

import msgspec

from rookery.client.reports import (
    BatchStatus,
    Event,
    Health,
    Info,
    Minute,
    Restored,
    ServerStatus,
    UsageSummary,
    WorkerInfo,
)
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
from rookery.client.values import Duration, duration_text

_LONG: Final = 3600.0
"""Seconds that a backup may take before it begins to come, or a document until it is restored."""

GroupBy = Literal["queue", "model", "provider"]
Names = str | Iterable[str]


class _Events(msgspec.Struct):
    events: list[Event]


def events(queues: Names | None, job_ids: Names | None, types: Names | None, after: int | None) -> Request[None]:
    """What happens, as a stream."""
    query = query_of(**_event_filter(queues, job_ids, types), last_event_id=after)
    return Request("GET", f"{API}/events", no_answer, query=query)


def event_page(
    queues: Names | None, job_ids: Names | None, types: Names | None, after: int, limit: int
) -> Request[list[Event]]:
    """What has happened."""
    query = query_of(**_event_filter(queues, job_ids, types), after_seq=after, limit=limit)
    return Request("GET", f"{API}/cluster/events", _events, query=query)


def _events(response: Response) -> list[Event]:
    found: _Events = answer_as(_Events)(response)
    return found.events


def _event_filter(queues: Names | None, job_ids: Names | None, types: Names | None) -> dict[str, str | None]:
    return {
        "queues": _comma_list(queues, "queues"),
        "job_ids": _comma_list(job_ids, "job_ids"),
        "types": _comma_list(types, "types"),
    }


def _comma_list(names: Names | None, field: str) -> str | None:
    if names is None:
        return None
    listed = [names] if isinstance(names, str) else list(names)
    if not listed:
        raise ValueError(f"{field} is empty")
    if any("," in name or not name.strip() for name in listed):
        raise ValueError(f"{field}: a name is blank or has a comma in it, and cannot be asked for")
    return ",".join(listed)


def workers() -> Request[list[WorkerInfo]]:
    """Workers seen in the last day."""
    return Request("GET", f"{API}/workers", answer_as(list[WorkerInfo]))


def batch(batch_id: str) -> Request[BatchStatus]:
    """How far a batch is."""
    return Request("GET", f"{API}/batches/{part_of_path(batch_id)}", answer_as(BatchStatus))


def throughput() -> Request[list[Minute]]:
    """The last hour."""
    return Request("GET", f"{API}/metrics/throughput", answer_as(list[Minute]))


def usage(period: Duration, group_by: GroupBy | None) -> Request[UsageSummary]:
    """What attempts have cost."""
    query = query_of(period=duration_text(period, "period"), group_by=group_by)
    return Request("GET", f"{API}/usage/summary", answer_as(UsageSummary), query=query)


def status() -> Request[ServerStatus]:
    """How the server is."""
    return Request("GET", f"{API}/cluster/status", answer_as(ServerStatus))


def runtime() -> Request[dict[str, Any]]:
    """Figures of the server's process."""
    return Request("GET", f"{API}/debug/runtime", answer_as(dict[str, Any]))


def metrics() -> Request[str]:
    """Everything that it counts."""
    return Request("GET", "/metrics", lambda response: response.body.decode())


def health() -> Request[Health]:
    """Whether it can do its work."""
    return Request("GET", "/healthz", answer_as(Health))


def info() -> Request[Info]:
    """What runs there."""
    return Request("GET", f"{API}/info", answer_as(Info))


def rebuild_index() -> Request[None]:
    """Make the full-text index anew."""
    return Request("POST", f"{API}/admin/rebuild-sqlite", no_answer, retry=Retry.UNSENT, waits=_LONG)


def backup(namespace: str | None) -> Request[bytes]:
    """What a namespace sees, as a JSON document."""
    query = query_of(namespace=namespace)
    return Request("GET", f"{API}/admin/backup", lambda response: response.body, query=query, waits=_LONG)


def restore(document: bytes | Mapping[str, Any], namespace: str | None) -> Request[Restored]:
    """Bring back what a document holds."""
    body = document if isinstance(document, bytes) else msgspec.json.encode(document)
    return Request(
        "POST",
        f"{API}/admin/restore",
        answer_as(Restored),
        query=query_of(namespace=namespace),
        body=body,
        retry=Retry.UNSENT,
        waits=_LONG,
    )
