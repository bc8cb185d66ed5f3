"""An app: the functions that are jobs, the server they are enqueued at, and what surrounds every run."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from itertools import count
from typing import Any, Final, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast, overload
from weakref import WeakValueDictionary

from rookery.client.async_client import AsyncClient
from rookery.client.client import Client
from rookery.client.functions.current import CurrentJob
from rookery.client.functions.functions import Errors, JobFunction, RunOptions
from rookery.client.functions.logs import CaptureLogs
from rookery.client.functions.middleware import Middleware, onion, run_without_loop, through_layers
from rookery.client.newjobs import Batch, JobOptions, NewJob, unknown_name
from rookery.client.records import Enqueued, EnqueuedMany
from rookery.client.transport.requests import AsyncTransport, Transport
from rookery.client.values import Duration

P = ParamSpec("P")
R = TypeVar("R")

Lifespan = Callable[["App"], AbstractAsyncContextManager[Any]]


class RequestOptions(TypedDict, total=False):
    """What goes with a request to enqueue, beside the job."""

    idempotency_key: str | None
    traceparent: str | None


Substitute = Callable[["App"], tuple[AsyncTransport, Transport]]

_substitute: Substitute | None = None
_numbers: Final = count()
_apps: Final[WeakValueDictionary[int, "App"]] = WeakValueDictionary()


@contextmanager
def substitute(transports: Substitute) -> Iterator[None]:
    """While it lasts, all apps talk through these transports instead of the network: for tests."""
    global _substitute
    before, _substitute = _substitute, transports
    try:
        yield
    finally:
        _substitute = before


def all_apps() -> list["App"]:
    """The apps of this process, in the order in which they were made."""
    return list(_apps.values())


class App:
    """Jobs as functions, and the server where they are enqueued.

    What is not given comes from ROOKERY_URL, ROOKERY_API_KEY and ROOKERY_NAMESPACE.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        namespace: str | None = None,
        lifespan: Lifespan | None = None,
        middleware: Sequence[Middleware[CurrentJob]] = (),
        enqueue_middleware: Sequence[Middleware[NewJob]] = (),
        capture_logs: CaptureLogs = False,
    ) -> None:
        self.url = url
        self.api_key = api_key
        self.namespace = namespace
        self.middleware = list(middleware)
        self.enqueue_middleware = list(enqueue_middleware)
        self.capture_logs = capture_logs
        self.functions: dict[str, JobFunction[..., Any]] = {}
        """The job functions, by queue."""
        self.replaced: dict[Callable[..., Any], Any] = {}
        """Values that stand in for what a dependency's function would give."""
        self.state: Any = None
        """What the lifespan has given, while a worker runs."""
        self._lifespan = lifespan
        _apps[next(_numbers)] = self
        self._client: tuple[AsyncClient | None, Substitute | None] = None, None
        self._sync_client: tuple[Client | None, Substitute | None] = None, None

    @overload
    def job(self, function: Callable[P, R], /) -> JobFunction[P, R]: ...

    @overload
    def job(
        self,
        /,
        *,
        queue: str | None = None,
        timeout: Duration | None = None,
        process: bool = False,
        retry_on: Errors | None = None,
        discard_on: Errors = (),
        cancel_grace: Duration = 5.0,
        capture_logs: CaptureLogs | None = None,
        **options: Unpack[JobOptions],
    ) -> Callable[[Callable[P, R]], JobFunction[P, R]]: ...

    def job(
        self, function: Callable[..., Any] | None = None, /, *, queue: str | None = None, **options: Any
    ) -> JobFunction[..., Any] | Callable[[Callable[..., Any]], JobFunction[..., Any]]:
        """Make a function a job. The queue is named after the function unless `queue` says otherwise."""
        run_options = RunOptions(
            **{name: options.pop(name) for name in RunOptions.__struct_fields__ if name in options}
        )
        for name in options:
            if name not in JobOptions.__annotations__:
                known = ("queue", *RunOptions.__struct_fields__, *JobOptions.__annotations__)
                raise unknown_name(name, known, "job() has no option")

        def declare(function: Callable[..., Any]) -> JobFunction[..., Any]:
            name = queue or function.__name__
            declared = JobFunction(self, function, name, run_options, cast(JobOptions, options))
            holder = self.functions.get(name)
            if holder is not None and not _is_same(holder.function, function):
                raise ValueError(f"queue {name!r} has two functions: {_place(holder.function)} and {_place(function)}")
            self.functions[name] = declared
            return declared

        return declare if function is None else declare(function)

    @property
    def client(self) -> AsyncClient:
        """A client of the app's server for event loops; any loop may use it."""
        client, made_by = self._client
        if client is None or made_by is not _substitute:
            transport = None if _substitute is None else _substitute(self)[0]
            client = AsyncClient(self.url, api_key=self.api_key, namespace=self.namespace, transport=transport)
            self._client = client, _substitute
        return client

    @property
    def sync_client(self) -> Client:
        """A client of the app's server for plain code; any thread may use it."""
        client, made_by = self._sync_client
        if client is None or made_by is not _substitute:
            transport = None if _substitute is None else _substitute(self)[1]
            client = self.new_client(transport=transport)
            self._sync_client = client, _substitute
        return client

    def new_client(self, **options: Any) -> Client:
        """A client of the app's server of one's own."""
        return Client(self.url, api_key=self.api_key, namespace=self.namespace, **options)

    async def close(self) -> None:
        """Let go of all connections; they are made anew when they are needed."""
        client, _ = self._client
        self._client = None, None
        if client is not None:
            await client.close()
        self.close_sync()

    def close_sync(self) -> None:
        """Let go of the connections for plain code."""
        client, _ = self._sync_client
        self._sync_client = None, None
        if client is not None:
            client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def enqueue(self, job: NewJob, **request: Unpack[RequestOptions]) -> Enqueued:
        """Enqueue a job, through the layers of `enqueue_middleware`."""

        async def core(job: NewJob) -> Enqueued:
            return await self.client.enqueue(job.queue, job.payload, **_options(job), **request)

        enqueued: Enqueued = await onion(self.enqueue_middleware, core)(job)
        return enqueued

    def enqueue_sync(self, job: NewJob, **request: Unpack[RequestOptions]) -> Enqueued:
        """The same without an event loop."""

        def send(job: NewJob) -> Enqueued:
            return self.sync_client.enqueue(job.queue, job.payload, **_options(job), **request)

        if not self.enqueue_middleware:
            return send(job)

        async def core(job: NewJob) -> Enqueued:
            return send(job)

        async def through() -> Enqueued:
            enqueued: Enqueued = await onion(self.enqueue_middleware, core)(job)
            return enqueued

        return run_without_loop(through())

    async def enqueue_many(self, jobs: Iterable[NewJob], *, batch: Batch | None = None) -> EnqueuedMany:
        """Enqueue many jobs, all or none, each through the layers; with `batch` they are followed together."""

        async def send(jobs: list[NewJob]) -> EnqueuedMany:
            return await self.client.enqueue_many(jobs, batch=batch)

        return await through_layers(self.enqueue_middleware, list(jobs), send)

    def enqueue_many_sync(self, jobs: Iterable[NewJob], *, batch: Batch | None = None) -> EnqueuedMany:
        """The same without an event loop."""
        if not self.enqueue_middleware:
            return self.sync_client.enqueue_many(jobs, batch=batch)

        async def send(jobs: list[NewJob]) -> EnqueuedMany:
            return self.sync_client.enqueue_many(jobs, batch=batch)

        return run_without_loop(through_layers(self.enqueue_middleware, list(jobs), send))

    @contextmanager
    def replacing(self, provider: Callable[..., Any], value: Any) -> Iterator[None]:
        """While it lasts, `Depends(provider)` gives this value: for tests."""
        before = dict(self.replaced)
        self.replaced[provider] = value
        try:
            yield
        finally:
            self.replaced = before

    @property
    def has_lifespan(self) -> bool:
        """Whether there is anything around the time in which jobs run."""
        return self._lifespan is not None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Any]:
        """The app's lifespan: its state is there while jobs run. Entered once by every process that runs jobs."""
        if self._lifespan is None:
            yield None
            return
        async with self._lifespan(self) as self.state:
            try:
                yield self.state
            finally:
                self.state = None


def _options(job: NewJob) -> JobOptions:
    """What a job says beside its queue and payload."""
    given = {name: value for name in JobOptions.__annotations__ if (value := getattr(job, name)) is not None}
    return cast(JobOptions, given)


def _is_same(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether it is one function of one place, declared twice because its module was loaded twice."""
    return (one.__qualname__, one.__code__.co_filename) == (other.__qualname__, other.__code__.co_filename)


def _place(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
