"""Telling everybody who waits that there is something new to read."""

import asyncio


class News:
    """One future for all who wait; nothing is kept for those who do not."""

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None

    def next(self) -> asyncio.Future[None]:
        """A future that is done as soon as there is news. Shared: do not cancel it."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        return self._next

    def tell(self) -> None:
        """There is news."""
        if self._next is not None:
            self._next.set_result(None)
            self._next = None
