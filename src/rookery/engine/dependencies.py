"""Jobs that wait for other jobs: out of the line until every dependency has completed once."""

from rookery.engine.ledger import Ledger
from rookery.model.job import PENDING


def unknown_among(ledger: Ledger, job_ids: list[str], own_ids: set[str], namespace: str) -> str | None:
    """The first of these jobs that does not exist for the caller."""
    ledger.insert_jobs()
    for job_id in job_ids:
        if job_id in own_ids:
            continue
        queue_id = ledger.execute("SELECT queue FROM job WHERE id = ?", (job_id,)).get
        if queue_id is None or not ledger.sees(namespace, queue_id):
            return job_id
    return None


def wait_for(ledger: Ledger, seq: int, job_ids: list[str]) -> int:
    """Make a new job wait for these; the number of those that have not completed yet."""
    ledger.insert_jobs()
    unmet = 0
    for job_id in job_ids:
        dependency = ledger.execute(
            "UPDATE job SET dependents = dependents + 1 WHERE id = ? AND was_completed = 0 RETURNING seq", (job_id,)
        ).get
        if dependency is not None:
            ledger.execute("INSERT INTO dependency VALUES (?, ?)", (dependency, seq))
            unmet += 1
    return unmet


def unblock(ledger: Ledger, seq: int, limit: int) -> int:
    """A job has completed: tell at most `limit` of those that wait for it. How many were told."""
    waiting = ledger.execute(
        "DELETE FROM dependency WHERE (dependency, dependent) IN "
        "(SELECT dependency, dependent FROM dependency WHERE dependency = ? ORDER BY dependent LIMIT ?) "
        "RETURNING dependent",
        (seq, limit),
    ).fetchall()
    for row in ledger.executemany(
        "UPDATE job SET waiting_on = waiting_on - 1 WHERE seq = ? RETURNING queue, state, waiting_on", sorted(waiting)
    ):
        queue_id, state, waiting_on = row
        if state == PENDING and waiting_on == 0:
            queue = ledger.queue_of(queue_id)
            queue.blocked -= 1
            ledger.touch(queue)
    ledger.execute("UPDATE job SET dependents = dependents - ? WHERE seq = ?", (len(waiting), seq))
    if len(waiting) == limit:
        ledger.due(ledger.now)
    return len(waiting)


def unblock_some(ledger: Ledger, limit: int) -> int:
    """Go on telling dependents of jobs that had too many to be told at once."""
    seq = ledger.execute("SELECT seq FROM job WHERE was_completed = 1 AND dependents > 0 ORDER BY seq LIMIT 1").get
    return 0 if seq is None else unblock(ledger, seq, limit)


def stop_waiting(ledger: Ledger, seq: int) -> None:
    """The job is gone: it waits for nothing any more."""
    ledger.execute(
        "UPDATE job SET dependents = dependents - 1 "
        "WHERE seq IN (SELECT dependency FROM dependency WHERE dependent = ?)",
        (seq,),
    )
    ledger.execute("DELETE FROM dependency WHERE dependent = ?", (seq,))
