"""Callbacks: what is recorded of attempts, when the next one comes, and what became of the jobs of other faces."""

import msgspec
import pytest

from rookery.engine.callbacks import Ending
from rookery.engine.ledger import Fate
from rookery.engine.ops import CallbackAttempt, Cancel, Claim, RecordCallbacks
from rookery.store.callbacks import Host, read_ending, read_next_callbacks, read_waiting_hosts
from tests.unit.workbench import Workbench

URL = "http://There.example:81/done?task=1"


def outbox(bench: Workbench) -> list[tuple[int, int, int]]:
    """Ids, attempts and when each entry is due, from now."""
    rows = bench.rows("SELECT id, attempts, due_at FROM outbox WHERE kind = 'callback' ORDER BY id")
    return [(id, attempts, due_at - bench.now) for id, attempts, due_at in rows]


def endings(bench: Workbench, host: str) -> list[Ending]:
    """What waits for a host."""
    db = bench.machine.connection
    texts = [read_ending(db, due.outbox_id) for due in read_next_callbacks(db, host, 10)]
    return [msgspec.json.decode(text or "", type=Ending) for text in texts]


def ended(bench: Workbench, count: int = 1, url: str = URL) -> list[int]:
    """Jobs with callbacks have ended; the entries for them."""
    for _ in range(count):
        bench.add(callback=url)
        bench.run()
    return [id for id, _, _ in outbox(bench)]


def record(bench: Workbench, *items: CallbackAttempt, **policy: int) -> list[str]:
    outcomes: list[str] = bench.do(RecordCallbacks(items=list(items), **policy)).outcomes
    return outcomes


def test_what_was_delivered_is_struck_off(bench: Workbench) -> None:
    first, second = ended(bench, 2)

    assert record(bench, CallbackAttempt(first, succeeded=True)) == ["delivered"]
    assert outbox(bench) == [(second, 0, 0)]


def test_what_goes_to_one_host_goes_together_whatever_the_rest_of_the_url(bench: Workbench) -> None:
    for rest in ("", "/", "?a=1", "#b", "#c/d", "/e#f"):
        ended(bench, url="HTTP://There.example:81" + rest)
        bench.advance(1000)

    assert read_waiting_hosts(bench.machine.connection) == [Host("http://there.example:81", bench.now - 6000)]


def test_what_failed_is_tried_again_after_2_4_8_and_16_seconds_and_then_given_up(bench: Workbench) -> None:
    (id,) = ended(bench)
    for attempts, pause in enumerate((2000, 4000, 8000, 16_000), start=1):
        assert record(bench, CallbackAttempt(id)) == ["retrying"]
        assert outbox(bench) == [(id, attempts, pause)]

    assert record(bench, CallbackAttempt(id)) == ["given up"]
    assert outbox(bench) == []


def test_the_pause_has_a_longest(bench: Workbench) -> None:
    (id,) = ended(bench)
    for _ in range(60):
        assert record(bench, CallbackAttempt(id), most_attempts=100) == ["retrying"]

    assert outbox(bench) == [(id, 60, 60_000)]


def test_waiting_for_its_turn_is_no_attempt(bench: Workbench) -> None:
    (id,) = ended(bench)
    record(bench, CallbackAttempt(id))

    assert record(bench, CallbackAttempt(id, postponed_to=bench.now + 777)) == ["postponed"]
    assert outbox(bench) == [(id, 1, 777)]


def test_the_outcome_of_what_nobody_waits_for_changes_nothing(bench: Workbench) -> None:
    (id,) = ended(bench)
    record(bench, CallbackAttempt(id, succeeded=True))

    outcomes = record(bench, CallbackAttempt(id), CallbackAttempt(id, postponed_to=1), CallbackAttempt(99))
    assert outcomes == ["gone", "gone", "gone"]
    assert outbox(bench) == []


def test_entries_of_one_host_stand_in_one_line_whatever_their_paths(bench: Workbench) -> None:
    for url in ("http://b/1", "http://B/2", "https://a:81?x=/y", "http://b"):
        ended(bench, url=url)
    db = bench.machine.connection

    assert [host.id for host in read_waiting_hosts(db)] == ["http://b", "https://a:81"]
    assert [ending.url for ending in endings(bench, "http://b")] == ["http://b/1", "http://B/2", "http://b"]


def test_nobody_waits_in_an_empty_outbox(bench: Workbench) -> None:
    assert read_waiting_hosts(bench.machine.connection) == []


@pytest.mark.parametrize("face", [None, "{}"])
def test_only_of_jobs_of_other_faces_is_noted_what_became_of_them(bench: Workbench, face: str | None) -> None:
    def fates() -> list[Fate]:
        return bench.machine.fates

    bench.add(face=face)
    bench.advance(250)
    bench.run()
    completed = fates()
    bench.add(face=face, max_retries=1)
    bench.bury()
    dead = fates()
    job_id = bench.add(face=face)
    bench.do(Cancel(job_id=job_id))
    cancelled = fates()
    bench.add(face=face, on_lost_lease="back_off", max_retries=1, max_lost_leases=0)
    bench.do(Claim(queues=("q",), lease=1000))
    bench.tick(2000)
    lost = fates()

    noted = [*completed, *dead, *cancelled, *lost]
    expected = [
        Fate("q", "completed", 250),
        Fate("q", "dead", 0),
        Fate("q", "cancelled", 0),
        Fate("q", "lease_lost", 2000),
        Fate("q", "dead", 2000),
    ]
    assert noted == ([] if face is None else expected)


def test_an_expired_job_is_told_to_have_expired(bench: Workbench) -> None:
    bench.add(callback=URL, expire_after="1s")
    bench.tick(1000)

    (ending,) = endings(bench, "http://there.example:81")
    assert (ending.state, ending.error, ending.by_result) == ("expired", "expired", False)


def test_the_first_spelling_of_a_queue_stays(bench: Workbench) -> None:
    bench.add()
    bench.add(spelling="Q")
    bench.add(spelling="q")

    assert bench.rows("SELECT name, spelling FROM queue") == [("q", "Q")]
