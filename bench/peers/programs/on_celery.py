"""Celery: its defaults, results off, as its guide advises for jobs whose results nobody reads."""

import stopwatch
from celery import Celery

app = Celery("bench", broker=stopwatch.SERVER)
app.conf.task_ignore_result = True


@app.task
def send(to: str, template: str, n: int) -> None:
    stopwatch.mark(n)


def enqueue(n: int) -> None:
    send.delay(**stopwatch.payload(n))


def left() -> int:
    with app.connection_for_read() as connection:
        redis = connection.default_channel.client
        return redis.llen("celery") + redis.hlen("unacked")
