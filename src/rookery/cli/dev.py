"""`rookery dev`: a server and a worker in one terminal, for as long as somebody writes code."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

import click

from rookery.cli import INTERRUPTED
from rookery.cli.arguments import has_colours
from rookery.cli.flags import ADDRESS, DURATION, LOG_LEVELS, PlainCommand
from rookery.cli.ready import ready_url
from rookery.cli.remote import Remote, Unreachable

COLOURS: Final = {"server": "cyan", "worker": "magenta", "dev": "bright_black"}
STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FOREIGN: Final = ("ROOKERY_ADMIN_PASSWORD", "ROOKERY_API_KEY", "CORVO_API_KEY", "ROOKERY_URL", "CORVO_URL")
"""What the environment says of other servers than this one."""
PATIENCE: Final = 3.0
"""Seconds that a process has to end at once."""


class Line(NamedTuple):
    """A child has said something."""

    child: "Child"
    text: str


class Ended(NamedTuple):
    """A child is gone."""

    child: "Child"


class Told(NamedTuple):
    """Somebody wants it all to stop."""

    signal: int


Events = SimpleQueue[Line | Ended | Told]


class Child:
    """A process whose every line, and whose end, is told to the events."""

    def __init__(self, name: str, arguments: list[str], env: dict[str, str], events: Events) -> None:
        self.name = name
        # In a session of its own, Ctrl-C does not reach it: the worker is to go first.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rookery", name, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="backslashreplace",
            env={**env, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(events,), name=name, daemon=True).start()

    def _listen(self, events: Events) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            events.put(Line(self, line.rstrip("\n")))
        self.process.wait()
        events.put(Ended(self))

    def stop(self) -> None:
        """Ask it to end."""
        self.process.terminate()

    def kill(self) -> None:
        """End it now: at a second signal it ends at once what it has started, and itself."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)


@click.command("dev", cls=PlainCommand)
@click.argument("app_name", metavar="MODULE:APP")
@click.option(
    "--bind",
    "address",
    type=ADDRESS,
    default="127.0.0.1:8080",
    show_default=True,
    help="HTTP address of the server; :0 picks a port.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=".rookery-dev",
    show_default=True,
    help="Where the server keeps its jobs from run to run; git is told to ignore it.",
)
@click.option("--queues", help="Only these, with commas.  [default: all of the app's]")
@click.option("--concurrency", type=click.IntRange(1, 10_000), help="Jobs at a time.  [default: 10]")
@click.option(
    "--shutdown-timeout",
    type=DURATION,
    default="5s",
    show_default=True,
    help="How long running jobs have to end when code changes or all is stopped; then they are handed back.",
)
@click.option("--log-level", type=LOG_LEVELS, help="What goes to the terminal.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Run a server and a worker for the app MODULE:APP. The worker starts again when a .py file changes.

    Ctrl-C stops both, the worker first. A second Ctrl-C does not wait. The server is open to everybody who reaches its
    address, and takes no password from the environment.
    """
    options["log_level"] = options["log_level"] or ctx.obj["log_level"]
    ctx.exit(_Development(**options).run())


class _Development:
    """The server and the worker, and what happens to them."""

    def __init__(
        self,
        app_name: str,
        address: tuple[str, int],
        data_dir: Path,
        queues: str | None,
        concurrency: int | None,
        shutdown_timeout: int,
        log_level: str,
    ) -> None:
        self._host, self._port = address
        self._data_dir = data_dir
        self._app_name = app_name
        self._worker_flags = ["--reload", "--shutdown-timeout", f"{shutdown_timeout}ms", "--log-level", log_level]
        if log_level in ("debug", "info"):
            self._worker_flags.append("--log-jobs")
        if queues is not None:
            self._worker_flags += ["--queues", queues]
        if concurrency is not None:
            self._worker_flags += ["--concurrency", str(concurrency)]
        self._log_level = log_level
        self._env = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        self._events: Events = SimpleQueue()
        self._children: list[Child] = []

    def run(self) -> int:
        """Run both until somebody stops them, or one of them ends; the exit code."""
        self._refuse_other_server()
        self._make_data_dir()
        before = {number: signal.signal(number, self._tell) for number in STOPPING}
        try:
            return self._run()
        finally:
            for child in reversed(self._children):
                child.kill()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _tell(self, number: int, _: object) -> None:
        self._events.put(Told(number))

    def _run(self) -> int:
        server_flags = ["--bind", f"{self._shown_host}:{self._port}", "--data-dir", str(self._data_dir)]
        self._start("server", [*server_flags, "--log-level", "info"])
        url = ""
        while True:
            match self._events.get():
                case Line(child, text):
                    self._show(child.name, text)
                    if not url and (url := ready_url(text) or ""):
                        self._env["ROOKERY_URL"] = url
                        self._start("worker", [self._app_name, "--server", url, *self._worker_flags])
                        self._say(f"{url} serves {self._app_name}; Ctrl-C stops both")
                case Ended(child):
                    self._children.remove(child)
                    self._say(f"the {child.name} has ended with code {child.process.returncode}")
                    self._stop_all()
                    return 1
                case Told():
                    self._say("stopping")
                    return 0 if self._stop_all() else INTERRUPTED

    def _start(self, name: str, arguments: list[str]) -> None:
        self._children.append(Child(name, arguments, self._env, self._events))

    def _stop_all(self) -> bool:
        """Stop what runs, what was started last first. A second signal ends it at once."""
        while self._children:
            self._children[-1].stop()
            if not self._wait_for_end(self._children[-1]):
                return False
        return True

    def _wait_for_end(self, child: Child) -> bool:
        while child in self._children:
            match self._events.get():
                case Line(other, text):
                    self._show(other.name, text)
                case Ended(other):
                    self._children.remove(other)
                case Told():
                    return False
        return True

    def _refuse_other_server(self) -> None:
        """Who is on the address already, if somebody is."""
        if not self._port:
            return
        url = f"http://{self._shown_host}:{self._port}"
        try:
            socket.create_connection((self._reachable_host, self._port), 2).close()
        except OSError:
            return
        hint = "--bind takes another address"
        try:
            Remote(f"http://{self._bracketed(self._reachable_host)}:{self._port}", None, None).call("GET", "/info")
        except click.ClickException as error:
            reason = "does not answer" if isinstance(error, Unreachable) else "is no job server"
            raise click.ClickException(
                f"something on {url} {reason}: it is in use by another program ({hint})"
            ) from None
        raise click.ClickException(
            f"a server runs on {url} already: stop it, or run a worker for it with "
            f"rookery worker {self._app_name} --reload --server {url} ({hint})"
        )

    @property
    def _reachable_host(self) -> str:
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)

    @property
    def _shown_host(self) -> str:
        return self._bracketed(self._host)

    @staticmethod
    def _bracketed(host: str) -> str:
        return f"[{host}]" if ":" in host else host

    def _make_data_dir(self) -> None:
        """A directory for jobs that nobody wants to commit."""
        try:
            if not self._data_dir.exists():
                self._data_dir.mkdir(parents=True)
                (self._data_dir / ".gitignore").write_text("*\n")
        except OSError as error:
            raise click.ClickException(f"cannot use the data directory {self._data_dir}: {error}") from None

    def _say(self, text: str) -> None:
        self._show("dev", text)

    def _show(self, name: str, text: str) -> None:
        label = f"{name:>6} │"
        click.echo(f"{click.style(label, fg=COLOURS[name]) if has_colours() else label} {text}")
