"""Rookery: its defaults, which keep finished jobs with their timelines."""

import threading

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


def work() -> None:
    """Ten threads: fetch a few, do them, ack them."""
    for _ in range(stopwatch.CONCURRENCY):
        threading.Thread(target=_work).start()


def _work() -> None:
    while True:
        for job in (jobs := app.sync_client.fetch_many(["send"], count=10, timeout=5)):
            stopwatch.mark(job.payload["n"])
        app.sync_client.ack_many(jobs)
