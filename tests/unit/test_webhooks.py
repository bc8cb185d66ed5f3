"""Webhooks in the engine: who gets which event, and what follows an attempt to deliver it."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from rookery.engine import outbox, webhooks
from rookery.engine.ops import (
    CHUNK,
    AnyOperation,
    Cancel,
    DeleteWebhook,
    Delivery,
    Enqueue,
    Hold,
    NewJob,
    RecordDeliveries,
    Refusal,
    SavedWebhook,
    SaveWebhook,
    TellWebhooks,
)
from rookery.store.webhooks import WebhookView, read_deliveries, read_webhook, read_webhooks
from tests.unit.workbench import Workbench, kind_of

HOUR = 3_600_000
URL = "http://example.com/hook"


class Switchboard(Workbench):
    """A workbench with webhooks."""

    def hook(self, **fields: Any) -> str:
        """Make a webhook; its id."""
        saved = self.do(SaveWebhook(**{"url": URL, **fields}))
        assert isinstance(saved, SavedWebhook), saved
        return saved.webhook_id

    def do(self, *ops: AnyOperation) -> Any:
        """Apply operations, then have webhooks told of what they brought."""
        result = self.do_untold(*ops)
        self.tell()
        return result

    def do_untold(self, *ops: AnyOperation) -> Any:
        """Apply operations; nobody is told."""
        return super().do(*ops)

    def tell(self) -> int:
        """Tell all there is to tell; in how many chunks."""
        chunks = 0
        while self.machine.has_untold:
            told = self.do_untold(TellWebhooks())
            assert told.more == self.machine.has_untold
            chunks += 1
        return chunks

    def view(self, webhook_id: str) -> WebhookView:
        webhook = read_webhook(self.machine._db, webhook_id)
        assert webhook is not None
        return webhook

    def waiting(self, webhook_id: str) -> list[dict[str, Any]]:
        """The events that wait for a webhook."""
        rows = self.rows("SELECT body FROM outbox WHERE target = ? ORDER BY id", webhook_id)
        return [msgspec.json.decode(body) for (body,) in rows]

    def types(self, webhook_id: str) -> list[str]:
        return [event["type"] for event in self.waiting(webhook_id)]

    def attempt(self, webhook_id: str, status_code: int = 200, error: str | None = None) -> None:
        """Deliver what is due first, when it is due, with that outcome."""
        sql = "SELECT id, due_at, body FROM outbox WHERE target = ? ORDER BY due_at, id LIMIT 1"
        ((outbox_id, due_at, body),) = self.rows(sql, webhook_id)
        self.now = max(self.now, due_at)
        event = msgspec.json.decode(body)
        self.record(
            Delivery(webhook_id, outbox_id, event["seq"], event["type"], status_code, 1.5, error, answer="an answer")
        )

    def record(self, *items: Delivery) -> None:
        self.do(RecordDeliveries(items=list(items)))

    def give_up(self, webhook_id: str) -> None:
        """Let an event fail for good."""
        self.add()
        for _ in range(self.view(webhook_id).retry_limit):
            self.attempt(webhook_id, 0, "refused")


@pytest.fixture
def board() -> Iterator[Switchboard]:
    board = Switchboard()
    yield board
    board.machine.close()


# --- which events


def test_without_a_webhook_nothing_is_put_into_the_outbox(board: Switchboard) -> None:
    board.add()
    assert board.rows("SELECT count(*) FROM outbox") == [(0,)]


def test_an_event_waits_for_the_webhook_as_the_timeline_shows_it(board: Switchboard) -> None:
    hook = board.hook()
    job_id = board.add("mails")

    assert board.waiting(hook) == [
        {"seq": 1, "type": "enqueued", "at_ns": board.now * 1_000_000, "job_id": job_id, "queue": "mails"}
    ]
    assert board.view(hook).waiting == 1


def test_what_happened_before_a_webhook_was_made_is_not_told_to_it(board: Switchboard) -> None:
    board.add()
    assert board.waiting(board.hook()) == []


def test_in_one_batch_too_a_webhook_hears_only_of_what_came_after_it_was_made_or_enabled(board: Switchboard) -> None:
    one = SaveWebhook(webhook_id="one", url=URL)
    add = Enqueue(jobs=[NewJob(queue="q")])
    off = SaveWebhook(webhook_id="one", enabled=False)
    on = SaveWebhook(webhook_id="one", enabled=True)
    board.do(add, one, add, TellWebhooks(), off, add, on, add, on)

    assert [event["seq"] for event in board.waiting("one")] == [2, 4]


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (None, ["enqueued", "started", "completed"]),
        ([], ["enqueued", "started", "completed"]),
        (["*"], ["enqueued", "started", "completed"]),
        (["completed"], ["completed"]),
        (["COMPLETED", "Enqueued"], ["enqueued", "completed"]),
        (["completed", "*"], ["enqueued", "started", "completed"]),
        (["unheard-of"], []),
    ],
)
def test_a_webhook_gets_the_types_it_names_in_any_case(
    board: Switchboard, events: list[str] | None, told: list[str]
) -> None:
    hook = board.hook(events=events)
    board.add()
    board.run()

    assert board.types(hook) == told


def test_a_webhook_that_names_queues_gets_only_their_events(board: Switchboard) -> None:
    hook = board.hook(queues=["a", "b"])
    for queue in ("a", "b", "c"):
        board.add(queue)

    assert [event["queue"] for event in board.waiting(hook)] == ["a", "b"]


def test_each_webhook_gets_its_own_copy(board: Switchboard) -> None:
    hooks = [board.hook() for _ in range(3)]
    board.add()
    assert [board.types(hook) for hook in hooks] == [["enqueued"]] * 3


def test_a_namespace_hears_only_of_its_own_queues_by_the_names_it_knows(board: Switchboard) -> None:
    ours, everybody = board.hook(namespace="ours"), board.hook()
    board.add("ours::q")
    board.add("theirs::q")
    board.add("q")

    assert [event["queue"] for event in board.waiting(ours)] == ["q"]
    assert [event["queue"] for event in board.waiting(everybody)] == ["ours::q", "theirs::q", "q"]


def test_events_survive_in_the_outbox_when_the_timeline_forgets_them(board: Switchboard) -> None:
    hook = board.hook()
    job_id = board.add()
    board.machine._db.execute("DELETE FROM event")
    assert board.waiting(hook)[0]["job_id"] == job_id


def test_a_batch_that_is_undone_leaves_nothing_in_the_outbox(
    board: Switchboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = board.hook()

    def fail() -> None:
        raise RuntimeError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(board.machine._ledger, "flush", fail)
        with pytest.raises(RuntimeError):
            board.add()
    assert board.waiting(hook) == []

    board.add()
    assert board.view(hook).waiting == len(board.waiting(hook)) == 1


def test_a_webhook_that_another_process_made_is_heard_of(tmp_path: Any) -> None:
    path = str(tmp_path / "store.db")
    first, second = Switchboard(path), Switchboard(path)
    first.add()
    hook = second.hook()
    first.add()
    assert second.types(hook) == ["enqueued"]
    first.machine.close()
    second.machine.close()


# --- telling


def work_of(board: Switchboard, *ops: AnyOperation) -> tuple[int, list[str]]:
    """How many rows a batch changes, and the statements it takes."""
    db = board.machine._db
    statements: list[str] = []
    before = db.total_changes()
    db.exec_trace = lambda _, sql, __: statements.append(sql) is None
    board.do_untold(*ops)
    db.exec_trace = None
    return db.total_changes() - before, statements


def test_a_batch_does_the_same_work_however_many_webhooks_there_are(board: Switchboard) -> None:
    batch = [Enqueue(jobs=[NewJob(queue="q") for _ in range(20)]) for _ in range(5)]
    board.do(*batch)
    without = work_of(board, *batch)
    for number in range(webhooks.MOST_WEBHOOKS):
        board.do(SaveWebhook(url=URL, namespace=["default", "a", "b", "c"][number % 4]))

    assert work_of(board, *batch) == without
    assert board.machine.has_untold
    assert board.rows("SELECT count(*) FROM outbox") == [(0,)]


def test_what_was_not_told_before_the_end_is_told_once_after_the_next_start(tmp_path: Any) -> None:
    path = str(tmp_path / "store.db")
    first = Switchboard(path)
    hook = first.hook()
    for _ in range(3):
        first.do_untold(Enqueue(jobs=[NewJob(queue="q") for _ in range(1500)]))
    first.do_untold(TellWebhooks())
    assert 0 < len(first.waiting(hook)) < 4500
    first.machine.close()

    second = Switchboard(path)
    second.do_untold()
    assert second.machine.has_untold
    second.tell()
    assert [event["seq"] for event in second.waiting(hook)] == list(range(1, 4501))
    assert (second.view(hook).waiting, second.view(hook).behind) == (4500, 0)
    assert second.tell() == 0
    second.machine.close()


def test_telling_that_is_undone_is_done_again(board: Switchboard, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = board.hook()
    board.do_untold(Enqueue(jobs=[NewJob(queue="q")]))

    def fail() -> None:
        raise RuntimeError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(board.machine._ledger, "flush", fail)
        with pytest.raises(RuntimeError):
            board.do_untold(TellWebhooks())
    assert (board.waiting(hook), board.view(hook).behind) == ([], 1)
    board.tell()
    assert len(board.waiting(hook)) == board.view(hook).waiting == 1


def test_one_chunk_looks_at_so_many_events_for_so_many_webhooks_and_all_of_them_get_on(board: Switchboard) -> None:
    hooks = [board.hook() for _ in range(16)]
    board.do_untold(Enqueue(jobs=[NewJob(queue="q") for _ in range(300)]))
    share = outbox.MOST_PAIRS // len(hooks) - 1

    assert board.do_untold(TellWebhooks()).more
    assert [len(board.waiting(hook)) for hook in hooks] == [share] * len(hooks)
    assert [board.view(hook).behind for hook in hooks] == [300 - share] * len(hooks)
    assert board.tell() == 2
    for hook in hooks:
        assert [event["seq"] for event in board.waiting(hook)] == list(range(1, 301))


def test_events_that_nobody_wants_are_passed_by_quickly_but_not_without_end(board: Switchboard) -> None:
    hooks = [board.hook(events=["dead"]) for _ in range(webhooks.MOST_OF_NAMESPACE)]
    board.do_untold(Enqueue(jobs=[NewJob(queue="q") for _ in range(outbox.MOST_EVENTS + 1)]))
    assert board.tell() == 2

    board.do_untold(Enqueue(jobs=[NewJob(queue=f"q{number}") for number in range(outbox.MOST_PAIRS // len(hooks) + 2)]))
    assert board.tell() == 2
    assert {(board.view(hook).behind, board.view(hook).waiting) for hook in hooks} == {(0, 0)}


def test_a_chunk_ends_where_its_text_gets_long(board: Switchboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MOST_TEXT", 200)
    hook = board.hook(events=["held"])
    for job_id in [board.add() for _ in range(4)]:
        board.do_untold(Hold(job_id=job_id, reason="x" * 60))
    assert board.tell() == 2
    assert board.types(hook) == ["held"] * 4


def test_a_webhook_that_was_made_while_others_are_behind_hears_of_what_came_after_it(
    board: Switchboard,
) -> None:
    early = board.hook()
    board.do_untold(Enqueue(jobs=[NewJob(queue="q") for _ in range(outbox.MOST_PAIRS)]))
    board.do_untold(SaveWebhook(webhook_id="late", url=URL))
    board.do_untold(Enqueue(jobs=[NewJob(queue="q") for _ in range(3)]))
    board.tell()

    assert len(board.waiting(early)) == outbox.MOST_PAIRS + 3
    assert [event["seq"] for event in board.waiting("late")] == [outbox.MOST_PAIRS + n for n in (1, 2, 3)]


def test_events_that_are_not_kept_any_more_are_passed_by(board: Switchboard) -> None:
    hook = board.hook()
    board.do_untold(Enqueue(jobs=[NewJob(queue="q") for _ in range(5)]))
    board.machine._db.execute("DELETE FROM event WHERE seq <= 3")
    board.tell()
    assert [event["seq"] for event in board.waiting(hook)] == [4, 5]

    board.do_untold(Enqueue(jobs=[NewJob(queue="q") for _ in range(5)]))
    board.machine._db.execute("DELETE FROM event")
    board.tell()
    assert (board.view(hook).waiting, board.view(hook).behind) == (2, 0)


def test_when_there_is_nothing_to_tell_nothing_is_written(board: Switchboard) -> None:
    board.hook()
    board.add()
    changes, _ = work_of(board, TellWebhooks())
    assert changes == 0


# --- the webhooks themselves


def test_an_id_is_given_unless_one_is_brought(board: Switchboard) -> None:
    given = board.hook()
    assert given.startswith("wh_")
    assert len(given) == 29
    assert board.hook(webhook_id="mine") == "mine"
    assert [view.id for view in read_webhooks(board.machine._db)] == [given, "mine"]


def test_what_is_not_given_in_a_change_stays_as_it_is(board: Switchboard) -> None:
    hook = board.hook(events=["dead"], queues=["a"], secret="s", retry_limit=7, enabled=False)
    before = board.view(hook)
    board.do(SaveWebhook(webhook_id=hook, url="http://example.com/new"))

    assert board.view(hook) == msgspec.structs.replace(before, url="http://example.com/new")


def test_an_empty_secret_takes_it_away(board: Switchboard) -> None:
    hook = board.hook(secret="s")
    assert board.view(hook).secret_set
    board.do(SaveWebhook(webhook_id=hook, secret=""))
    assert not board.view(hook).secret_set


def test_a_new_webhook_needs_a_url(board: Switchboard) -> None:
    assert kind_of(board.do(SaveWebhook(webhook_id="mine"))) == Refusal.INVALID
    assert read_webhooks(board.machine._db) == []


def test_a_webhook_of_another_namespace_can_be_neither_changed_nor_deleted(board: Switchboard) -> None:
    hook = board.hook(namespace="ours", url=URL)
    before = board.view(hook)

    assert kind_of(board.do(SaveWebhook(webhook_id=hook, url="http://evil", namespace="theirs"))) == Refusal.CONFLICT
    board.do(DeleteWebhook(webhook_id=hook, namespace="theirs"))
    assert board.view(hook) == before
    assert read_webhook(board.machine._db, hook, "theirs") is None
    assert read_webhooks(board.machine._db, "theirs") == []


def test_the_default_namespace_may_change_and_delete_the_webhooks_of_all(board: Switchboard) -> None:
    hook = board.hook(namespace="ours")
    board.do(SaveWebhook(webhook_id=hook, enabled=False))
    assert (board.view(hook).namespace, board.view(hook).enabled) == ("ours", False)
    board.do(DeleteWebhook(webhook_id=hook))
    assert read_webhooks(board.machine._db) == []


def test_there_is_a_limit_to_the_number_of_webhooks(board: Switchboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MOST_WEBHOOKS", 2)
    hooks = [board.hook(), board.hook(namespace="ours")]
    refusal = board.do(SaveWebhook(url=URL))
    assert (kind_of(refusal), "2 webhooks" in refusal.message) == (Refusal.INVALID, True)
    board.do(SaveWebhook(webhook_id=hooks[0], enabled=False))
    assert not board.view(hooks[0]).enabled


def test_there_is_a_limit_to_the_number_of_webhooks_of_one_namespace(board: Switchboard) -> None:
    for _ in range(webhooks.MOST_OF_NAMESPACE):
        board.hook(namespace="ours")
    refusal = board.do(SaveWebhook(url=URL, namespace="ours"))
    assert (kind_of(refusal), "64 webhooks" in refusal.message) == (Refusal.INVALID, True)
    assert len(read_webhooks(board.machine._db)) == webhooks.MOST_OF_NAMESPACE
    board.hook(namespace="theirs")
    board.hook()


def test_a_disabled_webhook_gathers_nothing_and_keeps_what_waits(board: Switchboard) -> None:
    hook = board.hook()
    board.add("before")
    board.do(SaveWebhook(webhook_id=hook, enabled=False))
    board.add("meanwhile")
    board.do(SaveWebhook(webhook_id=hook, enabled=True))
    board.add("after")

    assert [event["queue"] for event in board.waiting(hook)] == ["before", "after"]


def test_deleting_a_webhook_takes_its_log_and_what_waits_along_chunk_by_chunk(board: Switchboard) -> None:
    hook, other = board.hook(), board.hook()
    board.enqueue(*[NewJob(queue="q") for _ in range(CHUNK + 1)])
    board.attempt(hook)

    assert board.do(DeleteWebhook(webhook_id=hook)).status == "deleting"
    assert not board.view(hook).enabled
    board.add()
    assert board.do(DeleteWebhook(webhook_id=hook)).status == "deleted"
    assert read_webhook(board.machine._db, hook) is None
    assert (board.waiting(hook), read_deliveries(board.machine._db, hook)) == ([], [])
    assert board.view(other).waiting == len(board.waiting(other)) == CHUNK + 2


def test_deleting_what_is_not_there_is_fine(board: Switchboard) -> None:
    assert board.do(DeleteWebhook(webhook_id="nobody")).status == "deleted"


# --- attempts


def test_a_delivery_that_succeeds_is_done(board: Switchboard) -> None:
    hook = board.hook()
    job_id = board.add()
    board.attempt(hook, 204)

    view = board.view(hook)
    assert board.waiting(hook) == []
    assert (view.waiting, view.last_status_code, view.last_error, view.failures) == (0, 204, None, 0)
    (delivery,) = read_deliveries(board.machine._db, hook)
    assert (delivery.event_seq, delivery.event_type, delivery.attempt) == (1, "enqueued", 1)
    assert (delivery.outcome, delivery.status_code, delivery.answer) == ("delivered", 204, "an answer")
    assert board.exists(job_id)


@pytest.mark.parametrize("status", [0, 199, 301, 404, 500, 503])
def test_anything_but_2xx_is_tried_again(board: Switchboard, status: int) -> None:
    hook = board.hook()
    board.add()
    board.attempt(hook, status, "no")
    assert board.view(hook).waiting == 1
    assert read_deliveries(board.machine._db, hook)[0].outcome == "retrying"


def test_the_pauses_grow_with_the_square_of_the_attempts(board: Switchboard) -> None:
    hook = board.hook(retry_limit=5)
    board.add()
    pauses = []
    for _ in range(4):
        board.attempt(hook, 500, "answered 500")
        ((due_at,),) = board.rows("SELECT due_at FROM outbox")
        pauses.append(due_at - board.now)

    assert pauses == [200, 800, 1800, 3200]


def test_a_delivery_is_given_up_after_its_last_attempt(board: Switchboard) -> None:
    hook = board.hook(retry_limit=2)
    board.add()
    board.attempt(hook, 500, "answered 500")
    board.attempt(hook, 0, "no answer")

    view = board.view(hook)
    assert (view.waiting, board.waiting(hook)) == (0, [])
    assert (view.failures, view.last_status_code, view.last_error) == (1, 0, "no answer")
    assert view.failing_since is not None
    outcomes = [(delivery.attempt, delivery.outcome) for delivery in read_deliveries(board.machine._db, hook)]
    assert outcomes == [(2, "failed"), (1, "retrying")]


def test_a_success_ends_a_series_of_failures(board: Switchboard) -> None:
    hook = board.hook(retry_limit=1)
    board.give_up(hook)
    board.add()
    board.attempt(hook, 200)
    view = board.view(hook)
    assert (view.failures, view.failing_since, view.last_error) == (0, None, None)


def test_an_outcome_that_comes_twice_counts_once(board: Switchboard) -> None:
    hook = board.hook()
    board.add()
    board.add()
    outcome = Delivery(hook, 1, 1, "enqueued", 200, 1.0)
    board.record(outcome, outcome)
    board.record(outcome)

    assert board.view(hook).waiting == len(board.waiting(hook)) == 1
    assert len(read_deliveries(board.machine._db, hook)) == 1


def test_a_late_outcome_is_not_taken_for_that_of_another_delivery(board: Switchboard) -> None:
    gone = board.hook(webhook_id="same")
    board.add()
    board.do(DeleteWebhook(webhook_id=gone))
    board.hook(webhook_id="same")
    board.add()
    board.record(Delivery("same", 1, 1, "enqueued", 200, 1.0))

    assert board.view("same").waiting == len(board.waiting("same")) == 1


def test_the_outcome_of_a_deleted_webhook_is_forgotten(board: Switchboard) -> None:
    hook = board.hook()
    board.add()
    board.do(DeleteWebhook(webhook_id=hook))
    board.record(Delivery(hook, 1, 1, "enqueued", 200, 1.0))
    assert board.rows("SELECT count(*) FROM webhook_delivery") == [(0,)]


def test_the_log_keeps_the_newest_hundred(board: Switchboard) -> None:
    hook, other = board.hook(), board.hook()
    for _ in range(webhooks.LOG_LENGTH + 5):
        board.add()
        board.attempt(hook)
    board.attempt(other)

    kept = [delivery.event_seq for delivery in read_deliveries(board.machine._db, hook)]
    assert kept == list(range(webhooks.LOG_LENGTH + 5, 5, -1))
    assert len(read_deliveries(board.machine._db, other)) == 1


def test_a_trial_is_logged_and_never_repeated_nor_counted(board: Switchboard) -> None:
    hook = board.hook(retry_limit=5)
    board.record(Delivery(hook, None, 0, "test", 500, 1.0, "answered 500"))
    view = board.view(hook)
    assert (view.waiting, view.failures, view.last_error) == (0, 0, "answered 500")
    assert [delivery.outcome for delivery in read_deliveries(board.machine._db, hook)] == ["failed"]


# --- limits


def test_what_comes_on_top_of_too_many_waiting_deliveries_is_dropped_and_counted(board: Switchboard) -> None:
    hook = board.hook()
    board.enqueue(*[NewJob(queue="q") for _ in range(outbox.MOST_WAITING + 3)])

    view = board.view(hook)
    assert (view.waiting, view.dropped) == (outbox.MOST_WAITING, 3)
    assert board.rows("SELECT count(*) FROM outbox") == [(outbox.MOST_WAITING,)]
    assert view.last_error is not None
    assert "dropped" in view.last_error

    board.attempt(hook)
    board.add()
    board.add()
    view = board.view(hook)
    assert (view.waiting, view.dropped) == (outbox.MOST_WAITING, 4)


def test_a_webhook_is_disabled_when_nothing_has_succeeded_for_a_day(board: Switchboard) -> None:
    hook = board.hook(retry_limit=1)
    for _ in range(webhooks.LEAST_FAILURES):
        board.give_up(hook)
    assert board.view(hook).enabled

    board.advance(webhooks.PATIENCE - 1)
    board.give_up(hook)
    assert board.view(hook).enabled
    board.advance(1)
    board.give_up(hook)
    view = board.view(hook)
    assert not view.enabled
    assert view.disabled_reason == view.last_error
    assert "22 deliveries" in str(view.disabled_reason)
    assert "refused" in str(view.disabled_reason)
    board.add()
    assert board.waiting(hook) == []


def test_a_few_failures_do_not_disable_however_long_ago_the_first_was(board: Switchboard) -> None:
    hook = board.hook(retry_limit=1)
    for _ in range(webhooks.LEAST_FAILURES - 1):
        board.give_up(hook)
        board.advance(24 * HOUR)
    assert board.view(hook).enabled


def test_one_success_a_day_keeps_a_webhook_enabled(board: Switchboard) -> None:
    hook = board.hook(retry_limit=1)
    for _ in range(3):
        for _ in range(webhooks.LEAST_FAILURES + 1):
            board.give_up(hook)
            board.advance(HOUR // 2)
        board.add()
        board.attempt(hook, 200)
        board.advance(20 * HOUR)
    assert board.view(hook).enabled


def test_a_webhook_that_is_enabled_again_begins_anew(board: Switchboard) -> None:
    hook = board.hook(retry_limit=1)
    for _ in range(webhooks.LEAST_FAILURES):
        board.give_up(hook)
        board.advance(2 * HOUR)
    assert not board.view(hook).enabled

    board.do(SaveWebhook(webhook_id=hook, enabled=True))
    view = board.view(hook)
    assert (view.enabled, view.failures, view.failing_since, view.disabled_reason) == (True, 0, None, None)
    board.give_up(hook)
    assert board.view(hook).enabled


def test_the_counts_fit_what_waits_after_a_long_story(board: Switchboard) -> None:
    hooks = [board.hook(retry_limit=2), board.hook(queues=["a"]), board.hook(events=["cancelled"])]
    for number in range(60):
        job_id = board.add("ab"[number % 2])
        if number % 3:
            board.do(Cancel(job_id=job_id))
        for place, hook in enumerate(hooks):
            if board.waiting(hook) and (number + place) % 2:
                board.attempt(hook, 200 if number % 5 else 500, None if number % 5 else "answered 500")

    for hook in hooks:
        assert board.view(hook).waiting == len(board.waiting(hook)) > 0
