"""The order of batches. Whatever keeps it gives each batch its time and its place, and makes it survive."""

from typing import Protocol

from rookery.engine.ops import AnyOperation, Result


class Log(Protocol):
    """Something that puts operations in order, for good."""

    last_commit: tuple[float, float] | None
    """When the commit of the last batch began and ended, by `perf_counter`; None if it had nothing to write."""

    async def append(self, ops: list[AnyOperation]) -> list[Result]:
        """Add a batch behind all others and apply it: one result for each operation, once it is durable."""
