"""Jobs that wait for other jobs: out of the line until every dependency has completed once."""

from rookery.engine.ledger import Ledger
from rookery.engine.ops import CHUNK
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


def write_down(ledger: Ledger, seq: int, job_ids: list[str]) -> None:
    """Keep what the job was told to wait for, so that it is found by that, also when it waits no longer."""
    ledger.executemany("INSERT OR IGNORE INTO named_dependency VALUES (?, ?)", [(job_id, seq) for job_id in job_ids])


def wait_for(ledger: Ledger, seq: int, job_ids: list[str]) -> int:
    """Make a new job wait for these; the number of those that have not completed yet."""
    ledger.insert_jobs()
    unmet = 0
    for job_id in job_ids:
        dependency = ledger.execute(
            "UPDATE job SET has_dependents = 1 WHERE id = ? AND was_completed = 0 RETURNING seq", (job_id,)
        ).get
        if dependency is not None:
            ledger.execute("INSERT INTO dependency VALUES (?, ?)", (dependency, seq))
            unmet += 1
    return unmet


def unblock(ledger: Ledger, seq: int) -> int:
    """A job has completed: tell those that wait for it, one chunk now and the rest when time passes."""
    told = ledger.execute(
        """
        DELETE FROM dependency WHERE (dependency, dependent) IN (
          SELECT dependency, dependent FROM dependency WHERE dependency = ? ORDER BY dependent LIMIT ?)
        RETURNING dependent
        """,
        (seq, CHUNK),
    ).fetchall()
    for queue_id, state, waiting_on in ledger.executemany(
        """
        UPDATE job
           SET waiting_on = waiting_on - 1,
               ready_at = iif(state = 'pending' AND waiting_on = 1, ?1, ready_at)
         WHERE seq = ?2
        RETURNING queue, state, waiting_on
        """,
        [(ledger.now, dependent) for (dependent,) in sorted(told)],
    ):
        if state == PENDING and waiting_on == 0:
            queue = ledger.queue_of(queue_id)
            queue.blocked -= 1
            ledger.touch(queue)
    if len(told) == CHUNK:
        ledger.execute("INSERT OR IGNORE INTO unblocking VALUES (?)", (seq,))
        ledger.due(ledger.now)
    else:
        ledger.execute("DELETE FROM unblocking WHERE dependency = ?", (seq,))
    return len(told)


def unblock_more(ledger: Ledger) -> int:
    """Go on telling the dependents of a job that had too many to be told at once."""
    seq = ledger.execute("SELECT min(dependency) FROM unblocking").get
    return 0 if seq is None else unblock(ledger, seq)


def stop_waiting(ledger: Ledger, seq: int) -> None:
    """The job is gone: it waits for nothing any more."""
    ledger.execute("DELETE FROM dependency WHERE dependent = ?", (seq,))


def forget(ledger: Ledger, seq: int) -> None:
    """The job is about to go, and what it was told to wait for with it."""
    ledger.execute(
        """
        DELETE FROM named_dependency WHERE (id, job) IN (
          SELECT given.value, job.seq FROM job, json_each(job.depends_on) AS given WHERE job.seq = ?)
        """,
        (seq,),
    )
