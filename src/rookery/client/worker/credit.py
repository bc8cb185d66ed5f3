"""How many jobs a worker has in hand: those that run, and enough of the next ones to last for a moment."""

from typing import Final

MOST: Final = 512
LASTS: Final = 0.05
"""For how many seconds the jobs that wait in hand are to last."""
_MEASURE_FOR: Final = 0.02


class Credit:
    """Looks at how fast jobs are finished. Long jobs are taken one by one, short ones many at a time."""

    def __init__(self, concurrency: int, now: float) -> None:
        self._concurrency = concurrency
        self._rate = 0.0
        self._since = now
        self._finished = 0
        self.window = concurrency
        """How many jobs to have in hand at the most."""
        self.is_off = False
        """Whether the server may think that more, or fewer, jobs are in hand than there are."""

    def observe(self, finished: int, now: float) -> None:
        """Some jobs were finished."""
        self._finished += finished
        elapsed = now - self._since
        if elapsed < _MEASURE_FOR:
            return
        self._rate = (self._rate + self._finished / elapsed) / 2
        self._since, self._finished = now, 0
        spare = max(0, MOST - self._concurrency)
        wanted = self._concurrency + min(int(self._rate * LASTS), spare)
        if wanted != self._concurrency and abs(wanted - self.window) * 4 <= self.window:
            return
        if wanted != self.window:
            self.window = wanted
            self.is_off = True
