"""Rookery: its defaults, which keep finished jobs with their timelines."""

import stopwatch

from rookery import App

app = App(stopwatch.SERVER)


@app.job
async def send(to: str, template: str, n: int) -> None:
    stopwatch.mark(n)


def enqueue(n: int) -> None:
    send.enqueue_sync(**stopwatch.payload(n))


def left() -> int:
    """Jobs that wait, and those that a worker holds."""
    queue = app.sync_client.queue("send")
    return queue.pending + queue.active
