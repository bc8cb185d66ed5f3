"""The columns of a new job: those that its producer decides, and what the others begin with."""

from typing import Final

NEW_JOB_COLUMNS: Final = (
    "seq",
    "id",
    "queue",
    "state",
    "rank",
    "order_key",
    "order_by_due",
    "waiting_on",
    "max_retries",
    "max_lost_leases",
    "on_lost_lease",
    "backoff",
    "base_delay",
    "max_delay",
    "created_at",
    "scheduled_at",
    "expire_at",
    "expire_after",
    "unique_key",
    "unique_period",
    "batch_id",
    "batch_open",
    "namespace",
    "parent_id",
    "chain_id",
    "chain_step",
    "payload",
    "tags",
    "agent",
    "depends_on",
    "chain_config",
    "checkpoint",
    "ready_at",
    "trace",
    "face",
    "callback",
)
COUNTED_FROM_ZERO: Final = ("attempt", "failures", "lost_leases", "has_dependents", "was_completed")
"""Everything else is NULL."""

ADD_JOB: Final = f"""
    INSERT INTO job ({", ".join(NEW_JOB_COLUMNS + COUNTED_FROM_ZERO)})
    VALUES ({", ".join("?" * len(NEW_JOB_COLUMNS))}, {", ".join("0" * len(COUNTED_FROM_ZERO))})
"""
