"""`queuectl dashboard`: a page to watch the jobs of this home, and the same as JSON, by a small HTTP server.

It is for people at this machine: it listens on loopback unless told otherwise, and asks nobody who they are. So it
keeps pages of other sites out, which may use the browser of whoever looks at them.
"""

import signal
import socket
import sys
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from secrets import token_urlsafe
from threading import Thread
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import click
import msgspec

from rookery.queuectl.commands import in_home, refuse
from rookery.queuectl.home import Home, HomeError
from rookery.queuectl.jobs import STATES
from rookery.queuectl.local import read_figures, read_status, retry_dead
from rookery.queuectl.logfiles import read_tail
from rookery.queuectl.metrics import CONTENT_TYPE, metrics_text
from rookery.queuectl.page import render_page
from rookery.queuectl.reads import find_job, find_jobs

JOBS_SHOWN: Final = 1000
"""How many jobs `GET /api/jobs` answers with, unless it is told how many."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_MOST_READ: Final = 64 * 1024
_CLOSED: Final = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
_OPEN_TO_ITSELF: Final = (
    "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; connect-src 'self'; "
    "img-src data:; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'"
)


class Answer(NamedTuple):
    """What is sent back."""

    status: HTTPStatus
    kind: str
    body: bytes
    policy: str = _CLOSED


class Refused(Exception):
    """A request that gets an error: its status and a text."""


@click.command("dashboard")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8090, show_default=True, metavar="N", help="0: any.")
@in_home("this page shows a home; to watch a server there is `rookery top --server {url}`")
def command(home: Home, /, host: str, port: int) -> None:
    """Serve a page to watch the jobs and to retry dead ones, until Ctrl-C.

    \b
    /                        the page
    /api/status              as `queuectl status --json`
    /api/jobs                ?state= &queue= &limit=
    /api/jobs/ID             one job; /api/jobs/ID/log its log
    /api/dlq/ID/retry        POST: run a dead job again
    /metrics                 figures for Prometheus
    """
    home.reader()
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a script's `&` may have switched off
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        server = DashboardServer(home, host, port)
    except OSError as error:
        refuse(f"cannot listen on {host} port {port}: {error.strerror or error}")
    with server:
        Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        click.echo(f"Dashboard of {home.path} on {server.url} (Ctrl-C stops it)")
        if not server.is_loopback:
            click.echo("Whoever reaches this address can read all jobs and retry dead ones.", err=True)
        signal.sigwait(ends)
        server.shutdown()


class DashboardServer(ThreadingHTTPServer):
    """Listens, and gives each request a thread."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, home: Home, host: str, port: int) -> None:
        self.home = home
        self.address_family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        super().__init__((str(address[0]), int(address[1])), Handler)
        self.is_loopback = ip_address(self.server_name.partition("%")[0]).is_loopback
        self.names = {host, "localhost"}
        shown = f"[{self.server_name}]" if ":" in self.server_name else self.server_name
        self.url = f"http://{shown}:{self.server_port}/"

    def server_bind(self) -> None:
        """Bind without asking a name server what this machine is called."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: DashboardServer
    server_version = "queuectl"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Read something."""
        self._answer(self._read)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Do something; what comes with it is read, so that the answer is."""
        length = self.headers.get("Content-Length", "0")
        self.rfile.read(min(int(length), _MOST_READ) if length.isdigit() else 0)
        self._answer(self._do)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing about requests."""

    def _answer(self, ask: Any) -> None:
        try:
            self._refuse_strangers()
            with Home(self.server.home.path) as home:
                answer = ask(home, *self._path())
        except Refused as refused:
            answer = _json({"error": str(refused.args[1])}, refused.args[0])
        except HomeError as error:
            answer = _json({"error": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE)
        self.send_response(answer.status)
        headers = {"Content-Type": answer.kind, "Content-Length": str(len(answer.body)), **_HEADERS}
        for name, value in {**headers, "Content-Security-Policy": answer.policy}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            with suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(answer.body)

    def _path(self) -> tuple[list[str], dict[str, str]]:
        """The steps of the path, each decoded for itself: an id may have a slash in it. And the query."""
        try:
            parts = urlsplit(self.path)
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "this is no address") from None
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        return [unquote(step) for step in parts.path.split("/")[1:]], query

    def _refuse_strangers(self) -> None:
        """Refuse what a page of another site has sent, also if that site has taken our address for its name."""
        host = self.headers.get("Host", "")
        if self.server.is_loopback and not _is_local(host, self.server.names):
            raise Refused(HTTPStatus.FORBIDDEN, f"this dashboard is not {host[:100]!r}")
        if self.command == "POST":
            origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site")
            if (origin is not None and urlsplit(origin).netloc != host) or site not in (None, "same-origin", "none"):
                raise Refused(HTTPStatus.FORBIDDEN, "pages of other sites may not do this")

    def _read(self, home: Home, path: list[str], query: dict[str, str]) -> Answer:
        match path:
            case [""]:
                nonce = token_urlsafe(16)
                page = render_page(home, nonce).encode(errors="replace")
                return Answer(HTTPStatus.OK, "text/html; charset=utf-8", page, _OPEN_TO_ITSELF.format(nonce=nonce))
            case ["metrics"]:
                return Answer(HTTPStatus.OK, CONTENT_TYPE, metrics_text(read_figures(home.reader())).encode())
            case ["api", "status"]:
                return _json(read_status(home.reader()))
            case ["api", "jobs"]:
                return _json(list(find_jobs(home.reader(), *_filter(query))))
            case ["api", "jobs", job_id]:
                return _json(_known(home, job_id))
            case ["api", "jobs", job_id, "log"]:
                _known(home, job_id)
                return Answer(HTTPStatus.OK, "text/plain; charset=utf-8", _log(home, job_id, query))
            case ["api", "dlq", _, "retry"]:
                raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "this takes POST")
        raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")

    def _do(self, home: Home, path: list[str], query: dict[str, str]) -> Answer:
        match path:
            case ["api", "dlq", job_id, "retry"]:
                if find_job(home.reader(), job_id) is None or not retry_dead(home, [job_id]):
                    raise Refused(HTTPStatus.NOT_FOUND, f"no dead job {job_id}")
                return _json(_known(home, job_id))
        raise Refused(HTTPStatus.NOT_FOUND, "there is no such action")


def _is_local(host: str, names: set[str]) -> bool:
    """Whether a Host header names this machine's loopback, by address or by a name that nobody else can have."""
    with suppress(ValueError):
        name = urlsplit(f"//{host}").hostname or ""
        return name in names or ip_address(name).is_loopback
    return False


def _json(value: Any, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    return Answer(status, "application/json", msgspec.json.encode(value) + b"\n")


def _known(home: Home, job_id: str) -> dict[str, Any]:
    job = find_job(home.reader(), job_id)
    if job is None:
        raise Refused(HTTPStatus.NOT_FOUND, f"job {job_id} not found")
    return job


def _filter(query: dict[str, str]) -> tuple[str | None, str | None, int]:
    state, queue = query.get("state"), query.get("queue")
    if state is not None and state not in STATES:
        raise Refused(HTTPStatus.BAD_REQUEST, f"state: must be one of {', '.join(STATES)}")
    return state, queue, _count(query, "limit", JOBS_SHOWN)


def _log(home: Home, job_id: str, query: dict[str, str]) -> bytes:
    tail = _count(query, "tail", -1)
    try:
        return b"".join(read_tail(home.log_path(job_id), None if tail < 0 else tail))
    except FileNotFoundError:
        return b""


def _count(query: dict[str, str], name: str, default: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused(HTTPStatus.BAD_REQUEST, f"{name}: must be an integer of at least 0")
    return int(text)
