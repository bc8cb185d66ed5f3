"""Forgetting the past: jobs, job batches, events and costs that are older than anybody asked to keep."""

from typing import Final

import apsw

from rookery.engine import endings, manage
from rookery.engine.jobs import select_jobs
from rookery.engine.ledger import Ledger
from rookery.engine.ops import CHUNK, Deleted, DeleteUnchanged, Purge, Purged, Refusal
from rookery.store.last_change import LAST_CHANGE

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


def delete_unchanged(ledger: Ledger, op: DeleteUnchanged) -> Deleted | Refusal:
    """Delete those of these jobs that have been left alone for long enough."""
    if len(op.job_ids) > CHUNK:
        return Refusal.invalid(f"job_ids: {len(op.job_ids)} are more than {CHUNK}")
    ledger.insert_events()
    ids = tuple([job_id for job_id in op.job_ids if "\0" not in job_id])
    old = select_jobs(
        ledger,
        f"WHERE id IN (SELECT value FROM carray(?)) AND {LAST_CHANGE} <= ? ORDER BY seq",
        (apsw.carray(ids), op.since),
    )
    gone = [job for job in old if ledger.sees(op.namespace, job.queue)] if ids else []
    for job in gone:
        manage.delete_job(ledger, job)
    return Deleted([job.id for job in gone])
