"""Functions that are jobs: each has a queue of its own, and can be enqueued by its own signature."""

import functools
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, Unpack

import msgspec

from rookery.client.functions.logs import CaptureLogs, capture_level
from rookery.client.functions.signatures import Signature
from rookery.client.newjobs import EnqueueOptions, JobOptions, NewJob, unknown_name
from rookery.client.records import Enqueued
from rookery.client.values import Duration, seconds_of

if TYPE_CHECKING:
    from rookery.client.functions.app import App

P = ParamSpec("P")
R = TypeVar("R")

Errors = type[BaseException] | tuple[type[BaseException], ...]


class RunOptions(msgspec.Struct, kw_only=True):
    """How the jobs of a function are run."""

    timeout: Duration | None = None
    process: bool = False
    retry_on: Errors | None = None
    discard_on: Errors = ()
    cancel_grace: Duration = 5.0
    capture_logs: CaptureLogs | None = None


class JobFunction(Generic[P, R]):
    """A function whose calls can be enqueued; called itself, it is the function it was."""

    def __init__(
        self, app: "App", function: Callable[P, R], queue: str, run_options: RunOptions, options: JobOptions
    ) -> None:
        functools.update_wrapper(self, function)
        self.app = app
        self.function: Callable[..., Any] = function
        self.name = getattr(function, "__qualname__", queue)
        self.queue = queue
        self.job_options = options
        self.is_async = inspect.iscoroutinefunction(function)
        self.process = run_options.process
        self.timeout = None if run_options.timeout is None else seconds_of(run_options.timeout, "timeout")
        self.cancel_grace = seconds_of(run_options.cancel_grace, "cancel_grace")
        self.retry_on = None if run_options.retry_on is None else _errors(run_options.retry_on, "retry_on")
        self.discard_on = _errors(run_options.discard_on, "discard_on")
        capture = app.capture_logs if run_options.capture_logs is None else run_options.capture_logs
        self.log_level = capture_level(capture)
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError(f"{self.name}: timeout must be more than 0")
        if self.process and "<locals>" in self.name:
            raise ValueError(f"{self.name}: process=True needs a function at the top of its module")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{self.name} is a generator: a job is a function that returns")

    @functools.cached_property
    def signature(self) -> Signature:
        """What it takes; worked out when first needed, when all its types exist."""
        return Signature(self.function, self.name)

    def check(self) -> None:
        """See that it can be run. Raises TypeError or ValueError."""
        _ = self.signature
        if self.process and not self._is_found():
            place = f"{self.function.__module__}.{self.name}"
            raise ValueError(
                f"{self.name}: process=True needs the job of queue {self.queue!r} to be found as {place}; "
                "declare it by a decorator"
            )

    def _is_found(self) -> bool:
        try:
            return find_function(self.function.__module__, self.name).queue == self.queue
        except (TypeError, AttributeError, ImportError):
            return False

    @functools.cached_property
    def _needs_little(self) -> bool:
        return self.is_async and self.signature.is_plain and self.timeout is None

    @property
    def is_simple(self) -> bool:
        """Whether running it is nothing but calling it on the loop."""
        return self._needs_little and not self.app.middleware

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, here and now."""
        result: R = self.function(*args, **kwargs)
        return result

    def __repr__(self) -> str:
        return f"<job {self.name} of queue {self.queue}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return find_function, (self.function.__module__, self.name)

    def new(self, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """A call of the function as a job that is not enqueued yet: for `enqueue_many`, chains and batches."""
        return self._new(args, kwargs, {})

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue a call of the function."""
        return await self.app.enqueue(self._new(args, kwargs, {}))

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """The same without an event loop."""
        return self.app.enqueue_sync(self._new(args, kwargs, {}))

    def options(self, **options: Unpack[EnqueueOptions]) -> "JobCall[P]":
        """The function with options for one call: `f.options(delay="5m").enqueue(...)`."""
        return JobCall(self, options)

    def _new(self, args: tuple[Any, ...], kwargs: dict[str, Any], options: JobOptions) -> NewJob:
        merged: dict[str, Any] = {**self.job_options, **options}
        return NewJob(self.queue, self.signature.payload(args, kwargs), **merged)


class JobCall(Generic[P]):
    """A function with options for one call."""

    def __init__(self, function: JobFunction[P, Any], options: EnqueueOptions) -> None:
        for name in options:
            if name not in EnqueueOptions.__annotations__:
                raise unknown_name(name, EnqueueOptions.__annotations__, "options() has no option")
        self._function = function
        self._request: Any = {name: options.get(name) for name in ("idempotency_key", "traceparent")}
        self._options: Any = {name: value for name, value in options.items() if name not in self._request}

    def new(self, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """A call of the function with these options, not enqueued yet."""
        return self._function._new(args, kwargs, self._options)

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue a call of the function with these options."""
        return await self._function.app.enqueue(self.new(*args, **kwargs), **self._request)

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """The same without an event loop."""
        return self._function.app.enqueue_sync(self.new(*args, **kwargs), **self._request)


def find_function(module: str, name: str) -> JobFunction[..., Any]:
    """The job function of that name in a module; how another process finds it."""
    found: Any = sys.modules.get(module) or import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, JobFunction):
        raise TypeError(f"{module}.{name} is not a job function")
    return found


def _errors(errors: Errors, option: str) -> tuple[type[BaseException], ...]:
    kinds = errors if isinstance(errors, tuple) else (errors,)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError(f"{option} takes classes of exceptions, not {kind!r}")
    return kinds
