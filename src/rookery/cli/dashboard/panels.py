"""The panels of the screen: which columns they have, and the bars of the last hour."""

from typing import Final

from rich.text import Text
from textual.widget import Widget

from rookery.cli.dashboard.table import Column, Table, number
from rookery.cli.figures import one_line, seconds_since, shown_age, shown_number, shown_slots, spark
from rookery.cli.overview import Row, last_minute

SERIES: Final = (("enqueued", "blue"), ("completed", "green"), ("failed", "red"))
PAUSED: Final = "‖"
DRAINING: Final = "↓"
ORDERS: Final = ("name", "pending", "dead", "rate")
"""What queues may be sorted by."""


def _age(name: str, row: Row, now: float) -> str:
    return shown_age(seconds_since(row[name], now)) if row.get(name) else ""


def _count(label: str, name: str, width: int, colour: str = "", rank: int = 0) -> Column:
    return Column(
        label,
        width,
        number(name, width, shown_number),
        lambda row: colour if row.get(name) else "dim",
        rank=rank,
    )


def queue_table() -> Table:
    """The queues with their counts."""
    columns = [
        Column(
            "  QUEUE",
            20,
            lambda row, now: f"{PAUSED if row['paused'] else ' '} {one_line(row['name'])}",
            lambda row: "yellow" if row["paused"] else "bold",
            is_right=False,
            weight=4,
        ),
        Column("", 6, lambda row, now: "paused" if row["paused"] else "", lambda row: "yellow", is_right=False, rank=6),
        _count("PENDING", "pending", 7),
        _count("ACTIVE", "active", 6, "green"),
        _count("HELD", "held", 4, "yellow", rank=2),
        _count("RETRY", "retrying", 5, "yellow", rank=3),
        _count("DEAD", "dead", 5, "red"),
        _count("COMPLETED", "completed", 9, rank=1),
        _count("SCHEDULED", "scheduled", 9, rank=7),
        _count("/MIN", "throughput_per_min", 5, "green", rank=5),
        Column("OLDEST", 6, lambda row, now: _age("oldest_pending_at", row, now), rank=4),
    ]
    return Table("Queues", columns, "name", placeholder="Waiting for the server…", id="queues")


def worker_table() -> Table:
    """The workers, and when they were heard of."""
    columns = [
        Column(
            "  WORKER",
            16,
            lambda row, now: f"{DRAINING if row.get('draining') else ' '} {one_line(row['id'])}",
            lambda row: "yellow" if row.get("draining") else "bold",
            is_right=False,
            weight=1,
        ),
        Column(
            "",
            8,
            lambda row, now: "draining" if row.get("draining") else "",
            lambda row: "yellow",
            is_right=False,
            rank=3,
        ),
        Column("HOST", 10, lambda row, now: one_line(row["hostname"] or ""), is_right=False, rank=2),
        Column(
            "JOBS",
            7,
            lambda row, now: shown_slots(row["active_jobs"], row.get("slots")),
            lambda row: "green" if row["active_jobs"] else "dim",
        ),
        Column("SEEN", 6, lambda row, now: _age("last_heartbeat", row, now)),
        Column("QUEUES", 12, lambda row, now: one_line(", ".join(row["queues"])), is_right=False, weight=2, rank=1),
    ]
    return Table("Workers", columns, "id", placeholder="", id="workers")


def failure_table() -> Table:
    """The jobs that failed last, and with what."""
    columns = [
        Column("AGO", 6, lambda row, now: _age("failed_at", row, now)),
        Column("STATE", 8, lambda row, now: row["state"], _state_colour, is_right=False),
        Column("QUEUE", 14, lambda row, now: one_line(row["queue"]), lambda row: "bold", is_right=False, weight=1),
        Column("TRY", 5, lambda row, now: f"{row['attempt']}/{row['max_retries']}", rank=1),
        Column("JOB", 30, lambda row, now: one_line(row["id"]), lambda row: "dim", is_right=False, rank=2),
        Column("ERROR", 24, lambda row, now: one_line(row["last_error"] or ""), is_right=False, weight=4),
    ]
    return Table("Failures", columns, "id", placeholder="", id="failures")


def _state_colour(row: Row) -> str:
    return "red" if row["state"] == "dead" else "yellow"


class Throughput(Widget):
    """How many jobs came, were done and failed in each minute of the last hour."""

    def __init__(self) -> None:
        super().__init__(id="throughput")
        self._minutes: list[Row] = []
        self._is_stale = False
        self.border_title = " Throughput, last hour "

    def show(self, minutes: list[Row], *, is_stale: bool) -> None:
        """Show these minutes."""
        self._minutes, self._is_stale = minutes, is_stale
        self.refresh()

    def render(self) -> Text:
        """A line for each of what is counted."""
        return Text("\n").join(self._line(name, colour) for name, colour in SERIES)

    def _line(self, name: str, colour: str) -> Text:
        values = [int(minute[name]) for minute in self._minutes]
        latest = shown_number(last_minute(self._minutes, name), 4) if values else ""
        sums = f"  peak {shown_number(max(values), 7):>7}  hour {shown_number(sum(values), 9):>9}" if values else ""
        room = self.size.width - len(f" {name:<9}  {latest:>4}/min")
        if room < 60 + len(sums):
            sums = ""
        # A minute takes as many cells as there are for it, and the oldest go if there are not even enough for one.
        cells = max(1, (room - len(sums)) // 60)
        shown = values[-max(1, room) :] if cells == 1 else [value for value in values for _ in range(cells)]
        text = Text(f" {name:<9} ", no_wrap=True, end="")
        for value, bar in zip(shown, spark(shown, max(values, default=0)), strict=True):
            text.append(bar, colour if value else "dim")
        text.append(f" {latest:>4}", "bold")
        text.append("/min", "dim")
        text.append(sums, "dim")
        if self._is_stale:
            text.stylize("dim")
        return text
