"""Looks at a server over and over, in a thread of its own, so that no key has to wait for an answer."""

import threading
from collections.abc import Callable

import click

from rookery.cli.overview import Overview, read_overview
from rookery.cli.remote import Remote

Tell = Callable[[Overview | None, str], None]
"""Told what was seen, or else what went wrong."""


class Observer:
    """Reads, tells, waits, reads again."""

    def __init__(self, remote: Remote, interval: float, tell: Tell) -> None:
        self._remote, self._interval, self._tell = remote, interval, tell
        self._wake = threading.Event()
        self._is_stopped = False

    def start(self) -> None:
        """Begin. The thread does not keep the program alive, whatever it waits for."""
        threading.Thread(target=self._observe, name="observer", daemon=True).start()

    def look_now(self) -> None:
        """Do not wait for the next turn."""
        self._wake.set()

    def stop(self) -> None:
        """Tell no more."""
        self._is_stopped = True
        self._wake.set()

    def _observe(self) -> None:
        seen: Overview | None = None
        while not self._is_stopped:
            self._wake.clear()
            try:
                seen = read_overview(self._remote, seen)
            except click.ClickException as error:
                self._report(None, error.message)
            except (LookupError, TypeError, ValueError) as error:
                self._report(None, f"{self._remote.url} does not answer like a job server ({error!r})")
            else:
                self._report(seen, "")
            self._wake.wait(self._interval)

    def _report(self, seen: Overview | None, fault: str) -> None:
        if not self._is_stopped:
            self._tell(seen, fault)
