"""The parent of workers: starts them, passes on what it is told, and replaces those that die. It runs no job itself.

It has no handlers for signals: they are blocked, to the end of the process, and it waits for them.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from time import monotonic
from typing import Final

from rookery.queuectl.notices import say
from rookery.queuectl.working import KILL_NOW

_LIVED_LONG: Final = 10.0
"""Seconds; who dies earlier has probably not died of a job."""
_MOST_SHORT_LIVES: Final = 20
"""More than a job takes with it that kills its workers until it is dead: by default three times five."""
_PAUSE: Final = 0.2


class Pool:
    """Worker processes; each does `work`, told the pid of its parent."""

    def __init__(self, work: Callable[[int], None], count: int) -> None:
        self._work = work
        self._count = count
        self._started: dict[int, float] = {}
        self._short_lives = 0
        self._signals = 0
        self._has_losses = False

    def run(self) -> int:
        """Look after the workers until all have ended: 0, or 1 if some died and were not replaced."""
        heeded = {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD}
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            heeded.add(signal.SIGHUP)
        # Some systems do not even keep a signal that nobody handles.
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.pthread_sigmask(signal.SIG_BLOCK, {*heeded, KILL_NOW})
        for _ in range(self._count):
            self._start()
        while self._started:
            number = signal.sigwait(heeded)
            if number == signal.SIGCHLD:
                self._reap()
            else:
                self._pass_on(number)
        return int(self._has_losses)

    def _start(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._work(parent)
                code = 0
            except BaseException:
                say(f"a worker (pid {os.getpid()}) fails:\n{traceback.format_exc()}")
            finally:
                os._exit(code)
        self._started[pid] = monotonic()

    def _reap(self) -> None:
        """Take leave of those that have ended; who died is replaced, unless that keeps happening."""
        while self._started:
            # Any child: as the first process of a container, this one also inherits what commands leave behind.
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            started = self._started.pop(pid, None)
            code = os.waitstatus_to_exitcode(status)
            if started is not None and code != 0:
                self._replace(pid, code, monotonic() - started)

    def _replace(self, pid: int, code: int, lived: float) -> None:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._short_lives = self._short_lives + 1 if lived < _LIVED_LONG else 0
        if self._signals or self._short_lives >= _MOST_SHORT_LIVES:
            self._has_losses = True
            say(f"the worker with pid {pid} {how}")
        else:
            say(f"the worker with pid {pid} {how}; starting another")
            time.sleep(_PAUSE)
            self._start()

    def _pass_on(self, number: int) -> None:
        """The first time workers finish their jobs; from the second on, running jobs are killed."""
        if self._signals == 0:
            say("waiting for running jobs to end; once more to kill them")
        if number != signal.SIGHUP or self._signals == 0:
            self._signals += 1
        for pid in self._started:
            os.kill(pid, signal.SIGTERM if self._signals == 1 else KILL_NOW)
