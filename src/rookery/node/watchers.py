"""Callers who wait for something to happen to one job."""

import asyncio


class Watchers:
    """Futures by the id of the job that they are about."""

    def __init__(self) -> None:
        self._watchers: dict[str, set[asyncio.Future[None]]] = {}

    def __bool__(self) -> bool:
        return bool(self._watchers)

    def watch(self, job_id: str) -> asyncio.Future[None]:
        """A future that is done when there is something to tell. Cancel it when nobody waits any more."""
        watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watchers.setdefault(job_id, set()).add(watcher)

        def forget(_: asyncio.Future[None]) -> None:
            watchers = self._watchers.get(job_id)
            if watchers is not None:
                watchers.discard(watcher)
                if not watchers:
                    del self._watchers[job_id]

        watcher.add_done_callback(forget)
        return watcher

    def tell(self, job_id: str) -> None:
        """It has happened to this job."""
        for watcher in self._watchers.get(job_id, ()):
            if not watcher.done():
                watcher.set_result(None)

    def tell_all(self) -> None:
        """Nobody has to wait any longer."""
        for job_id in list(self._watchers):
            self.tell(job_id)
