"""How the server is: the state of the cluster (of one node), and figures of the process."""

import asyncio
import gc
import os
import platform
from typing import Annotated, Final

import apsw
import msgspec

from rookery import __version__
from rookery.http.call import Answer, Call, Route, json_answer, says
from rookery.http.errors import ApiError
from rookery.model.histogram import Histogram
from rookery.model.instants import format_instant
from rookery.node.node import Node
from rookery.node.process import count_threads, read_memory


class Bucket(msgspec.Struct):
    """How many were not above a bound."""

    le: str
    count: int


class Spread(msgspec.Struct, omit_defaults=True):
    """How long something takes. Durations are text; with nothing counted there is only the count."""

    count: int
    avg: str | None = None
    p50: str | None = None
    p90: str | None = None
    p99: str | None = None
    buckets: list[Bucket] | None = None


class NodeStatus(msgspec.Struct):
    """One member."""

    id: str
    role: str
    status: str
    is_self: bool = msgspec.field(name="self")
    voter: bool
    version: str
    started_at: str


class Mirror(msgspec.Struct):
    """How far the copies of the store are behind it."""

    lag: int = 0
    dropped: int = 0
    queued: int = 0
    applied: int = 0
    is_async: bool = msgspec.field(default=False, name="async")


class Rebuild(msgspec.Struct, omit_defaults=True):
    """When such a copy was last made anew."""

    ran: bool
    last_started_at: str | None = None
    last_duration_ms: int | None = None
    last_success: bool | None = None


class Snapshot(msgspec.Struct):
    """The last snapshot of the log; a single node makes none."""

    latest_index: int = 0


class ClusterStatus(msgspec.Struct):
    """The state of a single node."""

    mode: str
    status: str
    state: str
    node_id: str
    leader_id: str
    applied_index: int
    commit_index: int
    nodes: list[NodeStatus]
    apply_pending_now: int
    apply_max_pending: int
    overload_total: int
    fetch_overload_total: int
    applied_total: int
    queue_time_hist: Spread
    apply_time_hist: Spread
    snapshot: Snapshot
    sqlite_mirror: Mirror
    sqlite_rebuild: Rebuild


class JoinRequest(msgspec.Struct):
    """A node that wants to be a member."""

    node_id: Annotated[str | None, says("Required. Its name")] = None
    addr: Annotated[str | None, says("Required. Its cluster address")] = None
    shard: Annotated[int | None, says("Of a sharded cluster")] = None
    shard_count: Annotated[int | None, says("Of a sharded cluster; must be the cluster's own")] = None


class Garbage(msgspec.Struct):
    """What collecting garbage costs."""

    collections: int
    last_pause_ns: int
    total_pause_ns: int
    counts: list[int]


class StoreFigures(msgspec.Struct):
    """The SQLite file."""

    sqlite_version: str
    page_size: int
    pages: int
    free_pages: int
    file_bytes: int
    wal_bytes: int


class LimitFigures(msgspec.Struct):
    """What the server was started with. Rates are calls a second of one caller; null: not limited."""

    max_payload_bytes: int
    reads_per_second: float | None
    writes_per_second: float | None
    max_streams: int
    retention_ms: int


class Runtime(msgspec.Struct):
    """Figures of the process."""

    version: str
    python: str
    pid: int
    started_at: str
    uptime_seconds: float
    cpu_count: int
    cpu_seconds: float
    threads: int
    tasks: int
    connections: int
    requests_in_flight: int
    operations_waiting: int
    resident_bytes: int
    heap_bytes: int
    stack_bytes: int
    gc: Garbage
    store: StoreFigures
    limits: LimitFigures


NODE_ID: Final = "node-1"
_join_decoder = msgspec.json.Decoder(JoinRequest)


def mirror_of(node: Node) -> Mirror:
    """How far the full-text index is behind. All other reads use the store itself."""
    index = node.fulltext
    return Mirror(lag=index.lag, queued=index.lag, applied=index.position, is_async=index.is_enabled)


def rebuild_of(node: Node) -> Rebuild:
    """When the full-text index was last made anew."""
    record = node.fulltext.rebuild_record
    started_at = None if record.last_started_at is None else format_instant(record.last_started_at)
    return Rebuild(record.ran, started_at, record.last_duration_ms, record.last_success)


async def get_status(call: Call) -> Answer:
    """The state of the cluster."""
    node, measures = call.node, call.node.measures
    status = "healthy" if node.storage_fault is None else "degraded"
    return json_answer(
        ClusterStatus(
            mode="single",
            status=status,
            state="Leader",
            node_id=NODE_ID,
            leader_id=NODE_ID,
            applied_index=node.applied_index,
            commit_index=node.applied_index,
            nodes=[NodeStatus(NODE_ID, "leader", status, True, True, __version__, format_instant(node.started_at))],
            apply_pending_now=node.waiting,
            apply_max_pending=node.settings.most_waiting,
            overload_total=measures.overloads,
            fetch_overload_total=measures.fetch_overloads,
            applied_total=measures.operations,
            queue_time_hist=spread(measures.queue_time),
            apply_time_hist=spread(measures.apply_time),
            snapshot=Snapshot(),
            sqlite_mirror=mirror_of(node),
            sqlite_rebuild=rebuild_of(node),
        )
    )


def spread(histogram: Histogram) -> Spread:
    """A histogram in a few words."""
    count = histogram.count
    if count == 0:
        return Spread(0)
    bounds = [*(_seconds(bound) for bound in histogram.bounds), "+Inf"]
    return Spread(
        count,
        _seconds(histogram.sum / count),
        _seconds(histogram.quantile(0.5)),
        _seconds(histogram.quantile(0.9)),
        _seconds(histogram.quantile(0.99)),
        [Bucket(le, total) for le, (_, total) in zip(bounds, histogram.cumulative(), strict=True)],
    )


def _seconds(value: float) -> str:
    """`150us`, `2.5ms`, `1s`: a duration that is often far below a millisecond."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{round(value / size, 3):g}{unit}"
    return f"{round(value * 1e9):d}ns" if value else "0s"


async def join(call: Call) -> Answer:
    """Take in a member: there is no cluster here that could."""
    request = await call.parse(_join_decoder)
    for field in ("node_id", "addr"):
        if not (getattr(request, field) or "").strip():
            raise ApiError(400, "JOIN_ERROR", f"{field} is required")
    raise ApiError(501, "UNSUPPORTED", "this server is a single node: there is no cluster to join")


async def get_runtime(call: Call) -> Answer:
    """Figures of the process."""
    node, memory, now = call.node, read_memory(), call.node.clock.now()
    times = os.times()
    return json_answer(
        Runtime(
            version=__version__,
            python=platform.python_version(),
            pid=os.getpid(),
            started_at=format_instant(node.started_at),
            uptime_seconds=(now - node.started_at) / 1000,
            cpu_count=os.cpu_count() or 1,
            cpu_seconds=round(times.user + times.system, 3),
            threads=count_threads(),
            tasks=len(asyncio.all_tasks()),
            connections=node.measures.traffic.connections,
            requests_in_flight=node.measures.traffic.in_flight,
            operations_waiting=node.waiting,
            resident_bytes=memory.resident,
            heap_bytes=memory.heap,
            stack_bytes=memory.stack,
            gc=Garbage(
                node.garbage.collections, node.garbage.last_pause, node.garbage.total_pause, list(gc.get_count())
            ),
            store=_store_figures(node),
            limits=_limits(call),
        )
    )


def _limits(call: Call) -> LimitFigures:
    settings = call.settings
    reads, writes = (settings.read_rps, settings.write_rps) if settings.rate_limit_enabled else (None, None)
    return LimitFigures(
        settings.max_payload_size, reads, writes, settings.stream_max_open, call.node.settings.retention
    )


def _store_figures(node: Node) -> StoreFigures:
    page_size, pages, free = (int(node.reader.pragma(name)) for name in ("page_size", "page_count", "freelist_count"))
    wal = node.store.with_name(f"{node.store.name}-wal")
    wal_bytes = wal.stat().st_size if wal.exists() else 0
    return StoreFigures(apsw.sqlite_lib_version(), page_size, pages, free, node.store.stat().st_size, wal_bytes)


ROUTES: Final = [
    Route(
        method="GET",
        path="/api/v1/cluster/status",
        handler=get_status,
        summary="The state of the cluster",
        answers={200: ClusterStatus},
        tag="Looking on",
    ),
    Route(
        method="POST",
        path="/api/v1/cluster/join",
        handler=join,
        summary="Add a node to the cluster; 501 on a single node",
        request=JoinRequest,
        answers={},
        tag="Looking on",
    ),
    Route(
        method="GET",
        path="/api/v1/debug/runtime",
        handler=get_runtime,
        summary="Figures of the process",
        answers={200: Runtime},
        tag="Looking on",
    ),
]
