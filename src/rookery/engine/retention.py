"""Forgetting the past: jobs, job batches, events and costs that are older than anybody asked to keep."""

from typing import Final

from rookery.engine import endings
from rookery.engine.jobs import select_jobs
from rookery.engine.ledger import Ledger
from rookery.engine.ops import CHUNK, Purge, Purged

EVENTS_KEPT: Final = 10_000
"""The newest events stay, however old they are."""
USAGE_KEPT: Final = 32 * 86_400_000
"""The costs of a month can be added up, however soon jobs are forgotten."""


def purge(ledger: Ledger, op: Purge) -> Purged:
    """Delete one chunk of each kind."""
    jobs = _purge_jobs(ledger, op.before)
    batches = ledger.execute(
        """
        DELETE FROM job_batch WHERE id IN (
          SELECT id FROM job_batch WHERE pending = 0 AND created_at < ? ORDER BY created_at, rowid LIMIT ?)
        RETURNING 1
        """,
        (op.before, CHUNK),
    ).fetchall()
    events = _purge_events(ledger, op.before)
    reports = _purge_usage(ledger, min(op.before, ledger.now - USAGE_KEPT))
    return Purged(jobs, more=CHUNK in (jobs, len(batches), events, reports))


def _purge_jobs(ledger: Ledger, before: int) -> int:
    jobs = select_jobs(
        ledger, "WHERE ended_at IS NOT NULL AND ended_at < ? ORDER BY ended_at, seq LIMIT ?", (before, CHUNK)
    )
    for job in jobs:
        endings.forget(ledger, job)
    return len(jobs)


def _purge_events(ledger: Ledger, before: int) -> int:
    newest_to_go = ledger.event_seq - EVENTS_KEPT
    rows = ledger.execute(
        "SELECT seq FROM event WHERE seq <= ? AND at < ? ORDER BY seq LIMIT ?", (newest_to_go, before, CHUNK)
    ).fetchall()
    if rows:
        ledger.execute("DELETE FROM event WHERE seq <= ?", rows[-1])
    return len(rows)


def _purge_usage(ledger: Ledger, before: int) -> int:
    rows = ledger.execute(
        "DELETE FROM usage WHERE id IN (SELECT id FROM usage WHERE at < ? ORDER BY at, id LIMIT ?) RETURNING 1",
        (before, CHUNK),
    ).fetchall()
    return len(rows)
