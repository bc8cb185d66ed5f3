"""An app with a job of every kind, for tests of the worker."""

import asyncio
import contextvars
import datetime
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from rookery import App, Cancel, CurrentJob, Depends, InvalidPayload, NewJob, Retry, Snooze, current_job

log = logging.getLogger("sample")
said: list[str] = []


@asynccontextmanager
async def lifespan(app: App) -> AsyncIterator[dict[str, Any]]:
    yield {"entered_by": os.getpid(), "pool": "a pool"}


async def note_run(job: CurrentJob, call_next: Callable[[CurrentJob], Awaitable[Any]]) -> Any:
    result = await call_next(job)
    if job.queue == "layered":
        return {"inner": result, "seen": job.id}
    return result


async def mark(job: NewJob, call_next: Callable[[NewJob], Awaitable[Any]]) -> Any:
    job.tags = {**(job.tags or {}), "marked": True}
    await asyncio.sleep(0)
    return await call_next(job)


app = App(lifespan=lifespan, middleware=[note_run], enqueue_middleware=[mark])


class Person(msgspec.Struct):
    name: str
    born: datetime.date


@dataclass
class Letter:
    to: list[Person]
    copies: int = 1


class Model:
    """Says how to read and write itself as pydantic's models do."""

    def __init__(self, size: int) -> None:
        self.size = size

    @classmethod
    def model_validate(cls, value: Any) -> "Model":
        if not isinstance(value, dict) or not isinstance(value.get("size"), int):
            raise ValueError("size must be a whole number")
        return cls(value["size"])

    def model_dump(self, mode: str) -> dict[str, Any]:
        return {"size": self.size}


@app.job
async def add(a: int, b: int = 10) -> int:
    return a + b


@app.job
async def where_async() -> dict[str, Any]:
    return {"thread": threading.current_thread() is threading.main_thread(), "pid": os.getpid()}


@app.job
def where_thread() -> dict[str, Any]:
    return {"thread": threading.current_thread() is threading.main_thread(), "pid": os.getpid()}


@app.job(process=True)
def where_process() -> dict[str, Any]:
    job = current_job()
    return {"pid": os.getpid(), "id": job.id, "entered_by": job.state["entered_by"]}


@app.job(process=True)
async def where_async_process() -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"pid": os.getpid(), "id": current_job().id}


@app.job(max_retries=3)
async def typed(letter: Letter, at: datetime.datetime | None = None) -> dict[str, Any]:
    assert isinstance(letter, Letter)
    return {"year": letter.to[0].born.year, "copies": letter.copies, "kind": type(at).__name__}


@app.job
async def modelled(model: Model) -> Model:
    return Model(model.size * 2)


@app.job(max_retries=3, retry_backoff="none", retry_on=(InvalidPayload,))
async def patient_with_payloads(n: int) -> int:
    return n


@app.job
async def with_rest(a: int, **rest: Any) -> dict[str, Any]:
    return {"a": a, "rest": rest}


@app.job
async def about(**_: Any) -> dict[str, Any]:
    job = current_job()
    return {
        "id": job.id,
        "queue": job.queue,
        "attempt": job.attempt,
        "max_retries": job.max_retries,
        "payload": job.payload,
        "tags": job.tags,
        "checkpoint": job.checkpoint,
        "priority": job.priority,
        "state": job.state["pool"],
        "cancelled": job.cancelled,
    }


@app.job
async def snoozes() -> Snooze | str:
    job = current_job()
    if job.checkpoint is None:
        job.save_checkpoint("seen")
        return Snooze("10ms", "not yet")
    return f"attempt {job.attempt}"


@app.job
async def raises_snooze() -> str:
    if current_job().checkpoint is None:
        current_job().save_checkpoint(1)
        raise Snooze(0.01)
    return "woken"


@app.job
def cancels() -> Cancel:
    return Cancel("the order was withdrawn")


@app.job(max_retries=2)
async def retries() -> Retry | str:
    return Retry(after="1ms", error="not ready") if current_job().attempt == 1 else "second"


@app.job(max_retries=5, retry_backoff="none", retry_on=(ConnectionError,), discard_on=(BrokenPipeError,))
def picky(kind: str) -> str:
    if current_job().attempt < 3:
        raise {"connection": ConnectionResetError, "pipe": BrokenPipeError, "value": ValueError}[kind]("no")
    return "at last"


@app.job(max_retries=2, retry_backoff="none")
async def fails() -> None:
    raise ValueError("always")


@app.job(max_retries=1)
async def unsayable() -> object:
    return object()


@app.job(max_retries=1, timeout="50ms")
async def slow_async() -> None:
    await asyncio.sleep(60)


@app.job(max_retries=1, timeout=0.05)
def slow_thread() -> None:
    time.sleep(2)


@app.job(max_retries=1, timeout=1)
def slow_own_timeout() -> None:
    raise TimeoutError("mine")


@app.job(process=True, max_retries=2, retry_backoff="none", timeout=3)
def slow_process(seconds: float = 60) -> int:
    if current_job().attempt == 1:
        current_job().log(str(os.getpid()))
        time.sleep(seconds)
    return os.getpid()


@app.job(process=True, max_retries=1)
def dies() -> None:
    os._exit(7)


@app.job(max_retries=1)
async def exits() -> None:
    raise SystemExit(3)


@app.job
async def layered() -> str:
    return "core"


opened: list[str] = []


async def get_pool() -> AsyncIterator[str]:
    opened.append("pool opened")
    yield f"pool of {current_job().queue}"
    opened.append("pool closed")


def get_connection(pool: Annotated[str, Depends(get_pool)]) -> Iterator[list[str]]:
    opened.append(f"connection of {pool} in thread {threading.current_thread() is threading.main_thread()}")
    yield opened
    opened.append("connection closed")


def get_unit(connection: list[str] = Depends(get_connection), pool: str = Depends(get_pool)) -> int:
    return len([line for line in connection if line == "pool opened"])


@app.job
async def injected_async(a: int, unit: int = Depends(get_unit), pool: str = Depends(get_pool)) -> dict[str, Any]:
    return {"a": a, "unit": unit, "pool": pool}


@app.job
def injected_thread(a: int, unit: Annotated[int, Depends(get_unit)], pool: str = Depends(get_pool)) -> dict[str, Any]:
    return {"a": a, "unit": unit, "pool": pool}


@app.job
async def injection_log() -> list[str]:
    lines = list(opened)
    opened.clear()
    return lines


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="clean")


@app.job
async def context_leaks() -> str:
    before = variable.get()
    variable.set("dirty")
    return before


@app.job(capture_logs=True)
async def talks_async(times: int = 1) -> None:
    for number in range(times):
        log.warning("async %d", number)
        await asyncio.sleep(0)
    current_job().log("own words", level="debug")


@app.job(capture_logs="ERROR")
def talks_thread() -> None:
    log.warning("not this")
    log.error("but this")


@app.job(process=True, capture_logs=True)
def talks_process() -> None:
    log.warning("from a process")


@app.job
async def quiet() -> None:
    log.warning("nobody keeps this")


@app.job
async def reports() -> str:
    job = current_job()
    job.progress({"done": 1})
    job.save_checkpoint({"page": 1})
    job.progress({"done": 2})
    return "done"


@app.job(max_retries=2, retry_backoff="none")
def goes_on() -> Any:
    job = current_job()
    if job.attempt == 1:
        job.save_checkpoint({"page": 7})
        raise ValueError("half way")
    return job.checkpoint


@app.job(process=True)
def process_reports() -> None:
    current_job().progress("half")
    current_job().save_checkpoint([1, 2])


@app.job(max_retries=1, cancel_grace=30)
async def waits_for_cancel() -> None:
    current_job().progress("begun")
    reason = await current_job().wait_cancelled()
    current_job().log(f"told: {reason}")


@app.job(max_retries=1)
def thread_waits_for_cancel() -> None:
    current_job().progress("begun")
    while not current_job().cancelled:
        time.sleep(0.01)
    current_job().raise_if_cancelled()


@app.job(max_retries=1, process=True)
def process_waits_for_cancel(path: str) -> None:
    current_job().progress("begun")
    while not current_job().cancelled:
        time.sleep(0.01)
    with open(path, "w") as file:
        file.write(current_job().cancel_reason or "")


@app.job(max_retries=1, cancel_grace="100ms")
async def ignores_cancel(path: str) -> None:
    current_job().progress("begun")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        with open(path, "w") as file:
            file.write("cancelled by force")
        raise


@app.job
async def enqueues() -> str:
    enqueued = await add.options(tags={"from": "a job"}).enqueue(1, b=2)
    return enqueued.job_id


@app.job
def enqueues_sync() -> str:
    return add.enqueue_sync(1, 2).job_id


@app.job
async def reports_too_much() -> None:
    current_job().progress("x" * 70_000_000)


left: list[threading.Thread] = []
let_go = threading.Event()


@app.job(process=True)
def leaves_a_thread() -> None:
    job = current_job()

    def go_on() -> None:
        let_go.wait()
        job.log("late line")
        job.progress("late progress")

    left.append(threading.Thread(target=go_on, daemon=True))
    left[0].start()
    job.log("in time")


@app.job(process=True)
def joins_a_thread() -> None:
    current_job().log("own")
    let_go.set()
    left[0].join()
