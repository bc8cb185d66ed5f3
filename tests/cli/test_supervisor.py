"""The parent of several workers, with processes that are no workers."""

import asyncio
import signal
import sys
from typing import Any

import pytest

from rookery.cli.supervisor import Supervisor

SLEEPS = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_a_signal_that_comes_while_a_worker_is_being_started_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    start = asyncio.create_subprocess_exec

    async def main() -> int:
        supervisor = Supervisor(SLEEPS, 1, reload=False, health=None)

        async def interrupted(*command: Any, **options: Any) -> Any:
            process = await start(*command, **options)
            supervisor._pass_on(signal.SIGTERM)
            return process

        monkeypatch.setattr(asyncio, "create_subprocess_exec", interrupted)
        async with asyncio.timeout(20):
            return await supervisor.run()

    assert asyncio.run(main()) == 0
