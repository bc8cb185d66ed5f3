"""What workers tell whoever started them. A terminal that is gone, or a pipe that nobody reads, stops no worker."""

import os
import select
import sys
from contextlib import suppress
from typing import Final, TextIO

_AT_ONCE: Final = 4096
"""Bytes that a pipe takes whole if it takes anything."""


def say(text: str) -> None:
    """Tell of something out of the ordinary."""
    _write(sys.stderr, f"queuectl: {text}\n")


def report(text: str) -> None:
    """Tell of the ordinary course of things."""
    _write(sys.stdout, f"{text}\n")


def _write(stream: TextIO, text: str) -> None:
    """Write it if that can be done at once: what a full pipe cannot take is dropped, not waited for."""
    with suppress(OSError, ValueError):
        stream.flush()
        if select.select([], [stream], [], 0)[1]:
            data = text.encode(stream.encoding or "utf-8", errors="backslashreplace")
            os.write(stream.fileno(), data if len(data) <= _AT_ONCE else data[: _AT_ONCE - 1] + b"\n")
