"""What tests of `rookery top` share: the screen in memory, its text, and snapshots of that."""

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from rookery.cli.dashboard.app import Dashboard
from rookery.cli.remote import Remote
from tests.conftest import Api

SNAPSHOTS = Path(__file__).parent / "snapshots"
NOON = 1_767_268_800.0
"""2026-01-01T12:00:00Z: what the clock of the screen shows, so that every age is always the same."""
PORT = re.compile(r"(?<=127\.0\.0\.1:)\d+")
CLOCK = re.compile(r"(?<= )\d\d:\d\d:\d\d$", re.MULTILINE)


class Screen:
    """A dashboard that a test looks at and types into."""

    def __init__(self, app: Dashboard, pilot: Pilot[Any]) -> None:
        self.app, self._pilot = app, pilot

    @property
    def text(self) -> str:
        """What is to be seen."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips) + "\n"

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def resize(self, width: int, height: int) -> None:
        await self._pilot.resize_terminal(width, height)

    async def see(self, *words: str, gone: tuple[str, ...] = ()) -> str:
        """Wait until these words are to be seen, those are gone, and nothing moves; the text."""
        return await self.until(
            lambda text: all(word in text for word in words) and not any(word in text for word in gone)
        )

    async def until(self, condition: Callable[[str], Any]) -> str:
        end, before = time.monotonic() + 45, ""
        while time.monotonic() < end:
            await self._pilot.pause(0.02)
            text, before = before, self.text
            if text == before and condition(text):
                return text
        raise AssertionError(f"this did not come to be seen:\n{self.text}")


def watch(
    api: Api,
    visit: Callable[[Screen], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
    interval: float = 0.2,
    clock: Callable[[], float] = lambda: NOON,
) -> int | None:
    """Open the dashboard of a server, do something there; what it ends with."""

    async def run() -> int | None:
        app = Dashboard(Remote(api.server.url, None, None), interval, clock)
        async with app.run_test(size=size) as pilot:
            await visit(Screen(app, pilot))
        return app.return_value

    return asyncio.run(run())


def assert_looks_as_before(name: str, text: str) -> None:
    """Compare with the snapshot of that name. `UPDATE_SNAPSHOTS=1` takes a new one instead."""
    text = CLOCK.sub("12:00:00", PORT.sub(lambda port: "0" * len(port[0]), text))
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        file.write_text(text)
    assert text == file.read_text()


def prepare(api: Api) -> None:
    """Fill a server with jobs whose ids and times are always the same."""

    def at(minutes: int) -> str:
        return f"2026-01-01T{11 - minutes // 60:02}:{59 - minutes % 60:02}:30.000Z"

    def job(number: int, queue: str, state: str, age: int, **fields: Any) -> dict[str, Any]:
        return {"id": f"job-{number:03}", "queue": queue, "state": state, "created_at": at(age), **fields}

    def failed(number: int, queue: str, state: str, age: int, error: str, **fields: Any) -> dict[str, Any]:
        trace = f'Traceback (most recent call last):\n  File "app.py", line {number}, in run\n{error}'
        errors = [{"attempt": 1, "error": error, "backtrace": trace, "created_at": at(age)}]
        times = {"started_at": at(age), "failed_at": at(age), "attempt": 1, "errors": errors}
        if state == "retrying":
            times["scheduled_at"] = "2090-01-01T00:00:00Z"
        return job(number, queue, state, age + 5, **times, **fields)

    jobs = [
        *(job(n, "emails", "pending", 2 + n) for n in range(1, 13)),
        *(
            job(n, "emails", "completed", 90, attempt=1, started_at=at(80), completed_at=at(79))
            for n in range(100, 130)
        ),
        job(20, "images", "held", 200, hold_reason="look at it first"),
        job(21, "images", "scheduled", 30, scheduled_at="2090-01-01T00:00:00Z"),
        job(22, "reports", "pending", 700),
        job(23, "a.queue.with.a.very.long.name.that.no.column.can.show.as.a.whole", "pending", 1),
        job(24, "größe-数", "pending", 3),
        failed(
            30, "emails", "dead", 3, "SMTPRecipientsRefused: 550 5.1.1 mailbox does not exist", payload={"to": "ada"}
        ),
        failed(31, "emails", "retrying", 12, "ConnectionRefusedError: [Errno 111] smtp.example.com:587"),
        failed(32, "images", "dead", 61, "MemoryError: \x1b[31mimage\x1b[0m of 24000x18000 pixels\nand more"),
    ]
    settings: dict[str, Any] = {"reports": {"paused": True}, "images": {"max_concurrency": 4}}
    names = dict.fromkeys(job["queue"] for job in jobs)
    queues = [{"name": name, "created_at": at(180), **settings.get(name, {})} for name in names]
    document = {"jobs": jobs, "queues": queues, "meta": {"format": 1}}
    answer = api.post("/admin/restore", document)
    assert answer.status_code == 200, answer.text
    for worker, hostname in (("worker-2", "web-2"), ("worker-1", "web-1")):
        body = {"queues": ["emails", "images"], "worker_id": worker, "hostname": hostname, "lease_duration": 3600}
        assert api.post("/fetch", body).status_code == 200
        said = {"slots": 5, "draining": True} if worker == "worker-2" else {"slots": 10}
        assert api.post(f"/workers/{worker}", said).status_code == 200
        # The worker heard of last is the first in the list, and of one millisecond the one with the lower id.
        time.sleep(0.002)
