"""Finding jobs: which of them somebody wants, and how they are found without looking at all the others."""

import msgspec


class JobFilter(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Which jobs somebody wants: those that pass all that is given. Times are milliseconds, `tags` is JSON text."""

    queue: str | None = None
    states: tuple[str, ...] = ()
    rank: int | None = None
    tags: str | None = None
    payload_contains: str | None = None
    payload_jq: str | None = None
    created_after: int | None = None
    created_before: int | None = None
    scheduled_after: int | None = None
    scheduled_before: int | None = None
    started_after: int | None = None
    started_before: int | None = None
    completed_after: int | None = None
    completed_before: int | None = None
    expire_after: int | None = None
    expire_before: int | None = None
    attempt_min: int | None = None
    attempt_max: int | None = None
    unique_key: str | None = None
    batch_id: str | None = None
    worker_id: str | None = None
    parent_id: str | None = None
    chain_id: str | None = None
    has_errors: bool | None = None
    error_contains: str | None = None
    job_id_prefix: str | None = None
