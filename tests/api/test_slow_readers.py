"""Whoever does not read a stream is dropped; whoever reads slowly gets everything."""

import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.api.expectations import start_job
from tests.api.streams import EventStream
from tests.conftest import Api, ServerProcess, wait_for

LARGE = "x" * 200_000
SMALL_BUFFER = 4096


@pytest.fixture
def impatient(start_server: Callable[..., ServerProcess]) -> Api:
    """A server that soon drops those who do not read."""
    return Api(start_server("--rate-limit-enabled=false", "--stream-stall-timeout", "1s", "--durability", "relaxed"))


def tell_events(api: Api, job_id: str, count: int) -> None:
    for number in range(count):
        body = {"jobs": {job_id: {"progress": {"number": number, "text": LARGE}}}}
        assert api.post("/heartbeat", body).json()["acked"] == [job_id]


def tell_lines(api: Api, job_id: str, count: int) -> None:
    for number in range(count):
        assert api.post(f"/jobs/{job_id}/logs", {"lines": [{"message": f"{number} {LARGE}"}]}).status_code == 200


Tell = Callable[[Api, str, int], None]
STREAMS: list[tuple[str, Tell]] = [("/events", tell_events), ("/jobs/{}/logs/stream", tell_lines)]
both_streams = pytest.mark.parametrize(("path", "tell"), STREAMS, ids=["events", "logs"])


def peak_memory(server: ServerProcess) -> int:
    """The most memory that the server has ever had, in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) // 1024


@both_streams
def test_a_reader_who_does_not_read_is_dropped(impatient: Api, path: str, tell: Tell) -> None:
    job_id = start_job(impatient, "q")["job_id"]
    with EventStream(impatient, path.format(job_id), receive_buffer=SMALL_BUFFER) as stream:
        tell(impatient, job_id, 100)
        wait_for(lambda: "dropped a reader who does not read" in impatient.server.log.read_text())
        assert not stream.rest().endswith(b"\r\n0\r\n\r\n"), "it ended as if that had been all"
    assert impatient.job(job_id)["state"] == "active"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@both_streams
def test_nothing_is_kept_for_readers_who_do_not_read(
    start_server: Callable[..., ServerProcess], path: str, tell: Tell
) -> None:
    """Sixty readers and 100 MB that none of them takes: kept for each, that would be 6 GB."""
    api = Api(start_server("--rate-limit-enabled=false", "--stream-stall-timeout", "10m", "--durability", "relaxed"))
    job_id = start_job(api, "q", max_lost_leases=0)["job_id"]
    tell(api, job_id, 300)
    before = peak_memory(api.server)
    with ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(EventStream(api, path.format(job_id), receive_buffer=SMALL_BUFFER, last_event_id=0))
        tell(api, job_id, 200)
        assert peak_memory(api.server) - before < 300
    assert "dropped a reader" not in api.server.log.read_text()


@both_streams
def test_a_slow_reader_gets_everything_once(start_server: Callable[..., ServerProcess], path: str, tell: Tell) -> None:
    api = Api(start_server("--rate-limit-enabled=false", "--durability", "relaxed"))
    job_id = start_job(api, "q")["job_id"]
    with EventStream(api, path.format(job_id), receive_buffer=SMALL_BUFFER) as stream:
        tell(api, job_id, 60)
        seen = [number_of(stream.frame()[2]) for _ in range(60)]
        tell(api, job_id, 1)
        assert number_of(stream.frame()[2]) == 0
    assert seen == list(range(60))


def number_of(told: dict[str, Any]) -> int:
    """The number that an event or a line was told with."""
    number: int = told["data"]["number"] if "data" in told else json.loads(told["message"].partition(" ")[0])
    return number
