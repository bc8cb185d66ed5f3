"""Webhooks that the server calls when something happens."""

from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from rookery.client.newjobs import unknown_name
from rookery.client.reports import Delivery, Trial, Webhook
from rookery.client.transport.requests import API, Request, Response, Retry, answer_as, no_answer, part_of_path

WebhookRef = str | Webhook
"""A webhook by its id, or as any call has returned it."""


class WebhookOptions(TypedDict, total=False):
    """What can be said about a webhook beside its URL."""

    events: list[str]
    queues: list[str]
    secret: str
    enabled: bool
    retry_limit: int


class WebhookChanges(WebhookOptions, total=False):
    """What can be changed of a webhook."""

    url: str


class _Saved(msgspec.Struct):
    id: str


def _id(webhook: WebhookRef) -> str:
    return webhook if isinstance(webhook, str) else webhook.id


def _path(webhook: WebhookRef) -> str:
    return f"{API}/webhooks/{part_of_path(_id(webhook))}"


def list_all() -> Request[list[Webhook]]:
    """All webhooks."""
    return Request("GET", f"{API}/webhooks", answer_as(list[Webhook]))


def get(webhook: WebhookRef) -> Request[Webhook]:
    """One webhook."""
    return Request("GET", _path(webhook), answer_as(Webhook))


def save(webhook: WebhookRef | None, fields: Mapping[str, Any]) -> Request[str]:
    """Make a webhook, or change one. With an id it can be said twice."""
    for name in fields:
        if name not in WebhookChanges.__annotations__:
            raise unknown_name(name, WebhookChanges.__annotations__, "a webhook has no option")
    own = {} if webhook is None else {"id": _id(webhook)}
    body = msgspec.json.encode({**fields, **own})
    retry = Retry.SAFE if own else Retry.UNSENT
    return Request("POST", f"{API}/webhooks", _saved_id, body=body, retry=retry)


def _saved_id(response: Response) -> str:
    saved: _Saved = answer_as(_Saved)(response)
    return saved.id


def delete(webhook: WebhookRef) -> Request[None]:
    """Forget it, with what waits for it."""
    return Request("DELETE", _path(webhook), no_answer)


def deliveries(webhook: WebhookRef) -> Request[list[Delivery]]:
    """Its last deliveries."""
    return Request("GET", f"{_path(webhook)}/deliveries", answer_as(list[Delivery]))


def try_out(webhook: WebhookRef) -> Request[Trial]:
    """Send a made-up event now."""
    return Request("POST", f"{_path(webhook)}/test", answer_as(Trial), retry=Retry.UNSENT)
