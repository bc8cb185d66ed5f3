"""What came of tasks: workers submit results, producers read them or wait for them."""

import asyncio
from time import monotonic
from typing import Final, NamedTuple

import msgspec

from rookery.engine.ops import Ack, Acked, Completion, Fail, Failed, FailedJob, Failure, Refusal
from rookery.http.call import LARGE_BODY, Answer, CallerGone, json_answer
from rookery.http.codeq.artifacts import ArtifactInput, Deposit, NewArtifact, read_artifacts
from rookery.http.codeq.call import CodeqCall, Route
from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.records import (
    STATUS_COMPLETED,
    STATUS_FAILED,
    Result,
    face_patch,
    has_result,
    local_time,
    result_of,
    task_of,
)
from rookery.http.codeq.tasks import check_count
from rookery.http.errors import ApiError
from rookery.http.values import Raw, given_json
from rookery.model.job import ACTIVE, TERMINAL
from rookery.node.batcher import Overloaded, StorageDown
from rookery.store.tasks import TaskRow, read_task

LONGEST_WAIT: Final = 60
INVALID_BODY: Final = "invalid request body"
_NULL: Final = "null"
_REFUSALS: Final = {
    Refusal.NOT_FOUND: (404, "task not found"),
    Refusal.NOT_HOLDER: (403, "not-owner"),
    Refusal.WRONG_STATE: (409, "not-in-progress"),
}


class TaskName(msgspec.Struct, rename="camel"):
    """The task that one of many results is of."""

    task_id: str | None = None


class ResultRequest(TaskName):
    """What a worker says came of a task."""

    status: str | None = None
    result: Raw = msgspec.field(default_factory=Raw)
    error: str | None = None
    artifacts: list[ArtifactInput] | None = None


class ResultsRequest(msgspec.Struct):
    """Many of them; each is looked at by itself."""

    results: list[Raw] | None = None


class BatchItem(msgspec.Struct, omit_defaults=True, rename="camel"):
    """What became of one of many."""

    task_id: str = msgspec.field()
    result: Result | None = None
    error: str | None = None


class Submission(NamedTuple):
    """A result that is what it has to be."""

    status: str
    result: str | None
    error: str
    artifacts: list[NewArtifact]


_decoder = msgspec.json.Decoder(ResultRequest)
_name_decoder = msgspec.json.Decoder(TaskName)
_many_decoder = msgspec.json.Decoder(ResultsRequest)


async def submit(call: CodeqCall) -> Answer:
    """A worker ends its task with a result."""
    request = await call.read(_decoder, INVALID_BODY, limit=LARGE_BODY)
    return json_answer(await _submit(call, call.params["id"], await _checked(request)))


async def submit_many(call: CodeqCall) -> Answer:
    """Many results; each stands alone, in the order given."""
    request = await call.read(_many_decoder, limit=LARGE_BODY)
    check_count(request.results)
    checked = [await _checked_one(raw) for raw in request.results or ()]
    # Begun in their order: of two results of one task the first is taken.
    items = await asyncio.gather(*[_submit_one(call, task_id, submission) for task_id, submission in checked])
    return json_answer({"results": items})


async def _checked_one(raw: Raw) -> tuple[str, Submission | str]:
    """The task that one of many results is of, and the result or what is wrong with it."""
    try:
        request = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _named_task(raw), INVALID_BODY
    try:
        return request.task_id or "", await _checked(request)
    except CodeqError as fault:
        return request.task_id or "", fault.text


def _named_task(raw: Raw) -> str:
    """The task that a result names which cannot be read otherwise."""
    try:
        return _name_decoder.decode(raw).task_id or ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


async def _submit_one(call: CodeqCall, task_id: str, submission: Submission | str) -> BatchItem:
    if isinstance(submission, str):
        return BatchItem(task_id, error=submission)
    try:
        return BatchItem(task_id, await _submit(call, task_id, submission))
    except CodeqError as fault:
        return BatchItem(task_id, error=fault.text)
    except (Overloaded, StorageDown) as fault:
        return BatchItem(task_id, error=str(fault))


async def _checked(request: ResultRequest) -> Submission:
    """The result, or why it is none."""
    status, error = request.status or "", request.error or ""
    if not status.strip():
        raise CodeqError(400, INVALID_BODY)
    if status not in (STATUS_COMPLETED, STATUS_FAILED):
        raise CodeqError(400, "invalid status")
    try:
        result = given_json(request.result, "result")
    except ApiError:
        raise CodeqError(400, INVALID_BODY) from None
    if result is not None and not result.startswith("{"):
        raise CodeqError(400, INVALID_BODY)
    if status == STATUS_COMPLETED and result is None:
        raise CodeqError(400, "result required when status=COMPLETED")
    if status == STATUS_FAILED and not error.strip():
        raise CodeqError(400, "error required when status=FAILED")
    artifacts = await asyncio.to_thread(read_artifacts, request.artifacts) if request.artifacts else []
    return Submission(status, result, error, artifacts)


async def _submit(call: CodeqCall, task_id: str, submission: Submission) -> Result:
    """End the task; files are there before that is said, and gone again if it is refused.

    One submission of a task at a time: another of the same worker must not touch the files of the first.
    """
    async with call.artifacts.turn(task_id):
        row = _held_task(call, task_id)
        deposit = await call.artifacts.keep(call, task_id, submission.artifacts)
        try:
            refusal = await _commit(call, row, submission, deposit)
        except (Overloaded, StorageDown):
            await call.artifacts.take_back(deposit)
            raise
        if refusal is not None:
            await call.artifacts.take_back(deposit)
            raise _refused(refusal)
    return _answer(call, task_id, submission, deposit)


def _held_task(call: CodeqCall, task_id: str) -> TaskRow:
    """The task, if the caller holds it now: nothing is written for anybody else. The engine asks once more."""
    row = read_task(call.node.reader, task_id, call.namespace)
    if row is None:
        raise _refused(Refusal.not_found(task_id))
    if row.state != ACTIVE:
        raise _refused(Refusal.wrong_state(task_id, row.state, "finish"))
    if row.worker_id != call.caller.subject:
        raise _refused(Refusal.not_holder(task_id))
    return row


async def _commit(call: CodeqCall, row: TaskRow, submission: Submission, deposit: Deposit) -> Refusal | None:
    """A failed result is a result: the task is not tried again, and no dead letter."""
    is_completed = submission.status == STATUS_COMPLETED
    patch = face_patch(
        artifacts=deposit.artifacts or None,
        files=deposit.files or None,
        error=submission.error if is_completed and submission.error else None,
    )
    face = patch if row.face is not None or deposit.artifacts or (is_completed and submission.error) else None
    holder = call.caller.subject
    if is_completed:
        done = Completion(row.id, result=submission.result, face=face, holder=holder)
        acked: Acked = await call.node.submit(Ack(items=[done], namespace=call.namespace))
        return acked.outcomes[0]
    # A result of an earlier life of the task is not that of this one.
    failure = Failure(
        row.id,
        error=submission.error,
        end="result",
        result=submission.result or (None if row.result is None else _NULL),
        face=face,
        holder=holder,
    )
    failed: Failed = await call.node.submit(Fail(items=[failure], namespace=call.namespace))
    outcome = failed.outcomes[0]
    return None if isinstance(outcome, FailedJob) else outcome


def _refused(refusal: Refusal) -> CodeqError:
    status, text = _REFUSALS.get(refusal.kind, (400, refusal.message))
    return CodeqError(status, text)


def _answer(call: CodeqCall, task_id: str, submission: Submission, deposit: Deposit) -> Result:
    """The result as it was taken, whatever has become of the task since."""
    row = read_task(call.node.reader, task_id, call.namespace)
    if row is not None and has_result(row):
        return result_of(row, call.settings.timezone)
    return Result(
        task_id=task_id,
        status=submission.status,
        result=None if submission.result is None else Raw(submission.result.encode()),
        error=submission.error,
        artifacts=deposit.artifacts,
        completed_at=local_time(call.node.clock.now(), call.settings.timezone),
    )


async def get(call: CodeqCall) -> Answer:
    """A task with its result; who wants to waits until there is one."""
    task_id, end = call.params["id"], monotonic() + _wait(call)
    while True:
        ended = call.node.watch_end(task_id)
        try:
            row = read_task(call.node.reader, task_id, call.namespace)
            if row is None:
                raise CodeqError(404, "task not found")
            if has_result(row):
                zone = call.settings.timezone
                return json_answer({"task": task_of(row, zone), "result": result_of(row, zone)})
            left = end - monotonic()
            if left <= 0 or row.state in TERMINAL or call.node.is_closing:
                raise CodeqError(404, "result not found")
            await _until(call, ended, left)
        finally:
            ended.cancel()


def _wait(call: CodeqCall) -> float:
    """Seconds; what is no number of them is none."""
    text = call.call.query().get("waitSeconds", "").strip()
    return min(int(text), LONGEST_WAIT) if text.isascii() and text.isdigit() and len(text) < 10 else 0


async def _until(call: CodeqCall, ended: "asyncio.Future[None]", timeout: float) -> None:
    """Wait until the task has ended or the time is up, but not for a caller who has gone."""
    gone = call.call.watch_gone()
    try:
        await asyncio.wait({ended, gone}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            raise CallerGone
    finally:
        gone.cancel()


ROUTES: Final = [
    Route(method="POST", path="/tasks/{id}/result", handler=submit, who="worker", scope="codeq:result"),
    Route(method="POST", path="/tasks/batch/results", handler=submit_many, who="worker", scope="codeq:result"),
    Route(method="GET", path="/tasks/{id}/result", handler=get, who="either"),
]
