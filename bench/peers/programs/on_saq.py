"""SAQ: its defaults, which keep a finished job with its result for ten minutes."""

from typing import Any

import stopwatch
from saq import Queue

queue = Queue.from_url(stopwatch.SERVER)


async def send(context: Any, *, to: str, template: str, n: int) -> None:
    stopwatch.mark(n)


async def enqueue(n: int) -> None:
    await queue.enqueue("send", **stopwatch.payload(n))


async def left() -> int:
    return int(await queue.count("incomplete"))


settings = {"queue": queue, "functions": [send], "concurrency": stopwatch.CONCURRENCY}
