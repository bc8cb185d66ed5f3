"""The pytest plugin: a fixture for each mode. It loads nothing of the engine before a test asks for one."""

import inspect
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from rookery import testing

if TYPE_CHECKING:
    from rookery.testing.modes import Engine, Fake, Inline

FIXTURES: Final = {"engine": "rookery", "fake": "rookery_fake", "inline": "rookery_inline"}
_MARKER: Final = (
    "rookery(mode, now): let all apps of the process use the mode `engine`, `fake` or `inline` during this test; "
    "`now` is when the engine's clock begins"
)
_KIT: Final = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The mode in which every test runs that does not choose one itself."""
    parser.addini(
        "rookery_mode", "engine, fake or inline: what every test uses that does not say otherwise", default=""
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and see that the setting is one."""
    config.addinivalue_line("markers", _MARKER)
    mode = config.getini("rookery_mode")
    if mode and mode not in FIXTURES:
        raise pytest.UsageError(f"rookery_mode must be one of {', '.join(FIXTURES)}, not {mode!r}")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give a test the mode of its marker, or of the settings, unless it asks for a fixture itself."""
    marked = _marked(item)
    names: list[str] | None = getattr(item, "fixturenames", None)
    if names is None or not set(FIXTURES.values()).isdisjoint(names):
        return
    mode = marked.get("mode") or item.config.getini("rookery_mode")
    if not mode:
        return
    if mode not in FIXTURES:
        raise pytest.UsageError(f"{item.nodeid}: the mode must be one of {', '.join(FIXTURES)}, not {mode!r}")
    item.fixturenames = [FIXTURES[mode], *names]  # type: ignore[attr-defined]


@pytest.fixture
def rookery(request: pytest.FixtureRequest) -> "Iterator[Engine]":
    """The real engine in memory, with a clock that the test moves."""
    with testing.engine(now=_beginning(request)) as kit:
        request.node.stash[_KIT] = kit
        yield kit


@pytest.fixture
def rookery_fake(request: pytest.FixtureRequest) -> "Iterator[Fake]":
    """Jobs only wait, until the test drains them."""
    with testing.fake(now=_beginning(request)) as kit:
        request.node.stash[_KIT] = kit
        yield kit


@pytest.fixture
def rookery_inline(request: pytest.FixtureRequest) -> "Iterator[Inline]":
    """Jobs run as soon as they are enqueued."""
    with testing.inline(now=_beginning(request)) as kit:
        request.node.stash[_KIT] = kit
        yield kit


def _beginning(request: pytest.FixtureRequest) -> Any:
    return _marked(request.node).get("now")


def _marked(item: pytest.Item) -> dict[str, Any]:
    """What the marker of a test says, by name."""
    marker = item.get_closest_marker("rookery")
    if marker is None:
        return {}
    try:
        return inspect.signature(_marker).bind_partial(*marker.args, **marker.kwargs).arguments
    except TypeError as error:
        raise pytest.UsageError(f"{item.nodeid}: rookery(mode, now): {error}") from None


def _marker(mode: str, now: Any) -> None:
    """What can be said by the marker."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a test that failed what went wrong with its jobs: that is often why."""
    report = yield
    kit = item.stash.get(_KIT, None)
    if report.when == "call" and report.failed and kit is not None and kit.failures:
        report.sections.append(("Rookery jobs that failed", "\n\n".join(kit.failures)))
    return report
