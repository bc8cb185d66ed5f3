"""The workbench that the engine's tests stand at."""

from collections.abc import Iterator

import pytest

from tests.unit.workbench import Workbench


@pytest.fixture
def bench() -> Iterator[Workbench]:
    bench = Workbench()
    yield bench
    bench.machine.close()
