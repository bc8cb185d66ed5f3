"""What workers tell whoever started them. A terminal that is gone, or a pipe that nobody reads, stops no worker."""

import os
import select
import sys
from contextlib import suppress
from typing import Final, TextIO

from rookery.model.durations import format_duration
from rookery.queuectl.output import shown
from rookery.queuectl.shell import Ran

_LONGEST_ERROR: Final = 200
"""Characters of an error that are told."""
_AT_ONCE: Final = 4096
"""Bytes that a pipe takes whole if it takes anything."""


def say(text: str) -> None:
    """Tell of something out of the ordinary."""
    _write(sys.stderr, f"queuectl: {text}\n")


def report(text: str) -> None:
    """Tell of the ordinary course of things."""
    _write(sys.stdout, f"{text}\n")


def run_told(job_id: str, ran: Ran, attempt: int, most: int, wait: float | None, instead: str = "") -> str:
    """A run in a line: how it went, for how long, and when the job comes again, after `wait` seconds if that is known.

    `instead` says what becomes of the job of a run that was stopped.
    """
    said = f"exit code {ran.exit_code}"
    parts = ["stopped" if ran.was_stopped else said, f"{ran.duration:.3f} s"]
    if ran.was_stopped:
        return _line(job_id, parts, attempt, most, instead or "goes back")
    if not ran.error:
        return _line(job_id, parts, attempt, most)
    again = "later" if wait is None else f"in {format_duration(round(wait * 1000))}" if wait else "at once"
    becomes = "dead" if attempt >= most else f"again {again}"
    return _line(job_id, parts, attempt, most, becomes, "" if ran.error == said else ran.error)


def refusal_told(job_id: str, attempt: int, most: int, error: str) -> str:
    """The same of a job that cannot be run."""
    return _line(job_id, ["not run"], attempt, most, "dead", error)


def _line(job_id: str, parts: list[str], attempt: int, most: int, becomes: str = "", error: str = "") -> str:
    from rookery.cli.figures import without_controls

    told = ", ".join([*parts, f"attempt {attempt} of {max(attempt, most)}", *filter(None, [becomes])])
    lines = without_controls(error).strip().splitlines()
    return f"{shown(job_id)}: {told}{f': {lines[0][:_LONGEST_ERROR]}' if lines else ''}"


def _write(stream: TextIO, text: str) -> None:
    """Write it if that can be done at once: what a full pipe cannot take is dropped, not waited for."""
    with suppress(OSError, ValueError):
        stream.flush()
        if select.select([], [stream], [], 0)[1]:
            data = text.encode(stream.encoding or "utf-8", errors="backslashreplace")
            os.write(stream.fileno(), data if len(data) <= _AT_ONCE else data[: _AT_ONCE - 1] + b"\n")
