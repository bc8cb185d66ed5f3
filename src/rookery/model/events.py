"""The words of the timeline: what can happen to a job."""

from typing import Final

EVENT_TYPES: Final = (
    *("enqueued", "started", "progress", "completed", "continued", "failed", "dead", "expired", "reclaimed"),
    *("released", "promoted", "retried", "cancelled", "moved", "deleted", "held", "approved", "rejected"),
    *("replaced", "rescheduled", "reprioritized", "restored"),
)
