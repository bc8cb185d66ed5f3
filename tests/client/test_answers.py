"""Reading answers and events out of bytes, however they are cut."""

import pytest

from rookery.client.errors import ServerUnreachable
from rookery.client.transport.answers import LARGEST_HEAD, AnswerReader
from rookery.client.transport.sse import Frame, FrameReader

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
GO_ON = b"HTTP/1.1 100 Continue\r\nx-not: this\r\n\r\n"


def read(*parts: bytes) -> AnswerReader:
    reader = AnswerReader()
    for part in parts:
        reader.feed(part)
    return reader


@pytest.mark.parametrize("answer", [PLAIN, CHUNKED, GO_ON + PLAIN], ids=["plain", "chunked", "after a 100"])
def test_an_answer_may_be_cut_anywhere(answer: bytes) -> None:
    for cut in range(1, len(answer)):
        reader = read(answer[:cut], answer[cut:])
        assert (reader.status, b"".join(reader.parts), reader.is_whole, reader.is_fit) == (200, b"hello", True, True)
        assert "x-not" not in reader.headers()
    reader = read(*(answer[n : n + 1] for n in range(len(answer))))
    assert (reader.is_whole, b"".join(reader.parts)) == (True, b"hello")


def test_an_answer_that_is_not_whole_is_not_taken_for_one() -> None:
    for answer in (PLAIN, CHUNKED):
        for cut in range(len(answer)):
            reader = read(answer[:cut])
            assert not reader.is_whole
            with pytest.raises(ServerUnreachable, match="without an answer" if cut == 0 else "in the middle"):
                reader.end()


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    reader = read(b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo")
    assert not reader.is_whole
    reader.end()
    assert (reader.is_whole, reader.is_fit, b"".join(reader.parts)) == (True, False, b"hello")


def test_an_answer_without_a_body_is_whole_with_its_head() -> None:
    reader = read(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert (reader.status, reader.is_whole, reader.is_fit) == (204, True, True)


@pytest.mark.parametrize(
    "more",
    [PLAIN + PLAIN, PLAIN + b"garbage", PLAIN + b"H", PLAIN.replace(b"X-A: b", b"Connection: close")],
)
def test_a_connection_that_says_more_or_wants_to_close_is_not_used_again(more: bytes) -> None:
    reader = read(more)
    assert (reader.status, b"".join(reader.parts), reader.is_whole, reader.is_fit) == (200, b"hello", True, False)


def test_what_comes_after_an_answer_makes_the_connection_unfit() -> None:
    reader = read(PLAIN)
    reader.feed(b"HTTP")
    assert (reader.is_whole, reader.is_fit) == (True, False)


@pytest.mark.parametrize(
    "garbage",
    [b"SSH-2.0-OpenSSH\r\n", b"\x00\x01\x02", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n"],
)
def test_what_is_not_http_is_refused(garbage: bytes) -> None:
    with pytest.raises(ServerUnreachable):
        read(garbage).end()


def test_a_head_has_an_end() -> None:
    with pytest.raises(ServerUnreachable, match="the head of the answer is over"):
        read(b"HTTP/1.1 200 OK\r\n", *([b"x-header: value\r\n"] * LARGEST_HEAD))


def test_events_are_read_however_they_are_cut() -> None:
    text = b'id: 7\nevent: dead\ndata: {"a":1}\n\n:keepalive\n\nevent: end\ndata: x\ndata: y\n\nid: 8\ndata: z\n\n'
    frames = [Frame(7, "dead", b'{"a":1}'), Frame(None, "end", b"x\ny"), Frame(8, "message", b"z")]
    for cut in range(len(text)):
        reader = FrameReader()
        assert reader.feed(text[:cut]) + reader.feed(text[cut:]) == frames
