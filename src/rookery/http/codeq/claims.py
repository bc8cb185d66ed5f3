"""Working on tasks: claim them, keep them, give them back."""

import asyncio
from time import monotonic
from typing import Any, Final

import msgspec

from rookery.engine.heartbeat import OK, UNKNOWN
from rookery.engine.ops import (
    Beat,
    Beaten,
    Claim,
    Claimed,
    ClaimedJob,
    Fail,
    Failed,
    Failure,
    Heartbeat,
    Refusal,
    Release,
    Released,
    Return,
)
from rookery.http.call import Answer, CallerGone, Work, json_answer
from rookery.http.codeq.auth import ALL
from rookery.http.codeq.call import CodeqCall, Route
from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.names import command_of
from rookery.http.codeq.records import MAX_ATTEMPTS, STATUS_IN_PROGRESS, Task, lease_end, task_of
from rookery.http.codeq.tasks import INVALID_BODY
from rookery.model.backoff import LONGEST_DELAY
from rookery.model.job import ACTIVE
from rookery.store.depths import read_depths
from rookery.store.tasks import TaskRow, has_task, read_tasks

LONGEST_WAIT: Final = 30
MOST_CLAIMED: Final = 10
_LOOK_AGAIN: Final = 0.5
"""Seconds after which a worker of every command hears of a command that is new."""
_NOTHING: Final = Answer(204)


class ClaimRequest(msgspec.Struct, rename="camel"):
    """Which tasks a worker wants, and for how long."""

    commands: list[str] | None = None
    lease_seconds: int | None = None
    wait_seconds: int | None = None


class ClaimManyRequest(ClaimRequest):
    """The same, for several at once."""

    count: int | None = None


class HeartbeatRequest(msgspec.Struct, rename="camel"):
    """How long the lease is to last from now."""

    extend_seconds: int | None = None


class NackRequest(msgspec.Struct, rename="camel"):
    """When the task is to come again, and why."""

    delay_seconds: int | None = None
    reason: str | None = None


_claim_decoder = msgspec.json.Decoder(ClaimRequest)
_claim_many_decoder = msgspec.json.Decoder(ClaimManyRequest)
_heartbeat_decoder = msgspec.json.Decoder(HeartbeatRequest)
_nack_decoder = msgspec.json.Decoder(NackRequest)


async def claim(call: CodeqCall) -> Answer:
    """Lease one task, waiting for it if the worker wants that."""
    request = await call.read(_claim_decoder)
    wait = min(max(0, request.wait_seconds or 0), LONGEST_WAIT)

    def answer(jobs: list[ClaimedJob]) -> Answer:
        tasks = _claimed_tasks(call, jobs)
        return json_answer(tasks[0]) if tasks else _NOTHING

    answered = await _claim_now(call, request, 1, answer)
    return answered if answered.status != 204 or not wait else await _claim_later(call, request, wait, answer)


async def claim_many(call: CodeqCall) -> Answer:
    """Lease several tasks, as many as there are."""
    request = await call.read(_claim_many_decoder)
    if request.count is None or request.count < 1:
        raise CodeqError(400, INVALID_BODY)
    if request.count > MOST_CLAIMED:
        raise CodeqError(400, f"count exceeds maximum of {MOST_CLAIMED}")

    def answer(jobs: list[ClaimedJob]) -> Answer:
        tasks = _claimed_tasks(call, jobs)
        return json_answer({"tasks": tasks}) if tasks else _NOTHING

    return await _claim_now(call, request, request.count, answer)


def _claim_op(call: CodeqCall, request: ClaimRequest, count: int) -> Claim:
    """What is asked for: earlier commands go before later ones; who takes all of them has given no order."""
    return Claim(
        queues=_queues(call, request),
        count=count,
        worker_id=call.caller.subject,
        lease=_lease(call, request.lease_seconds),
        in_order=not _wants_all(call, request),
        namespace=call.namespace,
    )


def _queues(call: CodeqCall, request: ClaimRequest) -> tuple[str, ...]:
    """The queues of the commands that are asked for, or else of all that the token allows."""
    commands = request.commands or call.caller.event_types
    if not all(call.caller.may_handle(command) for command in commands):
        raise CodeqError(403, "event type not allowed")
    if ALL in commands:
        return _known_queues(call)
    return tuple(dict.fromkeys(call.queue(command) for command in commands if command.strip()))


def _known_queues(call: CodeqCall) -> tuple[str, ...]:
    names = [depth.name for depth in read_depths(call.node.reader, call.namespace)]
    return tuple([name for name in names if command_of(call.namespace, name) is not None])


def _wants_all(call: CodeqCall, request: ClaimRequest) -> bool:
    return ALL in (request.commands or call.caller.event_types)


def _lease(call: CodeqCall, seconds: int | None) -> int:
    wanted = seconds if seconds is not None and seconds > 0 else call.settings.default_lease_seconds
    return min(wanted * 1000, LONGEST_DELAY)


async def _claim_now(call: CodeqCall, request: ClaimRequest, count: int, answer: Any) -> Answer:
    """Claim what is there. If the caller goes before it can be told, what was claimed is put back."""
    op = _claim_op(call, request, count)
    if not op.queues:
        return _NOTHING
    gone = call.call.watch_gone()
    claimed = call.node.submit(op)
    try:
        await asyncio.wait({claimed, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not gone.done():
            answered: Answer = answer(claimed.result().jobs)
            return answered
        claimed.add_done_callback(lambda done: _put_back(call, op, done))
        raise CallerGone
    finally:
        gone.cancel()


def _put_back(call: CodeqCall, op: Claim, done: "asyncio.Future[Claimed]") -> None:
    if not done.cancelled() and done.exception() is None:
        call.node.put_back(op, done.result().jobs)


async def _claim_later(call: CodeqCall, request: ClaimRequest, wait: float, answer: Any) -> Answer:
    """Wait for a task. Whoever takes every command looks again and again which ones there are."""
    end, answered = monotonic() + wait, _NOTHING
    longest = _LOOK_AGAIN if _wants_all(call, request) else wait
    while (left := end - monotonic()) > 0 and answered.status == 204 and not call.node.is_closing:
        # Also without any queue: the caller's going is noticed there.
        work = Work(_claim_op(call, request, 1), answer, min(left, longest))
        answered = await call.call.run(work)
    return answered


def _claimed_tasks(call: CodeqCall, jobs: list[ClaimedJob]) -> list[Task]:
    """The tasks as their worker gets them, whatever has become of them in the moment since."""
    call.node.measures.face_work.claimed.update([job.queue for job in jobs])
    rows = read_tasks(call.node.reader, [job.job_id for job in jobs], call.namespace)
    return [_claimed_task(call, rows[job.job_id], job) for job in jobs if job.job_id in rows]


def _claimed_task(call: CodeqCall, row: TaskRow, job: ClaimedJob) -> Task:
    task = task_of(row, call.settings.timezone)
    if row.state == ACTIVE and row.lease == job.lease:
        return task
    until = lease_end(call.node.clock.now() + job.lease_length)
    return msgspec.structs.replace(
        task,
        status=STATUS_IN_PROGRESS,
        worker_id=call.caller.subject,
        attempts=job.attempt,
        lease_until=until,
        error="",
        result_key="",
    )


# --- what a worker says about a task that it holds


def _known_task(call: CodeqCall) -> str:
    """The id of the task in the path, if there is such a task for this caller."""
    task_id = call.params["id"]
    if not has_task(call.node.reader, task_id, call.namespace):
        raise CodeqError(404, "not-found")
    return task_id


async def heartbeat(call: CodeqCall) -> Answer:
    """The worker goes on: its lease ends so many seconds from now."""
    request = await call.read(_heartbeat_decoder)
    beat = Beat(_known_task(call), renew_for=_lease(call, request.extend_seconds), holder=call.caller.subject)
    beaten: Beaten = await call.node.submit(Heartbeat(items=[beat], namespace=call.namespace))
    (outcome,) = beaten.outcomes
    if outcome != OK:
        raise CodeqError(404, "not-found") if outcome == UNKNOWN else CodeqError(403, "not-owner")
    return json_answer({"ok": True})


async def abandon(call: CodeqCall) -> Answer:
    """The worker gives the task back at once; that it had it counts."""
    item = Return(_known_task(call), holder=call.caller.subject, keep_attempt=True)
    released: Released = await call.node.submit(Release(items=[item], namespace=call.namespace))
    _raise_refusal(released.outcomes[0])
    return json_answer({"status": "requeued"})


async def nack(call: CodeqCall) -> Answer:
    """The worker gives up: the task comes again later, if it has attempts left."""
    request = await call.read(_nack_decoder)
    reason = request.reason or ""
    item = Failure(
        _known_task(call),
        error=reason,
        retry_after=_delay(call, request.delay_seconds),
        holder=call.caller.subject,
        last_error=None if reason.strip() else MAX_ATTEMPTS,
    )
    failed: Failed = await call.node.submit(Fail(items=[item], namespace=call.namespace))
    outcome = failed.outcomes[0]
    if isinstance(outcome, Refusal):
        raise _refused(outcome)
    if outcome.next_attempt_at is None:
        return json_answer({"status": "dlq", "delaySeconds": 0})
    return json_answer({"status": "requeued", "delaySeconds": -(-(outcome.next_attempt_at - failed.at) // 1000)})


def _delay(call: CodeqCall, seconds: int | None) -> int | None:
    """Milliseconds; None: as the task's policy says."""
    if seconds is None or seconds <= 0:
        return None
    return min(seconds, call.settings.backoff_max_seconds) * 1000


def _raise_refusal(outcome: str | Refusal) -> None:
    if isinstance(outcome, Refusal):
        raise _refused(outcome)


def _refused(refusal: Refusal) -> CodeqError:
    """A task that nobody holds is not the caller's either."""
    return CodeqError(404, "not-found") if refusal.kind == Refusal.NOT_FOUND else CodeqError(403, "not-owner")


def _route(action: str, handler: Any) -> Route:
    return Route(method="POST", path=f"/tasks/{{id}}/{action}", handler=handler, who="worker", scope=f"codeq:{action}")


ROUTES: Final = [
    Route(method="POST", path="/tasks/claim", handler=claim, who="worker", scope="codeq:claim", limit="worker"),
    Route(
        method="POST", path="/tasks/claim/batch", handler=claim_many, who="worker", scope="codeq:claim", limit="worker"
    ),
    _route("heartbeat", heartbeat),
    _route("abandon", abandon),
    _route("nack", nack),
]
