"""`rookery`, and `python -m rookery`."""

import os
import signal
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130


def run() -> None:
    """Run the command line. Ctrl-C ends it without a word even while it is being loaded."""
    is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heeded:
        signal.signal(signal.SIGINT, _leave)
    from rookery.cli import main

    if is_heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main(prog_name="rookery")


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    run()
