"""What the heartbeat thread tells of running jobs, without a server."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rookery import App
from rookery.client.errors import ServerUnreachable, StorageUnavailable
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.functions.current import LogLine
from rookery.client.functions.outcomes import Done, Outcome
from rookery.client.records import Heartbeat
from rookery.client.transport.requests import Request
from rookery.client.worker import heartbeats as module
from rookery.client.worker.heartbeats import Heartbeats, RunningJob
from rookery.client.worker.outbox import Outbox
from tests.conftest import wait_for
from tests.worker.fake_wire import claim

LIMIT = 256 * 1024


class FakeHost:
    """A worker that only listens."""

    def __init__(self) -> None:
        self.running: dict[Any, RunningJob] = {}
        self.outbox = Outbox()
        self.lease_seconds = 60
        self.concluded: list[str] = []

    def look_at_loop(self) -> None: ...

    def take_waiting(self, received_before: float) -> list[ClaimedJob]:
        return []

    def tell_cancelled(self, job: RunningJob, reason: str) -> None:
        job.tell_cancelled(reason)

    def conclude(self, job: RunningJob, outcome: Outcome) -> None:
        self.concluded.append(job.id)

    def forget_handed_back(self) -> None: ...


class FakeClient:
    """Keeps the bodies of the requests that were heard."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.on_send: Callable[[int], None] = lambda number: None

    def _send(self, request: Request[Any]) -> Any:
        self.on_send(len(self.heard))
        self.heard.append(request.body or b"")
        if request.path.endswith("/heartbeat"):
            return Heartbeat(jobs={})
        return None

    def close(self) -> None: ...

    @property
    def lines(self) -> list[str]:
        return [line["message"] for body in self.heard for line in json.loads(body).get("lines", [])]


class Desk:
    """The thread, and those it talks with."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.client = FakeClient()
        self.heartbeats = Heartbeats(self.host, self.client)  # type: ignore[arg-type]

    def job(self, number: int = 1, **fields: Any) -> RunningJob:
        app = App()
        job = RunningJob(claim("q", number, **fields), self.heartbeats, None, app.job(queue="q")(lambda: None), 1e9)
        self.host.running[job.claim.lease_token] = job
        return job

    def finish(self, job: RunningJob) -> None:
        """Let the thread tell everything of the job."""
        self.heartbeats.finish(job, Done())
        self.heartbeats.start()
        wait_for(lambda: self.host.concluded)


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.heartbeats.close(5)


def test_many_long_lines_go_in_as_many_requests_as_it_takes(desk: Desk) -> None:
    job = desk.job()
    said = [f"{number} " + "x" * 2000 for number in range(400)]
    for message in said:
        job.log(message)

    desk.finish(job)
    assert desk.client.lines == said
    assert max(map(len, desk.client.heard)) < LIMIT


def test_lines_that_come_while_others_are_sent_are_not_forgotten(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_KEPT_LINES", 3)
    job = desk.job()
    for number in range(3):
        job.log(str(number))
    desk.client.on_send = lambda number: job.log("late") if number == 0 else None

    desk.heartbeats.start()
    wait_for(lambda: "late" in desk.client.lines)
    assert desk.client.lines == ["0", "1", "2", "late"]


def test_lines_that_were_heard_are_not_sent_again_when_others_were_not(desk: Desk) -> None:
    job = desk.job()
    said = [f"{number} " + "x" * 150_000 for number in range(3)]
    for message in said:
        job.log(message)
    troubles = [ServerUnreachable("gone")]

    def break_once(number: int) -> None:
        if number == 1 and troubles:
            raise troubles.pop()

    desk.client.on_send = break_once
    desk.finish(job)
    assert desk.client.lines == said


def test_lines_that_utf8_cannot_say_are_sent_with_question_marks(desk: Desk) -> None:
    job = desk.job()
    job.log("bad \udcff", "inf\udcff")

    desk.finish(job)
    assert desk.client.lines == ["bad ?"]


def test_reports_that_cannot_be_written_do_not_hold_up_other_jobs(desk: Desk) -> None:
    bad, good = desk.job(1), desk.job(2)
    desk.heartbeats.log(bad, LogLine("\udcff", "info", "2026-01-01T00:00:00Z", 1))
    good.log("fine")
    desk.heartbeats.finish(bad, Done())

    desk.finish(good)
    wait_for(lambda: sorted(desk.host.concluded) == ["job_1", "job_2"])
    assert desk.client.lines == ["fine"]


def test_a_job_whose_reports_are_not_heard_does_not_hold_up_one_that_has_none_left(desk: Desk) -> None:
    stuck, good = desk.job(1), desk.job(2)
    stuck.log("never heard")
    good.progress(1)

    def refuse_lines(number: int) -> None:
        if number:
            raise StorageUnavailable(503, "STORAGE_UNAVAILABLE", "no")

    desk.client.on_send = refuse_lines
    desk.heartbeats.finish(stuck, Done())
    desk.finish(good)
    assert desk.host.concluded == ["job_2"]


def test_a_job_that_logs_without_end_keeps_no_other_from_its_heartbeats_its_log_and_its_outcome(desk: Desk) -> None:
    noisy, quiet, ended = desk.job(1), desk.job(2), desk.job(3)
    noisy.log("more")
    quiet.log("mine")
    ended.log("last words")
    desk.client.on_send = lambda number: noisy.log("more")

    desk.finish(ended)
    wait_for(lambda: "mine" in desk.client.lines)
    assert desk.host.concluded == ["job_3"]
    quiet.beat_at = 0.0
    wait_for(lambda: any("job_2" in json.loads(body).get("jobs", {}) for body in list(desk.client.heard)))
    desk.client.on_send = lambda number: None


def test_what_a_job_says_after_its_end_does_not_hold_up_its_outcome(desk: Desk) -> None:
    job = desk.job()
    job.log("in time")
    desk.client.on_send = lambda number: job.log("too late")

    desk.finish(job)
    assert desk.client.lines == ["in time"]
