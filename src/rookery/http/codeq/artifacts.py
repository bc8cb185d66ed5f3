"""What results have beside themselves: links that are passed on, and contents that we keep and serve.

Whoever has an artifact's URL can read it: there is an unguessable key in it, and only those who may read the result
are told the URL. It works without a token, and without knowing where contents are kept.
"""

import asyncio
import hmac
import logging
import re
from binascii import Error as BadBase64
from binascii import a2b_base64
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from secrets import token_urlsafe
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote
from weakref import WeakValueDictionary

import msgspec

from rookery.http.call import Answer
from rookery.http.codeq.blobs import Blobs, BlobsDown, LocalBlobs, S3Blobs
from rookery.http.codeq.call import CodeqCall, Route
from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.records import Artifact, face_of
from rookery.http.codeq.settings import CodeqSettings
from rookery.store.tasks import read_task_anywhere

logger = logging.getLogger(__name__)

T = TypeVar("T")

AT_ONCE: Final = 5
LONGEST_NAME: Final = 800
LONGEST_PART: Final = 255
ANY_TYPE: Final = "application/octet-stream"
_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+([ \t]*;[\x20-\x7e]*)?", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\\]")


class ArtifactInput(msgspec.Struct, rename="camel"):
    """An artifact as a worker submits it."""

    name: str | None = None
    url: str | None = None
    content_base64: str | None = msgspec.field(default=None, name="contentBase64")
    content_type: str | None = None


class NewArtifact(NamedTuple):
    """An artifact that is what it has to be: a link, or a content."""

    name: str
    url: str
    content: bytes | None
    type: str


class Deposit(NamedTuple):
    """The artifacts of one submission, and those of them that we keep."""

    task_id: str
    artifacts: tuple[Artifact, ...]
    files: tuple[tuple[str, str, str], ...]


def read_artifacts(given: list[ArtifactInput]) -> list[NewArtifact]:
    """The artifacts of a submission in their order; what has neither link nor content is left out."""
    artifacts = []
    for one in given:
        name = _checked_name(one.name or "")
        if one.url:
            artifacts.append(NewArtifact(name, one.url, None, ""))
        elif one.content_base64:
            content_type = (one.content_type or "").strip()
            is_type = _TYPE.fullmatch(content_type) is not None
            content = _decoded(name, one.content_base64)
            artifacts.append(NewArtifact(name, "", content, content_type if is_type else ANY_TYPE))
    _check_places([artifact.name for artifact in artifacts if artifact.content is not None])
    return artifacts


def _checked_name(name: str) -> str:
    """A relative path that stays where it is put."""
    if not name.strip():
        raise CodeqError(400, "artifact name is required")
    parts = name.split("/")
    is_sound = (
        not _CONTROL.search(name)
        and all(part.strip() and part not in (".", "..") for part in parts)
        and all(len(part.encode()) <= LONGEST_PART for part in parts)
        and len(name.encode()) <= LONGEST_NAME
    )
    if not is_sound:
        raise CodeqError(400, f"invalid artifact name {_quoted(name)}")
    return name


def _decoded(name: str, text: str) -> bytes:
    """The content; line breaks and missing padding are tolerated."""
    bare = text.replace("\r", "").replace("\n", "").rstrip("=")
    try:
        return a2b_base64(bare + "=" * (-len(bare) % 4), strict_mode=True)
    except (BadBase64, ValueError):
        raise CodeqError(400, f"invalid base64 content of artifact {_quoted(name)}") from None


def _check_places(names: list[str]) -> None:
    """Two contents cannot be in one place, nor one below another."""
    taken = Counter(names)
    for name in names:
        above = [name[:at] for at, letter in enumerate(name) if letter == "/"]
        if taken[name] > 1 or any(folder in taken for folder in above):
            raise CodeqError(400, f"artifact {_quoted(name)} is in the place of another")


def _quoted(name: str) -> str:
    return msgspec.json.encode(name[:200]).decode()


class Artifacts:
    """Keeps contents, a few at a time, beside everything else."""

    def __init__(self, settings: CodeqSettings) -> None:
        bucket = settings.artifacts_bucket
        self._blobs: Blobs = LocalBlobs(settings.local_artifacts_dir) if bucket is None else S3Blobs(bucket)
        self._public_url = settings.public_url
        self._threads = ThreadPoolExecutor(AT_ONCE, "artifact")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def turn(self, task_id: str) -> asyncio.Lock:
        """Whoever holds this may touch the artifacts of a task."""
        lock = self._turns.get(task_id)
        if lock is None:
            self._turns[task_id] = lock = asyncio.Lock()
        return lock

    async def keep(self, call: CodeqCall, task_id: str, artifacts: list[NewArtifact]) -> Deposit:
        """Keep the contents of a submission: all or none."""
        keys = {artifact.name: token_urlsafe(24) for artifact in artifacts if artifact.content is not None}
        deposit = Deposit(
            task_id,
            tuple(
                Artifact(one.name, one.url or self._url(call, task_id, one.name, keys[one.name])) for one in artifacts
            ),
            tuple((one.name, keys[one.name], one.type) for one in artifacts if one.content is not None),
        )
        writes = [
            self._run(self._blobs.write, task_id, one.name, one.content) for one in artifacts if one.content is not None
        ]
        faults = [fault for fault in await asyncio.gather(*writes, return_exceptions=True) if fault is not None]
        if faults:
            await self.take_back(deposit)
            logger.error("artifacts of task %s cannot be stored", task_id, exc_info=faults[0])
            raise CodeqError(503, "artifacts cannot be stored")
        return deposit

    async def take_back(self, deposit: Deposit) -> None:
        """Forget the contents of a submission that came to nothing."""
        if deposit.files:
            await self._forget(self._run(self._blobs.remove, deposit.task_id, [name for name, _, _ in deposit.files]))

    async def forget(self, task_ids: Iterable[str]) -> None:
        """Forget the contents of tasks that are gone."""
        await asyncio.gather(*[self._forget(self._run(self._blobs.remove_all, task_id)) for task_id in task_ids])

    async def read(self, task_id: str, name: str) -> bytes | None:
        """A content, if it is there; raises BlobsDown."""
        return await self._run(self._blobs.read, task_id, name)

    def _url(self, call: CodeqCall, task_id: str, name: str, key: str) -> str:
        base = self._public_url or _own_address(call)
        return f"{base}/v1/codeq/artifacts/{quote(task_id, safe='')}/{quote(name)}?key={key}"

    async def _run(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def _forget(self, removal: Awaitable[None]) -> None:
        """What cannot be removed stays behind; that must not keep anybody from going on."""
        try:
            await removal
        except BlobsDown as fault:
            logger.warning("an artifact cannot be removed: %s", fault)


def _own_address(call: CodeqCall) -> str:
    """This server as the caller knows it."""
    scope = call.call.scope
    host = call.call.headers.get(b"host", b"").decode("latin-1").strip()
    if not host and scope.get("server"):
        host = "{}:{}".format(*scope["server"])
    return f"{scope.get('scheme', 'http')}://{host}"


async def download(call: CodeqCall) -> Answer:
    """The content of an artifact, for whoever has its URL."""
    task_id, name = call.params["id"], call.params["name"]
    row = read_task_anywhere(call.node.reader, task_id)
    files = () if row is None else face_of(row).files
    given = call.call.query().get("key", "").encode()
    content_type = next(
        (type for file, key, type in files if file == name and hmac.compare_digest(key.encode(), given)), None
    )
    try:
        content = None if content_type is None else await call.artifacts.read(task_id, name)
    except BlobsDown as fault:
        logger.error("artifact %s of task %s cannot be read: %s", name, task_id, fault)
        raise CodeqError(503, "artifacts cannot be read") from None
    if content is None or content_type is None:
        raise CodeqError(404, "not found")
    shown_name = quote(name.rpartition("/")[2])
    return Answer(
        200,
        content,
        content_type.encode(),
        # A browser must not take what a worker has submitted for a page of this server.
        (
            (b"content-disposition", f"attachment; filename*=UTF-8''{shown_name}".encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"content-security-policy", b"sandbox; default-src 'none'"),
            (b"cache-control", b"private"),
        ),
    )


ROUTES: Final = [Route(method="GET", path="/artifacts/{id}/{name:path}", handler=download, who="anyone")]
