"""What came of running jobs: counts that are there at once in plain tests, and after an `await` in others."""

from collections.abc import Coroutine, Generator
from typing import Any


class Tally:
    """Attempts as they are counted."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("completed", "failed", "dead", "snoozed", "cancelled"), 0)
        self.errors: list[BaseException] = []
        self.begun = 0

    def add(self, *words: str, error: BaseException | None = None) -> None:
        """Count an attempt."""
        for word in words:
            self.counts[word] += 1
        if error is not None:
            self.errors.append(error)

    @property
    def ran(self) -> int:
        """How many there were in all."""
        return sum(self.counts.values()) - self.counts["dead"]


class Drained:
    """How the jobs that were run have ended. In a test with a running event loop, await it first."""

    def __init__(self, tally: Tally, work: Coroutine[Any, Any, None] | None = None) -> None:
        self._tally = tally
        self._work = work
        """What is to be done first: the `await` begins it."""

    @property
    def completed(self) -> int:
        """Jobs that have done what they were to do."""
        return self._done().counts["completed"]

    @property
    def failed(self) -> int:
        """Attempts that have failed, whether there is to be another or not."""
        return self._done().counts["failed"]

    @property
    def dead(self) -> int:
        """Of those, the ones after which the job was dead."""
        return self._done().counts["dead"]

    @property
    def snoozed(self) -> int:
        """Attempts that want to be made again later."""
        return self._done().counts["snoozed"]

    @property
    def cancelled(self) -> int:
        """Jobs that were cancelled, by their handler or while it ran."""
        return self._done().counts["cancelled"]

    @property
    def errors(self) -> list[BaseException]:
        """What the attempts that failed have raised."""
        return self._done().errors

    @property
    def ran(self) -> int:
        """How many attempts were made in all."""
        return self._done().ran

    def _done(self) -> Tally:
        if self._work is not None:
            raise RuntimeError("no job has been run yet: an event loop is running, so this has to be awaited first")
        return self._tally

    def __await__(self) -> Generator[Any, Any, "Drained"]:
        if self._work is not None:
            work, self._work = self._work, None
            yield from work.__await__()
        return self

    def __repr__(self) -> str:
        if self._work is not None:
            return "Drained(not awaited yet)"
        return f"Drained({', '.join(f'{word}={count}' for word, count in self._tally.counts.items())})"
