"""A job as the server hands it out."""

from typing import Final

import msgspec

NULL: Final = msgspec.Raw(b"null")


class ClaimedJob(msgspec.Struct, gc=False):
    """One claim of a job. Payload and checkpoint stay JSON text until somebody asks for them."""

    job_id: str
    queue: str
    payload: msgspec.Raw
    attempt: int = 1
    max_retries: int = 3
    lease_duration: int = 60
    lease_token: str | None = None
    checkpoint: msgspec.Raw = NULL
    tags: dict[str, str | int | float | bool | None] | None = None
    agent: msgspec.Raw = NULL
    priority: int = 2
    traceparent: str | None = None
