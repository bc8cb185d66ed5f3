"""One job: look at it, wait for it, and what people do to it."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from rookery.client.newjobs import Priority
from rookery.client.records import Job
from rookery.client.reports import LogPage, Why
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
from rookery.client.values import JobRef, job_id_of

MOST_IDS: Final = 1000
"""How many jobs one request may name."""


class Jobs(msgspec.Struct):
    """Jobs by their ids."""

    jobs: list[Job]


def path_of(job: JobRef) -> str:
    """Where a job is."""
    return f"{API}/jobs/{part_of_path(job_id_of(job))}"


def get(job: JobRef) -> Request[Job]:
    """A job, whole."""
    return Request("GET", path_of(job), answer_as(Job))


def get_many(jobs: Iterable[JobRef]) -> Iterator[Request[list[Job]]]:
    """Jobs by their ids: as many requests as it takes."""
    ids = [job_id_of(job) for job in jobs]
    for begin in range(0, len(ids), MOST_IDS):
        body = msgspec.json.encode({"job_ids": ids[begin : begin + MOST_IDS]})
        yield Request("POST", f"{API}/jobs/bulk-get", _listed, body=body)


def _listed(response: Response) -> list[Job]:
    found: Jobs = answer_as(Jobs)(response)
    return found.jobs


def wait(job: JobRef, seconds: float) -> Request[Job]:
    """A job as soon as it has ended, or as it is when the time is up."""
    return Request("GET", f"{path_of(job)}/wait", answer_as(Job), query=query_of(timeout=seconds), waits=seconds)


def act(job: JobRef, action: str) -> Request[None]:
    """`retry`, `cancel`, `approve` or `reject`."""
    return Request("POST", f"{path_of(job)}/{action}", no_answer, retry=Retry.UNSENT)


def delete(job: JobRef) -> Request[None]:
    """Forget a job."""
    return Request("DELETE", path_of(job), no_answer, retry=Retry.UNSENT)


def move(job: JobRef, queue: str, reset_attempt: bool, priority: Priority | None) -> Request[None]:
    """Put it into another queue."""
    body = msgspec.json.encode({"queue": queue, "reset_attempt": reset_attempt, "priority": priority})
    return Request("POST", f"{path_of(job)}/move", no_answer, body=body, retry=Retry.UNSENT)


def hold(job: JobRef, reason: str | None) -> Request[None]:
    """Make it wait for a person."""
    body = msgspec.json.encode({"reason": reason})
    return Request("POST", f"{path_of(job)}/hold", no_answer, body=body, retry=Retry.UNSENT)


def why(job: JobRef) -> Request[Why]:
    """Why it is not running."""
    return Request("GET", f"{path_of(job)}/why", answer_as(Why))


def log_page(job: JobRef, after: int, limit: int) -> Request[LogPage]:
    """Lines of its log."""
    return Request("GET", f"{path_of(job)}/logs", answer_as(LogPage), query=query_of(after=after, limit=limit))


def follow_logs(job: JobRef, after: int) -> Request[None]:
    """Its log as it grows, as a stream."""
    return Request("GET", f"{path_of(job)}/logs/stream", no_answer, query=query_of(after=after))
