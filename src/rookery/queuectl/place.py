"""Where jobs are kept: in a home on this machine, or at a server. Most commands need not know which."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rookery.queuectl.home import Home
from rookery.queuectl.settings import SETTINGS, Settings

if TYPE_CHECKING:
    from rookery.queuectl.jobs import JobRequest

Row = dict[str, Any]
"""A job by its columns."""


class Added(NamedTuple):
    """The job that is there now: a new one, or the one that has the same idempotency key."""

    job_id: str
    is_new: bool


class PlaceError(Exception):
    """The place cannot be used; the text says why."""


class IdTaken(Exception):
    """There is a job with this id."""


class Place(ABC):
    """Jobs, and what can be done with them."""

    url: str | None = None
    """Of the server, if it is one."""

    def __init__(self, home: Home) -> None:
        self.home = home
        """Also at a server this home's settings count, for what is begun here."""

    def settings(self) -> Settings:
        """What `queuectl config` says at this moment."""
        return Settings(**{name: SETTINGS[name].read(text) for name, text in self.setting_texts().items()})

    @abstractmethod
    def setting_texts(self) -> dict[str, str]:
        """The same as texts, in their order."""

    @abstractmethod
    def add(self, job: "JobRequest", backoff_base: float, now: int) -> Added:
        """Add a job. Raises IdTaken; BadInput if it cannot be kept here."""

    @abstractmethod
    def find_job(self, job_id: str) -> Row | None:
        """One job, if it is there."""

    @abstractmethod
    def find_jobs(self, state: str | None, queue: str | None, limit: int | None) -> Iterator[Row]:
        """Jobs by their age, the oldest first."""

    @abstractmethod
    def dead_ids(self, queue: str | None) -> list[str]:
        """The ids of all dead jobs."""

    @abstractmethod
    def retry_dead(self, job_ids: list[str]) -> int:
        """Let these jobs run again, but for those that are not dead; how many they were."""

    @abstractmethod
    def read_log(self, job_id: str, tail: int | None) -> Iterator[bytes]:
        """What a job has written, or the last lines of it. Raises FileNotFoundError if it has not written yet."""

    @abstractmethod
    def log_path(self, job_id: str) -> str | None:
        """The file that it is in, if it is one."""

    @abstractmethod
    def status(self) -> dict[str, Any]:
        """Counts, workers that are running, and whether they are to stop."""

    @abstractmethod
    def figures(self) -> dict[str, Any]:
        """The figures of `queuectl metrics` by their names."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open."""

    def __enter__(self) -> "Place":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
