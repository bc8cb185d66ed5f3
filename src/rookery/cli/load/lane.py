"""How jobs travel: what producers and workers of the load ask of a protocol."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from rookery.client.errors import Overloaded

T = TypeVar("T")


class Payload(msgspec.Struct, frozen=True):
    """What the load reads of its own payloads."""

    n: int


class Lease(msgspec.Struct, frozen=True):
    """A job in a worker's hand: what it takes to end it, and nothing else."""

    job_id: str
    lease_token: str


class NumberedLease(Lease, frozen=True):
    """The same with the job's number."""

    payload: Payload


Ended = Callable[[Sequence[Lease], float], None]
"""Hears of jobs that were ended together, and when their operation began."""


class Lane(Protocol):
    """One protocol, opened for one phase."""

    async def open(self) -> None:
        """Make all connections, so that none is made while the clock runs."""
        ...

    async def close(self) -> None:
        """Let go of them."""
        ...

    async def enqueue(self, jobs: Sequence[bytes]) -> None:
        """Add jobs, given as JSON; when this returns they are durable."""
        ...

    async def work(self, worker: int, ended: Ended) -> None:
        """Claim jobs and end them, until cancelled."""
        ...


class Patience:
    """Does what a server asks that has too much to do: waits, and counts how often."""

    def __init__(self) -> None:
        self.throttled = 0

    async def insist(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send until it is not refused as too much."""
        while True:
            try:
                return await send()
            except Overloaded as error:
                self.throttled += 1
                await asyncio.sleep(error.retry_after)
