"""A job as the server hands it out."""

import msgspec


class ClaimedJob(msgspec.Struct, gc=False):
    """One claim of a job. Payload and checkpoint stay JSON text until somebody asks for them."""

    job_id: str
    queue: str
    payload: msgspec.Raw
    attempt: int = 1
    max_retries: int = 3
    lease_duration: int = 60
    lease_token: str | None = None
    checkpoint: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    tags: dict[str, str | int | float | bool | None] | None = None
    agent: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    priority: int = 2
    traceparent: str | None = None
