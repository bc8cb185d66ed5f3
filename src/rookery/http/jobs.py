"""One job: look at it, wait for it, retry, cancel, move, delete, hold, approve, reject."""

import asyncio
from typing import Annotated, Final

import msgspec

from rookery.engine.ops import AnyOperation, Approve, Cancel, Delete, Hold, Move, Refusal, Reject, Retry
from rookery.http.call import Answer, Call, Handler, Parameter, Route, json_answer, says
from rookery.http.errors import invalid, not_found, refused
from rookery.http.fetch import DEFAULT_WAIT, LONGEST_WAIT
from rookery.http.values import rank
from rookery.http.work import Status
from rookery.model.job import TERMINAL
from rookery.store.views import JobView, read_job


class MoveRequest(msgspec.Struct):
    """Where to, and what to begin anew."""

    queue: Annotated[str, says("Required. The target")] = ""
    reset_attempt: Annotated[bool | None, says("Begin to count attempts anew")] = False
    priority: Annotated[str | int | None, says("A new priority")] = None


class HoldRequest(msgspec.Struct):
    """Why."""

    reason: Annotated[str | None, says("Shown as `hold_reason`")] = None


_move_decoder = msgspec.json.Decoder(MoveRequest)
_hold_decoder = msgspec.json.Decoder(HoldRequest)


def _job(call: Call) -> JobView:
    job_id = call.params["job_id"]
    job = read_job(call.node.reader, job_id, call.namespace)
    if job is None:
        raise not_found(f"job {job_id} not found")
    return job


async def get_job(call: Call) -> Answer:
    """A job, whole."""
    return json_answer(_job(call))


async def wait_for_job(call: Call) -> Answer:
    """A job as soon as it has ended, or as it is when the time is up."""
    timeout = _wait_seconds(call.query().get("timeout"))
    watcher = call.node.watch_end(call.params["job_id"])
    gone = call.watch_gone()
    try:
        job = _job(call)
        if job.state not in TERMINAL and not call.node.is_closing:
            await asyncio.wait({watcher, gone}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            job = _job(call)
    finally:
        watcher.cancel()
        gone.cancel()
    return json_answer(job, 200 if job.state in TERMINAL else 202)


def _wait_seconds(text: str | None) -> float:
    try:
        seconds = DEFAULT_WAIT if not text else float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise invalid(f"timeout must be a number of seconds from 0 to {LONGEST_WAIT:.0f}, not {text!r}")
    return min(seconds, LONGEST_WAIT)


async def _submit(call: Call, op: AnyOperation, code: str) -> Answer:
    done = await call.node.submit(op)
    if isinstance(done, Refusal):
        raise refused(done, code)
    return json_answer(Status(done.status))


def _plain(operation: type[Retry | Cancel | Delete | Approve | Reject], code: str) -> Handler:
    """A handler for an operation that takes nothing but the job."""

    async def handler(call: Call) -> Answer:
        return await _submit(call, operation(job_id=call.params["job_id"], namespace=call.namespace), code)

    return handler


async def move(call: Call) -> Answer:
    """Put it into another queue."""
    request = await call.parse(_move_decoder)
    op = Move(
        job_id=call.params["job_id"],
        queue=call.queue(request.queue),
        reset_attempt=bool(request.reset_attempt),
        rank=None if request.priority is None else rank(request.priority),
        namespace=call.namespace,
    )
    return await _submit(call, op, "MOVE_ERROR")


async def hold(call: Call) -> Answer:
    """Make it wait for a person."""
    request = await call.parse(_hold_decoder)
    op = Hold(job_id=call.params["job_id"], reason=request.reason or None, namespace=call.namespace)
    return await _submit(call, op, "HOLD_ERROR")


_PATH: Final = "/api/v1/jobs/{job_id}"


def _action(name: str, handler: Handler, summary: str, request: type | None = None) -> Route:
    return Route(
        method="POST",
        path=f"{_PATH}/{name}",
        handler=handler,
        summary=summary,
        request=request,
        answers={200: Status},
        tag="Jobs",
    )


ROUTES = [
    Route(method="GET", path=_PATH, handler=get_job, summary="A job, whole", answers={200: JobView}, tag="Jobs"),
    Route(
        method="GET",
        path=f"{_PATH}/wait",
        handler=wait_for_job,
        summary="A job, as soon as it has ended",
        answers={200: JobView, 202: JobView},
        parameters=(Parameter("timeout", "Seconds to wait: 30 by default, 60 at the most", "number"),),
        tag="Jobs",
    ),
    Route(
        method="DELETE",
        path=_PATH,
        handler=_plain(Delete, "DELETE_ERROR"),
        summary="Forget a job",
        answers={200: Status},
        tag="Jobs",
    ),
    _action("retry", _plain(Retry, "RETRY_ERROR"), "Run it again from the start"),
    _action("cancel", _plain(Cancel, "CANCEL_ERROR"), "Take it out, waiting or running"),
    _action("move", move, "Put it into another queue", MoveRequest),
    _action("hold", hold, "Make it wait for a person", HoldRequest),
    _action("approve", _plain(Approve, "APPROVE_ERROR"), "Let a held job go on"),
    _action("reject", _plain(Reject, "REJECT_ERROR"), "Bury a held job"),
]
