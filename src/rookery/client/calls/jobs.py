"""One job: look at it, wait for it, and what people do to it."""

from rookery.client.records import Job
from rookery.client.requests import API, Request, answer_as, part_of_path
from rookery.client.values import JobRef, job_id_of


def get(job: JobRef) -> Request[Job]:
    """A job, whole."""
    return Request("GET", _path(job), answer_as(Job))


def _path(job: JobRef) -> str:
    return f"{API}/jobs/{part_of_path(job_id_of(job))}"
