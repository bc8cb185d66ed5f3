"""One action on many jobs: a chunk at once, or a record that is worked off chunk by chunk and survives in between."""

from itertools import islice
from typing import Final

import apsw
import msgspec

from rookery.engine import manage
from rookery.engine.jobs import Job, select_jobs
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import (
    CHUNK,
    AddBulkTargets,
    Approve,
    Bulk,
    BulkDone,
    BulkOperation,
    BulkStarted,
    Cancel,
    ChangePriority,
    Delete,
    Done,
    Hold,
    JobOperation,
    Move,
    Refusal,
    Reject,
    Requeue,
    Retry,
    RunBulk,
    StartBulk,
    StopBulk,
)
from rookery.model.names import may_see
from rookery.store.filters import JobFilter, all_of, conditions_of

ACTIONS: Final[dict[str, type[JobOperation]]] = {
    "retry": Retry,
    "delete": Delete,
    "cancel": Cancel,
    "move": Move,
    "requeue": Requeue,
    "change_priority": ChangePriority,
    "hold": Hold,
    "approve": Approve,
    "reject": Reject,
}
MOST_LISTED: Final = 20 * CHUNK
"""How many jobs one operation lists at the most."""
KEPT: Final = 24 * 3_600_000
"""Milliseconds for which a finished record is kept."""
MOST_FAILURES: Final = 100
"""How many of the jobs that could not be changed a record names."""
_MOST_LISTS_FORGOTTEN: Final = 50
_LONGEST_ID: Final = 128
"""No job has a longer one, but a caller may name one."""


class Record(msgspec.Struct):
    """What is to be done, and how far that is."""

    namespace: str
    action: str
    queue: str | None
    rank: int | None
    filter: str | None
    position: str | None
    status: str
    total: int
    listed: int
    not_done: str | None
    finished_at: int | None


_COLUMNS: Final = ", ".join(Record.__struct_fields__)


def fault_of(op: BulkOperation) -> Refusal | None:
    """What is missing to do this."""
    if op.action not in ACTIONS:
        return Refusal.invalid(f"action: {op.action!r} is not one of {', '.join(ACTIONS)}")
    if op.action == "move" and op.queue is None:
        return Refusal.invalid("move_to_queue is required to move jobs")
    if op.action == "change_priority" and op.rank is None:
        return Refusal.invalid("priority is required to change priorities")
    return None


def do(ledger: Ledger, op: Bulk) -> BulkDone | Refusal:
    """Do it to one chunk of jobs; each counts once, however often it is named."""
    fault = fault_of(op) or _fault_of_count(op.job_ids, CHUNK)
    if fault is not None:
        return fault
    done, _ = _act_on_all(ledger, _deed(op.action, op.queue, op.rank, op.namespace), op.job_ids, op.wanted)
    return done


def start(ledger: Ledger, op: StartBulk) -> BulkStarted | Refusal:
    """Begin a record. Jobs that come later than now are none of its business."""
    fault = fault_of(op)
    if fault is not None:
        return fault
    bulk_id = "bulk_" + ledger.ids.text()
    wanted = None if op.wanted is None else json_text(op.wanted)
    ledger.execute(
        """
        INSERT INTO bulk (id, namespace, action, queue, rank, filter, up_to, status, total, listed, processed, affected,
                          errors, created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, 0, 0, 0, 0, ?, ?)
        """,
        (
            *(bulk_id, op.namespace, op.action, op.queue, op.rank, wanted),
            *(ledger.job_seq, op.total, ledger.now, ledger.now),
        ),
    )
    return BulkStarted(bulk_id)


def add_targets(ledger: Ledger, op: AddBulkTargets) -> Done | Refusal:
    """List more of a record's jobs."""
    record = _open_record(ledger, op.bulk_id, op.namespace, "add to")
    if isinstance(record, Refusal):
        return record
    fault = _fault_of_count(op.job_ids, MOST_LISTED)
    if fault is not None:
        return fault
    if record.filter is not None or record.listed % CHUNK or record.listed + len(op.job_ids) > record.total:
        return Refusal.invalid(f"bulk operation {op.bulk_id} takes no more jobs")
    ledger.executemany(
        "INSERT INTO bulk_target VALUES (?, ?, ?)",
        [
            (op.bulk_id, (record.listed + begin) // CHUNK, json_text(op.job_ids[begin : begin + CHUNK]))
            for begin in range(0, len(op.job_ids), CHUNK)
        ],
    )
    ledger.execute("UPDATE bulk SET listed = listed + ? WHERE id = ?", (len(op.job_ids), op.bulk_id))
    return Done(record.status)


def run(ledger: Ledger, op: RunBulk) -> BulkDone | Refusal:
    """Do a record's next chunk and write down how far it is, both or neither."""
    record = _open_record(ledger, op.bulk_id, op.namespace, "run")
    if isinstance(record, Refusal):
        return record
    fault = _fault_of_count([*op.job_ids, *op.failed_at], CHUNK)
    if fault is not None:
        return fault
    if record.position != op.position:
        return Refusal(Refusal.CONFLICT, f"bulk operation {op.bulk_id} is already past this chunk")
    if record.filter is None and record.listed < record.total:
        return Refusal.invalid(f"not all jobs of bulk operation {op.bulk_id} are listed")
    deed = _deed(record.action, record.queue, record.rank, record.namespace)
    wanted = None if record.filter is None else msgspec.json.decode(record.filter, type=JobFilter)
    done, left = _act_on_all(ledger, deed, op.job_ids, wanted)
    left.update(dict.fromkeys(op.failed_at, "the server failed at it: its log says more"))
    ledger.execute(
        """
        UPDATE bulk
           SET position = ?, processed = processed + ?, affected = affected + ?, errors = errors + ?,
               not_done = ?, status = ?, updated_at = ?, finished_at = ?
         WHERE id = ?
        """,
        (
            *(op.next_position, done.affected + done.skipped + len(op.failed_at), done.affected, len(op.failed_at)),
            *(_failures(ledger, record, left), "completed" if op.is_last else "running"),
            *(ledger.now, ledger.now if op.is_last else None, op.bulk_id),
        ),
    )
    if record.filter is None:
        _forget_worked_off(ledger, op)
    return done


def stop(ledger: Ledger, op: StopBulk) -> Done | Refusal:
    """Do no more of it; what is done stays done."""
    record = _open_record(ledger, op.bulk_id, op.namespace, "cancel")
    if isinstance(record, Refusal):
        return record
    ledger.execute(
        "UPDATE bulk SET status = 'failed', error = ?, updated_at = ?, finished_at = ? WHERE id = ?",
        (op.error, ledger.now, ledger.now, op.bulk_id),
    )
    return Done("failed")


def forget_old(ledger: Ledger, most: int) -> bool:
    """Forget records that ended long ago, first what they still list; whether there may be more."""
    old = ledger.execute(
        "SELECT id FROM bulk WHERE finished_at IS NOT NULL AND finished_at <= ? ORDER BY finished_at, id LIMIT ?",
        (ledger.now - KEPT, most),
    ).fetchall()
    for (bulk_id,) in old:
        lists = ledger.execute(
            """
            DELETE FROM bulk_target WHERE (bulk, n) IN (
              SELECT bulk, n FROM bulk_target WHERE bulk = ? ORDER BY n LIMIT ?)
            RETURNING 1
            """,
            (bulk_id, _MOST_LISTS_FORGOTTEN),
        ).fetchall()
        if len(lists) == _MOST_LISTS_FORGOTTEN:
            return True
        ledger.execute("DELETE FROM bulk WHERE id = ?", (bulk_id,))
    return len(old) == most


def _deed(action: str, queue: str | None, rank: int | None, namespace: str) -> JobOperation:
    """What is done to each of the jobs."""
    if action == "move":
        assert queue is not None
        return Move(job_id="", queue=queue, namespace=namespace)
    if action == "change_priority":
        assert rank is not None
        return ChangePriority(job_id="", rank=rank, namespace=namespace)
    return ACTIONS[action](job_id="", namespace=namespace)


def _act_on_all(
    ledger: Ledger, deed: JobOperation, job_ids: list[str], wanted: JobFilter | None
) -> tuple[BulkDone, dict[str, str | None]]:
    """What came of it, and why each job that is left was not changed; None: it is not there as it was looked for.

    A job that failed by its result is run again only if it is named: that is its result, and not a mishap.
    """
    ids = tuple(dict.fromkeys(job_ids))
    found = _find_jobs(ledger, ids, wanted or JobFilter())
    spares_results = wanted is not None and isinstance(deed, Retry | Requeue)
    left: dict[str, str | None] = {}
    for job_id in ids:
        job = found.get(job_id)
        if job is None or not ledger.sees(deed.namespace, job.queue):
            left[job_id] = None
        elif job.by_result and spares_results:
            left[job_id] = "it failed by its result: it is run again only by its id"
        else:
            done = manage.act(ledger, job, deed)
            if isinstance(done, Refusal):
                left[job_id] = done.message.replace(f"job {job_id}", "it")
    return BulkDone(len(ids) - len(left), len(left)), left


def _failures(ledger: Ledger, record: Record, left: dict[str, str | None]) -> str | None:
    """What a record names of the jobs that could not be changed, these too while there is room."""
    if not left:
        return record.not_done
    listed: list[list[str]] = msgspec.json.decode(record.not_done or "[]")
    more = dict(islice(left.items(), MOST_FAILURES - len(listed)))
    others = _find_jobs(ledger, tuple([job_id for job_id, reason in more.items() if reason is None]), JobFilter())
    for job_id, reason in more.items():
        shown = job_id if len(job_id) <= _LONGEST_ID else f"{job_id[:_LONGEST_ID]}…"
        listed.append([shown, reason or _why_gone(ledger, record, others.get(job_id))])
    return json_text(listed)


def _why_gone(ledger: Ledger, record: Record, job: Job | None) -> str:
    """Why a job is not there as it was looked for."""
    if job is None or not ledger.sees(record.namespace, job.queue):
        return "not found"
    return f"it has changed since it was found: it is {job.state}"


def _find_jobs(ledger: Ledger, ids: tuple[str, ...], wanted: JobFilter) -> dict[str, Job]:
    """The jobs of these ids that still are what was looked for: some may have been claimed or moved since.

    Payloads and errors are not looked at again: that is costly, and what is in them stays in them.
    """
    possible = tuple([job_id for job_id in ids if "\0" not in job_id])
    if not possible:
        return {}
    costly = ("payload_contains", "payload_jq", "error_contains", "error_matches")
    quick = msgspec.structs.replace(wanted, **dict.fromkeys(costly))
    conditions = all_of(conditions_of(quick))
    # By their ids, which no other index may seem better than.
    jobs = select_jobs(
        ledger,
        f"INDEXED BY sqlite_autoindex_job_1 WHERE id IN (SELECT value FROM carray(?)) AND {conditions.text}",
        (apsw.carray(possible), *conditions.values),
    )
    return {
        job.id: job
        for job in jobs
        if (not wanted.states or job.state in wanted.states)
        and (wanted.queue is None or ledger.queue_of(job.queue).name == wanted.queue)
    }


def _open_record(ledger: Ledger, bulk_id: str, namespace: str, verb: str) -> Record | Refusal:
    row = ledger.execute(f"SELECT {_COLUMNS} FROM bulk WHERE id = ?", (bulk_id,)).fetchone()
    if row is None or not may_see(namespace, row[0]):
        return Refusal(Refusal.NOT_FOUND, f"bulk operation {bulk_id} not found")
    record = Record(*row)
    if record.finished_at is not None:
        return Refusal(Refusal.WRONG_STATE, f"cannot {verb} bulk operation {bulk_id}: it is {record.status}")
    return record


def _forget_worked_off(ledger: Ledger, op: RunBulk) -> None:
    """The lists in front of the record's position are of no use any more."""
    if op.is_last:
        ledger.execute("DELETE FROM bulk_target WHERE bulk = ?", (op.bulk_id,))
    elif op.next_position is not None:
        n = int(op.next_position.partition(":")[0])
        ledger.execute("DELETE FROM bulk_target WHERE bulk = ? AND n < ?", (op.bulk_id, n))


def _fault_of_count(job_ids: list[str], most: int) -> Refusal | None:
    return Refusal.invalid(f"job_ids: {len(job_ids)} are more than {most}") if len(job_ids) > most else None
