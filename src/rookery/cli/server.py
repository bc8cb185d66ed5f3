"""`rookery server`: run API, scheduler and storage in the foreground."""

import gc
import logging
import os
import sys
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import apsw
import click
import msgspec
import uvloop

from rookery import __version__
from rookery.cli.flags import ADDRESS, COLLECTOR, DURATION, LOG_LEVELS, METRICS_PREFIX, Command, PlainCommand, switch
from rookery.http.codeq.settings import BadSettings, CodeqSettings, read_settings
from rookery.http.server import HttpServer, bind
from rookery.http.settings import HttpSettings
from rookery.node.data_dir import DataDirectoryInUse
from rookery.node.node import Node, NodeSettings
from rookery.node.tracing import Tracing, TracingUnavailable
from rookery.store.migrations import UnusableStore

logger = logging.getLogger("rookery.server")

_ENGINE_FLAGS: Final = (
    "--raft-store",
    "--raft-shards",
    "--apply-multi-mode",
    "--license-key",
    "--license-public-key",
    "--fetch-poll-interval",
    "--idle-fetch-sleep",
)


def _limit(flag: str, default: int, help: str) -> Callable[[Command], Command]:
    kind = click.FloatRange(min=0, min_open=True) if flag.endswith("-rps") else click.IntRange(min=1)
    return click.option(flag, type=kind, default=default, show_default=True, help=help)


def _engine_flags(function: Command) -> Command:
    """Flags of the server this one is compatible with, that mean nothing here."""
    for flag in _ENGINE_FLAGS:
        function = click.option(flag, hidden=True)(function)
    return switch("--no-compression", False, "", hidden=True)(function)


@click.command("server", cls=PlainCommand)
@click.option(
    "--bind",
    "address",
    type=ADDRESS,
    default="127.0.0.1:8080",
    show_default=True,
    help="HTTP address; :0 picks a port.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    default="data",
    show_default=True,
    help="Storage directory, created if missing.",
)
@click.option("--admin-password", envvar="ROOKERY_ADMIN_PASSWORD", show_envvar=True, help="Full-access credential.")
@click.option(
    "--durability",
    type=click.Choice(["full", "relaxed"]),
    default="full",
    show_default=True,
    help="full: an answer means the write is on disk. relaxed: the operating system decides when.",
)
@switch("--durable", False, "Same as --durability full.", hidden=True)
@click.option(
    "--max-payload-size", type=click.IntRange(min=0), default=262_144, show_default=True, help="Bytes; 0 = no limit."
)
@click.option("--retention", type=DURATION, default="168h", show_default=True, help="How long ended jobs are kept.")
@click.option("--retention-interval", type=DURATION, default="1h", show_default=True, help="How often to purge them.")
@click.option("--shutdown-timeout", type=DURATION, default="500ms", show_default=True, help="For requests under way.")
@switch("--rate-limit-enabled", True, "Limit requests per client.")
@_limit("--rate-limit-read-rps", 2000, "Reads a second of one client.")
@_limit("--rate-limit-read-burst", 4000, "Reads of one client at once.")
@_limit("--rate-limit-write-rps", 1000, "Writes a second of one client.")
@_limit("--rate-limit-write-burst", 2000, "Writes of one client at once.")
@switch("--docs-enabled", True, "Serve /docs and /openapi.json.")
@_limit("--raft-max-pending", 16_384, "Writes that may wait.")
@_limit("--raft-max-fetch-inflight", 64, "Claims of one queue that may be under way at a time.")
@click.option("--search-timeout", type=DURATION, default="10s", show_default=True, help="How long one search may take.")
@click.option(
    "--metrics-prefix",
    type=METRICS_PREFIX,
    default="rookery",
    show_default=True,
    help="What the names of the metrics begin with.",
)
@switch("--otel-enabled", False, "Send traces to an OpenTelemetry collector; needs the extra otel.")
@click.option(
    "--otel-endpoint",
    type=COLLECTOR,
    help="Its address for OTLP over HTTP.  [default: OTEL_EXPORTER_OTLP_ENDPOINT or http://localhost:4318]",
)
@click.option(
    "--stream-keepalive",
    type=DURATION,
    default="15s",
    show_default=True,
    help="After which a silent stream of events says that it is still there.",
)
@click.option(
    "--stream-stall-timeout",
    type=DURATION,
    default="30s",
    show_default=True,
    help="After which somebody who does not read a stream is dropped.",
)
@_limit("--stream-max-inflight", 2048, "Frames of WebSocket streams that may be in progress.")
@_limit("--stream-max-open", 4096, "WebSocket streams that may be open.")
@_limit("--stream-max-fps", 500, "Frames a second of one WebSocket stream; more are delayed.")
@switch("--fulltext-enabled", True, "Keep a full-text index of the jobs.")
@switch("--webhook-allow-private", False, "Let webhooks go to this host itself (127.0.0.1), whatever --bind says.")
@switch("--codeq", True, "Serve the codeQ API under /v1/codeq; CODEQ_* variables set it up.", envvar="ROOKERY_CODEQ")
@click.option("--log-level", type=LOG_LEVELS, default=None, help="What goes to stderr.")
@_engine_flags
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    address: tuple[str, int],
    data_dir: Path,
    admin_password: str | None,
    durability: str,
    durable: bool,
    max_payload_size: int,
    retention: int,
    retention_interval: int,
    shutdown_timeout: int,
    rate_limit_enabled: bool,
    rate_limit_read_rps: float,
    rate_limit_read_burst: int,
    rate_limit_write_rps: float,
    rate_limit_write_burst: int,
    docs_enabled: bool,
    raft_max_pending: int,
    raft_max_fetch_inflight: int,
    search_timeout: int,
    metrics_prefix: str,
    otel_enabled: bool,
    otel_endpoint: str | None,
    stream_keepalive: int,
    stream_stall_timeout: int,
    stream_max_inflight: int,
    stream_max_open: int,
    stream_max_fps: int,
    fulltext_enabled: bool,
    webhook_allow_private: bool,
    codeq: bool,
    log_level: str | None,
    **engine_flags: Any,
) -> None:
    """Run the job server in the foreground. SIGTERM or Ctrl-C stops it; a second signal ends it at once."""
    _set_up_logging(log_level or obj["log_level"])
    for name, value in engine_flags.items():
        if value:
            logger.warning("--%s means nothing here and is ignored", name.replace("_", "-"))
    node_settings = NodeSettings(
        data_dir=data_dir,
        durability="full" if durable else durability,
        retention=retention,
        retention_interval=max(1000, retention_interval),
        most_waiting=raft_max_pending,
        most_claims=raft_max_fetch_inflight,
        read_timeout=max(1, search_timeout),
        fulltext_enabled=fulltext_enabled,
        may_reach_loopback=webhook_allow_private,
    )
    http_settings = HttpSettings(
        max_payload_size=max_payload_size,
        admin_password=admin_password or None,
        rate_limit_enabled=rate_limit_enabled,
        read_rps=rate_limit_read_rps,
        read_burst=rate_limit_read_burst,
        write_rps=rate_limit_write_rps,
        write_burst=rate_limit_write_burst,
        docs_enabled=docs_enabled,
        metrics_prefix=metrics_prefix,
        stream_keepalive=max(1, stream_keepalive) / 1000,
        stream_stall_timeout=max(1, stream_stall_timeout) / 1000,
        stream_max_inflight=stream_max_inflight,
        stream_max_open=stream_max_open,
        stream_max_fps=stream_max_fps,
        codeq=_codeq() if codeq else None,
    )
    if otel_endpoint and not otel_enabled:
        logger.warning("--otel-endpoint means nothing without --otel-enabled")
    tracing = _tracing(otel_endpoint) if otel_enabled else None
    _tune_interpreter()
    uvloop.run(_run(address, node_settings, http_settings, shutdown_timeout / 1000, tracing))


def _codeq() -> CodeqSettings:
    try:
        settings = read_settings(os.environ)
    except BadSettings as faults:
        raise click.ClickException(
            f"{faults}\nWith --codeq=off there is no codeQ API, and none of these is read."
        ) from None
    for remark in settings.remarks:
        logger.warning("%s", remark)
    return settings


def _tracing(endpoint: str | None) -> Tracing:
    try:
        return Tracing(endpoint)
    except TracingUnavailable as error:
        raise click.ClickException(f"--otel-enabled: {error}") from None


async def _run(
    address: tuple[str, int],
    node_settings: NodeSettings,
    http_settings: HttpSettings,
    shutdown_timeout: float,
    tracing: Tracing | None,
) -> None:
    host, port = address
    data_dir = node_settings.data_dir.absolute()
    try:
        listener = bind(host, port)
    except OSError as error:
        reason = error.strerror or error
        raise click.ClickException(f"cannot listen on {host}:{port}: {reason} (--bind takes another address)") from None
    bound = listener.getsockname()
    if ip_address(bound[0]).is_loopback:
        node_settings = msgspec.structs.replace(node_settings, may_reach_loopback=True)
        http_settings = msgspec.structs.replace(http_settings, is_local=True)
    try:
        node = Node(node_settings, tracing)
    except (DataDirectoryInUse, UnusableStore) as error:
        raise click.ClickException(str(error)) from None
    except (FileExistsError, NotADirectoryError):
        raise click.ClickException(f"cannot use the data directory {data_dir}: it is a file") from None
    except (OSError, apsw.Error) as error:
        raise click.ClickException(f"cannot use the data directory {data_dir}: {error}") from None
    if host in ("0.0.0.0", "::") and http_settings.admin_password is None:
        logger.warning("listening on all interfaces without any credential: everybody who reaches it is admin")
    server = HttpServer(node, http_settings, shutdown_timeout)
    # Before it says that it is ready: whoever has read that may stop it.
    server.heed_signals()
    shown = f"[{bound[0]}]" if ":" in bound[0] else bound[0]
    url = f"http://{shown}:{bound[1]}"
    logger.info("rookery %s ready on %s (web UI at %s/ui, data in %s)", __version__, url, url, data_dir)
    await server.serve([listener])
    logger.info("stopped")


def _tune_interpreter() -> None:
    """Requests make hardly any cycles, so look for them seldom; hand the lock quickly to the thread that commits."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    sys.setswitchinterval(0.0005)


def _set_up_logging(level: str) -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level={"warn": logging.WARNING}.get(level, level.upper()),
        format="%(asctime)s %(levelname)s %(message)s",
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
