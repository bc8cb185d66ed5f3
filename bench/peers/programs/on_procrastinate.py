"""Procrastinate: its defaults, which keep the rows of finished jobs."""

import functools

import stopwatch
from procrastinate import App, PsycopgConnector

app = App(connector=PsycopgConnector(conninfo=stopwatch.SERVER))


@app.task(name="send")
async def send(to: str, template: str, n: int) -> None:
    stopwatch.mark(n)


@functools.cache
def opened() -> App:
    """The app with connections of its own; the worker opens others."""
    return app.open()


def prepare() -> None:
    opened().schema_manager.apply_schema()


def enqueue(n: int) -> None:
    opened()
    send.defer(**stopwatch.payload(n))


def left() -> int:
    waiting = "SELECT count(*) AS count FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
    return int(opened().connector.get_sync_connector().execute_query_one(waiting)["count"])
