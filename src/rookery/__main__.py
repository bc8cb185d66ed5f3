"""`rookery`, and `python -m rookery`; how our commands begin."""

import os
import signal
from importlib import import_module
from types import FrameType


def run() -> None:
    """Run the command line."""
    begin("rookery", "rookery.cli")


def begin(command: str, module: str) -> None:
    """Run the `main` of a module. Ctrl-C ends it without a word even while it is being loaded."""
    is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heeded:
        signal.signal(signal.SIGINT, _leave)
    main = import_module(module).main
    if is_heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main(prog_name=command)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    run()
