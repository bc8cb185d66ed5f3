"""What a worker has to tell the server, kept until the server has heard it."""

from typing import Final

import msgspec

from rookery.client.functions.outcomes import Cancelled, Done, Failed, Outcome, Snoozed
from rookery.client.values import sendable

MOST_AT_ONCE: Final = 512
MOST_BYTES: Final = 4 << 20
"""Of results that travel together."""


class AckMessage(msgspec.Struct, omit_defaults=True, gc=False):
    """The job is done."""

    job_id: str
    lease_token: str | None
    result: msgspec.Raw | None = None


class FailMessage(msgspec.Struct, omit_defaults=True, gc=False):
    """The attempt has failed."""

    job_id: str
    lease_token: str | None
    error: str
    backtrace: str | None = None
    retry_after: str | None = None
    end: str | None = None


class ReleaseMessage(msgspec.Struct, omit_defaults=True, gc=False):
    """The job is handed back."""

    job_id: str
    lease_token: str | None
    delay: str | None = None
    reason: str | None = None


Message = AckMessage | FailMessage | ReleaseMessage


def message_of(outcome: Outcome, job_id: str, lease_token: str | None) -> Message | None:
    """How the server is told of an outcome; None if it is not told."""
    match outcome:
        case Done():
            return AckMessage(job_id, lease_token, outcome.result)
        case Failed():
            error, backtrace = sendable(outcome.error), _sendable(outcome.backtrace)
            return FailMessage(job_id, lease_token, error, backtrace, outcome.retry_after, outcome.end)
        case Snoozed():
            return ReleaseMessage(job_id, lease_token, outcome.delay, _sendable(outcome.reason))
        case Cancelled():
            return FailMessage(job_id, lease_token, sendable(outcome.reason), end="cancelled")
    return None


def _sendable(text: str | None) -> str | None:
    return None if text is None else sendable(text)


class Outbox:
    """Messages that wait to be sent. Those that were sent but not answered come back when the connection is lost."""

    def __init__(self) -> None:
        self.acks: list[AckMessage] = []
        self.fails: list[FailMessage] = []
        self.releases: list[ReleaseMessage] = []

    def __len__(self) -> int:
        return len(self.acks) + len(self.fails) + len(self.releases)

    @property
    def size(self) -> int:
        """How many bytes of results are in it."""
        return sum([len(ack.result) for ack in self.acks if ack.result])

    def add(self, message: Message) -> None:
        """Keep a message."""
        if isinstance(message, AckMessage):
            self.acks.append(message)
        elif isinstance(message, FailMessage):
            self.fails.append(message)
        else:
            self.releases.append(message)

    def take(self) -> "Outbox":
        """As much as may be sent at once, in an outbox of its own."""
        taken = Outbox()
        if len(self) <= MOST_AT_ONCE and self.size <= MOST_BYTES:
            taken.acks, taken.fails, taken.releases = self.acks, self.fails, self.releases
            self.acks, self.fails, self.releases = [], [], []
            return taken
        size = 0
        for message in self.messages()[:MOST_AT_ONCE]:
            size += len(message.result or b"") if isinstance(message, AckMessage) else 0
            if len(taken) and size > MOST_BYTES:
                break
            taken.add(message)
        for mine, theirs in ((self.acks, taken.acks), (self.fails, taken.fails), (self.releases, taken.releases)):
            del mine[: len(theirs)]
        return taken

    def messages(self) -> list[Message]:
        """All of them."""
        return [*self.acks, *self.fails, *self.releases]

    def remove(self, message: Message) -> None:
        """A message has been heard."""
        for kind in (self.acks, self.fails, self.releases):
            kind[:] = [one for one in kind if one is not message]  # type: ignore[misc]

    def put_back(self, unsent: "Outbox") -> None:
        """What was taken has not been heard: it goes first when there is another chance."""
        self.acks[:0] = unsent.acks
        self.fails[:0] = unsent.fails
        self.releases[:0] = unsent.releases
