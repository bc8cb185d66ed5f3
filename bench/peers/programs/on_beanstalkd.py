"""beanstalkd through greenstalk: a worker of ten threads, each with its connection: reserve, do, delete."""

import functools
import json
import threading
from typing import NoReturn
from urllib.parse import urlsplit

import greenstalk
import stopwatch


def connect() -> greenstalk.Client:
    return greenstalk.Client((urlsplit(stopwatch.SERVER).hostname, urlsplit(stopwatch.SERVER).port))


@functools.cache
def producer() -> greenstalk.Client:
    return connect()


def enqueue(n: int) -> None:
    producer().put(json.dumps(stopwatch.payload(n)))


def left() -> int:
    stats = producer().stats()
    return int(stats["current-jobs-ready"]) + int(stats["current-jobs-reserved"])


def work() -> None:
    for _ in range(stopwatch.CONCURRENCY):
        threading.Thread(target=_work).start()


def _work() -> NoReturn:
    client = connect()
    while True:
        job = client.reserve()
        stopwatch.mark(json.loads(job.body)["n"])
        client.delete(job)
