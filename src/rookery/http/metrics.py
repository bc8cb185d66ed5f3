"""What the server counts, for Prometheus.

A scrape reads a few rows for each queue and never the jobs. Nothing of the metrics library is on the way of a request:
the numbers are plain ones (`node/measures.py`) that are put into its words here, when somebody asks.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from rookery.http.call import Answer, Call, Route
from rookery.http.cluster import mirror_of
from rookery.http.codeq.metrics import read_series
from rookery.http.request_ids import request_id_header
from rookery.http.series import Sample, Series, counter, gauge, histogram
from rookery.http.settings import HttpSettings
from rookery.model.histogram import Histogram
from rookery.model.names import DEFAULT_NAMESPACE, is_visible, shown_name
from rookery.node.node import Node
from rookery.node.process import count_threads, read_memory
from rookery.store.census import SHOWN_STATES, Census, take_census

if TYPE_CHECKING:
    import apsw
    from prometheus_client.core import Metric

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
LEADER: Final = 2
"""Of 0 follower, 1 candidate, 2 leader, 3 shutdown."""


class Scrape:
    """One look at everything, as the metrics library wants it: it asks for `collect`."""

    def __init__(
        self,
        node: Node,
        namespace: str,
        settings: HttpSettings,
        census: Census,
        tasks: int,
        now: int,
        others: list[Series],
    ) -> None:
        self._node = node
        self._namespace = namespace
        self._settings = settings
        self._census = census
        self._tasks = tasks
        self._now = now
        self._others = others
        """Those of other faces, whose names are their own."""

    def collect(self) -> "Iterator[Metric]":
        """Every series, as a family of the library's."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        families: dict[str, Any] = {
            "counter": CounterMetricFamily,
            "gauge": GaugeMetricFamily,
            "histogram": HistogramMetricFamily,
        }
        ours = ((f"{self._settings.metrics_prefix}_{series.name}", series) for series in self._series())
        for name, series in chain(ours, ((series.name, series) for series in self._others)):
            family = families[series.kind](name, series.help, labels=series.labels)
            for sample in series.samples:
                if isinstance(sample.value, Histogram):
                    family.add_metric(sample.labels, sample.value.cumulative(), sample.value.sum)
                else:
                    family.add_metric(sample.labels, sample.value)
            yield family

    def _series(self) -> Iterator[Series]:
        yield from self._throughput()
        yield from self._queues()
        yield from self._jobs()
        yield from self._streams()
        yield from self._pipeline()
        yield from self._scheduler()
        yield from self._process()
        yield from self._requests()

    def _throughput(self) -> Iterator[Series]:
        for what, described in (
            ("enqueued", "Jobs enqueued"),
            ("completed", "Jobs completed"),
            ("failed", "Attempts failed"),
        ):
            total = sum(getattr(minute, what) for minute in self._census.minutes)
            yield counter(f"throughput_{what}_total", f"{described} in the last 60 minutes", total)

    def _queues(self) -> Iterator[Series]:
        queues = [(shown_name(self._namespace, queue.name), queue) for queue in self._census.queues]
        yield gauge("queues_total", "Queues", len(queues))
        yield Series(
            "gauge",
            "queue_jobs",
            "Jobs of a queue in a state",
            [Sample((name, state), queue.counts[state]) for name, queue in queues for state in SHOWN_STATES],
            ("queue", "state"),
        )
        yield Series(
            "gauge",
            "jobs",
            "Jobs in a state",
            [Sample((state,), sum(queue.counts[state] for _, queue in queues)) for state in SHOWN_STATES],
            ("state",),
        )
        yield Series(
            "gauge",
            "queue_oldest_waiting_age_seconds",
            "How long the job that waits longest has been ready; 0 if none is",
            [Sample((name,), self._age(queue.oldest_ready_at)) for name, queue in queues],
            ("queue",),
        )
        yield gauge("workers_registered", "Workers seen in the last day", self._census.workers)
        yield gauge("workers_active", "Workers heard of in the last 5 minutes", self._census.active_workers)

    def _age(self, since: int | None) -> float:
        return 0.0 if since is None else max(0, self._now - since) / 1000

    def _jobs(self) -> Iterator[Series]:
        measures = self._node.measures
        yield self._by_queue("queue_wait_seconds", "From being ready to being handed out", measures.waits)
        yield self._by_queue("job_run_seconds", "From being handed out to being acked or failed", measures.runs)

    def _by_queue(self, name: str, help: str, histograms: dict[str, Histogram]) -> Series:
        samples = [
            Sample((shown_name(self._namespace, queue),), values)
            for queue, values in list(histograms.items())
            if is_visible(self._namespace, queue)
        ]
        return Series("histogram", name, help, samples, ("queue",))

    def _streams(self) -> Iterator[Series]:
        streams, settings = self._node.measures.streams, self._settings
        yield gauge("lifecycle_streams_open", "WebSocket streams that are open", streams.open)
        yield gauge("lifecycle_streams_max", "How many may be open", settings.stream_max_open)
        yield gauge("lifecycle_frames_inflight", "Frames of streams in progress", streams.frames_in_flight)
        yield gauge("lifecycle_frames_max_inflight", "How many may be in progress", settings.stream_max_inflight)
        yield counter("lifecycle_frames_total", "Frames that came on streams", streams.frames)
        yield counter("lifecycle_streams_total", "Streams that were opened", streams.opened)
        yield counter("lifecycle_overload_total", "Frames refused because too much was in progress", streams.overloads)
        yield counter("lifecycle_idle_fetch_total", "Wants that found nothing to claim at once", streams.idle_wants)

    def _pipeline(self) -> Iterator[Series]:
        node, measures = self._node, self._node.measures
        index = node.applied_index
        mirror = mirror_of(node)
        yield gauge("cluster_is_leader", "Whether this node takes writes", 1)
        yield gauge("raft_state", "0 follower, 1 candidate, 2 leader, 3 shutdown", LEADER)
        yield gauge("raft_apply_pending", "Operations that wait for their batch", node.waiting)
        yield gauge("raft_apply_max_pending", "How many may wait", node.settings.most_waiting)
        yield gauge("raft_applied_index", "The last event in the store", index)
        yield gauge("raft_commit_index", "The last event that is durable", index)
        yield gauge("raft_snapshot_latest_index", "0: a single node needs no snapshots", 0)
        yield counter("raft_apply_overload_total", "Operations refused because too many waited", measures.overloads)
        yield counter(
            "raft_fetch_overload_total", "Fetches refused because too many were under way", measures.fetch_overloads
        )
        yield counter("raft_applied_total", "Operations applied", measures.operations)
        yield histogram("raft_queue_time_seconds", "How long operations wait for their batch", measures.queue_time)
        yield histogram("raft_apply_time_seconds", "How long a batch takes, its commit included", measures.apply_time)
        yield histogram("commit_seconds", "How long the commit of a batch takes", measures.commit_time)
        yield histogram("batch_operations", "Operations in a batch", measures.batch_sizes)
        yield gauge("sqlite_mirror_lag_updates", "Updates that the mirror has not seen yet", mirror.lag)
        yield counter("sqlite_mirror_dropped_total", "Updates that the mirror will never see", mirror.dropped)

    def _scheduler(self) -> Iterator[Series]:
        measures = self._node.measures
        for name, chore, described in (
            ("promote", measures.promote, "Scheduled and retrying jobs that became ready"),
            ("reclaim", measures.reclaim, "Jobs whose lease ran out"),
            ("expire", measures.expire, "Jobs that expired"),
            ("purge", measures.purge, "Ended jobs that were purged"),
        ):
            yield counter(f"scheduler_{name}_total", described, chore.total)
            yield counter(f"scheduler_{name}_errors_total", f"Times that {name} failed", chore.errors)
            last = f"When {name} was last done, as Unix time; 0 if never"
            yield gauge(f"scheduler_last_{name}_seconds", last, chore.last_run / 1000)

    def _process(self) -> Iterator[Series]:
        memory = read_memory()
        yield gauge("process_goroutines", "Threads and asyncio tasks", count_threads() + self._tasks)
        yield gauge("process_heap_inuse_bytes", "Memory of the process that no file backs", memory.heap)
        yield gauge("process_stack_inuse_bytes", "The main thread's stack", memory.stack)
        yield gauge("process_gc_pause_ns", "The last pause for collecting garbage", self._node.garbage.last_pause)

    def _requests(self) -> Iterator[Series]:
        traffic = self._node.measures.traffic
        routes = [((route.method, route.route), route) for route in traffic.routes()]
        by_route = partial(Series, labels=("method", "route"))
        yield by_route(
            "counter",
            "http_requests_total",
            "Requests",
            [Sample(labels, route.durations.count) for labels, route in routes],
        )
        yield by_route(
            "counter",
            "http_request_errors_total",
            "Requests answered with a status of 400 or above",
            [Sample(labels, route.errors) for labels, route in routes],
        )
        yield by_route(
            "histogram",
            "http_request_duration_seconds",
            "How long requests take, waiting for jobs included",
            [Sample(labels, route.durations) for labels, route in routes],
        )
        yield gauge("http_requests_in_flight", "Requests under way", traffic.in_flight)
        yield by_route(
            "counter",
            "rate_limit_throttled_total",
            "Requests refused by the limit of their client",
            [Sample(labels, route.throttled) for labels, route in routes],
        )


async def get_metrics(call: Call) -> Answer:
    """All series in Prometheus' text format."""
    node, namespace, settings = call.node, call.namespace, call.settings
    now, tasks = node.clock.now(), len(asyncio.all_tasks())

    def scrape(db: "apsw.Connection") -> bytes:
        others = []
        if settings.codeq is not None and namespace == DEFAULT_NAMESPACE:
            others = read_series(db, node.measures, now, has_tenants=settings.codeq.tenancy_enabled)
        return render(Scrape(node, namespace, settings, take_census(db, now, namespace), tasks, now, others))

    headers = (request_id_header(call.headers),)
    return Answer(200, await node.overviews.run(scrape), CONTENT_TYPE, headers)


def render(scrape: Scrape) -> bytes:
    """Prometheus' text format. The library is loaded with the first scrape: it is large."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(scrape)
    return generate_latest(registry)


def _metrics_route(path: str, **rest: Any) -> Route:
    return Route(
        method="GET",
        path=path,
        handler=get_metrics,
        summary="Metrics for Prometheus",
        answers={200: CONTENT_TYPE.decode()},
        tag="Looking on",
        **rest,
    )


ROUTES: Final = [
    _metrics_route("/api/v1/metrics"),
    _metrics_route("/metrics", is_public_at_home=True),
]
