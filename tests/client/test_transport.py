"""How both clients get along with connections, and with servers that do not behave."""

import asyncio
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rookery import AnswerTimeout, AsyncClient, Client, PayloadTooLarge, ServerUnreachable, UnexpectedAnswer
from tests.client.bad_server import BadServer, answer, hang_up, say, silence
from tests.client.conftest import Connect
from tests.conftest import ServerProcess, wait_for
from tests.receiver import CERTIFICATE

StartBad = Callable[..., BadServer]

INFO = {"server_version": "1", "api_version": "1"}
OK = answer(200, INFO)


def test_a_connection_is_used_again(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(OK)
    client = connect(server.url)
    for _ in range(5):
        assert client.info().server_version == "1"
    assert (len(server.requests), server.connections) == (5, 1)


def test_a_connection_that_the_server_has_closed_is_replaced(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(OK)
    client = connect(server.url, retries=0)
    client.info()
    server.hang_up_all()
    assert client.info().server_version == "1"
    server.hang_up_all()
    client.retry("job_1")
    assert server.connections == 3


def test_a_connection_that_the_server_wants_to_close_is_not_used_again(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(answer(200, INFO, connection="close"))
    client = connect(server.url)
    for _ in range(3):
        client.info()
    assert server.connections == 3


def test_a_kept_connection_that_dies_under_a_safe_request_is_replaced(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(OK, hang_up, OK)
    client = connect(server.url, retries=0)
    client.info()
    assert client.info().server_version == "1"
    assert (len(server.requests), server.connections) == (3, 2)


def test_a_kept_connection_that_dies_under_another_request_is_an_error(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(OK, hang_up, answer(200, {"deleted": 1}))
    client = connect(server.url)
    client.info()
    with pytest.raises(ServerUnreachable, match="closed without an answer") as caught:
        client.clear("q")
    assert caught.value.was_sent
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (hang_up, "the connection was closed without an answer"),
        (say(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nabc", then_close=True), "in the middle of the answer"),
        (say(b"\x15\x03\x01 garbage\r\n\r\n"), "what came is not an answer of HTTP"),
    ],
)
def test_a_bad_answer_is_an_error_that_says_what_was_wrong(
    connect: Connect, bad_server: StartBad, behaviour: Any, message: str
) -> None:
    server = bad_server(behaviour)
    with pytest.raises(ServerUnreachable, match=message) as caught:
        connect(server.url, retries=0).info()
    assert caught.value.was_sent
    assert len(server.requests) == 1


def test_a_server_that_never_answers_is_not_waited_for(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(silence, OK)
    client = connect(server.url, timeout=0.2)
    with pytest.raises(AnswerTimeout, match="did not answer in time") as caught:
        client.enqueue("q")
    assert caught.value.was_sent
    assert len(server.requests) == 1
    client.info()
    assert server.connections == 2


def test_an_answer_that_comes_in_drops_has_to_be_whole_in_time(connect: Connect, bad_server: StartBad) -> None:
    stop = threading.Event()

    def drip(connection: socket.socket, request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n")
        while not stop.wait(0.05):
            connection.sendall(b"x")

    client = connect(bad_server(drip).url, timeout=0.4)
    try:
        with pytest.raises(AnswerTimeout):
            client.info()
    finally:
        stop.set()


def test_nobody_there_is_an_error_that_says_where(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ServerUnreachable, match=f"cannot connect to 127.0.0.1:{port}: Connection refused") as caught:
        connect(f"http://127.0.0.1:{port}", retries=1).enqueue("q")
    assert not caught.value.was_sent
    with pytest.raises(ServerUnreachable, match=r"cannot connect to nowhere\.invalid:80: "):
        connect("http://nowhere.invalid", retries=0).info()


def test_answers_come_in_every_form(connect: Connect, bad_server: StartBad) -> None:
    text = json.dumps(INFO).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in text)
    server = bad_server(
        say(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"),
        say(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(text), text)),
        say(b"HTTP/1.0 200 OK\r\n\r\n" + text, then_close=True),
        OK,
    )
    client = connect(server.url)
    assert [client.info().api_version for _ in range(4)] == ["1"] * 4
    assert server.connections == 2


def test_large_bodies_go_both_ways(connect: Connect, bad_server: StartBad) -> None:
    large = "x" * (8 << 20)
    server = bad_server(answer(200, {"restored_jobs": 1, "skipped_jobs": 0, "namespace": large}))
    assert connect(server.url).restore({"jobs": [{"payload": large}]}).namespace == large
    assert large.encode() in server.requests[0]


def test_another_kind_of_server_is_noticed(connect: Connect, bad_server: StartBad) -> None:
    page = b"<html>welcome</html>"
    server = bad_server(
        say(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(page), page)),
        answer(302, location="/login"),
        answer(200, {"some": "thing"}),
    )
    client = connect(server.url)
    for _ in range(3):
        with pytest.raises(UnexpectedAnswer):
            client.info()


def test_requests_say_who_asks(connect: Connect, bad_server: StartBad, monkeypatch: pytest.MonkeyPatch) -> None:
    server = bad_server(OK)
    connect(f"{server.url}/jobs/v2/", api_key="k y", namespace="blue").info()
    head = server.requests[0].decode()
    assert head.startswith("GET /jobs/v2/api/v1/info HTTP/1.1\r\n")
    assert f"\r\nhost: 127.0.0.1:{server.port}\r\n" in head
    assert "\r\nx-api-key: k y\r\n" in head
    assert "\r\nx-rookery-namespace: blue\r\n" in head
    assert "\r\nuser-agent: rookery-python/" in head
    for prefix in ("CORVO", "ROOKERY"):
        monkeypatch.setenv(f"{prefix}_URL", server.url if prefix == "ROOKERY" else "http://127.0.0.1:1")
        monkeypatch.setenv(f"{prefix}_API_KEY", prefix)
        monkeypatch.setenv(f"{prefix}_NAMESPACE", prefix.lower())
    connect(None).info()
    assert b"\r\nx-api-key: ROOKERY\r\n" in server.requests[1]
    assert b"\r\nx-rookery-namespace: rookery\r\n" in server.requests[1]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://x", "must begin with http:// or https://"),
        ("http://user:secret@x", "must not contain a user name or password"),
        ("http://", "it has no host"),
        ("http://x:y", "is not the URL of a server"),
        ("http://x?a=b", "must end with its host, or with a path"),
        ("http://a b", "it has no host"),
    ],
)
def test_a_url_that_is_none_is_refused(connect: Connect, url: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        connect(url)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": -1}, {"pool_size": 0}], ids=repr)
def test_limits_that_let_nothing_through_are_refused(connect: Connect, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        connect("http://localhost", **options)


def test_a_body_that_the_server_does_not_want_is_refused_in_its_words(client: Any) -> None:
    with pytest.raises(PayloadTooLarge, match="the limit"):
        client.enqueue("q", "x" * (20 << 20))
    assert client.info().server_version


def test_another_event_loop_will_do(bad_server: StartBad) -> None:
    uvloop = pytest.importorskip("uvloop")
    server = bad_server(OK, OK, hang_up, answer(200, {"deleted": 1}))

    async def ask() -> None:
        async with AsyncClient(server.url, retries=0) as client:
            await client.info()
            await client.pause("q")
            await client.resume("q")
            server.hang_up_all()
            assert await client.clear("q") == 1

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(ask())


def test_a_key_that_would_break_the_request_is_refused(connect: Connect) -> None:
    with pytest.raises(ValueError, match="x-api-key: the value has characters that a header cannot have"):
        connect("http://localhost", api_key="a\r\nb: c")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_localhost_is_found_on_either_protocol(connect: Connect, host: str) -> None:
    try:
        server = BadServer(OK, host=host)
    except OSError:
        pytest.skip("this machine has no IPv6")
    try:
        assert connect(f"localhost:{server.port}").info().server_version == "1"
        assert connect(server.url).info().server_version == "1"
    finally:
        server.close()


def test_a_server_with_a_certificate(connect: Connect) -> None:
    trusted = ssl.create_default_context(cafile=str(CERTIFICATE))
    server = TlsServer(OK)
    try:
        client = connect(f"https://localhost:{server.port}", tls=trusted)
        assert [client.info().server_version for _ in range(3)] == ["1"] * 3
        with pytest.raises(ServerUnreachable, match="certificate verify failed") as caught:
            connect(f"https://localhost:{server.port}", retries=0).info()
        assert not caught.value.was_sent
        assert len(server.requests) == 3
    finally:
        server.close()


class TlsServer(BadServer):
    """The same with a certificate for localhost."""

    def _serve(self, connection: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        try:
            secure = context.wrap_socket(connection, server_side=True)
        except OSError:
            return
        self._open.append(secure)
        super()._serve(secure)


def test_a_closed_client_says_so(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(OK)
    client = connect(server.url)
    client.info()
    if isinstance(client, Client):
        client.close()
    else:
        client.loop.run_until_complete(client.client.close())
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.info()


def test_threads_share_a_client(server: ServerProcess) -> None:
    found: list[tuple[int, int]] = []
    with Client(server.url, pool_size=3) as client:

        def work(number: int) -> None:
            for n in range(20):
                job = client.enqueue("threads", {"n": number * 100 + n})
                found.append((number * 100 + n, client.get(job).payload["n"]))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert len(found) == 160
    assert all(sent == kept for sent, kept in found)


def test_as_many_requests_as_agreed_are_under_way_and_waiting_ones_do_not_count(bad_server: StartBad) -> None:
    together = threading.Semaphore(0)

    def wait_a_little(connection: socket.socket, request: bytes) -> None:
        if b"/fetch" in request:
            assert together.acquire(timeout=30)
            connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        else:
            OK(connection, request)

    server = bad_server(wait_a_little)

    async def ask() -> None:
        async with AsyncClient(server.url, pool_size=2) as client:
            polls = [asyncio.create_task(client.fetch("q")) for _ in range(5)]
            await asyncio.to_thread(wait_for, lambda: len(server.requests) == 5)
            await asyncio.gather(*(client.info() for _ in range(50)))
            assert server.connections == 5 + 2
            together.release(5)
            await asyncio.gather(*polls)

    asyncio.run(ask())


def test_a_client_in_an_event_loop_can_be_used_from_another_loop(bad_server: StartBad) -> None:
    server = bad_server(OK)
    client = AsyncClient(server.url)

    async def ask(last: bool) -> None:
        await client.info()
        await client.info()
        if last:
            await client.close()
        else:
            # What a program has to do that goes on with the client, but not with the loop.
            for pool in client._transport._pools.values():  # type: ignore[attr-defined]
                await pool.close()

    asyncio.run(ask(False))
    asyncio.run(ask(True))
    assert (len(server.requests), server.connections) == (4, 2)


def test_a_request_that_is_cancelled_leaves_nothing_for_the_next(bad_server: StartBad) -> None:
    server = bad_server(silence, OK)

    async def ask() -> None:
        async with AsyncClient(server.url) as client:
            task = asyncio.create_task(client.info())
            await asyncio.to_thread(wait_for, lambda: len(server.requests) == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await client.info()).server_version == "1"
            assert server.connections == 2

    asyncio.run(ask())


def test_a_client_that_is_forgotten_closes_its_connections(bad_server: StartBad) -> None:
    server = bad_server(OK)
    client = Client(server.url)
    client.info()
    del client  # pytest makes an error of a socket that is left open.
    assert server.connections == 1


FORKING = """
import os, sys
from rookery import Client

client = Client(sys.argv[1])
client.enqueue("forks", "before")
child = os.fork()
name = "child" if child == 0 else "parent"
for n in range(30):
    job = client.enqueue("forks", f"{name} {n}")
    assert client.get(job).payload == f"{name} {n}"
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(client.count(queue="forks"))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_process_has_connections_of_its_own(server: ServerProcess) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKING, server.url], capture_output=True, text=True, timeout=60
    )
    assert (run.stdout, run.stderr) == ("61\n", "")


def test_nothing_of_the_sdk_is_loaded_before_it_is_used() -> None:
    code = "import sys, rookery; print([name for name in sys.modules if name.startswith('rookery.')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "[]\n"
    heavy = {"msgspec", "asyncio", "ssl", "http.client"}
    code = f"import sys, rookery.client.transport.blocking; print({heavy} & {{*sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "set()\n"
