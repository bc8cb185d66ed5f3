"""Huey: its defaults, which store a result only if there is one."""

import stopwatch
from huey import RedisHuey

huey = RedisHuey("bench", url=stopwatch.SERVER)


@huey.task()
def send(to: str, template: str, n: int) -> None:
    stopwatch.mark(n)


def enqueue(n: int) -> None:
    send(**stopwatch.payload(n))


def left() -> int:
    """Jobs that wait; Huey keeps no list of those that a worker holds."""
    return int(huey.pending_count())
