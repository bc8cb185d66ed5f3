"""Runs one of the programs beside it: `python run.py on_celery COMMAND`, which is one of

`prepare` (before the first job), `enqueue FIRST COUNT` (prints the seconds it took), `left` (prints how many jobs are
not done yet), and `work` where the system has no worker command of its own.
"""

import asyncio
import importlib
import inspect
import sys
import time
from collections.abc import Callable
from typing import Any


def main() -> None:
    name, command, *numbers = sys.argv[1:]
    call = getattr(importlib.import_module(name), command)
    if command == "enqueue":
        first, count = map(int, numbers)
        print(time_of(call, range(first, first + count)))
    else:
        answer = asyncio.run(call()) if inspect.iscoroutinefunction(call) else call()
        print("" if answer is None else answer)


def time_of(enqueue: Callable[[int], Any], numbers: range) -> float:
    """Seconds for all of them, each sent after the one before was confirmed."""
    if inspect.iscoroutinefunction(enqueue):
        return asyncio.run(_time_of_coroutine(enqueue, numbers))
    started = time.perf_counter()
    for n in numbers:
        enqueue(n)
    return time.perf_counter() - started


async def _time_of_coroutine(enqueue: Callable[[int], Any], numbers: range) -> float:
    started = time.perf_counter()
    for n in numbers:
        await enqueue(n)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
