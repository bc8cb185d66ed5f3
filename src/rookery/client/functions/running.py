"""Running a job to its outcome: payload into arguments, middleware, dependencies, the function, its time limit.

Knows nothing of servers; worker and test kit run jobs by this very code.
"""

import asyncio
import contextvars
import traceback
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any, Final, Protocol

from rookery.client.functions.current import CANCELLED, CurrentJob, _current
from rookery.client.functions.functions import JobFunction
from rookery.client.functions.middleware import onion
from rookery.client.functions.outcomes import (
    LONGEST_BACKTRACE,
    LONGEST_ERROR,
    Cancel,
    Cancelled,
    Dead,
    Done,
    Dropped,
    Failed,
    Outcome,
    Retry,
    Snooze,
    Snoozed,
    Steering,
)
from rookery.client.functions.signatures import InvalidPayload
from rookery.client.values import json_of, sendable

DONE: Final = Done()
_SDK: Final = str(Path(__file__).parents[1])


class JobTimeout(TimeoutError):
    """A job ran longer than its `timeout`."""


class Threads(Protocol):
    """Where plain functions run, so that they do not hold up the loop."""

    def run(self, call: Callable[[], Any]) -> Awaitable[Any]:
        """Call it in a thread. When the awaiting is cancelled the thread is left to itself."""


async def run(
    function: JobFunction[..., Any],
    job: CurrentJob,
    threads: Threads | None = None,
    on_error: Callable[[BaseException], None] | None = None,
) -> Outcome:
    """Run a job to its outcome, in a context of its own; without threads, plain functions run right here.

    Whoever wants an exception itself hears of it by `on_error`; the outcome has only its text. Raises nothing but
    CancelledError, when the task is cancelled and not because the job was, and what ends the whole process.
    """
    _current.set(job)
    try:
        if function.is_simple:
            value = await function.function(*function.signature.positional(job.claim.payload))
        elif function.timeout is None:
            value = await _run_layers(function, job, threads)
        else:
            value = await _run_in_time(function, job, threads, function.timeout)
        if job.cancelled:
            return Dropped(job.cancel_reason or CANCELLED)
        if value is None:
            return DONE
        if isinstance(value, Steering):
            return _steered(value)
        return Done(json_of(value, "the result"))
    except asyncio.CancelledError as error:
        if job.cancelled:
            return Dropped(job.cancel_reason or CANCELLED)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        if on_error is not None:
            on_error(error)
        return judge(function, error)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        if job.cancelled:
            return Dropped(job.cancel_reason or CANCELLED)
        if on_error is not None:
            on_error(error)
        return judge(function, error)


async def _run_in_time(
    function: JobFunction[..., Any], job: CurrentJob, threads: Threads | None, seconds: float
) -> Any:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await _run_layers(function, job, threads)
    except TimeoutError:
        if limit.expired():
            raise timed_out(seconds) from None
        raise


def timed_out(seconds: float) -> JobTimeout:
    """What a job that took too long fails with."""
    return JobTimeout(f"the job ran longer than its timeout of {seconds:g} s")


async def _run_layers(function: JobFunction[..., Any], job: CurrentJob, threads: Threads | None) -> Any:
    async def core(job: CurrentJob) -> Any:
        return await _call(function, job, threads)

    layers = function.app.middleware
    return await (onion(layers, core)(job) if layers else core(job))


async def _call(function: JobFunction[..., Any], job: CurrentJob, threads: Threads | None) -> Any:
    """Make the arguments, and call the function where it belongs."""
    signature, call = function.signature, function.function
    arguments = signature.keywords(job.claim.payload)
    async with AsyncExitStack() as stack:
        in_thread = threads is not None and not function.is_async
        made = await signature.plan.make(stack, function.app.replaced, all_here=not in_thread)
        if function.is_async:
            return await call(**arguments, **signature.plan.arguments(made))

        def call_here() -> Any:
            with ExitStack() as stack:
                signature.plan.make_rest(stack, made)
                return call(**arguments, **signature.plan.arguments(made))

        if threads is None or not in_thread:
            return call_here()
        context = contextvars.copy_context()
        return await threads.run(lambda: context.run(call_here))


def judge(function: JobFunction[..., Any], error: BaseException) -> Outcome:
    """What an exception means for its job: by what the handler says, then `discard_on`, then `retry_on`."""
    if isinstance(error, Steering):
        return _steered(error)
    return Failed(error_text(error), backtrace_of(error), end="dead" if _is_final(function, error) else None)


def _is_final(function: JobFunction[..., Any], error: BaseException) -> bool:
    if isinstance(error, function.discard_on):
        return True
    if isinstance(error, InvalidPayload):
        return InvalidPayload not in (function.retry_on or ())
    return function.retry_on is not None and not isinstance(error, function.retry_on)


def _steered(steering: Steering) -> Outcome:
    match steering:
        case Snooze():
            return Snoozed(steering.delay, steering.reason)
        case Cancel():
            return Cancelled(steering.reason)
        case Dead():
            return Failed(steering.error, end="dead")
        case Retry():
            error = steering.error
            if isinstance(error, BaseException):
                return Failed(error_text(error), backtrace_of(error), steering.after)
            return Failed(error or "the handler asked for a retry", None, steering.after)
    raise TypeError(f"{type(steering).__name__} says nothing about the job")


def error_text(error: BaseException) -> str:
    """An exception in a line or so."""
    try:
        text = str(error)
    except Exception:
        text = ""
    name = type(error).__qualname__
    return sendable(f"{name}: {text}" if text else name)[:LONGEST_ERROR]


def backtrace_of(error: BaseException) -> str | None:
    """Where it came from, without the frames of the SDK; the end of it if it is long."""
    said = traceback.TracebackException.from_exception(error)
    frames = [frame for frame in said.stack if not frame.filename.startswith(_SDK)]
    if not frames:
        return None
    said.stack = traceback.StackSummary.from_list(frames)
    return sendable("".join(said.format()))[-LONGEST_BACKTRACE:]
