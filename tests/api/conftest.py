"""What API tests share beyond the server: calls that go on in the background."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest


@pytest.fixture
def background() -> Iterator[Callable[..., Future[Any]]]:
    """Runs calls beside the test, as another client would make them."""
    with ThreadPoolExecutor(64) as pool:
        yield pool.submit
