"""Jobs that run in processes of their own, for tests of those."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rookery import App, current_job

attempts: list[int] = []


@asynccontextmanager
async def second_time_lucky(app: App) -> AsyncIterator[str]:
    attempts.append(1)
    if len(attempts) == 1:
        raise ConnectionError("not yet")
    yield "a state"


app = App()
fragile = App(lifespan=second_time_lucky)


@app.job(process=True)
def server() -> list[Any]:
    return [app.url, app.api_key, app.namespace]


@app.job(process=True)
def cancelled_within(seconds: float) -> str | None:
    end = time.monotonic() + seconds
    while not current_job().cancelled and time.monotonic() < end:
        time.sleep(0.01)
    return current_job().cancel_reason


@fragile.job(process=True)
def state() -> Any:
    return current_job().state
