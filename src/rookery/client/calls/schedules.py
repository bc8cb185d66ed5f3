"""Schedules: make them, look at them, change, pause, resume, run and delete them."""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

import msgspec
from msgspec import UNSET

from rookery.client.newjobs import unknown_name
from rookery.client.records import Enqueued
from rookery.client.reports import Schedule
from rookery.client.transport.requests import API, Request, Retry, answer_as, no_answer, part_of_path
from rookery.client.values import json_of

ScheduleRef = str | Schedule
"""A schedule by its id, or as any call has returned it."""
Overlap = Literal["allow", "skip"]
Missed = Literal["once", "skip", "all"]


class ScheduleOptions(TypedDict, total=False):
    """What can be said about a schedule beside its name, queue and cron line."""

    timezone: str
    payload: Any
    unique_key: str | None
    max_retries: int
    enabled: bool
    overlap: Overlap
    missed: Missed


class ScheduleChanges(ScheduleOptions, total=False):
    """What can be changed of a schedule."""

    name: str
    queue: str
    cron: str


def _path(schedule: ScheduleRef) -> str:
    return f"{API}/schedules/{part_of_path(schedule if isinstance(schedule, str) else schedule.id)}"


def list_all() -> Request[list[Schedule]]:
    """All schedules."""
    return Request("GET", f"{API}/schedules", answer_as(list[Schedule]))


def get(schedule: ScheduleRef) -> Request[Schedule]:
    """One schedule."""
    return Request("GET", _path(schedule), answer_as(Schedule))


def create(name: str, queue: str, cron: str, options: Mapping[str, Any]) -> Request[Schedule]:
    """Make a schedule."""
    body = _body({"name": name, "queue": queue, "cron": cron, **options})
    return Request("POST", f"{API}/schedules", answer_as(Schedule), body=body, retry=Retry.UNSENT)


def update(schedule: ScheduleRef, changes: Mapping[str, Any]) -> Request[Schedule]:
    """Change what is given."""
    return Request("PUT", _path(schedule), answer_as(Schedule), body=_body(changes))


def switch(schedule: ScheduleRef, action: str) -> Request[Schedule]:
    """`pause` or `resume`."""
    return Request("POST", f"{_path(schedule)}/{action}", answer_as(Schedule))


def run(schedule: ScheduleRef) -> Request[Enqueued]:
    """Enqueue one job now."""
    return Request("POST", f"{_path(schedule)}/run", answer_as(Enqueued), retry=Retry.UNSENT)


def delete(schedule: ScheduleRef) -> Request[None]:
    """Forget it."""
    return Request("DELETE", _path(schedule), no_answer, retry=Retry.UNSENT)


def _body(fields: Mapping[str, Any]) -> bytes:
    for name in fields:
        if name not in ScheduleChanges.__annotations__:
            raise unknown_name(name, ScheduleChanges.__annotations__, "a schedule has no option")
    payload = fields.get("payload", UNSET)
    own = {} if payload is UNSET else {"payload": json_of(payload, "payload")}
    return msgspec.json.encode({**fields, **own})
