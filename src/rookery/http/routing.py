"""Who answers a path."""

from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import unquote

from starlette.routing import Match, Router
from starlette.routing import Route as Pattern

from rookery.http.errors import not_allowed, not_found

_NO_PARAMS: Final[dict[str, str]] = {}


class Routed(Protocol):
    """What is found: something with a method and a path."""

    @property
    def method(self) -> str:
        """GET, POST, …"""

    @property
    def path(self) -> str:
        """As it is, or with `{parameters}`."""


R = TypeVar("R", bound=Routed)


class Routes(Generic[R]):
    """Finds who answers a path. Paths are compared as they were sent, so that a queue's name may hold a slash."""

    def __init__(self, routes: list[R]) -> None:
        self._exact = {(route.method, route.path): route for route in routes if "{" not in route.path}
        self._patterns = Router([Pattern(route.path, _never_called, methods=[route.method]) for route in routes])
        self._routes = routes

    def find(self, method: str, path: str) -> tuple[R, dict[str, str]]:
        """The route and the parameters in its path."""
        route = self._exact.get((method, path))
        if route is not None:
            return route, _NO_PARAMS
        allowed: set[str] = set()
        for pattern, route in zip(self._patterns.routes, self._routes, strict=True):
            match, found = pattern.matches({"type": "http", "path": path, "method": method})
            if match is Match.FULL:
                return route, {name: unquote(value) for name, value in found["path_params"].items()}
            if match is Match.PARTIAL:
                allowed.add(route.method)
        if allowed:
            raise not_allowed(method, allowed)
        raise not_found(f"there is nothing at {unquote(path)[:200]}, see /docs for what there is")


async def _never_called(_: Any) -> None:
    """Patterns only match; handlers answer."""
