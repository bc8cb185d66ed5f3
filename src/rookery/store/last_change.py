"""When something last happened to a job: an SQL expression on a row of `job`."""

from typing import Final

_TIMES: Final = ("ready_at", "started_at", "renewed_at", "completed_at", "failed_at", "held_at")
_LAST_EVENT: Final = "(SELECT at FROM event WHERE event.job_id = job.id ORDER BY event.seq DESC LIMIT 1)"

LAST_CHANGE: Final = f"""max(
    job.created_at, {", ".join(f"coalesce(job.{column}, 0)" for column in _TIMES)}, coalesce({_LAST_EVENT}, 0))"""
"""Events tell of nearly everything, but are forgotten sooner than jobs may be."""
