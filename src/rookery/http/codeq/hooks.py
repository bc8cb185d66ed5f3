"""What the URLs of codeQ's callers are told: that a command has tasks again, and how a task ended. All of it is signed.

That it is told, and told again if need be, is the node's affair.
"""

import hmac
from typing import Final
from uuid import uuid4

import msgspec

from rookery.engine.callbacks import EXPIRED, NULL, Ending
from rookery.engine.ops import CallbackAttempt, RecordCallbacks
from rookery.http.codeq.limits import RateLimits
from rookery.http.codeq.records import (
    MAX_ATTEMPTS,
    STATUS_COMPLETED,
    STATUS_FAILED,
    Artifact,
    Face,
    command_in,
    local_time,
    read_face,
)
from rookery.http.codeq.settings import CodeqSettings
from rookery.model.instants import format_instant
from rookery.model.job import CANCELLED, COMPLETED
from rookery.node.courier import USUAL_HEADERS, Letter
from rookery.node.ready_hooks import Readiness
from rookery.store.ready_hooks import ReadyHook

CLAIM_URL: Final = "/v1/codeq/tasks/claim"


class Notification(msgspec.Struct, rename="camel"):
    """A command has tasks that wait for a worker."""

    event_type: str
    available: bool
    queue_depth: int
    claim_url: str
    sent_at: str
    notification_id: str


class Callback(msgspec.Struct, rename="camel"):
    """A task has ended. Everything is always there, if only to say that there is nothing."""

    task_id: str
    event_type: str
    status: str
    result: msgspec.Raw
    error: str
    artifacts: tuple[Artifact, ...] | None
    completed_at: str


class Hooks:
    """Writes letters, and knows when they may be sent."""

    def __init__(self, settings: CodeqSettings, limits: RateLimits) -> None:
        self._settings = settings
        self._limits = limits

    # --- how tasks ended

    def write_ending(self, ending: Ending, now: int) -> Letter:
        """The result callback of a task."""
        face = read_face(None if ending.face == NULL else bytes(ending.face))
        is_completed = ending.state == COMPLETED
        callback = Callback(
            task_id=ending.job_id,
            event_type=command_in(ending.queue, face),
            status=STATUS_COMPLETED if is_completed else STATUS_FAILED,
            result=ending.result if _has_result(ending) else NULL,
            error=(face.error or "") if is_completed else _error(ending),
            artifacts=(face.artifacts or None) if _has_result(ending) else None,
            completed_at=local_time(ending.at, self._settings.timezone),
        )
        return self._letter(ending.url, msgspec.json.encode(callback), face, ending.trace, now)

    def callback_turn(self, url: str) -> int:
        """In how many milliseconds the limit of a URL lets a callback through, which counts for it from now on."""
        return self._limits.callback_turn(url)

    def record_callbacks(self, items: list[CallbackAttempt]) -> RecordCallbacks:
        """Callbacks that failed are tried again as often and as soon as the settings say."""
        return RecordCallbacks(
            items=items,
            most_attempts=self._settings.result_webhook_max_attempts,
            base_delay=self._settings.result_webhook_base_backoff_seconds * 1000,
            max_delay=self._settings.result_webhook_max_backoff_seconds * 1000,
        )

    # --- that there are tasks

    def write_readiness(self, readiness: Readiness, hook: ReadyHook, now: int) -> Letter:
        """The notification of a subscriber."""
        face = read_face(readiness.face)
        notification = Notification(
            event_type=hook.queues.get(readiness.queue) or command_in(readiness.queue, face),
            available=True,
            queue_depth=readiness.depth,
            claim_url=CLAIM_URL,
            sent_at=format_instant(now),
            notification_id=f"ntf-{uuid4()}",
        )
        return self._letter(hook.url, msgspec.json.encode(notification), face, readiness.trace, now)

    def may_notify(self, url: str) -> bool:
        """Whether the limit of a URL lets a notification through."""
        return self._limits.may_notify(url)

    def _letter(self, url: str, body: bytes, face: Face, trace: str | None, now: int) -> Letter:
        headers = dict(USUAL_HEADERS)
        if trace is not None:
            headers["traceparent"] = trace
            if face.trace_state:
                headers["tracestate"] = face.trace_state
        return Letter(url, headers | signature(self._settings.webhook_hmac_secret, body, now), body)


def signature(secret: str, body: bytes, now: int) -> dict[str, str]:
    """The headers by which a receiver knows that a body is from us and new; none without a secret."""
    if not secret:
        return {}
    timestamp = str(now // 1000)
    digest = hmac.new(secret.encode(), timestamp.encode() + b"." + body, "sha256").hexdigest()
    return {"X-CodeQ-Timestamp": timestamp, "X-CodeQ-Signature": digest}


def _has_result(ending: Ending) -> bool:
    """Whether a worker has submitted a result; who ran out of attempts has none, whatever was kept on the way."""
    return ending.state == COMPLETED or ending.by_result


def _error(ending: Ending) -> str:
    if ending.state in (CANCELLED, EXPIRED):
        return ending.state.upper()
    return ending.error or MAX_ATTEMPTS
