"""Calls of job functions that type checkers accept, and, where a comment says so, refuse."""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated

from rookery import App, Depends, Enqueued, NewJob, Retry, Snooze, injected

app = App()


class Database: ...


def get_database() -> Iterator[Database]:
    yield Database()


async def get_name() -> AsyncIterator[str]:
    yield "name"


@app.job
async def bare(to: str) -> None: ...


@app.job(queue="emails.send", max_retries=5, timeout="30s", retry_on=(ConnectionError,))
async def send_email(to: str, template: str = "welcome") -> dict[str, str] | Snooze | Retry:
    return {"to": to}


@app.job(process=True)
def crunch(n: int) -> int:
    return n


@app.job
def with_database(n: int, database: Database = Depends(get_database)) -> None: ...


@app.job
def with_note(n: int, database: Annotated[Database, Depends(get_database)] = injected) -> None: ...


@app.job
def with_wrong_database(n: int, database: Database = Depends(get_name)) -> None: ...  # error: Incompatible default


@app.job(max_retrys=5)  # error: did you mean "max_retries"
async def misspelt() -> None: ...


async def accepted() -> None:
    enqueued: Enqueued = await send_email.enqueue(to="a@example.com", template="welcome")
    enqueued = await send_email.enqueue("a@example.com")
    enqueued = send_email.enqueue_sync("a@example.com", template="x")
    enqueued = await send_email.options(priority="high", delay="5m", unique_key="k").enqueue(to="a")
    job: NewJob = send_email.new(to="a")
    job = send_email.options(tags={"a": 1}).new("a")
    await app.enqueue_many([job, crunch.new(5)])
    sent: dict[str, str] | Snooze | Retry = await send_email("a@example.com")
    number: int = crunch(5)
    await with_database.enqueue(5)
    await with_note.enqueue(5)
    await bare.enqueue(to="a")
    print(enqueued.job_id, sent, number)


async def refused() -> None:
    await send_email.enqueue(to=5)  # error: incompatible type
    await send_email.enqueue()  # error: Missing positional argument
    await send_email.enqueue("a", "b", "c")  # error: Too many arguments
    await send_email.enqueue(to="a", templat="x")  # error: Unexpected keyword argument
    send_email.enqueue_sync(to=None)  # error: incompatible type
    await send_email.options(priority="highest").enqueue(to="a")  # error: incompatible type
    await send_email.options(dely="5m").enqueue(to="a")  # error: Unexpected keyword argument
    await send_email.options(delay="5m").enqueue(5)  # error: incompatible type
    send_email.new(5)  # error: incompatible type
    text: str = crunch(5)  # error: Incompatible types in assignment
    crunch("5")  # error: incompatible type
    await bare.enqueue(5)  # error: incompatible type
    print(text)
