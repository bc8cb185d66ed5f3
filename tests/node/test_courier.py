"""Sending requests: to the address that was checked, in bounded time, without one name's trouble troubling another."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from rookery.node import courier as courier_module
from rookery.node.courier import ANSWER_KEPT, Courier, Reply
from tests.receiver import CERTIFICATE, Receiver, receiving

BODY = b'{"n":1}'


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What the system's resolver answers for names of these tests."""
    known: dict[str, list[str]] = {}

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known


def send(*urls: str, loopback: bool = True) -> list[Reply]:
    """Post to these URLs, one after the other."""

    async def body(courier: Courier) -> list[Reply]:
        return [await courier.post(url, {"Content-Type": "application/json"}, BODY) for url in urls]

    return run(body, loopback)


def run(body: Callable[[Courier], Awaitable[Any]], loopback: bool = True) -> Any:
    async def test() -> Any:
        courier = Courier(loopback)
        try:
            async with asyncio.timeout(30):
                return await body(courier)
        finally:
            await courier.close()

    return asyncio.run(test())


def test_a_body_arrives_as_it_was_sent(receiver: Receiver) -> None:
    (reply,) = send(receiver.url("/a?b=c"))
    assert (reply.status_code, reply.error, reply.answer) == (200, None, "thanks")
    assert reply.duration_ms > 0
    (request,) = receiver.requests
    assert (request.path, request.body) == ("/a?b=c", BODY)
    assert request.headers["Host"] == f"127.0.0.1:{receiver.server_port}"


def test_a_lookup_that_could_not_begin_is_begun_again_for_the_next_request(
    receiver: Receiver, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    names["hooks.example"] = ["127.0.0.1"]
    url = receiver.url("/a", "hooks.example")

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def body(courier: Courier) -> list[Reply]:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", start)
            refused = await courier.post(url, {}, BODY)
        return [refused, await courier.post(url, {}, BODY)]

    refused, sent = run(body)
    assert (refused.status_code, refused.error) == (0, "RuntimeError: can't start new thread")
    assert sent.status_code == 200


def test_a_name_leads_to_the_address_that_was_checked(receiver: Receiver, names: dict[str, list[str]]) -> None:
    names["hooks.example"] = ["169.254.169.254", "127.0.0.1"]
    (reply,) = send(receiver.url("/a", "hooks.example"))
    assert reply.status_code == 200
    assert receiver.requests[0].headers["Host"] == f"hooks.example:{receiver.server_port}"


@pytest.mark.parametrize(
    ("address", "words"), [("169.254.169.254", "link-local"), ("0.0.0.0", "no address"), ("127.0.0.1", "loopback")]
)
def test_a_name_that_leads_to_a_forbidden_address_is_not_connected_to(
    receiver: Receiver, names: dict[str, list[str]], address: str, words: str
) -> None:
    names["hooks.example"] = [address]
    (reply,) = send(receiver.url("/a", "hooks.example"), loopback=False)
    assert reply.status_code == 0
    assert words in str(reply.error)
    assert receiver.requests == []


def test_a_name_is_checked_again_for_every_connection(receiver: Receiver, names: dict[str, list[str]]) -> None:
    async def body(courier: Courier) -> None:
        names["hooks.example"] = ["127.0.0.1"]
        receiver.answers["/long"] = b"x" * 100_000
        assert (await courier.post(receiver.url("/long", "hooks.example"), {}, BODY)).status_code == 200
        names["hooks.example"] = ["169.254.169.254"]
        reply = await courier.post(receiver.url("/long", "hooks.example"), {}, BODY)
        assert "link-local" in str(reply.error)

    run(body)
    assert len(receiver.requests) == 1


def test_an_address_in_an_unusual_form_is_checked_too(receiver: Receiver) -> None:
    (reply,) = send(f"http://2130706433:{receiver.server_port}/", loopback=False)
    assert "loopback" in str(reply.error)
    assert receiver.requests == []


def test_the_next_address_is_tried_when_one_does_not_answer(receiver: Receiver, names: dict[str, list[str]]) -> None:
    names["hooks.example"] = ["127.0.0.2", "127.0.0.1"]
    assert send(receiver.url("/a", "hooks.example"))[0].status_code == 200


def test_a_redirect_is_an_answer_and_not_followed(receiver: Receiver) -> None:
    receiver.statuses["/moved"] = 302
    (reply,) = send(receiver.url("/moved"))
    assert reply.status_code == 302
    assert "redirects are not followed" in str(reply.error)
    assert [request.path for request in receiver.requests] == ["/moved"]


def test_only_the_beginning_of_a_long_answer_is_kept(receiver: Receiver) -> None:
    receiver.answers["/long"] = b"\xc3\xa4" * 1_000_000
    (reply, again) = send(receiver.url("/long"), receiver.url("/long"))
    assert reply.answer == "ä" * (ANSWER_KEPT // 2)
    assert again.status_code == 200


def test_nobody_at_home_is_no_answer(names: dict[str, list[str]]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    refused, unknown = send(f"http://127.0.0.1:{port}/", "http://nowhere.example/")
    assert (refused.status_code, refused.answer) == (0, None)
    assert "ConnectionRefusedError" in str(refused.error)
    assert "not known" in str(unknown.error)


@contextmanager
def raw_server(*answers: bytes, closes: bool = True) -> Iterator[tuple[str, list[bytes]]]:
    """Somebody who answers each connection's requests with these bytes; its URL, and what it was sent."""
    heard: list[bytes] = []
    done = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    for answer in answers:
                        request = connection.recv(65536)
                        if not request:
                            break
                        heard.append(request)
                        connection.sendall(answer)
                    if not closes:
                        done.wait(30)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/", heard
    finally:
        done.set()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (OK, 200, "ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, "until the end"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 200, "abcde"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, "ok"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 101, ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nbroken off", 200, "broken off"),
        (OK + b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", 200, "ok"),
        (OK + b"rubbish", 200, "ok"),
    ],
)
def test_answers_of_all_kinds_are_understood(answer: bytes, status: int, text: str) -> None:
    with raw_server(answer) as (url, heard):
        first, second = send(url, url)
    assert (first.status_code, first.answer) == (second.status_code, second.answer) == (status, text)
    assert len(heard) == 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed without an answer"),
        (b"220 smtp.example ESMTP\r\n", "not an answer of HTTP"),
        (b"HTTP/1.1 200", "closed without an answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Long: yes\r\n" * 10_000, "no status"),
    ],
)
def test_what_is_no_answer_of_http_is_no_answer(answer: bytes, words: str) -> None:
    with raw_server(answer) as (url, heard):
        (reply,) = send(url)
    assert (reply.status_code, reply.answer) == (0, None)
    assert words in str(reply.error)
    assert len(heard) == 1


def test_a_connection_is_used_again(receiver: Receiver) -> None:
    async def body(courier: Courier) -> int:
        for _ in range(3):
            assert (await courier.post(receiver.url("/a"), {}, BODY)).status_code == 200
        return len(courier._idle)

    assert run(body) == 1
    assert len({request.client for request in receiver.requests}) == 1


def test_a_kept_connection_that_was_closed_meanwhile_costs_no_attempt() -> None:
    with raw_server(OK) as (url, heard):
        replies = send(url, url, url)
    assert [reply.status_code for reply in replies] == [200, 200, 200]
    assert len(heard) == 3


def test_an_attempt_has_an_end(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courier_module, "ATTEMPT_TIMEOUT", 0.3)
    (reply,) = send(receiver.url("/hang"))
    assert (reply.status_code, reply.error) == (0, "no answer within 0.3 s")


def test_a_status_counts_even_if_the_rest_of_the_answer_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courier_module, "ATTEMPT_TIMEOUT", 0.5)
    with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", closes=False) as (url, _):
        (reply,) = send(url)
    assert (reply.status_code, reply.error, reply.answer) == (200, None, "half")


def test_a_connection_whose_answer_did_not_come_in_time_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courier_module, "ATTEMPT_TIMEOUT", 0.3)

    async def body(courier: Courier) -> None:
        reply = await courier.post(url, {}, BODY)
        assert (reply.status_code, reply.error) == (0, "no answer within 0.3 s")
        assert courier._idle == {}

    with raw_server(b"HTTP/1.1 100 Continue\r\n\r\n", closes=False) as (url, _):
        run(body)


def test_a_name_that_is_looked_up_for_ever_holds_up_no_other(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier_module, "ATTEMPT_TIMEOUT", 1.0)
    asked, release = [], threading.Event()

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        if host == "slow.example":
            release.wait(30)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    async def body(courier: Courier) -> None:
        slow = [asyncio.create_task(courier.post("http://slow.example/", {}, BODY)) for _ in range(40)]
        quick = await courier.post(receiver.url("/a", "quick.example"), {}, BODY)
        assert quick.status_code == 200
        assert {reply.error for reply in await asyncio.gather(*slow)} == {"no answer within 1 s"}

    try:
        run(body)
    finally:
        release.set()
    assert asked.count("slow.example") == 1


def test_certificates_are_checked_against_the_name_in_the_url(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]
) -> None:
    names |= {"localhost": ["127.0.0.1"], "other.example": ["127.0.0.1"]}
    with receiving(tls=True) as receiver:
        (unknown,) = send(receiver.url("/a", "localhost"))
        assert "certificate verify failed" in str(unknown.error)

        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        known, wrong_name = send(receiver.url("/a", "localhost"), receiver.url("/b", "other.example"))
        assert known.status_code == 200
        assert "certificate verify failed" in str(wrong_name.error)
    assert [request.path for request in receiver.requests] == ["/a"]
