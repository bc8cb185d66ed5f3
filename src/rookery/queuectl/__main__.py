"""`queuectl`, and `python -m rookery.queuectl`."""

import os
import signal
from types import FrameType


def run() -> None:
    """Run the command line. Ctrl-C ends it without a word even while it is being loaded."""
    is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heeded:
        signal.signal(signal.SIGINT, _leave)
    from rookery.queuectl.commands import main

    if is_heeded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main(prog_name="queuectl")


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    run()
