"""Following what happens: events as they come, and going on where a stream broke."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from rookery import Conflict, NotFound, ServerUnreachable
from rookery.client import async_client
from rookery.client import client as sync_client
from rookery.client.transport import retries
from tests.client.bad_server import BadServer, answer, hang_up, say, silence
from tests.client.conftest import Connect
from tests.conftest import Api, ServerProcess, wait_for

StartBad = Callable[..., BadServer]

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def frames(*numbers: int) -> bytes:
    """Events with these numbers, each in a chunk of its own."""
    chunks = []
    for number in numbers:
        event = json.dumps({"seq": number, "type": "dead", "job_id": "j", "queue": "q", "at_ns": 1})
        frame = f"id: {number}\nevent: dead\ndata: {event}\n\n".encode()
        chunks.append(b"%x\r\n%s\r\n" % (len(frame), frame))
    return b"".join(chunks)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.001)


def test_events_come_as_they_happen(client: Any, queue: str, api: Api) -> None:
    first = client.enqueue(queue)
    seq = client.history(first)[0].seq
    events = client.events(queues=queue, after=seq - 1)
    event = next(events)
    assert (event.seq, event.type, event.job_id, event.queue) == (seq, "enqueued", first.job_id, queue)
    second = api.enqueue(queue)
    assert next(events).job_id == second
    events.close()
    started = client.events(queues=[queue, "other"], job_ids=[second, first.job_id], types=["started"], after=0)
    client.fetch(queue)
    assert next(started).type == "started"
    started.close()


def test_without_a_beginning_only_what_is_new_is_told(client: Any, queue: str, api: Api, server: ServerProcess) -> None:
    api.enqueue(queue, {"n": 1})
    stop = threading.Event()

    def go_on() -> None:
        while not stop.wait(0.02):
            api.enqueue(queue, {"n": 2})

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        events = client.events(queues=queue)
        event = next(events)
        events.close()
    finally:
        stop.set()
        thread.join()
    assert client.get(event.job_id).payload == {"n": 2}


def test_a_broken_stream_goes_on_behind_the_last_event(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(
        say(HEAD + frames(5, 6), then_close=True),
        hang_up,
        answer(503),
        say(HEAD + frames(7)[:20], then_close=True),
        say(HEAD + frames(7) + b"0\r\n\r\n"),
        say(HEAD + frames(8)),
    )
    events = connect(server.url, retries=0).events(after=4)
    assert [next(events).seq for _ in range(4)] == [5, 6, 7, 8]
    events.close()
    asked = [request.split(b" ")[1].decode() for request in server.requests]
    assert asked == [f"/api/v1/events?last_event_id={n}" for n in (4, 6, 6, 6, 6, 7)]


def test_a_silent_stream_is_taken_for_broken(
    connect: Connect, bad_server: StartBad, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sync_client, async_client):
        monkeypatch.setattr(module, "SILENCE", 0.1)
    server = bad_server(say(HEAD + frames(1)), silence, say(HEAD + frames(2)))
    events = connect(server.url).events()
    assert [next(events).seq for _ in range(2)] == [1, 2]
    events.close()
    assert server.connections == 3


def test_a_stream_that_cannot_begin_is_an_error(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(hang_up)
    with pytest.raises(ServerUnreachable):
        next(connect(server.url, retries=2).events())
    assert len(server.requests) == 3
    server = bad_server(answer(409, {"error": "no", "code": "CONFLICT"}))
    with pytest.raises(Conflict):
        next(connect(server.url).events())
    assert len(server.requests) == 1


def test_a_stream_that_stays_broken_is_given_up(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(say(HEAD + frames(1), then_close=True), hang_up)
    events = connect(server.url, timeout=0.2).events()
    assert next(events).seq == 1
    with pytest.raises(ServerUnreachable):
        next(events)
    assert len(server.requests) > 3


def test_a_stream_that_is_left_is_closed(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(say(HEAD + frames(1, 2)), answer(200, {"server_version": "1", "api_version": "1"}))
    client = connect(server.url)
    for event in client.events():
        assert event.seq == 1
        break
    wait_for(lambda: client.info() and server.connections == 2)


def test_filters_that_cannot_be_said_are_refused(client: Any) -> None:
    with pytest.raises(ValueError, match="queues: a name is blank or has a comma"):
        next(client.events(queues=["a,b"]))
    with pytest.raises(ValueError, match="types is empty"):
        client.event_page(types=[])


def test_a_lot_of_events_is_read_at_the_readers_pace(connect: Connect, bad_server: StartBad) -> None:
    server = bad_server(say(HEAD + frames(*range(1, 40_001))))
    events = connect(server.url).events()
    assert [next(events).seq for _ in range(40_000)] == list(range(1, 40_001))
    events.close()


def test_dropped_lines_of_a_log_are_said(connect: Connect, bad_server: StartBad) -> None:
    line = b'id: 9\nevent: log\ndata: {"n":9,"at":"2026-01-01T00:00:00Z","level":"info","message":"x","attempt":1}\n\n'
    text = b'id: 8\nevent: dropped\ndata: {"dropped":8}\n\n' + line + b'event: end\ndata: {"state":"dead"}\n\n'
    server = bad_server(say(HEAD + b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text)))
    lines = list(connect(server.url).follow_logs("job_1"))
    assert [(line.n, line.level, line.message) for line in lines] == [
        (8, "warning", "(8 lines were dropped)"),
        (9, "info", "x"),
    ]
    with pytest.raises(NotFound):
        list(connect(bad_server(answer(404)).url).follow_logs("job_1"))


def test_events_survive_a_restart_of_the_server(start_server: Callable[..., ServerProcess], connect: Connect) -> None:
    server = start_server()
    port = server.url.rpartition(":")[2]
    client = connect(server.url)
    api = Api(server)
    first = api.enqueue("q")
    events = client.events(after=0)
    assert next(events).job_id == first
    server.kill()
    server.flags = (*server.flags, "--bind", f"127.0.0.1:{port}")
    server.start()
    second = api.enqueue("q")
    assert next(events).job_id == second
    events.close()
