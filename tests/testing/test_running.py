"""Who runs the jobs of a test, by themselves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from rookery.client.functions.app import App
from rookery.testing.node import drive
from rookery.testing.running import LoopHands, PlainHands


def second_time_lucky() -> App:
    attempts: list[int] = []

    @asynccontextmanager
    async def lifespan(app: App) -> AsyncIterator[str]:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError("not yet")
        yield "a state"

    return App(lifespan=lifespan)


def test_a_lifespan_that_failed_is_entered_again_by_plain_code() -> None:
    app, alive = second_time_lucky(), set[App]()
    hands = PlainHands(alive)

    with pytest.raises(ConnectionError):
        drive(hands.enter(app))
    drive(hands.enter(app))
    assert app.state == "a state"
    hands.close()
    assert app.state is None


def test_a_lifespan_that_failed_is_entered_again_on_a_loop() -> None:
    app = second_time_lucky()

    async def main() -> None:
        async with AsyncExitStack() as lives:
            hands = LoopHands(set(), lives)
            with pytest.raises(ConnectionError):
                await hands.enter(app)
            await hands.enter(app)
            assert app.state == "a state"

    asyncio.run(main())
