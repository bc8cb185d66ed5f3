"""What came of running jobs: counts that are there at once in plain tests, and after an `await` in others."""

from collections.abc import Coroutine, Generator
from typing import Any


class Drained:
    """How the jobs that were run have ended. In a test with a running event loop, await it first."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(("completed", "failed", "dead", "snoozed", "cancelled"), 0)
        self._errors: list[BaseException] = []
        self._work: Coroutine[Any, Any, None] | None = None

    @property
    def completed(self) -> int:
        """Jobs that have done what they were to do."""
        return self._done()["completed"]

    @property
    def failed(self) -> int:
        """Attempts that have failed, whether there is to be another or not."""
        return self._done()["failed"]

    @property
    def dead(self) -> int:
        """Of those, the ones after which the job was dead."""
        return self._done()["dead"]

    @property
    def snoozed(self) -> int:
        """Attempts that want to be made again later."""
        return self._done()["snoozed"]

    @property
    def cancelled(self) -> int:
        """Jobs that were cancelled, by their handler or while it ran."""
        return self._done()["cancelled"]

    @property
    def errors(self) -> list[BaseException]:
        """What the attempts that failed have raised."""
        self._done()
        return self._errors

    @property
    def ran(self) -> int:
        """How many attempts were made in all."""
        counts = self._done()
        return sum(counts.values()) - counts["dead"]

    def add(self, *words: str, error: BaseException | None = None) -> None:
        """Count an attempt."""
        for word in words:
            self._counts[word] += 1
        if error is not None:
            self._errors.append(error)

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """What is to be done first: it is begun by the `await`."""
        self._work = work

    def _done(self) -> dict[str, int]:
        if self._work is not None:
            raise RuntimeError("no job has been run yet: an event loop is running, so this has to be awaited first")
        return self._counts

    def __await__(self) -> Generator[Any, Any, "Drained"]:
        if self._work is not None:
            work, self._work = self._work, None
            yield from work.__await__()
        return self

    def __repr__(self) -> str:
        if self._work is not None:
            return "Drained(not awaited yet)"
        return f"Drained({', '.join(f'{word}={count}' for word, count in self._counts.items())})"
