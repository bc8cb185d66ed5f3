"""The test kit for people who write jobs: the real engine in memory, a clock that is moved, no server, no sleep.

With pytest use the fixtures `rookery`, `rookery_fake` and `rookery_inline`; elsewhere the context managers `engine`,
`fake` and `inline`. Nothing is loaded before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rookery.client.functions.app import App
    from rookery.client.values import Day
    from rookery.testing.api import NeedsServer
    from rookery.testing.drained import Drained
    from rookery.testing.modes import Engine, Fake, Inline

_HOMES: Final = {"Drained": "drained", "Engine": "modes", "Fake": "modes", "Inline": "modes", "NeedsServer": "api"}

__all__ = ["Drained", "Engine", "Fake", "Inline", "NeedsServer", "engine", "fake", "inline"]


def engine(*apps: "App", now: "Day | None" = None) -> "Engine":
    """The real engine in memory, with a clock that is moved: `with engine() as rookery: ...`."""
    from rookery.testing.modes import Engine

    return Engine(*apps, now=now)


def fake(*apps: "App", now: "Day | None" = None) -> "Fake":
    """Jobs only wait, until they are drained: `with fake() as rookery: ...`."""
    from rookery.testing.modes import Fake

    return Fake(*apps, now=now)


def inline(*apps: "App", now: "Day | None" = None) -> "Inline":
    """Jobs run as soon as they are enqueued: `with inline() as rookery: ...`."""
    from rookery.testing.modes import Inline

    return Inline(*apps, now=now)


def __getattr__(name: str) -> Any:
    """Load what is asked for: the engine is large, and most runs of a test suite do without it."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'rookery.testing' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"rookery.testing.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
