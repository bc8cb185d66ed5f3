"""The screen of `rookery top`: panels that follow a server, and keys that do something to it."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar, Final

import click
from rich.cells import cell_len
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widgets import Input, Static

from rookery.cli import INTERRUPTED
from rookery.cli.answers import segment
from rookery.cli.dashboard.details import job_details, queue_details, worker_details
from rookery.cli.dashboard.observer import Observer
from rookery.cli.dashboard.panels import ORDERS, Throughput, failure_table, queue_table, worker_table
from rookery.cli.dashboard.popups import JobPopup, Popup, Question, keys_popup
from rookery.cli.dashboard.table import Table
from rookery.cli.figures import one_line, shown_number
from rookery.cli.flags import DEFAULT_SERVER
from rookery.cli.overview import Overview, Row
from rookery.cli.remote import Remote

TERMINATED: Final = 128 + signal.SIGTERM
LONGEST_SILENCE: Final = 5.0
"""Seconds without an answer, beyond the interval, after which it is said that the server is silent."""
NOTE_TIME: Final = 4.0
HINTS: Final = (("q", "quit"), ("tab", "panel"), ("⏎", "details"), ("p", "pause"), ("r", "retry"))
MORE_HINTS: Final = (("s", "sort"), ("/", "filter"), ("?", "help"))


class Dashboard(App[int]):
    """Queues, workers, throughput and failures of a server."""

    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (124, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (14, "-short"), (20, "-tall")]
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "exit(0)", "quit"),
        Binding("ctrl+c", f"exit({INTERRUPTED})", "quit", priority=True, show=False),
        Binding("ctrl+q", "exit(0)", "quit", show=False),
        Binding("p", "pause", "pause"),
        Binding("r", "retry", "retry"),
        Binding("s", "sort", "sort"),
        Binding("slash", "filter", "filter"),
        Binding("escape", "unfilter", "no filter"),
        Binding("question_mark", "keys", "help"),
    ]

    class Seen(Message):
        """The server was looked at."""

        def __init__(self, overview: Overview | None, fault: str) -> None:
            super().__init__()
            self.overview, self.fault = overview, fault

    class Done(Message):
        """Something that was asked of the server is done, or was refused; `tell` shows it."""

        def __init__(self, tell: Callable[[], None]) -> None:
            super().__init__()
            self.tell = tell

    def __init__(self, remote: Remote, interval: float, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.theme = "ansi-dark"
        self._remote, self._interval, self._clock = remote, interval, clock
        self._observer = Observer(remote, interval, lambda seen, fault: self._post(self.Seen(seen, fault)))
        self._overview: Overview | None = None
        self._fault = ""
        self._heard_at = time.monotonic()
        self._words = ""
        self._order = ORDERS[0]
        self._note_until = 0.0

    def compose(self) -> ComposeResult:
        """The panels, from top to bottom."""
        yield Static(id="head")
        yield Static(id="banner")
        yield Throughput()
        with Container(id="middle"):
            yield queue_table()
            yield worker_table()
        yield failure_table()
        yield Input(placeholder="words that must be in a row", id="filter", compact=True)
        yield Static(id="foot")

    def on_mount(self) -> None:
        """Begin to look."""
        loop = asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            loop.add_signal_handler(signal.SIGINT, self.exit, INTERRUPTED)
            loop.add_signal_handler(signal.SIGTERM, self.exit, TERMINATED)
        self.query_one("#queues").focus()
        self.set_interval(1.0, self._tick)
        self._show_hints()
        self._show_head()
        self._observer.start()

    def on_unmount(self) -> None:
        """Look no more."""
        self._observer.stop()

    def on_resize(self) -> None:
        """The first line goes to the right edge."""
        self._show_head()

    def on_dashboard_seen(self, message: Seen) -> None:
        """Show what is new, or that there is nothing new to show."""
        self._heard_at = time.monotonic()
        self._fault = message.fault
        if message.overview is not None:
            self._overview = message.overview
        if self._is_up:
            self._show_all()

    def on_dashboard_done(self, message: Done) -> None:
        """Say what came of it, and look what it has changed."""
        message.tell()
        self._observer.look_now()

    def on_table_opened(self, message: Table.Opened) -> None:
        """Show all there is to know of a row."""
        row, now = message.row, self._clock()
        match message.table.id:
            case "queues":
                self.push_screen(Popup(one_line(row["name"]), queue_details(row, now)))
            case "workers":
                self.push_screen(Popup(one_line(row["id"]), worker_details(row, now)))
            case _:
                popup = JobPopup(row["id"])
                self.push_screen(popup)
                self._ask(lambda: job_details(self._remote, row["id"], now), popup.show, popup.show)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while somebody types."""
        self._words = event.value
        self._show_all()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter, and go back to the rows."""
        self._close_filter()

    def action_exit(self, code: int) -> None:
        """Leave."""
        self.exit(code)

    def action_keys(self) -> None:
        """Show the keys."""
        self.push_screen(keys_popup())

    def action_filter(self) -> None:
        """Ask for words."""
        field = self.query_one("#filter", Input)
        field.display = True
        self.query_one("#foot").display = False
        field.focus()

    def action_unfilter(self) -> None:
        """Show all rows again."""
        self.query_one("#filter", Input).value = ""
        self._close_filter()

    def action_sort(self) -> None:
        """Sort the queues by something else."""
        self._order = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
        self._show_all()

    def action_pause(self) -> None:
        """Pause the chosen queue, if that is really meant, or resume it."""
        queue = self.query_one("#queues", Table).chosen
        if queue is None:
            self._note("There is no queue to pause.")
        elif queue["paused"]:
            self._change_queue(queue["name"], "resume", "resumed")
        else:
            name = queue["name"]
            question = Question(f"Pause {one_line(name)}?", "Workers get no more of its jobs until it is resumed.")
            self.push_screen(question, lambda yes: self._change_queue(name, "pause", "paused") if yes else None)

    def action_retry(self) -> None:
        """Run the chosen failed job again."""
        job = self.query_one("#failures", Table).chosen
        if job is None:
            self._note("There is no failed job to run again.")
        else:
            self.action_retry_job(job["id"])

    def action_retry_job(self, job_id: str) -> None:
        """Run a dead job again; one that waits for its next attempt does so by itself."""
        self._ask(
            lambda: self._remote.call("POST", f"/jobs/{segment(job_id)}/retry"),
            lambda _: self._note(f"{job_id} runs again."),
        )

    def _change_queue(self, name: str, action: str, done: str) -> None:
        self._ask(
            lambda: self._remote.call("POST", f"/queues/{segment(name)}/{action}"),
            lambda _: self._note(f"{one_line(name)} is {done}."),
        )

    def _ask(
        self, call: Callable[[], Any], tell: Callable[[Any], None], refuse: Callable[[Text], None] | None = None
    ) -> None:
        """Talk to the server beside the screen, then tell what it has said."""

        def run() -> None:
            try:
                answer = call()
            except click.ClickException as error:
                text = Text(one_line(error.message), "red")
                self._post(self.Done(lambda: refuse(text) if refuse else self._note(text)))
            else:
                self._post(self.Done(lambda: tell(answer)))

        threading.Thread(target=run, name="asking", daemon=True).start()

    def _post(self, message: Message) -> None:
        if self.is_running:
            self.post_message(message)

    def _close_filter(self) -> None:
        self.query_one("#filter").display = False
        self.query_one("#foot").display = True
        if self.focused is None or self.focused.id == "filter":
            self.query_one("#queues").focus()

    def _tick(self) -> None:
        if not self._is_up:
            return
        if self._note_until and time.monotonic() > self._note_until:
            self._show_hints()
        self._show_ages()

    @property
    def _is_up(self) -> bool:
        """Whether the screen is there; while the program ends, it may be gone before the last tick."""
        return bool(self.query(Throughput))

    @property
    def _is_stale(self) -> bool:
        return bool(self._complaint)

    @property
    def _complaint(self) -> str:
        silence = time.monotonic() - self._heard_at
        if self._fault:
            return self._fault
        if silence > self._interval + LONGEST_SILENCE:
            return f"{self._remote.url} has not answered for {silence:.0f} s"
        return ""

    def _show_all(self) -> None:
        seen, now = self._overview, self._clock()
        if seen is not None:
            self.query_one(Throughput).show(seen.throughput, is_stale=self._is_stale)
            queues = sorted(seen.queues, key=self._place) if self._order != "name" else seen.queues
            by = "" if self._order == "name" else f" by {self._order}"
            self._show_rows("queues", f"Queues{by}", queues, now, _first_steps(self._remote.url))
            self._show_rows("workers", "Workers", seen.workers, now, "No worker has asked for jobs in the last day.")
            self._show_rows("failures", "Failures", seen.failures, now, "No job is dead or waits for another try.")
        self._show_ages()

    def _show_rows(self, id: str, title: str, rows: list[Row], now: float, placeholder: str) -> None:
        found = [row for row in rows if _has_words(row, self._words)] if self._words else rows
        count = f"{len(found):,} of {len(rows):,}" if self._words else f"{len(rows):,}"
        if rows and not found:
            placeholder = f"None of {len(rows):,} has {self._words!r} in it. Esc shows all."
        self.query_one(f"#{id}", Table).show(found, now, title=f"{title}  {count}", placeholder=placeholder)

    def _place(self, queue: Row) -> tuple[int, str]:
        column = {"rate": "throughput_per_min"}.get(self._order, self._order)
        return -queue.get(column, 0), queue["name"]

    def _show_ages(self) -> None:
        """What changes while time passes, and whether what is shown is still so."""
        now = self._clock()
        for table in self.query(Table):
            table.show_age(now, is_stale=self._is_stale)
        if self._overview is not None:
            self.query_one(Throughput).show(self._overview.throughput, is_stale=self._is_stale)
        banner = self.query_one("#banner", Static)
        complaint = self._complaint
        banner.display = bool(complaint)
        if complaint:
            seen = f"As it was at {_time_of_day(self._overview.at)}, trying" if self._overview else "Trying"
            banner.update(Text(f"{seen} again: {one_line(complaint)}", no_wrap=True, overflow="ellipsis"))
        self._show_head()

    def _show_head(self) -> None:
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(" rookery ", "bold reverse")
        if self._overview is not None:
            for state, colour in (("pending", ""), ("active", "green"), ("held", "yellow"), ("dead", "red")):
                count = self._overview.total(state)
                text.append("  ")
                text.append(shown_number(count, 7), f"bold {colour}" if count else "dim")
                text.append(f" {state}", "dim")
        right = _time_of_day(self._clock())
        room = self.size.width - len(right) - 2
        url = f"   {self._remote.url}"
        fits = text.cell_len + cell_len(url) <= room
        text.append(url if fits else url.replace("http://", "", 1), "dim")
        text.truncate(room, overflow="ellipsis")
        text.append(" " * max(1, room - text.cell_len) + right, "dim")
        self.query_one("#head", Static).update(text)

    def _show_hints(self) -> None:
        self._note_until = 0.0
        text = Text(no_wrap=True, overflow="ellipsis")
        for key, meaning in (*HINTS, *MORE_HINTS):
            text.append(f" {key} ", "bold")
            text.append(f"{meaning} ", "dim")
        self.query_one("#foot", Static).update(text)

    def _note(self, words: str | Text) -> None:
        """Say something in the place of the hints, for a while."""
        text = words.copy() if isinstance(words, Text) else Text(words)
        text.pad_left(1)
        self._note_until = time.monotonic() + NOTE_TIME
        self.query_one("#foot", Static).update(text)


def _first_steps(url: str) -> str:
    """What to do on a server that has no queues."""
    server = "" if url.rstrip("/") == DEFAULT_SERVER else f" --server {url}"
    return (
        "There are no queues yet. A queue comes with its first job:\n\n"
        f"""  rookery enqueue{server} emails.send '{{"to": "a@example.com"}}'\n\n"""
        f"Or fill this server with jobs to look at:\n\n  rookery seed demo{server}"
    )


def _has_words(row: Row, words: str) -> bool:
    """Whether all words are in what a row says of itself."""
    said = " ".join(
        str(row.get(name) or "") for name in ("name", "id", "queue", "state", "hostname", "queues", "last_error")
    ).lower()
    return all(word in said for word in words.lower().split())


def _time_of_day(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))
