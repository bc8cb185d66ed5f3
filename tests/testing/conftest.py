from collections.abc import Iterator

import pytest

from rookery import testing
from rookery.testing import Engine, Fake, Inline


@pytest.fixture
def engine() -> Iterator[Engine]:
    with testing.engine(now="2026-01-05T08:00:00Z") as kit:
        yield kit


@pytest.fixture
def fake() -> Iterator[Fake]:
    with testing.fake() as kit:
        yield kit


@pytest.fixture
def inline() -> Iterator[Inline]:
    with testing.inline() as kit:
        yield kit
