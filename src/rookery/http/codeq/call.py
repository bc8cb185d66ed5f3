"""One call of the codeQ API as its handlers see it, what can go wrong with it, and the description of a route."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from rookery.http.call import Answer, Call
from rookery.http.codeq.auth import Caller
from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.names import queue_of
from rookery.http.codeq.settings import CodeqSettings
from rookery.node.node import Node

if TYPE_CHECKING:
    from rookery.http.codeq.artifacts import Artifacts

T = TypeVar("T")

Who = Literal["producer", "worker", "either", "admin", "anyone"]
LimitScope = Literal["producer", "worker", "admin"]


class CodeqCall:
    """A request from somebody who was let in."""

    __slots__ = ("artifacts", "call", "caller", "settings")

    def __init__(self, call: Call, caller: Caller, settings: CodeqSettings, artifacts: "Artifacts") -> None:
        self.call = call
        self.caller = caller
        self.settings = settings
        self.artifacts = artifacts

    @property
    def node(self) -> Node:
        """The server without its HTTP face."""
        return self.call.node

    @property
    def params(self) -> dict[str, str]:
        """The parameters in the path."""
        return self.call.params

    @property
    def namespace(self) -> str:
        """The namespace of the caller's tenant; what is not of exactly this one does not exist for the caller."""
        return self.caller.namespace

    def queue(self, command: str) -> str:
        """The stored name of a command's queue in the caller's namespace."""
        return queue_of(self.caller.namespace, command)

    async def read(
        self,
        decoder: "msgspec.json.Decoder[T]",
        fault: str = "invalid body",
        *,
        limit: int | None = None,
        may_be_empty: bool = False,
    ) -> T:
        """The body as a record; what cannot be read is answered by 400 and the given text."""
        body = await self.call.body(self.call.small_body if limit is None else limit)
        if not body.strip() and may_be_empty:
            body = b"{}"
        try:
            return decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise CodeqError(400, fault) from None


Handler = Callable[[CodeqCall], Awaitable[Answer]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A path below `/v1/codeq`, who may call it, and who answers."""

    method: str
    path: str
    handler: Handler
    who: Who
    scope: str | None = None
    """What a worker's token must allow."""
    limit: LimitScope | None = None
