"""What a node counts about itself. Plain numbers, added to on the way; whoever shows them makes metrics of them."""

import re
from collections import Counter
from typing import Final

from rookery.engine.ledger import LEASE_LOST, Fate
from rookery.model.histogram import Histogram
from rookery.model.job import COMPLETED

PIPELINE_SECONDS: Final = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
REQUEST_SECONDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
JOB_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
LIFE_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
BATCH_SIZES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)

OTHER: Final = "other"
"""Stands for whatever is no route of ours, so that nobody can make labels up."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_PARAMETER: Final = re.compile(r"{[^}]*}")

Times = list[tuple[str, int]]
"""Queues and milliseconds."""


class RouteTraffic:
    """Requests to one route."""

    __slots__ = ("durations", "errors", "method", "route", "throttled")

    def __init__(self, method: str, route: str) -> None:
        self.method = method
        self.route = route
        self.durations = Histogram(REQUEST_SECONDS)
        self.errors = 0
        self.throttled = 0


class Traffic:
    """Requests, by route."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.connections = 0
        self._routes: dict[tuple[str, str], RouteTraffic] = {}

    def of(self, method: str, path: str) -> RouteTraffic:
        """The requests to a path pattern; its parameters are all called `:id`."""
        return self._routes.get((method, path)) or self._add(method, path, _PARAMETER.sub(":id", path))

    def of_others(self, method: str) -> RouteTraffic:
        """The requests to what there is not."""
        method = method if method in _METHODS else OTHER
        return self._routes.get((method, "")) or self._add(method, "", OTHER)

    def routes(self) -> list[RouteTraffic]:
        """All routes that were ever asked for."""
        return list(self._routes.values())

    def _add(self, method: str, path: str, route: str) -> RouteTraffic:
        added = self._routes[method, path] = RouteTraffic(method, route)
        return added


class StreamTraffic:
    """WebSocket streams and the frames of their clients."""

    def __init__(self) -> None:
        self.open = 0
        self.opened = 0
        self.frames = 0
        self.frames_in_flight = 0
        self.overloads = 0
        self.idle_wants = 0


class FaceWork:
    """What came of jobs that belong to other faces, by stored names of queues."""

    def __init__(self) -> None:
        self.created: Counter[str] = Counter()
        self.claimed: Counter[str] = Counter()
        self.lost_leases: Counter[str] = Counter()
        self.lives: dict[tuple[str, bool], Histogram] = {}
        """How long they lived, by whether they were completed in the end."""
        self.told: Counter[tuple[str, str, bool]] = Counter()
        """What URLs of callers were told, by what it was and whether it was delivered."""

    def fared(self, fates: list[Fate]) -> None:
        """This has become of some of them."""
        for queue, what, age in fates:
            if what == LEASE_LOST:
                self.lost_leases[queue] += 1
                continue
            lives = self.lives.setdefault((queue, what == COMPLETED), Histogram(LIFE_SECONDS))
            lives.add(age / 1000)

    def forget(self, queue: str) -> None:
        """The queue is gone."""
        for counts in (self.created, self.claimed, self.lost_leases):
            counts.pop(queue, None)
        self.lives = {key: lives for key, lives in self.lives.items() if key[0] != queue}
        for key in [key for key in self.told if key[1] == queue]:
            del self.told[key]


class Chore:
    """Something that the passing of time asks for."""

    __slots__ = ("errors", "last_run", "total")

    def __init__(self) -> None:
        self.total = 0
        self.errors = 0
        self.last_run = 0

    def done(self, jobs: int, now: int) -> None:
        """It was done to so many jobs."""
        self.total += jobs
        self.last_run = now


class Measures:
    """All that a node counts since it started."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.streams = StreamTraffic()
        self.face_work = FaceWork()
        self.rate_limit_hits: Counter[tuple[str, str]] = Counter()
        """Refused by the limits of a face of its own, by scope and operation."""
        self.queue_time = Histogram(PIPELINE_SECONDS)
        self.apply_time = Histogram(PIPELINE_SECONDS)
        self.commit_time = Histogram(PIPELINE_SECONDS)
        self.batch_sizes = Histogram(BATCH_SIZES)
        self.operations = 0
        self.overloads = 0
        self.fetch_overloads = 0
        self.waits: dict[str, Histogram] = {}
        self.runs: dict[str, Histogram] = {}
        self.promote = Chore()
        self.reclaim = Chore()
        self.expire = Chore()
        self.purge = Chore()

    def batch_begins(self, arrivals: list[float], now: float) -> None:
        """Operations that arrived at these times have waited until now."""
        add = self.queue_time.add
        for arrival in arrivals:
            add(now - arrival)

    def batch_applied(self, operations: int, seconds: float, commit: tuple[float, float] | None) -> None:
        """A batch was applied and is durable."""
        self.operations += operations
        self.batch_sizes.add(operations)
        self.apply_time.add(seconds)
        if commit is not None:
            self.commit_time.add(commit[1] - commit[0])

    def jobs_moved(self, waits: Times, runs: Times) -> None:
        """Jobs were handed out after these waits, and came back after these runs."""
        for histograms, times in ((self.waits, waits), (self.runs, runs)):
            for (queue, ms), count in Counter(times).items() if times else ():
                histogram = histograms.get(queue)
                if histogram is None:
                    histogram = histograms[queue] = Histogram(JOB_SECONDS)
                histogram.add(ms / 1000, count)

    def forget_queue(self, queue: str) -> None:
        """The queue is gone."""
        self.waits.pop(queue, None)
        self.runs.pop(queue, None)
        self.face_work.forget(queue)
