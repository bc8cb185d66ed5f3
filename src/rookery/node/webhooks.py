"""Delivering what waits in the outbox for webhooks, and trying webhooks out."""

import hmac
import logging
import random
from typing import Final

import apsw
import msgspec

from rookery.engine.ops import Delivery, RecordDeliveries
from rookery.model.instants import format_instant
from rookery.node.addresses import url_fault
from rookery.node.batcher import Batcher, Overloaded
from rookery.node.clock import Clock
from rookery.node.courier import USUAL_HEADERS, Courier, Reply
from rookery.node.dispatch import Dispatcher
from rookery.store.events import EventView
from rookery.store.webhooks import (
    DueDelivery,
    Recipient,
    read_next_deliveries,
    read_recipient,
    read_waiting_recipients,
)

logger = logging.getLogger(__name__)

MOST_TRIALS: Final = 8
TEST_EVENT: Final = "test"
PREFIXES: Final = ("X-Rookery-", "X-Corvo-")

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


class Webhooks(Dispatcher[Recipient, DueDelivery, Delivery]):
    """Delivers events to webhooks."""

    def __init__(
        self, reader: apsw.Connection, batcher: Batcher, clock: Clock, courier: Courier, may_reach_loopback: bool
    ) -> None:
        super().__init__(reader, batcher, clock)
        self._courier = courier
        self._may_reach_loopback = may_reach_loopback
        self._trials = 0

    def url_fault(self, url: str) -> str | None:
        """Why nothing can be sent to a URL, or None."""
        return url_fault(url, self._may_reach_loopback)

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

    def _read_waiting(self) -> list[Recipient]:
        return read_waiting_recipients(self._reader)

    def _read_next(self, recipient: Recipient, limit: int) -> list[DueDelivery]:
        return read_next_deliveries(self._reader, recipient.id, limit)

    def _report(self, outcomes: list[Delivery]) -> RecordDeliveries:
        return RecordDeliveries(items=outcomes)

    async def _attempt(self, recipient: Recipient, entry: DueDelivery) -> tuple[Delivery, bool]:
        event = EventHead(0, "")
        try:
            event = _head_decoder.decode(entry.event)
            reply = await self._send(recipient, event.type, entry.event.encode())
        except Exception as error:
            logger.exception("event %d cannot be delivered to webhook %s", event.seq, recipient.id)
            reply = Reply(error=f"not sent: {error}")
        return _outcome(recipient, entry.outbox_id, event, reply), reply.error is None

    async def _send(self, recipient: Recipient, event_type: str, text: bytes) -> Reply:
        sent_at = format_instant(self._clock.now())
        body = msgspec.json.encode(Message(recipient.id, Raw(text), sent_at))
        marks = {"Webhook-ID": recipient.id, "Webhook-Event": event_type, "Webhook-Timestamp": sent_at}
        if recipient.secret is not None:
            marks["Signature"] = f"sha256={hmac.new(recipient.secret.encode(), body, 'sha256').hexdigest()}"
        headers = {
            **USUAL_HEADERS,
            **{prefix + name: value for prefix in PREFIXES for name, value in marks.items()},
        }
        return await self._courier.post(recipient.url, headers, body)


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
