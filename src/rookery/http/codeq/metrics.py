"""codeQ's metrics, by command. What is counted comes from the node, how full the queues are from the store."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

import apsw

from rookery.http.codeq.names import command_of
from rookery.http.codeq.records import STATUS_COMPLETED, STATUS_FAILED
from rookery.http.series import Sample, Series
from rookery.model.histogram import Histogram
from rookery.model.names import DEFAULT_NAMESPACE, namespace_of
from rookery.node.callbacks import ENDING
from rookery.node.measures import LIFE_SECONDS, Measures
from rookery.node.ready_hooks import READINESS
from rookery.store.depths import Depth, read_depths
from rookery.store.ready_hooks import ALL, Audience, ReadyHook, read_ready_hooks

KINDS: Final = {READINESS: "queue_ready", ENDING: "task_result"}
STATUSES: Final = {True: STATUS_COMPLETED, False: STATUS_FAILED}
OUTCOMES: Final = {True: "success", False: "failure"}

_by_command = partial(Series, labels=("command",))
_by_status = partial(Series, labels=("command", "status"))


def read_series(db: apsw.Connection, measures: Measures, now: int, *, has_tenants: bool) -> list[Series]:
    """All of them, now."""
    namespace = None if has_tenants else DEFAULT_NAMESPACE
    return list(_Commands(read_depths(db, namespace), read_ready_hooks(db, now), measures).series())


class _Commands:
    """Every command that the server knows, as it is spelled. Tenants who spell one alike are counted together."""

    def __init__(self, depths: list[Depth], hooks: list[ReadyHook], measures: Measures) -> None:
        self._depths = depths
        self._hooks = hooks
        self._measures = measures
        self._spellings: dict[str, str] = {}
        for hook in hooks:
            self._spellings |= {queue: spelling for queue, spelling in hook.queues.items() if queue != ALL}
        for depth in depths:
            if depth.spelling is not None:
                self._spellings[depth.name] = depth.spelling
            elif (command := command_of(namespace_of(depth.name), depth.name)) is not None:
                self._spellings.setdefault(depth.name, command)

    def series(self) -> Iterator[Series]:
        """Counters since the start of the server, and gauges."""
        work = self._measures.face_work
        yield _by_command("counter", "codeq_task_created_total", "Tasks created", self._counted(work.created))
        yield _by_command("counter", "codeq_task_claimed_total", "Tasks handed to workers", self._counted(work.claimed))
        lives = self._lives()
        yield _by_status(
            "counter",
            "codeq_task_completed_total",
            "Tasks that have ended",
            [Sample(labels, values.count) for labels, values in lives.items()],
        )
        yield _by_status(
            "histogram",
            "codeq_task_processing_latency_seconds",
            "From the creation of a task to its end",
            # For the others it would be much to say nothing.
            [Sample(labels, values) for labels, values in lives.items() if values.count],
        )
        yield _by_command(
            "counter", "codeq_lease_expired_total", "Leases that ran out", self._counted(work.lost_leases)
        )
        yield self._deliveries()
        yield Series(
            "counter",
            "codeq_rate_limit_hits_total",
            "Requests, notifications and callbacks that a rate limit held up",
            [Sample(labels, hits) for labels, hits in sorted(self._measures.rate_limit_hits.items())],
            ("scope", "operation"),
        )
        yield from self._gauges()

    def _gauges(self) -> Iterator[Series]:
        places: list[tuple[str, Callable[[Depth], int]]] = [
            ("ready", lambda depth: depth.ready),
            ("delayed", lambda depth: depth.delayed),
            ("in_progress", lambda depth: depth.active),
            ("dlq", lambda depth: depth.dead),
        ]
        counts = {place: self._sums((depth.name, count(depth)) for depth in self._depths) for place, count in places}
        yield Series(
            "gauge",
            "codeq_queue_depth",
            "Tasks of a command, by where they are",
            [Sample((command, place), sums[command]) for place, sums in counts.items() for command in sums],
            ("command", "queue"),
        )
        dead = counts["dlq"]
        yield _by_command(
            "gauge",
            "codeq_dlq_depth",
            "Tasks that have run out of attempts",
            [Sample((command,), dead[command]) for command in dead],
        )
        audience = Audience(self._hooks)
        active = self._sums((queue, len(audience.of(queue))) for queue in self._spellings)
        yield _by_command(
            "gauge",
            "codeq_subscriptions_active",
            "Subscriptions that have not run out",
            [Sample((command,), active[command]) for command in active],
        )

    def _deliveries(self) -> Series:
        counts: Counter[tuple[str, str, str]] = Counter()
        for (what, queue, is_delivered), times in list(self._measures.face_work.told.items()):
            counts[KINDS[what], self._spelling(queue), OUTCOMES[is_delivered]] += times
        return Series(
            "counter",
            "codeq_webhook_deliveries_total",
            "Notifications, and callbacks that came to an end",
            [Sample(labels, times) for labels, times in sorted(counts.items())],
            ("kind", "command", "outcome"),
        )

    def _lives(self) -> dict[tuple[str, str], Histogram]:
        lives = {
            (command, status): Histogram(LIFE_SECONDS)
            for command in sorted(set(self._spellings.values()))
            for status in STATUSES.values()
        }
        for (queue, is_completed), values in list(self._measures.face_work.lives.items()):
            labels = (self._spelling(queue), STATUSES[is_completed])
            lives.setdefault(labels, Histogram(LIFE_SECONDS)).add_all(values)
        return lives

    def _counted(self, counts: Counter[str]) -> list[Sample]:
        sums = self._sums(list(counts.items()))
        return [Sample((command,), sums[command]) for command in sums]

    def _sums(self, values: Iterable[tuple[str, int]]) -> dict[str, int]:
        """Sums by command, with zeros for those that have none."""
        sums = dict.fromkeys(sorted(set(self._spellings.values())), 0)
        for queue, value in values:
            command = self._spelling(queue)
            sums[command] = sums.get(command, 0) + value
        return sums

    def _spelling(self, queue: str) -> str:
        return self._spellings.get(queue) or command_of(namespace_of(queue), queue) or queue
