"""Workers who want to hear that there are tasks again: they subscribe, and renew that for as long as they are there."""

from typing import Final
from uuid import uuid4

import msgspec

from rookery.engine.ops import ReadyHookLives, Refusal, RenewReadyHook, SubscribeToReady
from rookery.http.call import Answer, json_answer
from rookery.http.codeq.auth import ALL
from rookery.http.codeq.call import CodeqCall, Route
from rookery.http.codeq.errors import CodeqError
from rookery.model.instants import format_instant
from rookery.node.addresses import form_fault
from rookery.store.ready_hooks import FANOUT, GROUP, HASH

DEFAULT_TTL: Final = 300
LONGEST_TTL: Final = 366 * 86_400
"""Seconds; to ask for more is to ask for this."""


class SubscribeRequest(msgspec.Struct, rename="camel"):
    """What a worker wants to hear of, and how."""

    callback_url: str | None = None
    event_types: list[str] | None = None
    ttl_seconds: int | None = None
    delivery_mode: str | None = None
    group_id: str | None = None
    min_interval_seconds: int | None = None


class RenewRequest(msgspec.Struct, rename="camel"):
    """How long the subscription is to last from now."""

    ttl_seconds: int | None = None


class Subscription(msgspec.Struct, rename="camel"):
    """A subscription, and until when it is there."""

    subscription_id: str
    expires_at: str


_subscribe_decoder = msgspec.json.Decoder(SubscribeRequest)
_renew_decoder = msgspec.json.Decoder(RenewRequest)


async def subscribe(call: CodeqCall) -> Answer:
    """Take a subscription in."""
    request = await call.read(_subscribe_decoder)
    url = (request.callback_url or "").strip()
    if form_fault(url) is not None:
        raise CodeqError(400, "invalid callback url")
    mode = request.delivery_mode or (GROUP if call.caller.worker_group else FANOUT)
    if mode not in (FANOUT, GROUP, HASH):
        raise CodeqError(400, "invalid deliveryMode")
    min_interval = request.min_interval_seconds or 0
    if min_interval <= 0:
        min_interval = call.settings.subscription_min_interval_seconds
    op = SubscribeToReady(
        hook_id=str(uuid4()),
        url=url,
        queues=_queues(call, request.event_types or []),
        mode=mode,
        group_id=_group(call, mode, (request.group_id or "").strip()),
        min_interval=min(min_interval, LONGEST_TTL) * 1000,
        lifetime=_lifetime(request.ttl_seconds),
        namespace=call.namespace,
    )
    lives: ReadyHookLives | Refusal = await call.node.submit(op)
    if isinstance(lives, Refusal):
        raise CodeqError(400, lives.message)
    return _answer(lives)


async def renew(call: CodeqCall) -> Answer:
    """Let a subscription live on."""
    request = await call.read(_renew_decoder, may_be_empty=True)
    op = RenewReadyHook(hook_id=call.params["id"], lifetime=_lifetime(request.ttl_seconds), namespace=call.namespace)
    lives: ReadyHookLives | Refusal = await call.node.submit(op)
    if isinstance(lives, Refusal):
        raise CodeqError(404, "not-found")
    return _answer(lives)


def _answer(lives: ReadyHookLives) -> Answer:
    return json_answer(Subscription(lives.hook_id, format_instant(lives.expires_at)))


def _queues(call: CodeqCall, event_types: list[str]) -> dict[str, str]:
    """The queues that are asked for, or else those of the token, with how they are written."""
    wanted = [command for command in event_types if command.strip()] or call.caller.event_types
    if not all(call.caller.may_handle(command) for command in wanted):
        raise CodeqError(403, "event type not allowed")
    return {ALL if command == ALL else call.queue(command): command for command in wanted if command.strip()}


def _group(call: CodeqCall, mode: str, given: str) -> str | None:
    """The group: the token's own, if it has one, and no other."""
    own = call.caller.worker_group
    if own and given and given != own:
        raise CodeqError(403, "groupId not allowed")
    if mode == GROUP and not (given or own):
        raise CodeqError(400, "groupId is required")
    return given or own


def _lifetime(seconds: int | None) -> int:
    """Milliseconds."""
    return min(seconds if seconds is not None and seconds > 0 else DEFAULT_TTL, LONGEST_TTL) * 1000


ROUTES: Final = [
    Route(method="POST", path="/workers/subscriptions", handler=subscribe, who="worker", scope="codeq:subscribe"),
    Route(
        method="POST",
        path="/workers/subscriptions/{id}/heartbeat",
        handler=renew,
        who="worker",
        scope="codeq:subscribe",
    ),
]
