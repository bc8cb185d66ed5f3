"""How far something is: one line on stderr, if somebody looks there. Nothing is shown, or loaded, otherwise."""

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from rookery.cli.files import shown_size

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import Task, TaskID
    from rich.text import Text

BYTES: Final = "bytes"
WIDEST: Final = 100
"""Cells of a line."""


class Progress:
    """A bar with what is done, how fast, and how long it will take. Without a total it only shows that it lives.

    with Progress("moving", total=500, unit="jobs") as bar:
        bar.advance(20)
    """

    def __init__(self, label: str, total: int | None = None, *, unit: str = "") -> None:
        self._label, self._unit = label, unit
        self._total, self._done = total, 0
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if is_watched():
            self._bar = _bar(self._unit)
            self._task = self._bar.add_task(self._label, total=self._total)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def advance(self, count: int = 1) -> None:
        """So much more is done."""
        self.update(self._done + count, self._total)

    def update(self, done: int, total: int | None = None) -> None:
        """So much is done, of so much if that is known by now."""
        self._done, self._total = done, total if total is not None else self._total
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=self._total)

    def rename(self, label: str) -> None:
        """Something else is done from now on."""
        self._label = label
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=label)


def is_watched() -> bool:
    """Whether stderr is a terminal that can redraw a line."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _bar(unit: str) -> "Bar":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Amount(ProgressColumn):
        """`12/500 jobs  40 jobs/s  0:12`."""

        def render(self, task: "Task") -> "Text":
            parts = [shown_amount(task.completed, task.total, unit)]
            if task.speed:
                parts.append(f"{shown_count(task.speed, unit)}/s")
            if task.finished or task.total is None:
                parts.append(shown_time(task.elapsed or 0.0))
            elif task.time_remaining is not None:
                parts.append(f"{shown_time(task.time_remaining)} left")
            return Text("  ".join(parts), no_wrap=True)

    console = Console(stderr=True, highlight=False)
    console.width = min(console.width, WIDEST)
    # What a command prints to stdout is its result, so only stderr goes through the bar.
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(
            bar_width=None,
            style="bright_black",
            complete_style="cyan",
            finished_style="green",
            pulse_style="cyan",
            table_column=Column(ratio=1),
        ),
        TextColumn("{task.percentage:>3.0f} %"),
        Amount(table_column=Column(no_wrap=True)),
        console=console,
        expand=True,
        transient=True,
        redirect_stdout=False,
    )


def shown_amount(done: float, total: float | None, unit: str) -> str:
    """`12/500 jobs`, `1.5 MiB of 12.0 MiB`."""
    if total is None:
        return shown_count(done, unit)
    if unit == BYTES:
        return f"{shown_size(int(done))} of {shown_size(int(total))}"
    return f"{done:,.0f}/{total:,.0f} {unit}".rstrip()


def shown_count(count: float, unit: str) -> str:
    """`1,200 jobs`, `1.5 MiB`."""
    return shown_size(int(count)) if unit == BYTES else f"{count:,.0f} {unit}".rstrip()


def shown_time(seconds: float) -> str:
    """`0:07`, `1:02:03`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
