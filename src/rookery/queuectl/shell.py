"""Running one shell command: in a session of its own, with no input, under a time limit, its output passed on.

Nothing here knows of jobs or stores. However much a command writes, only the edges of it are kept in memory.
"""

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Final

TIMED_OUT: Final = 124
CANNOT_START: Final = 126
LONGEST_ERROR: Final = 512
"""Characters of what a command said on stderr that are told as its error."""
_LONGEST_TAIL: Final = 2000
_READ_SIZE: Final = 65_536
_LEFT_OPEN_FOR: Final = 0.5
"""Seconds for what still writes when the shell itself has ended: it may be about to end, or run for ever."""
_LOOK_EVERY: Final = 0.05
"""Seconds between two looks at a process, where the system cannot tell of its end."""

Write = Callable[[bytes], None]


@dataclass(frozen=True)
class Ran:
    """How a command went. `error` is empty if it did what it should."""

    exit_code: int
    error: str
    duration: float
    timed_out: bool = False
    was_stopped: bool = False
    """Somebody stopped it: how it ended says nothing about it."""
    stdout_tail: str = ""
    stderr_tail: str = ""


class ShellRun:
    """One command, from its start to its end."""

    def __init__(
        self,
        command: str,
        *,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
        kill_grace: float = 5.0,
    ) -> None:
        self._command = command
        self._environment = environment
        self._timeout = timeout
        self._kill_grace = kill_grace
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False
        self._was_stopped = False
        self._kill_at: float | None = None

    def run(self, write: Write, attend: Callable[[], None], attend_every: float = 5.0) -> Ran:
        """Run it to its end; `write` gets all output as it comes, `attend` is called every few seconds meanwhile."""
        started = monotonic()
        if self._was_stopped:
            return Ran(128 + signal.SIGTERM, "stopped", 0.0, was_stopped=True)
        try:
            # `--`, because a command may begin with a dash.
            self._process = process = subprocess.Popen(
                ["/bin/sh", "-c", "--", self._command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=self._environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Ran(CANNOT_START, f"cannot start: {error}"[:LONGEST_ERROR], monotonic() - started)
        try:
            return self._follow(process, started, write, attend, attend_every)
        except BaseException:
            # Nobody would record how it ends, and somebody else will run it again.
            self._signal(signal.SIGKILL)
            raise
        finally:
            self._is_over = True
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            process.wait()

    def stop(self) -> None:
        """End it before its time: gently, or at once if that was tried already. Good to call from a signal handler."""
        if self._was_stopped:
            self._signal(signal.SIGKILL)
        elif not self._is_over:
            self._was_stopped = True
            self._end_gently(monotonic())

    def _follow(
        self,
        process: subprocess.Popen[bytes],
        started: float,
        write: Write,
        attend: Callable[[], None],
        attend_every: float,
    ) -> Ran:
        out, err = _Edges(), _Edges()
        timed_out = False
        if self._was_stopped:
            # That came while the process was being made.
            self._end_gently(monotonic())
        time_over = None if self._timeout is None else started + self._timeout
        attend_at = started + attend_every
        exited_at: float | None = None
        with _Watch(process, out, err) as watch:
            while True:
                now = monotonic()
                if exited_at is None and time_over is not None and now >= time_over and not timed_out:
                    timed_out = True
                    self._end_gently(now)
                if self._kill_at is not None and now >= self._kill_at:
                    self._kill_at = None
                    self._signal(signal.SIGKILL)
                if now >= attend_at:
                    attend()
                    attend_at = monotonic() + attend_every
                if exited_at is not None and (watch.is_silent or now >= self._close_at(exited_at)):
                    break
                times = (attend_at, None if timed_out or exited_at is not None else time_over, self._kill_at)
                wake_at = min(at for at in times if at is not None)
                if exited_at is not None:
                    wake_at = min(wake_at, self._close_at(exited_at))
                for edges, data in watch.wait(max(0.0, wake_at - now)):
                    edges.add(data)
                    write(data)
                if exited_at is None and watch.has_exited():
                    exited_at = monotonic()
                    if watch.was_killed():
                        # It did not mean to leave anything behind, and may soon be run again.
                        self._signal(signal.SIGKILL)
            if timed_out or self._was_stopped:
                # Before the shell's own process is reaped: until then nobody else can have this group's number.
                self._signal(signal.SIGKILL)
        self._is_over = True
        code = process.wait()
        duration = (exited_at or monotonic()) - started
        return self._judge(code, duration, timed_out, out, err)

    def _close_at(self, exited_at: float) -> float:
        """Until when to listen to what is left of the group after the shell's own end."""
        return self._kill_at if self._kill_at is not None else exited_at + _LEFT_OPEN_FOR

    def _judge(self, code: int, duration: float, timed_out: bool, out: "_Edges", err: "_Edges") -> Ran:
        exit_code = code if code >= 0 else 128 - code
        said = err.head()
        error = ""
        if timed_out:
            exit_code = TIMED_OUT
            error = f"timed out after {self._timeout:g} s" + (f": {said}" if said else "")
        elif self._was_stopped:
            error = "stopped"
        elif code:
            killed = "" if code > 0 else f" (killed by {_signal_name(-code)})"
            error = said or f"exit code {exit_code}{killed}"
        return Ran(
            exit_code,
            error[:LONGEST_ERROR],
            duration,
            timed_out,
            self._was_stopped and not timed_out,
            out.tail(),
            err.tail(),
        )

    def _end_gently(self, now: float) -> None:
        self._kill_at = now + self._kill_grace
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        """Send a signal to the whole group, as long as it is surely ours."""
        process = self._process
        if process is not None and not self._is_over:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)


class _Watch:
    """Waits for a process to say something, or to end."""

    def __init__(self, process: subprocess.Popen[bytes], out: "_Edges", err: "_Edges") -> None:
        self._process = process
        self._selector = selectors.DefaultSelector()
        self._open = 0
        for stream, edges in ((process.stdout, out), (process.stderr, err)):
            if stream is not None:
                self._selector.register(stream, selectors.EVENT_READ, edges)
                self._open += 1
        self._pidfd = _open_pidfd(process.pid)
        self._exited = False
        if self._pidfd is not None:
            self._selector.register(self._pidfd, selectors.EVENT_READ)

    @property
    def is_silent(self) -> bool:
        """Whether nobody can say anything any more."""
        return self._open == 0

    def wait(self, seconds: float) -> list[tuple["_Edges", bytes]]:
        """What was said within this time at the latest; nothing, if the process ended or the time is over."""
        if self._pidfd is None and not self._exited:
            seconds = min(seconds, _LOOK_EVERY)
        said = []
        for key, _ in self._selector.select(seconds):
            if key.fd == self._pidfd:
                self._exited = True
                self._selector.unregister(key.fileobj)
                continue
            data = os.read(key.fd, _READ_SIZE)
            if data:
                said.append((key.data, data))
            else:
                self._selector.unregister(key.fileobj)
                self._open -= 1
        return said

    def has_exited(self) -> bool:
        """Whether the process itself has ended, whatever it has left behind."""
        if self._pidfd is None:
            self._exited = self._process.poll() is not None
        return self._exited

    def was_killed(self) -> bool:
        """Whether it was a signal that ended it. It is not reaped by asking that."""
        if self._pidfd is None:
            return (self._process.returncode or 0) < 0
        end = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        return end is not None and end.si_code != os.CLD_EXITED

    def __enter__(self) -> "_Watch":
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()
        if self._pidfd is not None:
            os.close(self._pidfd)


class _Edges:
    """The beginning and the end of a stream of any length."""

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""

    def add(self, data: bytes) -> None:
        """Take in what came."""
        missing = 4 * LONGEST_ERROR - len(self._head)
        if missing > 0:
            self._head += data[:missing]
        self._tail = (self._tail + data)[-4 * _LONGEST_TAIL :]

    def head(self) -> str:
        """The first characters."""
        return readable(self._head)[:LONGEST_ERROR].rstrip()

    def tail(self) -> str:
        """The last characters."""
        return readable(self._tail)[-_LONGEST_TAIL:]


def readable(data: bytes) -> str:
    """Output as text that any store and terminal can take."""
    return data.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _open_pidfd(pid: int) -> int | None:
    """Something to wait on for a process of ours, where there is such a thing."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None
