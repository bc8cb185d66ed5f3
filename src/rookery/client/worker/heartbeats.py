"""Heartbeats, reports and logs of running jobs, from a thread of its own: a blocked event loop loses no lease."""

import logging
import threading
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from rookery.client.calls.work import MOST_LINES, NewLine, add_logs_in_parts
from rookery.client.client import Client
from rookery.client.errors import (
    ApiError,
    InvalidRequest,
    LeaseLost,
    NotFound,
    Overloaded,
    PayloadTooLarge,
    RookeryError,
)
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.functions.current import CANCELLED, LEASE_LOST, CurrentJob, LogLine
from rookery.client.functions.functions import JobFunction
from rookery.client.functions.outcomes import Outcome
from rookery.client.records import Heartbeat, LogsAdded
from rookery.client.transport.requests import API, Request, answer_as
from rookery.client.worker.outbox import Outbox

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger("rookery.worker")

TICK: Final = 0.5
"""How often the thread looks around when nobody wakes it."""
GATHER_FOR: Final = 0.1
"""Reports that come within this time of one another go together."""
WAITED_TOO_LONG: Final = 1.0
"""Seconds after which a job in hand that could not begin is handed back."""
LINES_FOR: Final = 0.25
"""Seconds that lines of logs are sent before heartbeats have their turn again: less than a third of any lease."""
MOST_BEATS: Final = 500
MOST_KEPT_LINES: Final = 10_000


_encode: Final = msgspec.json.Encoder().encode


class RunningJob(CurrentJob):
    """A job that the worker runs, with what is yet to be told of it."""

    __slots__ = (
        "beat_at",
        "checkpoint_unsent",
        "function",
        "has_ended",
        "lines",
        "logged_at",
        "progress_unsent",
        "task",
    )

    def __init__(
        self, claim: ClaimedJob, reports: "Heartbeats", state: Any, function: JobFunction[..., Any], now: float
    ) -> None:
        super().__init__(claim, reports, state, function.log_level)
        self.function = function
        self.task: asyncio.Task[None] | None = None
        self.beat_at = now + claim.lease_duration / 3
        self.progress_unsent: msgspec.Raw | None = None
        self.checkpoint_unsent: msgspec.Raw | None = None
        self.lines: list[LogLine] | None = None
        self.logged_at = 0.0
        self.has_ended = False

    @property
    def has_unsent(self) -> bool:
        """Whether there are reports that the server has not heard."""
        return self.progress_unsent is not None or self.checkpoint_unsent is not None or bool(self.lines)

    def forget_reports(self) -> None:
        """The server does not want to hear of the job any more, but for its log."""
        self.progress_unsent = self.checkpoint_unsent = None


class Host(Protocol):
    """The worker, as the thread sees it."""

    running: dict[Any, RunningJob]
    outbox: Outbox
    lease_seconds: int

    def look_at_loop(self) -> None:
        """See whether the loop turns."""

    def take_waiting(self, received_before: float) -> list[ClaimedJob]:
        """Take out jobs that could not begin."""

    def tell_cancelled(self, job: RunningJob, reason: str) -> None:
        """The work on a job is no longer wanted."""

    def conclude(self, job: RunningJob, outcome: Outcome) -> None:
        """All reports of a job have been heard; its outcome may go."""

    def forget_handed_back(self) -> None:
        """Jobs were handed back behind the connection's back."""


class Beat(msgspec.Struct, omit_defaults=True):
    """A heartbeat of one job."""

    lease_token: str | None
    lease_duration: int
    progress: msgspec.Raw | None = None
    checkpoint: msgspec.Raw | None = None


class Heartbeats:
    """The thread, and what it has yet to tell."""

    def __init__(self, host: Host, client: Client) -> None:
        self._host = host
        self._client = client
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._finishing: deque[tuple[RunningJob, Outcome]] = deque()
        self._closed = threading.Event()
        self._is_reachable = True
        self._untold_at = 0.0
        self._thread = threading.Thread(target=self._run, name="rookery-heartbeats", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self, patience: float) -> None:
        """Stop; wait for what is under way, but not for long."""
        self._closed.set()
        self._wake.set()
        self._thread.join(patience)
        self._client.close()

    def report(self, job: CurrentJob, progress: msgspec.Raw | None, checkpoint: msgspec.Raw | None) -> None:
        """Keep what a job says of itself, and see that it is sent soon. The newest of each counts."""
        assert isinstance(job, RunningJob)
        with self._lock:
            if job.has_ended:
                return
            if progress is not None:
                job.progress_unsent = progress
            if checkpoint is not None:
                job.checkpoint_unsent = checkpoint
        self._wake.set()

    def log(self, job: CurrentJob, line: LogLine) -> None:
        """Keep a line for the job's log; it goes with others."""
        assert isinstance(job, RunningJob)
        with self._lock:
            if job.has_ended:
                return
            if job.lines is None:
                job.lines = []
            job.lines.append(line)
            if len(job.lines) > MOST_KEPT_LINES:
                del job.lines[0]

    def finish(self, job: RunningJob, outcome: Outcome) -> None:
        """The work has ended; the outcome follows when all reports have been heard."""
        with self._lock:
            # A thread that nobody waits for any more may still talk: the outcome would wait for ever.
            job.has_ended = True
        self._finishing.append((job, outcome))
        self._wake.set()

    @property
    def is_finishing(self) -> int:
        """How many outcomes wait for their reports."""
        return len(self._finishing)

    def _run(self) -> None:
        pause = 0.0
        while not self._closed.is_set():
            self._wake.wait(TICK)
            self._wake.clear()
            try:
                self._look_around()
                pause = 0.0
                if not self._is_reachable:
                    self._is_reachable = True
                    logger.info("heartbeats reach the server again")
            except RookeryError as error:
                if self._is_reachable:
                    logger.warning("heartbeats do not reach the server: %s", error)
                self._is_reachable = False
                told = error.retry_after if isinstance(error, Overloaded) else 0.0
                pause = min(max(pause * 2, 0.2, told), 2.0)
            except Exception:
                logger.exception("heartbeats: something unexpected")
                pause = 1.0
            self._closed.wait(pause or GATHER_FOR)

    def _look_around(self) -> None:
        now = monotonic()
        self._host.look_at_loop()
        self._hand_back(now)
        finishing = [job for job, _ in list(self._finishing)]
        running = list(self._host.running.values())
        due = [job for job in running if job.beat_at <= now or job.has_unsent]
        try:
            self._send(list(dict.fromkeys([*finishing, *due])), now)
        finally:
            self._conclude_heard()

    def _conclude_heard(self) -> None:
        """The outcomes of jobs of which all reports have been heard may go; those of others wait."""
        for ended in list(self._finishing):
            if not ended[0].has_unsent:
                self._host.conclude(*ended)
                self._finishing.remove(ended)

    def _send(self, jobs: list[RunningJob], now: float) -> None:
        beating = [job for job in jobs if not job.cancelled and self._needs_beat(job, now)]
        for start in range(0, len(beating), MOST_BEATS):
            self._beat(beating[start : start + MOST_BEATS])
        self._keep_untold(now)
        self._send_logs([job for job in jobs if job.lines])

    def _send_logs(self, talking: list[RunningJob]) -> None:
        """A request for each job in turn, those first that have waited longest, until it is time for heartbeats."""
        end = monotonic() + LINES_FOR
        waiting = deque(sorted(talking, key=lambda job: job.logged_at))
        while waiting:
            job = waiting.popleft()
            self._send_lines(job)
            job.logged_at = monotonic()
            if job.lines:
                waiting.append(job)
            if job.logged_at > end:
                break
        if waiting:
            self._wake.set()

    def _keep_untold(self, now: float) -> None:
        """Jobs that have ended, but of which the server could not be told yet, are not to be given away either."""
        untold = self._host.outbox.messages()[:MOST_BEATS] if now >= self._untold_at else []
        if untold:
            self._untold_at = now + self._host.lease_seconds / 3
            self._client._send(
                _beats_request(
                    {message.job_id: Beat(message.lease_token, self._host.lease_seconds) for message in untold}
                )
            )

    @staticmethod
    def _needs_beat(job: RunningJob, now: float) -> bool:
        return job.beat_at <= now or job.progress_unsent is not None or job.checkpoint_unsent is not None

    def _beat(self, jobs: list[RunningJob]) -> None:
        """Tell of jobs together; if the server does not like what one of them reports, each for itself."""
        try:
            self._beat_together(jobs)
        except (InvalidRequest, PayloadTooLarge) as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._beat([job])
            elif jobs[0].progress_unsent is not None or jobs[0].checkpoint_unsent is not None:
                logger.warning("job %s: what it reported was refused: %s", jobs[0].id, error)
                jobs[0].forget_reports()
            else:
                raise

    def _beat_together(self, jobs: list[RunningJob]) -> None:
        with self._lock:
            beats = {
                job.id: Beat(
                    job.claim.lease_token, job.claim.lease_duration, job.progress_unsent, job.checkpoint_unsent
                )
                for job in jobs
            }
        found = self._client._send(_beats_request(beats)).jobs
        now = monotonic()
        for job in jobs:
            status = found[job.id].status if job.id in found else "ok"
            beat = beats[job.id]
            with self._lock:
                # A newer report may have come while this one was on its way.
                if job.progress_unsent is beat.progress or status != "ok":
                    job.progress_unsent = None
                if job.checkpoint_unsent is beat.checkpoint or status != "ok":
                    job.checkpoint_unsent = None
            job.beat_at = now + job.claim.lease_duration / 3
            if status != "ok":
                self._host.tell_cancelled(job, LEASE_LOST if status == "lost" else CANCELLED)

    def _send_lines(self, job: RunningJob) -> None:
        """The oldest lines of a job, as many as go into one request."""
        with self._lock:
            lines = (job.lines or [])[:MOST_LINES]
        said = [NewLine(line.message, line.level, line.at, line.attempt) for line in lines]
        try:
            request, count = next(add_logs_in_parts(job.id, said, None, job.claim.lease_token))
        except (TypeError, ValueError) as error:
            logger.warning("job %s: %d lines of its log cannot be written: %s", job.id, len(said), error)
            count = len(said)
        else:
            self._send_part(job, request, count)
        sent = set(map(id, lines[:count]))
        with self._lock:
            # Others may have come meanwhile, and pushed out the oldest.
            job.lines = [line for line in job.lines or () if id(line) not in sent]

    def _send_part(self, job: RunningJob, request: Request[LogsAdded], count: int) -> None:
        """Some lines of a job's log; those that the server does not want are gone."""
        try:
            self._client._send(request)
        except (LeaseLost, NotFound):
            pass
        except Overloaded:
            raise
        except ApiError as error:
            if error.status >= 500:
                raise
            logger.warning("job %s: %d lines of its log were refused: %s", job.id, count, error)

    def _hand_back(self, now: float) -> None:
        """Jobs that wait in hand behind something long go back, so that others can have them."""
        waiting = self._host.take_waiting(now - WAITED_TOO_LONG)
        for claim in waiting:
            try:
                self._client.release(claim.job_id, lease_token=claim.lease_token, reason="the worker was busy")
            except (LeaseLost, NotFound):
                pass
            except RookeryError as error:
                # Nobody has named it to the server as received, or its lease runs out: it comes again either way.
                logger.warning("job %s could not be handed back: %s", claim.job_id, error)
        if waiting:
            self._host.forget_handed_back()


def _beats_request(beats: dict[str, Beat]) -> Request[Heartbeat]:
    return Request("POST", f"{API}/heartbeat", answer_as(Heartbeat), body=_encode({"jobs": beats}))
