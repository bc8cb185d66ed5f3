"""The web UI: the files that `make ui` has built, as they lie in the package.

They are public and hold no data: the app asks the API with the key that its user gives it.
"""

import gzip
import re
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import msgspec

from rookery.http.call import Answer, Call, Handler, Route
from rookery.http.errors import not_found

Headers = tuple[tuple[bytes, bytes], ...]

INDEX: Final = "index.html"
ASSETS: Final = "assets/"
"""Files in here have a hash of their content in their name, so that they never change."""
_IMMUTABLE: Final = (b"cache-control", b"public, max-age=31536000, immutable")
_ASK_AGAIN: Final = (b"cache-control", b"no-cache")
_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    b"font-src 'self'; manifest-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
)
_SAFETY: Final[Headers] = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)
_TYPES: Final = {
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
    "png": b"image/png",
    "json": b"application/json",
    "woff2": b"font/woff2",
}
_PACKED_ALREADY: Final = frozenset({"png", "woff2"})
_PREFIX: Final = re.compile(rb"(/[\w.~-]+)+")
_HERE: Final = b'<base href="./" />'


class File(msgspec.Struct, frozen=True):
    """A file as it is answered: plain, and packed if that makes it smaller."""

    body: bytes
    packed: bytes | None
    tag: bytes
    content_type: bytes


async def show(call: Call) -> Answer:
    """A file, or for every path of the app its one page."""
    path = call.params["path"]
    if path.startswith(ASSETS):
        if path not in _names():
            raise not_found(f"there is no /ui/{path[:200]}; the app may have been updated, load it again")
        return _answer(call, _file(path), _IMMUTABLE)
    if path and path != INDEX and path in _names():
        return _answer(call, _file(path), _ASK_AGAIN)
    if INDEX not in _names():
        raise not_found("the web UI has not been built, run `make ui`")
    depth = call.scope["raw_path"].removeprefix(b"/ui/").count(b"/")
    return _answer(call, _page(depth), _ASK_AGAIN)


async def welcome(call: Call) -> Answer:
    """A browser at the root is shown the way; to programs there is nothing here."""
    if b"text/html" not in call.headers.get(b"accept", b""):
        raise not_found("there is nothing at /, see /docs for what there is, and /ui/ for people")
    return await enter(call)


async def enter(call: Call) -> Answer:
    """The way to the app; behind a proxy that says where it has put us, there."""
    prefix = call.headers.get(b"x-forwarded-prefix", b"").rstrip(b"/")
    location = (prefix if _PREFIX.fullmatch(prefix) else b"") + b"/ui/"
    status = 301 if call.scope["path"] == "/ui" else 302
    return Answer(status, b"", b"text/plain", ((b"location", location), _ASK_AGAIN))


def _answer(call: Call, file: File, caching: tuple[bytes, bytes]) -> Answer:
    headers: Headers = (*_SAFETY, caching, (b"etag", file.tag), (b"vary", b"accept-encoding"))
    if file.tag in call.headers.get(b"if-none-match", b""):
        return Answer(304, headers=headers)
    if file.packed is not None and b"gzip" in call.headers.get(b"accept-encoding", b""):
        return Answer(200, file.packed, file.content_type, (*headers, (b"content-encoding", b"gzip")))
    return Answer(200, file.body, file.content_type, headers)


def _root() -> Traversable:
    return files("rookery") / "ui"


@cache
def _names() -> frozenset[str]:
    """All there is; what is not here is not read."""
    root = _root()
    if not root.is_dir():
        return frozenset()
    top = {entry.name for entry in root.iterdir() if entry.is_file()}
    assets = root / ASSETS.rstrip("/")
    return frozenset(top | ({ASSETS + entry.name for entry in assets.iterdir()} if assets.is_dir() else set()))


@cache
def _file(name: str) -> File:
    return _packed(name, (_root() / name).read_bytes())


@lru_cache(16)
def _page(depth: int) -> File:
    """The app's page for a path so many levels down. It names its files from the top, wherever a proxy has put that."""
    return _packed(
        INDEX, (_root() / INDEX).read_bytes().replace(_HERE, b'<base href="%s" />' % (b"../" * depth or b"./"))
    )


def _packed(name: str, body: bytes) -> File:
    ending = name.rpartition(".")[2]
    packed = None if ending in _PACKED_ALREADY else gzip.compress(body, 9, mtime=0)
    tag = b'"%s"' % sha256(body).hexdigest()[:32].encode()
    smaller = packed is not None and len(packed) < len(body)
    return File(body, packed if smaller else None, tag, _TYPES.get(ending, b"application/octet-stream"))


def _route(path: str, handler: Handler) -> Route:
    return Route(method="GET", path=path, handler=handler, summary="", answers={}, is_public=True)


ROUTES: Final = [_route("/", welcome), _route("/ui", enter), _route("/ui/{path:path}", show)]
