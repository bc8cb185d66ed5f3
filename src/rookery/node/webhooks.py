"""Delivering what waits in the outbox for webhooks: at once, again when it failed, never in the way of a commit.

An outcome is recorded by an operation like any other. What was under way when the server stopped or died is sent
again after its next start, so everything arrives at least once, unless it is given up.
"""

import asyncio
import hmac
import logging
import random
from collections.abc import Iterator
from typing import Any, Final

import apsw
import msgspec

from rookery import __version__
from rookery.engine.ops import Delivery, RecordDeliveries
from rookery.model.instants import format_instant
from rookery.node.addresses import url_fault
from rookery.node.alarm import PAUSE_AFTER_FAULT, Alarm
from rookery.node.batcher import Batcher, Overloaded
from rookery.node.clock import Clock
from rookery.node.courier import Courier, Reply
from rookery.store.events import EventView
from rookery.store.webhooks import (
    DueDelivery,
    Recipient,
    read_next_deliveries,
    read_recipient,
    read_waiting_recipients,
)

logger = logging.getLogger(__name__)

MOST_AT_A_TIME: Final = 64
MOST_OF_ONE: Final = 8
"""Deliveries of one webhook at a time, while it answers well. Until it has, and when it fails, there is a single one,
so that those who hang cannot take all the room from those who do not."""
MOST_TRIALS: Final = 8
TEST_EVENT: Final = "test"
PREFIXES: Final = ("X-Rookery-", "X-Corvo-")
_LONGEST_SLEEP: Final = 60_000
"""Milliseconds. The host may be asleep for a while, which its timers do not notice."""

Raw = msgspec.Raw


class Message(msgspec.Struct):
    """What a webhook gets."""

    webhook_id: str
    event: Raw
    sent_at: str


class EventHead(msgspec.Struct):
    """What must be known of an event to send it; its text goes out as it is."""

    seq: int
    type: str


_head_decoder = msgspec.json.Decoder(EventHead)


class Lane:
    """What is under way to one webhook."""

    __slots__ = ("begun", "is_open", "under_way")

    def __init__(self) -> None:
        self.under_way: dict[int, asyncio.Task[None]] = {}
        self.is_open = False
        self.begun = 0


class Webhooks:
    """Takes deliveries from the outbox when they are due, and reports what came of them."""

    def __init__(self, reader: apsw.Connection, batcher: Batcher, clock: Clock, may_reach_loopback: bool) -> None:
        self._reader = reader
        self._batcher = batcher
        self._clock = clock
        self._may_reach_loopback = may_reach_loopback
        self._courier = Courier(may_reach_loopback)
        self._lanes: dict[str, Lane] = {}
        self._outcomes: list[Delivery] = []
        self._is_recording = False
        self._is_stopped = False
        self._alarm = Alarm(clock, self.look, _LONGEST_SLEEP)
        self._begun = 0
        self._trials = 0

    def url_fault(self, url: str) -> str | None:
        """Why nothing can be sent to a URL, or None."""
        return url_fault(url, self._may_reach_loopback)

    def look(self) -> None:
        """Begin what is due, and set the alarm to what is due next."""
        if self._is_stopped:
            return
        now = self._clock.now()
        try:
            due = min(self._begin_due(now), default=None)
        except apsw.Error:
            logger.exception("the outbox cannot be read")
            due = now + int(1000 * PAUSE_AFTER_FAULT)
        if due is not None:
            self._alarm.set(due)

    async def stop(self) -> None:
        """Abandon what is under way: its entries are still in the outbox."""
        self._is_stopped = True
        self._alarm.stop()
        tasks = [task for lane in self._lanes.values() for task in lane.under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._courier.close()

    async def try_out(self, webhook_id: str) -> Reply | None:
        """Send a made-up event at once, enabled or not, and tell what came of it; None if there is no such webhook."""
        recipient = read_recipient(self._reader, webhook_id)
        if recipient is None:
            return None
        if self._trials >= MOST_TRIALS:
            raise Overloaded(random.randint(500, 1500))
        self._trials += 1
        try:
            data = Raw(b'{"message":"a trial: nothing has happened"}')
            event = EventView(0, TEST_EVENT, self._clock.now() * 1_000_000, data=data)
            reply = await self._send(recipient, TEST_EVENT, msgspec.json.encode(event))
        finally:
            self._trials -= 1
        outcome = _outcome(recipient, None, EventHead(0, TEST_EVENT), reply)
        await self._batcher.apply(RecordDeliveries(items=[outcome]), may_be_refused=False)
        return reply

    # --- sending

    def _begin_due(self, now: int) -> Iterator[int]:
        """Begin what is due and has room; when the rest of those that have room is due."""
        waiting = read_waiting_recipients(self._reader)
        self._forget_lanes({recipient.id for recipient in waiting})
        room = MOST_AT_A_TIME - sum(len(lane.under_way) for lane in self._lanes.values())
        for recipient in sorted(waiting, key=self._turn):
            if room <= 0:
                return
            lane = self._lanes.setdefault(recipient.id, Lane())
            own_room = min(room, (MOST_OF_ONE if lane.is_open else 1) - len(lane.under_way))
            if own_room <= 0:
                continue
            for delivery in read_next_deliveries(self._reader, recipient.id, len(lane.under_way) + own_room + 1):
                if delivery.outbox_id in lane.under_way:
                    continue
                if delivery.due_at > now:
                    yield delivery.due_at
                    break
                if own_room == 0:
                    break
                self._begin(recipient, lane, delivery)
                own_room -= 1
                room -= 1

    def _turn(self, recipient: Recipient) -> tuple[int, int]:
        """Who has least under way comes first, and of those, who has waited longest."""
        lane = self._lanes.get(recipient.id)
        return (0, 0) if lane is None else (len(lane.under_way), lane.begun)

    def _forget_lanes(self, waiting: set[str]) -> None:
        for webhook_id, lane in list(self._lanes.items()):
            if not lane.under_way and webhook_id not in waiting:
                del self._lanes[webhook_id]

    def _begin(self, recipient: Recipient, lane: Lane, delivery: DueDelivery) -> None:
        self._begun += 1
        lane.begun = self._begun
        lane.under_way[delivery.outbox_id] = asyncio.create_task(self._deliver(recipient, lane, delivery))

    async def _deliver(self, recipient: Recipient, lane: Lane, delivery: DueDelivery) -> None:
        event = EventHead(0, "")
        try:
            event = _head_decoder.decode(delivery.event)
            reply = await self._send(recipient, event.type, delivery.event.encode())
        except Exception as error:
            logger.exception("event %d cannot be delivered to webhook %s", event.seq, recipient.id)
            reply = Reply(error=f"not sent: {error}")
        lane.is_open = reply.error is None
        self._outcomes.append(_outcome(recipient, delivery.outbox_id, event, reply))
        self._record()

    async def _send(self, recipient: Recipient, event_type: str, text: bytes) -> Reply:
        sent_at = format_instant(self._clock.now())
        body = msgspec.json.encode(Message(recipient.id, Raw(text), sent_at))
        marks = {"Webhook-ID": recipient.id, "Webhook-Event": event_type, "Webhook-Timestamp": sent_at}
        if recipient.secret is not None:
            marks["Signature"] = f"sha256={hmac.new(recipient.secret.encode(), body, 'sha256').hexdigest()}"
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"rookery/{__version__}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            **{prefix + name: value for prefix in PREFIXES for name, value in marks.items()},
        }
        return await self._courier.post(recipient.url, headers, body)

    # --- recording

    def _record(self) -> None:
        """Have the outcomes written down; those that come in the meantime go together after that."""
        if self._outcomes and not self._is_recording:
            self._is_recording = True
            items, self._outcomes = self._outcomes, []
            self._put(items)

    def _put(self, items: list[Delivery]) -> None:
        def recorded(result: Any) -> None:
            if isinstance(result, BaseException):
                asyncio.get_running_loop().call_later(PAUSE_AFTER_FAULT, self._put_again, items)
                return
            for item in items:
                if item.outbox_id is not None and item.webhook_id in self._lanes:
                    self._lanes[item.webhook_id].under_way.pop(item.outbox_id, None)
            self._is_recording = False
            self._record()

        self._batcher.put(RecordDeliveries(items=items), recorded)

    def _put_again(self, items: list[Delivery]) -> None:
        if not self._is_stopped:
            self._put(items)


def _outcome(recipient: Recipient, outbox_id: int | None, event: EventHead, reply: Reply) -> Delivery:
    return Delivery(
        webhook_id=recipient.id,
        outbox_id=outbox_id,
        event_seq=event.seq,
        event_type=event.type,
        status_code=reply.status_code,
        duration_ms=reply.duration_ms,
        error=reply.error,
        answer=reply.answer,
    )
