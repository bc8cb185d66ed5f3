"""What workers say while they work: lines with a number each, the oldest of too many dropped."""

from typing import Final

from rookery.engine import leases
from rookery.engine.jobs import find_job
from rookery.engine.ledger import Ledger
from rookery.engine.ops import Appended, AppendLogs, Refusal

MOST_LINES: Final = 10_000
"""How many lines of one job are kept."""


def append(ledger: Ledger, op: AppendLogs) -> Appended | Refusal:
    """Add lines. Those of a claim that has ended are taken too, until the job is claimed again."""
    job = find_job(ledger, op.job_id, op.namespace)
    if isinstance(job, Refusal):
        return job
    if leases.is_lost(job, op.lease):
        return Refusal.lease_lost(job.id)
    before: int = ledger.execute("SELECT max(n) FROM job_log WHERE job = ?", (job.seq,)).get or 0
    ledger.executemany(
        "INSERT INTO job_log (job, n, at, level, message, attempt) VALUES (?, ?, ?, ?, ?, ?)",
        [
            (
                job.seq,
                n,
                ledger.now if line.at is None else line.at,
                line.level,
                line.message,
                job.attempt if line.attempt is None else line.attempt,
            )
            for n, line in enumerate(op.lines, before + 1)
        ],
    )
    last = before + len(op.lines)
    ledger.execute("DELETE FROM job_log WHERE job = ? AND n <= ?", (job.seq, last - MOST_LINES))
    ledger.logged[job.id] = None
    return Appended(last)


def leave(ledger: Ledger, seq: int) -> None:
    """The job is gone. Its lines go when there is time: many jobs with many lines may go at once."""
    ledger.execute("INSERT INTO job_log_left SELECT ?1 WHERE EXISTS (SELECT 1 FROM job_log WHERE job = ?1)", (seq,))


def forget_lines(ledger: Ledger, limit: int) -> int:
    """Delete at most `limit` lines of jobs that are gone; how many went."""
    gone = ledger.execute(
        """
        DELETE FROM job_log WHERE (job, n) IN (
          SELECT job, n FROM job_log_left CROSS JOIN job_log USING (job) ORDER BY job, n LIMIT ?)
        RETURNING job
        """,
        (limit,),
    ).fetchall()
    if gone:
        ledger.execute(
            """
            DELETE FROM job_log_left
             WHERE job <= ? AND NOT EXISTS (SELECT 1 FROM job_log WHERE job_log.job = job_log_left.job)
            """,
            max(gone),
        )
    return len(gone)
