"""Our own end of a stream: what it sends, what it makes of answers, and how it says that it is over."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from rookery.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    InvalidRequest,
    LeaseLost,
    NotFound,
    Overloaded,
    ServerUnreachable,
    Unauthorized,
    UnexpectedAnswer,
)
from rookery.client.records import FetchedJob
from rookery.client.transport.stream import Answer, Stream, connect
from tests.conftest import Api, ServerProcess

T = TypeVar("T")
CERTIFICATE = Path(__file__).parent.parent / "localhost.pem"


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(bounded())


class Hand:
    """Where jobs arrive."""

    def __init__(self) -> None:
        self.jobs: asyncio.Queue[FetchedJob] = asyncio.Queue()

    def take(self, jobs: list[FetchedJob]) -> None:
        for job in jobs:
            self.jobs.put_nowait(job)


async def open_stream(url: str, hand: Hand | None = None, **options: Any) -> Stream[FetchedJob]:
    return await connect(url, (hand or Hand()).take, FetchedJob, **options)


def test_a_job_goes_round(api: Api, queue: str) -> None:
    async def work() -> Answer:
        hand = Hand()
        stream = await open_stream(api.server.url, hand)
        await stream.send(want={"queues": [queue], "count": 5, "worker_id": "w"})
        added = await stream.send(enqueue=[{"queue": queue, "payload": {"n": 1}}])
        job = await hand.jobs.get()
        assert added.enqueued is not None
        assert (job.job_id, job.payload) == (added.enqueued[0].job_id, {"n": 1})
        answer = await stream.send(
            ack=[{"job_id": job.job_id, "lease_token": job.lease_token}],
            heartbeat={job.job_id: {}, "other": {"lease_token": 5}},
            got=[job.job_id],
        )
        assert stream.unanswered == 0
        await stream.close()
        assert not stream.is_open
        return answer

    answer = run(work())
    assert answer.acked is not None
    assert [(outcome.status, outcome.fault) for outcome in answer.acked] == [("ok", None)]
    assert (answer.enqueued, answer.failed) == (None, None)
    assert answer.heartbeat is not None
    fault = answer.heartbeat.jobs["other"].fault
    assert isinstance(fault, InvalidRequest)
    assert fault.code == "PARSE_ERROR"


def test_faults_of_items_are_the_errors_of_http(api: Api, queue: str) -> None:
    taken = api.enqueue(queue, job_id=queue)

    async def work() -> Answer:
        stream = await open_stream(api.server.url)
        old = {"job_id": taken, "lease_token": "0" * 16}
        answer = await stream.send(
            enqueue=[{"queue": queue, "job_id": taken}, {}], ack=[{"job_id": "job_nowhere"}, old, {"job_id": taken}]
        )
        await stream.close()
        return answer

    answer = run(work())
    faults = [outcome.fault for outcome in [*(answer.enqueued or []), *(answer.acked or [])]]
    assert [type(fault) for fault in faults] == [Conflict, InvalidRequest, NotFound, LeaseLost, InvalidRequest]
    assert isinstance(faults[0], Conflict)
    assert faults[0].job_id == taken


def test_a_frame_that_is_refused_raises_and_the_stream_goes_on(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--rate-limit-write-rps=0.001", "--rate-limit-write-burst=3")

    async def work() -> None:
        stream = await open_stream(server.url)
        with pytest.raises(InvalidRequest, match="want: queues is required"):
            await stream.send(want={})
        await stream.send(enqueue=[{"queue": "q"}])
        with pytest.raises(Overloaded) as refused:
            await stream.send(enqueue=[{"queue": "q"}] * 2)
        assert (refused.value.code, refused.value.retry_after) == ("RATE_LIMITED", 1.0)
        assert (await stream.send(enqueue=[{"queue": "q"}])).enqueued is not None
        await stream.close()

    run(work())


def test_who_is_not_let_in_hears_why(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--admin-password=secret", "--stream-max-open=1")

    async def work() -> None:
        for key, kind in ((None, Unauthorized), ("wrong", Unauthorized)):
            with pytest.raises(kind, match="API key"):
                await open_stream(server.url, api_key=key)
        with pytest.raises(InvalidRequest, match="namespace"):
            await open_stream(server.url, api_key="secret", namespace="No Such")
        with pytest.raises(NotFound):
            await open_stream(f"{server.url}/elsewhere", api_key="secret")
        stream = await open_stream(server.url, api_key="secret", namespace="tenant")
        with pytest.raises(Overloaded, match="streams are open already"):
            await open_stream(server.url, api_key="secret")
        await stream.send(enqueue=[{"queue": "q"}])
        await stream.close()

    run(work())
    queues = server.http.get("/api/v1/queues", headers={"X-API-Key": "secret"}).json()
    assert [queue["name"] for queue in queues] == ["tenant::q"]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", ServerUnreachable),
        (b"", ServerUnreachable),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", UnexpectedAnswer),
        (b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nhi", Forbidden),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nhi", ApiError),
    ],
)
def test_what_is_no_server_of_ours_is_said_to_be_none(said: bytes, kind: type[Exception]) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    async def work() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(kind):
            await open_stream(f"http://127.0.0.1:{port}")
        server.close()
        await server.wait_closed()
        with pytest.raises(ServerUnreachable, match=f"cannot connect to 127.0.0.1:{port}"):
            await open_stream(f"http://127.0.0.1:{port}")

    run(work())


def test_a_server_that_accepts_and_says_nothing_is_given_up() -> None:
    gone = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()
        writer.close()
        gone.set()

    async def work() -> None:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ServerUnreachable, match="timed out"):
            await open_stream(f"http://127.0.0.1:{port}", timeout=0.2)
        await gone.wait()
        server.close()
        await server.wait_closed()

    run(work())


def test_when_the_connection_is_lost_everybody_who_waits_hears_of_it(
    start_server: Callable[..., ServerProcess],
) -> None:
    server = start_server("--rate-limit-enabled=false")

    async def work() -> None:
        stream = await open_stream(server.url)
        server.process.kill()
        unanswered = [stream.send(enqueue=[{"queue": "q"}]) for _ in range(3)]
        for answer in unanswered:
            with pytest.raises(ServerUnreachable, match="lost"):
                await answer
        assert isinstance(await stream.lost, ServerUnreachable)
        with pytest.raises(ServerUnreachable):
            await stream.send(got=[])
        await stream.drain()
        await stream.close()

    run(work())


def test_when_the_server_stops_the_reason_is_told(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--rate-limit-enabled=false")

    async def work() -> None:
        stream = await open_stream(server.url)
        server.process.terminate()
        reason = await stream.lost
        assert str(reason) == "the server closed the stream: the server stops"
        await stream.close()

    run(work())
    assert server.process.wait(45) == 0


def test_frames_may_be_large(api: Api, queue: str) -> None:
    async def work() -> None:
        hand = Hand()
        stream = await open_stream(api.server.url, hand)
        await stream.send(want={"queues": [queue], "count": 100})
        answers = [stream.send(enqueue=[{"queue": queue, "payload": "x" * 200_000}] * 10) for _ in range(10)]
        await stream.drain()
        jobs = [await hand.jobs.get() for _ in range(100)]
        await asyncio.gather(*answers)
        assert {len(job.payload) for job in jobs} == {200_000}
        await stream.close()

    run(work())


def test_a_stream_may_be_encrypted(api: Api, queue: str) -> None:
    port = int(api.server.url.rpartition(":")[2])

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_on(reader, far_writer), pass_on(far_reader, writer))

    async def work() -> None:
        ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        ours.load_cert_chain(CERTIFICATE)
        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=ours)
        url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(ServerUnreachable, match="certificate"):
            await open_stream(url)
        stream = await open_stream(url, tls=ssl.create_default_context(cafile=str(CERTIFICATE)))
        answer = await stream.send(enqueue=[{"queue": queue}])
        assert answer.enqueued is not None
        await stream.close()
        server.close()
        await server.wait_closed()

    run(work())
    assert api.get(f"/queues/{queue}").json()["pending"] == 1
