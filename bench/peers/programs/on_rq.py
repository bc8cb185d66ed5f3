"""RQ: its defaults."""

import stopwatch
from redis import Redis
from rq import Queue

queue = Queue(connection=Redis.from_url(stopwatch.SERVER))


def send(to: str, template: str, n: int) -> None:
    stopwatch.mark(n)


def enqueue(n: int) -> None:
    queue.enqueue(send, **stopwatch.payload(n))


def left() -> int:
    return queue.count + queue.started_job_registry.count
