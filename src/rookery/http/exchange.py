"""One frame of a stream from its arrival to its answer: what it asks of the engine, and what is said of each item."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from rookery.engine.ops import (
    Ack,
    Acked,
    AnyOperation,
    Beat,
    Beaten,
    Enqueue,
    Enqueued,
    Fail,
    Failed,
    FailedJob,
    Heartbeat,
    NewJob,
    Refusal,
    Release,
    Released,
)
from rookery.http.call import Call
from rookery.http.errors import ApiError, api_error, internal_error, invalid, refused
from rookery.http.fetch import MOST_JOBS
from rookery.http.frames import BadItem, Frame
from rookery.http.produce import MOST_JOBS as MOST_NEW_JOBS
from rookery.http.produce import EnqueueRequest, enqueued_json, new_job
from rookery.http.work import (
    HeartbeatAnswer,
    beat,
    completion,
    fail_answer,
    failure,
    heartbeat_answer,
    job_return,
)
from rookery.node.node import Node

R = TypeVar("R")

_WAITS: Final = ""
"""Instead of an outcome: the engine has not spoken yet."""


class Part:
    """The items of one kind: those that are fit for it as an operation, and what is said of each in its place."""

    def __init__(self, name: str, op: AnyOperation | None, said: list[str], tell: Callable[[Any], Any]) -> None:
        self.name = name
        self.op = op
        self._said = said
        self._tell = tell

    def take(self, result: Any) -> None:
        """The engine has spoken: say so of each item that waits for it."""
        self._fill(self._tell(result))

    def fail(self, error: ApiError) -> None:
        """Nothing came of the operation."""
        self._fill([error_json(job_id, error) for job_id in self._job_ids()])

    def _job_ids(self) -> list[str | None]:
        if isinstance(self.op, Enqueue):
            return [job.id for job in self.op.jobs]
        assert isinstance(self.op, Ack | Fail | Release | Heartbeat)
        return [item.job_id for item in self.op.items]

    def _fill(self, told: list[str]) -> None:
        if len(told) == len(self._said):
            self._said = told
        else:
            waiting = iter(told)
            self._said = [text or next(waiting) for text in self._said]

    def json(self) -> str:
        """The part of the answer."""
        return f'"{self.name}":[{",".join(self._said)}]'


class BeatsPart(Part):
    """The jobs of a heartbeat: what each is to do, by its id."""

    def __init__(self, op: Heartbeat | None, bad: dict[str, ApiError]) -> None:
        super().__init__("heartbeat", op, [], lambda _: [])
        self._answer = HeartbeatAnswer({}, [], [], [])
        self._bad = bad

    def take(self, result: Beaten) -> None:
        """The engine has spoken."""
        assert isinstance(self.op, Heartbeat)
        self._answer = heartbeat_answer(self.op.items, result)

    def fail(self, error: ApiError) -> None:
        """Nothing came of the operation."""
        self._bad.update((job_id, error) for job_id in self._job_ids() if job_id is not None)

    def json(self) -> str:
        """The part of the answer."""
        if not self._bad:
            return f'"heartbeat":{msgspec.json.encode(self._answer).decode()}'
        jobs = {**self._answer.jobs, **{job_id: _told(error) for job_id, error in self._bad.items()}}
        answer = {**msgspec.structs.asdict(self._answer), "jobs": jobs}
        return f'"heartbeat":{msgspec.json.encode(answer).decode()}'


class Exchange:
    """A frame that was let in. It is late when its new jobs did not go together and each is tried alone."""

    __slots__ = ("_be_late", "_faults", "_finish", "_left", "id", "is_late", "parts", "room", "settled", "size")

    def __init__(
        self,
        frame: Frame,
        parts: list[Part],
        size: int,
        finish: "Callable[[Exchange], None]",
        be_late: Callable[[], None],
    ) -> None:
        self.id = frame.id
        self.parts = parts
        self.size = size
        self.settled: list[tuple[str, int]] = []
        self.room = 0
        self.is_late = False
        self._finish = finish
        self._be_late = be_late
        self._left = sum(part.op is not None for part in parts)
        self._faults: list[ApiError] = []

    def submit(self, node: Node) -> None:
        """Have all of it done, or raise Overloaded before anything is."""
        send = node.send
        for part in self.parts:
            if part.op is not None:
                send(part.op, partial(self._deliver, node, part))
                send = node.send_more
        if not self._left:
            self._finish(self)

    @property
    def fault(self) -> ApiError | None:
        """Why nothing of the frame was done, if nothing was."""
        asked = sum(part.op is not None for part in self.parts)
        return self._faults[0] if self._faults and len(self._faults) == asked else None

    def json(self) -> bytes:
        """The answer."""
        if self.fault is not None:
            return self.fault.body(id=self.id)
        answer = [f'"id":{self.id}', *[part.json() for part in self.parts]]
        return f"{{{','.join(answer)}}}".encode()

    def _deliver(self, node: Node, part: Part, result: Any) -> None:
        if isinstance(result, BaseException):
            error = api_error(result) or internal_error()
            self._faults.append(error)
            part.fail(error)
        elif isinstance(result, Refusal) and isinstance(part.op, Enqueue) and len(part.op.jobs) > 1:
            self.is_late = True
            self._be_late()
            self._enqueue_one_by_one(node, part, part.op)
            return
        else:
            part.take(result)
        self._finish_part()

    def _finish_part(self) -> None:
        self._left -= 1
        if not self._left:
            self._finish(self)

    def _enqueue_one_by_one(self, node: Node, part: Part, op: Enqueue) -> None:
        """One of the new jobs is in the way of the others: let each stand alone."""
        results: list[Any] = [None] * len(op.jobs)
        left = len(op.jobs)

        def deliver(number: int, result: Any) -> None:
            nonlocal left
            results[number] = result
            left -= 1
            if not left:
                part.take(results)
                self._finish_part()

        for number, job in enumerate(op.jobs):
            node.send_more(Enqueue(jobs=[job], namespace=op.namespace), partial(deliver, number))


def parts_of(call: Call, frame: Frame) -> list[Part]:
    """What a frame asks for, kind by kind; raises if it asks for more than it may."""
    for name, items, most in (
        ("enqueue", frame.enqueue, MOST_NEW_JOBS),
        ("ack", frame.ack, MOST_JOBS),
        ("fail", frame.fail, MOST_JOBS),
        ("release", frame.release, MOST_JOBS),
        ("heartbeat", frame.beats, MOST_NEW_JOBS),
    ):
        if items is not None and len(items) > most:
            raise invalid(f"{name} has {len(items)} items, the limit is {most}")
    parts = []
    if frame.enqueue is not None:
        parts.append(_enqueues(call, frame))
    if frame.ack is not None:
        parts.append(_endings(call, frame, _ACK, frame.ack))
    if frame.fail is not None:
        parts.append(_endings(call, frame, _FAIL, frame.fail))
    if frame.release is not None:
        parts.append(_endings(call, frame, _RELEASE, frame.release))
    if frame.beats is not None:
        parts.append(_beats(call, frame))
    return parts


def _enqueues(call: Call, frame: Frame) -> Part:
    def check(item: EnqueueRequest) -> NewJob:
        return new_job(call, item)

    def tell(result: Enqueued | Refusal | list[Any]) -> list[str]:
        if isinstance(result, Enqueued):
            return [enqueued_json(job) for job in result.jobs]
        results = result if isinstance(result, list) else [result]
        return [tell_one(job, one) for job, one in zip(jobs, results, strict=True)]

    def tell_one(job: NewJob, result: Enqueued | Refusal | BaseException) -> str:
        if isinstance(result, Enqueued):
            return enqueued_json(result.jobs[0])
        error = refused(result, "VALIDATION_ERROR") if isinstance(result, Refusal) else api_error(result)
        return error_json(job.id, error or internal_error())

    jobs, said = _check_all(frame, frame.enqueue, check)
    op = Enqueue(jobs=jobs, namespace=call.namespace) if jobs else None
    return Part("enqueued", op, said, tell)


class Ending(NamedTuple):
    """One way in which a client comes to an end with jobs: how it is read, done, and told of."""

    name: str
    read: Callable[[str, Any], Any]
    operation: Callable[..., AnyOperation]
    tell: Callable[[str, Any], str]
    code: str


def _tell_acked(job_id: str, _: None) -> str:
    return f'{{"job_id":"{job_id}","status":"ok"}}'


def _tell_failed(job_id: str, outcome: FailedJob) -> str:
    return _json({"job_id": job_id, **msgspec.structs.asdict(fail_answer(outcome))})


def _tell_released(job_id: str, status: str) -> str:
    return f'{{"job_id":"{job_id}","status":"{status}"}}'


_ACK: Final = Ending("acked", completion, Ack, _tell_acked, "ACK_ERROR")
_FAIL: Final = Ending("failed", failure, Fail, _tell_failed, "FAIL_ERROR")
_RELEASE: Final = Ending("released", job_return, Release, _tell_released, "RELEASE_ERROR")


def _endings(call: Call, frame: Frame, ending: Ending, given: Sequence[Any]) -> Part:
    def check(item: Any) -> Any:
        return ending.read(_job_id(item.job_id), item)

    def tell(done: Acked | Failed | Released) -> list[str]:
        return [
            error_json(item.job_id, refused(outcome, ending.code))
            if isinstance(outcome, Refusal)
            else ending.tell(item.job_id, outcome)
            for item, outcome in zip(items, done.outcomes, strict=True)
        ]

    items, said = _check_all(frame, given, check)
    op = ending.operation(items=items, namespace=call.namespace) if items else None
    return Part(ending.name, op, said, tell)


def _beats(call: Call, frame: Frame) -> Part:
    beats: list[Beat] = []
    bad: dict[str, ApiError] = {}
    for job_id, item in (frame.beats or {}).items():
        try:
            if isinstance(item, BadItem):
                raise item.error
            beats.append(beat(job_id, item))
        except ApiError as error:
            bad[job_id] = error
    op = Heartbeat(items=beats, namespace=call.namespace) if beats else None
    return BeatsPart(op, bad)


def _check_all(frame: Frame, items: Sequence[Any] | None, check: Callable[[Any], R]) -> tuple[list[R], list[str]]:
    """The items that are fit for the engine, in its words, and for the others what is wrong with them."""
    items = items or ()
    if not frame.is_patchy:
        try:
            return [check(item) for item in items], [_WAITS] * len(items)
        except ApiError:
            pass  # one is bad: see which
    fit: list[R] = []
    said: list[str] = []
    for item in items:
        try:
            if isinstance(item, BadItem):
                raise item.error
            fit.append(check(item))
        except ApiError as error:
            said.append(error_json(item.job_id, error))
        else:
            said.append(_WAITS)
    return fit, said


def _job_id(given: str) -> str:
    if not given.strip():
        raise invalid("job_id is required")
    return given


def _told(error: ApiError) -> dict[str, Any]:
    return {"error": error.message, "code": error.code, **error.extra}


def error_json(job_id: str | None, error: ApiError) -> str:
    """What is wrong with an item."""
    return error.body(job_id=job_id or None).decode()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
