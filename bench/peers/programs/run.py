"""Runs one of the programs beside it: `python run.py on_celery COMMAND`, which is one of

`prepare` (before the first job), `enqueue FIRST COUNT` (prints the seconds it took), `watch` (prints when all jobs were
done and the system itself said that nothing is left), and `work` where the system has no worker command of its own.
"""

import asyncio
import importlib
import inspect
import sys
import time
from collections.abc import Callable
from typing import Any

import stopwatch


def main() -> None:
    name, command, *numbers = sys.argv[1:]
    program = importlib.import_module(name)
    if command == "enqueue":
        first, count = map(int, numbers)
        print(time_of(program.enqueue, range(first, first + count)))
    elif command == "watch":
        print("ready", flush=True)
        print(asyncio.run(watch(program.left)))
    else:
        getattr(program, command)()


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


async def watch(left: Callable[[], Any]) -> int:
    """When nothing was left, by the clock of the marks. The system is not asked before every job has its mark."""
    while not stopwatch.are_all_marked():
        await asyncio.sleep(0.005)
    while (await left() if inspect.iscoroutinefunction(left) else left()) > 0:
        await asyncio.sleep(0.005)
    return time.monotonic_ns()


if __name__ == "__main__":
    main()
