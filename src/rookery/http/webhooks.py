"""Webhooks: those that the server calls when something happens, and those that others call to add a job."""

import re
from typing import Annotated, Final

import msgspec

from rookery.engine.ops import DeleteWebhook, Done, Enqueue, Refusal, SavedWebhook, SaveWebhook
from rookery.engine.subscriptions import ALL
from rookery.engine.webhooks import LOG_LENGTH
from rookery.http.call import Answer, Call, Parameter, Route, Work, json_answer, says
from rookery.http.errors import ApiError, invalid, not_found
from rookery.http.produce import (
    IDEMPOTENCY,
    EnqueueAnswer,
    EnqueueRequest,
    Scalar,
    enqueued_one,
    idempotency,
    new_job,
)
from rookery.http.values import Raw
from rookery.model.events import EVENT_TYPES
from rookery.model.instants import BadInstant, parse_instant
from rookery.model.names import is_job_id
from rookery.store.webhooks import DeliveryView, WebhookView, read_deliveries, read_webhook, read_webhooks

INBOUND_BODY: Final = 4 << 20
MOST_ATTEMPTS: Final = 100
MOST_FILTERS: Final = 100
LONGEST_SECRET: Final = 1024
_WHOLE_NUMBER: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)


class WebhookRequest(msgspec.Struct):
    """A webhook to make, or to change if the id is known; what is absent then stays as it is."""

    id: Annotated[str | None, says("Of the webhook to change; a new one may bring its own, or gets one")] = None
    url: Annotated[str | None, says("Required for a new one. `http://` or `https://`; redirects are not followed")] = (
        None
    )
    events: Annotated[list[str] | None, says("Types of events, in any case; all (`*`) by default")] = None
    queues: Annotated[list[str] | None, says("Only events of these queues; all by default")] = None
    secret: Annotated[str | None, says("Signs every delivery; never shown again. An empty one takes it away")] = None
    enabled: Annotated[bool | None, says("true by default; nothing is delivered or gathered while it is false")] = None
    retry_limit: Annotated[int | None, says("Attempts in all, 1 to 100; 3 by default, also for 0")] = None


class SavedAnswer(msgspec.Struct):
    """Which webhook it was."""

    status: str
    id: str


class TrialAnswer(msgspec.Struct):
    """What came of a trial: `delivered` or `failed`, with what was answered."""

    status: str
    status_code: int
    error: str | None
    answer: str | None
    duration_ms: float


_decoder = msgspec.json.Decoder(WebhookRequest)


def _wrong(message: str) -> ApiError:
    return ApiError(400, "WEBHOOK_ERROR", message)


# --- out


async def save(call: Call) -> Answer:
    """Make a webhook, or change one."""
    request = await call.parse(_decoder)
    saved: SavedWebhook | Refusal = await call.node.submit(_operation(call, request))
    if isinstance(saved, SavedWebhook):
        return json_answer(SavedAnswer("ok", saved.webhook_id))
    if saved.kind == Refusal.CONFLICT:
        raise ApiError(409, "CONFLICT", saved.message)
    raise _wrong(saved.message)


def _operation(call: Call, request: WebhookRequest) -> SaveWebhook:
    """Check a request and say it in the engine's words."""
    if request.id and not is_job_id(request.id):
        raise _wrong("id must have 1 to 128 characters of A-Z a-z 0-9 . _ : -")
    if request.url is not None:
        fault = call.node.webhooks.url_fault(request.url) if request.url else "is required"
        if fault is not None:
            raise _wrong(f"url {request.url[:200]!r} {fault}" if request.url else f"url {fault}")
    if request.secret is not None and len(request.secret) > LONGEST_SECRET:
        raise _wrong(f"secret is longer than {LONGEST_SECRET} characters")
    if request.retry_limit and not 1 <= request.retry_limit <= MOST_ATTEMPTS:
        raise _wrong(f"retry_limit must be between 1 and {MOST_ATTEMPTS}, not {request.retry_limit}")
    return SaveWebhook(
        webhook_id=request.id or None,
        url=request.url,
        events=_event_types(request.events),
        queues=_queues(call, request.queues),
        secret=request.secret,
        enabled=request.enabled,
        retry_limit=request.retry_limit or None,
        namespace=call.namespace,
    )


def _event_types(events: list[str] | None) -> list[str] | None:
    if events is None:
        return None
    types = list(dict.fromkeys(type.strip() for type in events))
    if len(types) > MOST_FILTERS:
        raise _wrong(f"events has {len(types)} items, the limit is {MOST_FILTERS}")
    for type in types:
        if type != ALL and type.lower() not in EVENT_TYPES:
            raise _wrong(f"events: {type[:64]!r} is not one of {', '.join((ALL, *EVENT_TYPES))}")
    return types


def _queues(call: Call, queues: list[str] | None) -> list[str] | None:
    if queues is None:
        return None
    if len(queues) > MOST_FILTERS:
        raise _wrong(f"queues has {len(queues)} items, the limit is {MOST_FILTERS}")
    try:
        return list(dict.fromkeys(call.queue(queue, "queues: a name") for queue in queues))
    except ApiError as error:
        raise _wrong(error.message) from None


async def list_webhooks(call: Call) -> Answer:
    """All webhooks, the oldest first."""
    return json_answer(read_webhooks(call.node.reader, call.namespace))


def _webhook(call: Call) -> WebhookView:
    webhook_id = call.params["id"]
    webhook = read_webhook(call.node.reader, webhook_id, call.namespace)
    if webhook is None:
        raise not_found(f"webhook {webhook_id} not found")
    return webhook


async def get_webhook(call: Call) -> Answer:
    """One webhook."""
    return json_answer(_webhook(call))


async def list_deliveries(call: Call) -> Answer:
    """A webhook's last deliveries."""
    return json_answer(read_deliveries(call.node.reader, _webhook(call).id))


async def try_out(call: Call) -> Answer:
    """Send a made-up event now."""
    webhook_id = _webhook(call).id
    reply = await call.node.webhooks.try_out(webhook_id)
    if reply is None:
        raise not_found(f"webhook {webhook_id} not found")
    status = "delivered" if reply.error is None else "failed"
    return json_answer(TrialAnswer(status, reply.status_code, reply.error, reply.answer, reply.duration_ms))


async def delete(call: Call) -> Answer:
    """Forget a webhook, with what waits for it."""
    op = DeleteWebhook(webhook_id=call.params["id"], namespace=call.namespace)
    done: Done = await call.node.submit(op)
    while done.status != "deleted":
        done = await call.node.submit(op)
    return json_answer(SavedAnswer("deleted", op.webhook_id))


# --- in


async def receive(call: Call) -> Answer:
    """Whatever is sent becomes the payload of a job."""
    if read_webhook(call.node.reader, call.params["id"], call.namespace) is not None:
        raise _wrong("this is the id of a webhook, not the name of a queue: POST /api/v1/webhooks changes a webhook")
    body = await call.body(INBOUND_BODY)
    query = call.query()
    job = new_job(
        call,
        EnqueueRequest(
            queue=call.params["id"],
            payload=_payload(body),
            priority=_priority(query.get("priority")),
            unique_key=query.get("unique_key"),
            max_retries=_max_retries(query.get("max_retries")),
            scheduled_at=_time(query.get("scheduled_at")),
            tags=_tags(query.get("tags")),
        ),
    )
    mark = idempotency(call, call.scope["query_string"] + b"\0" + body)
    return await call.run(Work(Enqueue(jobs=[job], idempotency=mark, namespace=call.namespace), enqueued_one))


def _payload(body: bytes) -> Raw:
    """A JSON value as it is, any other text as a string."""
    if not body:
        return Raw(b"{}")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise invalid(f"the body is neither JSON nor text in UTF-8: {error}") from None
    try:
        return msgspec.json.decode(body, type=Raw)
    except msgspec.DecodeError:
        return Raw(msgspec.json.encode(text))
    except RecursionError:
        raise invalid("the body is nested too deeply") from None


def _priority(text: str | None) -> str | int | None:
    return int(text) if text in ("0", "1", "2") else text


def _max_retries(text: str | None) -> int | None:
    if not text:
        return None
    if not _WHOLE_NUMBER.fullmatch(text):
        raise invalid(f"max_retries must be a whole number, not {text[:32]!r}")
    return int(text)


def _time(text: str | None) -> str | None:
    if not text:
        return None
    try:
        parse_instant(text)
    except BadInstant as error:
        raise invalid(f"scheduled_at: {error}") from None
    return text


def _tags(text: str | None) -> dict[str, Scalar] | None:
    """`k:v,k2:v2`; a value may hold a colon."""
    if not text:
        return None
    tags: dict[str, Scalar] = {}
    for pair in text.split(","):
        key, colon, value = pair.partition(":")
        if not colon or not key.strip():
            raise invalid(f"tags must be written like k:v,k2:v2; {pair[:64]!r} is no such pair")
        tags[key.strip()] = value.strip()
    return tags


_PATH: Final = "/api/v1/webhooks"
_ONE: Final = f"{_PATH}/{{id}}"
"""A webhook of ours, or for those who send us something, a queue: in the API's description it is one path."""

ROUTES = [
    Route(
        method="GET",
        path=_PATH,
        handler=list_webhooks,
        summary="All webhooks",
        answers={200: list[WebhookView]},
        tag="Webhooks",
    ),
    Route(
        method="POST",
        path=_PATH,
        handler=save,
        summary="Make a webhook, or change one",
        request=WebhookRequest,
        answers={200: SavedAnswer},
        tag="Webhooks",
    ),
    Route(
        method="POST",
        path=_ONE,
        handler=receive,
        summary="Add a job to the queue of that name: whatever is sent is its payload",
        answers={201: EnqueueAnswer, 200: EnqueueAnswer},
        parameters=(
            Parameter("priority", "`critical`, `high` or `normal` (or 0, 1, 2)"),
            Parameter("unique_key", "While a job of the queue holds this key, nothing is added"),
            Parameter("max_retries", "Attempts in all, 3 by default", "integer"),
            Parameter("scheduled_at", "RFC 3339 time; the job waits for it"),
            Parameter("tags", "Pairs like `k:v,k2:v2`"),
            *IDEMPOTENCY,
        ),
        tag="Producing",
    ),
    Route(
        method="GET",
        path=_ONE,
        handler=get_webhook,
        summary="One webhook",
        answers={200: WebhookView},
        tag="Webhooks",
    ),
    Route(
        method="DELETE",
        path=_ONE,
        handler=delete,
        summary="Forget a webhook, with what waits for it",
        answers={200: SavedAnswer},
        tag="Webhooks",
    ),
    Route(
        method="GET",
        path=f"{_ONE}/deliveries",
        handler=list_deliveries,
        summary=f"Its last {LOG_LENGTH} deliveries, the newest first",
        answers={200: list[DeliveryView]},
        tag="Webhooks",
    ),
    Route(
        method="POST",
        path=f"{_ONE}/test",
        handler=try_out,
        summary="Send a made-up event now, and tell what came of it",
        answers={200: TrialAnswer},
        tag="Webhooks",
    ),
]
