"""Working: fetch jobs, say how they went, keep their leases, write their logs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeVar

import msgspec

from rookery.client.errors import LeaseLost
from rookery.client.records import AckedMany, Failed, FetchedJob, FetchedJobs, Heartbeat, LogsAdded, Pulse
from rookery.client.transport.requests import API, Request, Response, Retry, answer_as, no_answer, part_of_path
from rookery.client.values import (
    Duration,
    JobRef,
    Time,
    duration_text,
    job_id_of,
    json_of,
    lease_of,
    seconds_of,
    time_text,
    whole_seconds_of,
)

T = TypeVar("T")

SHORTEST_WAIT: Final = 0.05
"""What is said for no wait at all: 0 would mean the server's default, and much less might be over before it looks."""
LONGEST_WAIT: Final = 60.0
MOST_ACKS: Final = 512
MOST_LINES: Final = 1000
MOST_BYTES: Final = 200_000
"""Of log lines in one request, with room for what is around them."""

End = Literal["dead", "cancelled"]
AgentStatus = Literal["continue", "done", "hold"]
StepStatus = Literal["continue", "exit"]

_encode: Final = msgspec.json.Encoder().encode
_read_fetched: Final = answer_as(FetchedJob)
_read_many: Final = answer_as(FetchedJobs)


class Usage(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What an attempt has cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    model: str = ""
    provider: str = ""
    cost_usd: float = 0.0


class Ack(msgspec.Struct, kw_only=True):
    """One of many jobs that are done: `Ack(job=job, result={"sent": True})`."""

    job: JobRef
    result: Any = None
    lease_token: str | None = None
    checkpoint: Any = None
    usage: Usage | None = None
    agent_status: AgentStatus | None = None
    hold_reason: str | None = None
    step_status: StepStatus | None = None
    exit_reason: str | None = None


class Beat(msgspec.Struct, kw_only=True):
    """What is said of a job that is still worked on."""

    lease_token: str | None = None
    progress: Any = None
    checkpoint: Any = None
    usage: Usage | None = None
    lease_duration: int | None = None
    """Seconds that the lease lasts from now; as granted, and 60 at the least, if nothing is said."""


class NewLine(msgspec.Struct):
    """A line for a job's log. It is of now and of the current attempt unless it says otherwise."""

    message: str
    level: str | None = None
    at: Time | None = None
    attempt: int | None = None


def fetch(
    queues: str | Iterable[str],
    worker_id: str | None,
    hostname: str | None,
    timeout: Duration,
    lease_duration: Duration | None,
) -> Request[FetchedJob | None]:
    """Lease a job, waiting for it if there is none."""
    body, waits = _claim(queues, worker_id, hostname, timeout, lease_duration)
    return Request("POST", f"{API}/fetch", _one_or_none, body=_encode(body), retry=Retry.UNSENT, waits=waits)


def fetch_many(
    queues: str | Iterable[str],
    count: int,
    worker_id: str | None,
    hostname: str | None,
    timeout: Duration,
    lease_duration: Duration | None,
) -> Request[list[FetchedJob]]:
    """Lease up to so many jobs, waiting until there is at least one."""
    body, waits = _claim(queues, worker_id, hostname, timeout, lease_duration)
    body["count"] = count
    return Request("POST", f"{API}/fetch/batch", _list, body=_encode(body), retry=Retry.UNSENT, waits=waits)


def _claim(
    queues: str | Iterable[str],
    worker_id: str | None,
    hostname: str | None,
    timeout: Duration,
    lease_duration: Duration | None,
) -> tuple[dict[str, Any], float]:
    wait = min(LONGEST_WAIT, max(SHORTEST_WAIT, seconds_of(timeout, "timeout")))
    body = _given(
        queues=[queues] if isinstance(queues, str) else list(queues),
        worker_id=worker_id,
        hostname=hostname,
        timeout=wait,
        lease_duration=None if lease_duration is None else whole_seconds_of(lease_duration, "lease_duration"),
    )
    return body, wait


def _one_or_none(response: Response) -> FetchedJob | None:
    return None if response.status == 204 else _read_fetched(response)


def _list(response: Response) -> list[FetchedJob]:
    jobs: FetchedJobs = _read_many(response)
    return jobs.jobs


def ack(ack: Ack) -> Request[None]:
    """The job is done."""
    body = _ack_body(ack, "")
    path = f"{API}/ack/{part_of_path(body.pop('job_id'))}"
    return Request("POST", path, no_answer, body=_encode(body), retry=_safe_with_token(body))


def ack_many(acks: Iterable[Ack | FetchedJob]) -> Iterator[Request[AckedMany]]:
    """Many jobs are done: as many requests as it takes."""
    bodies = [
        _ack_body(ack if isinstance(ack, Ack) else Ack(job=ack), f"acks[{number}].") for number, ack in enumerate(acks)
    ]
    for begin in range(0, len(bodies), MOST_ACKS):
        chunk = bodies[begin : begin + MOST_ACKS]
        retry = Retry.SAFE if all("lease_token" in body for body in chunk) else Retry.UNSENT
        yield Request("POST", f"{API}/ack/batch", answer_as(AckedMany), body=_encode({"acks": chunk}), retry=retry)


def _ack_body(ack: Ack, where: str) -> dict[str, Any]:
    return _given(
        job_id=job_id_of(ack.job),
        lease_token=lease_of(ack.job, ack.lease_token),
        result=_json(ack.result, f"{where}result"),
        checkpoint=_json(ack.checkpoint, f"{where}checkpoint"),
        usage=ack.usage,
        agent_status=ack.agent_status,
        hold_reason=ack.hold_reason,
        step_status=ack.step_status,
        exit_reason=ack.exit_reason,
    )


def fail(
    job: JobRef,
    error: str | BaseException,
    lease_token: str | None,
    backtrace: str | None,
    retry_after: Duration | None,
    end: End | None,
) -> Request[Failed]:
    """The attempt has failed."""
    if isinstance(error, BaseException):
        # What runs jobs is more than most clients need.
        from rookery.client.functions.running import backtrace_of, error_text

        backtrace = backtrace or backtrace_of(error)
        error = error_text(error)
    body = _given(
        lease_token=lease_of(job, lease_token),
        error=error,
        backtrace=backtrace,
        retry_after=None if retry_after is None else duration_text(retry_after, "retry_after"),
        end=end,
    )
    path = f"{API}/fail/{part_of_path(job_id_of(job))}"
    return Request("POST", path, answer_as(Failed), body=_encode(body), retry=_safe_with_token(body))


def release(
    job: JobRef, lease_token: str | None, delay: Duration | None, checkpoint: Any, reason: str | None
) -> Request[str]:
    """The job is handed back."""
    body = _given(
        lease_token=lease_of(job, lease_token),
        delay=None if delay is None else duration_text(delay, "delay"),
        checkpoint=_json(checkpoint, "checkpoint"),
        reason=reason,
    )
    path = f"{API}/release/{part_of_path(job_id_of(job))}"
    # Told twice, the second one would be refused: the first has ended the lease.
    return Request("POST", path, _status, body=_encode(body), retry=Retry.UNSENT)


def heartbeat(jobs: Iterable[FetchedJob] | Mapping[str, Beat | None]) -> Request[Heartbeat]:
    """The jobs are still worked on."""
    if not isinstance(jobs, Mapping):
        jobs = {job.job_id: Beat(lease_token=job.lease_token) for job in jobs}
    body = {job_id: _beat_body(beat, f"jobs.{job_id}.") for job_id, beat in jobs.items()}
    return _beats_request(body, answer_as(Heartbeat))


def progress(
    job: JobRef, progress: Any, lease_token: str | None, checkpoint: Any, usage: Usage | None
) -> Request[bool]:
    """How far one job is."""
    job_id = job_id_of(job)
    beat = Beat(lease_token=lease_of(job, lease_token), progress=progress, checkpoint=checkpoint, usage=usage)
    read = answer_as(Heartbeat)

    def is_wanted(response: Response) -> bool:
        answer: Heartbeat = read(response)
        if answer.to_stop.get(job_id) == "lost":
            raise LeaseLost(409, "LEASE_LOST", f"the lease on job {job_id} is lost")
        return job_id not in answer.to_stop

    return _beats_request({job_id: _beat_body(beat, "")}, is_wanted)


def _beats_request(beats: dict[str, dict[str, Any]], read: Callable[[Response], T]) -> Request[T]:
    """Beats can be told twice, but for what they say of costs: those would be counted twice."""
    retry = Retry.UNSENT if any("usage" in beat for beat in beats.values()) else Retry.SAFE
    return Request("POST", f"{API}/heartbeat", read, body=_encode({"jobs": beats}), retry=retry)


def _beat_body(beat: Beat | None, where: str) -> dict[str, Any]:
    if beat is None:
        return {}
    return _given(
        lease_token=beat.lease_token,
        progress=_json(beat.progress, f"{where}progress"),
        checkpoint=_json(beat.checkpoint, f"{where}checkpoint"),
        usage=beat.usage,
    )


def announce_worker(
    worker_id: str,
    hostname: str | None,
    queues: str | Iterable[str] | None,
    slots: int | None,
    draining: bool | None,
) -> Request[None]:
    """What a worker says of itself."""
    names = [queues] if isinstance(queues, str) else queues
    body = _given(hostname=hostname, queues=None if names is None else list(names), slots=slots, draining=draining)
    return Request("POST", f"{API}/workers/{part_of_path(worker_id)}", no_answer, body=_encode(body))


def add_logs(
    job: JobRef, lines: str | NewLine | Iterable[str | NewLine], level: str | None, lease_token: str | None
) -> Iterator[Request[LogsAdded]]:
    """Lines for a job's log: as many requests as it takes."""
    return (request for request, _ in add_logs_in_parts(job, lines, level, lease_token))


def add_logs_in_parts(
    job: JobRef, lines: str | NewLine | Iterable[str | NewLine], level: str | None, lease_token: str | None
) -> Iterator[tuple[Request[LogsAdded], int]]:
    """The same, each request with how many lines are in it."""
    given = [lines] if isinstance(lines, str | NewLine) else lines
    path = f"{API}/jobs/{part_of_path(job_id_of(job))}/logs"
    token = lease_of(job, lease_token)
    chunk: list[msgspec.Raw] = []
    size = 0

    def part() -> tuple[Request[LogsAdded], int]:
        body = _encode(_given(lease_token=token, lines=chunk))
        return Request("POST", path, answer_as(LogsAdded), body=body, retry=Retry.UNSENT), len(chunk)

    for number, line in enumerate(given):
        text = _line_json(line if isinstance(line, NewLine) else NewLine(line), level, f"lines[{number}].")
        if chunk and (len(chunk) == MOST_LINES or size + len(bytes(text)) > MOST_BYTES):
            yield part()
            chunk, size = [], 0
        chunk.append(text)
        size += len(bytes(text))
    if chunk:
        yield part()


def _line_json(line: NewLine, level: str | None, where: str) -> msgspec.Raw:
    body = _given(
        message=line.message,
        level=line.level or level,
        at=None if line.at is None else time_text(line.at, f"{where}at"),
        attempt=line.attempt,
    )
    return msgspec.Raw(_encode(body))


def _given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _json(value: Any, field: str) -> msgspec.Raw | None:
    return None if value is None else json_of(value, field)


def _status(response: Response) -> str:
    answer: Pulse = answer_as(Pulse)(response)
    return answer.status


def _safe_with_token(body: dict[str, Any]) -> Retry:
    """With the token of its lease the end of an attempt can be told twice: the second time it is known."""
    return Retry.SAFE if "lease_token" in body else Retry.UNSENT
