"""Telling the URLs of jobs how the jobs ended. What is said there is a face's affair; that it is said is ours."""

import logging
from collections import Counter
from typing import Any, Final, Protocol

import apsw
import msgspec

from rookery.engine.callbacks import DELIVERED, GIVEN_UP, RETRYING, Ending, pause_after
from rookery.engine.ops import CallbackAttempt, RecordCallbacks, RecordedCallbacks
from rookery.node.addresses import url_fault
from rookery.node.batcher import Batcher
from rookery.node.clock import Clock
from rookery.node.courier import Courier, Letter, Reply
from rookery.node.dispatch import Dispatcher, Done
from rookery.store.callbacks import DueCallback, Host, read_ending, read_next_callbacks, read_waiting_hosts

logger = logging.getLogger(__name__)

ENDING: Final = "ending"
"""What this is called where it is counted: once, at its end."""
_decoder = msgspec.json.Decoder(Ending)


class CallbackFace(Protocol):
    """The face whose jobs have callbacks."""

    def write_ending(self, ending: Ending, now: int) -> Letter:
        """What is said of a job's end."""

    def callback_turn(self, url: str) -> int:
        """In how many milliseconds it is a URL's turn, which is taken with this; 0 for now."""

    def record_callbacks(self, items: list[CallbackAttempt]) -> RecordCallbacks:
        """How attempts are recorded: it is the face that knows how often and when to try again."""


class Outcome(msgspec.Struct, frozen=True):
    """An attempt, and of what."""

    attempt: CallbackAttempt
    ending: Ending | None
    error: str | None = None


class Callbacks(Dispatcher[Host, DueCallback, Outcome]):
    """Delivers them."""

    def __init__(
        self,
        reader: apsw.Connection,
        batcher: Batcher,
        clock: Clock,
        courier: Courier,
        may_reach_loopback: bool,
        face: CallbackFace,
        told: Counter[tuple[str, str, bool]],
    ) -> None:
        super().__init__(reader, batcher, clock)
        self._courier = courier
        self._may_reach_loopback = may_reach_loopback
        self._face = face
        self._told = told
        self._in_turn: set[int] = set()
        """Those that have waited for their turn: they need no other."""

    def _read_waiting(self) -> list[Host]:
        return read_waiting_hosts(self._reader)

    def _read_next(self, recipient: Host, limit: int) -> list[DueCallback]:
        return read_next_callbacks(self._reader, recipient.id, limit)

    def _report(self, outcomes: list[Outcome]) -> RecordCallbacks:
        return self._face.record_callbacks([outcome.attempt for outcome in outcomes])

    async def _attempt(self, recipient: Host, entry: DueCallback) -> tuple[Outcome, bool | None]:
        ending = None
        try:
            text = read_ending(self._reader, entry.outbox_id)
            if text is None:
                return Outcome(CallbackAttempt(entry.outbox_id), None), None
            ending = _decoder.decode(text)
            wait = 0 if entry.outbox_id in self._in_turn else self._face.callback_turn(ending.url)
            if wait > 0:
                self._in_turn.add(entry.outbox_id)
                waiting = CallbackAttempt(entry.outbox_id, postponed_to=self._clock.now() + wait)
                return Outcome(waiting, ending), None
            self._in_turn.discard(entry.outbox_id)
            reply = await self._send(ending)
        except Exception as error:
            logger.exception("callback %d cannot be delivered", entry.outbox_id)
            reply = Reply(error=f"not sent: {error}")
        is_delivered = reply.error is None
        return Outcome(CallbackAttempt(entry.outbox_id, is_delivered), ending, reply.error), is_delivered

    async def _send(self, ending: Ending) -> Reply:
        fault = url_fault(ending.url, self._may_reach_loopback)
        if fault is not None:
            return Reply(error=f"the URL {fault}")
        letter = self._face.write_ending(ending, self._clock.now())
        return await self._courier.post(letter.url, letter.headers, letter.body)

    def _recorded(self, done: list[Done[DueCallback, Outcome]], result: Any) -> None:
        assert isinstance(result, RecordedCallbacks)
        for (host, entry, outcome), became in zip(done, result.outcomes, strict=True):
            if became in (RETRYING, GIVEN_UP):
                self._note(host, entry, outcome, became)
            if outcome.ending is not None and became in (DELIVERED, GIVEN_UP):
                self._told[ENDING, outcome.ending.queue, became == DELIVERED] += 1

    def _note(self, host: str, entry: DueCallback, outcome: Outcome, became: str) -> None:
        """Log that an attempt has failed, and what comes next."""
        rules = self._face.record_callbacks([])
        attempts = entry.attempts + 1
        logger.log(
            logging.WARNING if became == GIVEN_UP else logging.INFO,
            "callback of job %s to %s, attempt %d of %d: %s; %s",
            outcome.ending.job_id if outcome.ending is not None else "unknown",
            host,
            attempts,
            max(attempts, rules.most_attempts),
            outcome.error,
            GIVEN_UP if became == GIVEN_UP else f"again in {pause_after(rules, attempts) / 1000:g} s",
        )
