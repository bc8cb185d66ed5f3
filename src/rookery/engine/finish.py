"""A worker has finished: complete the job, or let an agent go on."""

from array import array
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import apsw

from rookery.engine import agents, chains, endings, leases, usage
from rookery.engine.jobs import Job, change_state, find_job, keep_for_face, note_run, place_in_line
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger, Queue
from rookery.engine.ops import Ack, Acked, Completion, Refusal
from rookery.model.job import ACTIVE, COMPLETED, HELD, PENDING
from rookery.model.names import DEFAULT_NAMESPACE

_LOOK: Final = """
    SELECT id, seq, queue, lease, started_at
      FROM carray(?) AS given
     CROSS JOIN job ON job.id = given.value
     WHERE state = 'active' AND agent IS NULL
       AND unique_key IS NULL AND batch_id IS NULL AND chain_id IS NULL AND has_dependents = 0
       AND callback IS NULL AND face IS NULL
"""
_COMPLETE: Final = """
    UPDATE job
       SET state = 'completed', completed_at = ?1, ended_at = ?1, lease_until = NULL, outcome = 'ack',
           was_completed = 1, lost_leases = 0
"""
_COMPLETE_MANY: Final = f"{_COMPLETE} FROM carray(?2) AS given WHERE seq = given.value"
_COMPLETE_WITH_VALUES: Final = f"""
    {_COMPLETE}, result = coalesce(?2, result), checkpoint = coalesce(?3, checkpoint)
     WHERE seq = ?4
"""

Row = tuple[Any, ...]


def ack(ledger: Ledger, ops: list[Ack]) -> list[Acked]:
    """Complete jobs. Those that nothing hangs on are written together; the others have their turn one by one."""
    ids = tuple([item.job_id for op in ops for item in op.items if "\0" not in item.job_id])
    plain = {row[0]: row for row in ledger.execute(_LOOK, (apsw.carray(ids),))} if ids else {}
    done: list[tuple[Row, Completion]] = []
    results = []
    for op in ops:
        outcomes: list[Refusal | None] = []
        for item in op.items:
            row = plain.get(item.job_id)
            if row is not None and _is_plain(item, row[3], op.namespace):
                del plain[item.job_id]
                done.append((row, item))
                outcomes.append(None)
            else:
                _complete_together(ledger, done)
                done.clear()
                outcomes.append(_decide(ledger, item, op.namespace))
        results.append(Acked(outcomes))
    _complete_together(ledger, done)
    return results


def _complete_together(ledger: Ledger, done: list[tuple[Row, Completion]]) -> None:
    now = ledger.now
    bare, with_values = [], []
    for row, item in done:
        if item.result is None and item.checkpoint is None:
            bare.append(row[1])
        else:
            with_values.append((now, item.result, item.checkpoint, row[1]))
    if bare:
        ledger.execute(_COMPLETE_MANY, (now, apsw.carray(array("q", bare))))
    ledger.executemany(_COMPLETE_WITH_VALUES, with_values)
    for queue_id, group in groupby([row for row, _ in done], key=itemgetter(2)):
        queue, rows = ledger.queue_of(queue_id), list(group)
        ledger.runs.extend([(queue.name, now - row[4]) for row in rows])
        _count(ledger, queue, [row[0] for row in rows])


def _is_plain(item: Completion, lease: int, namespace: str) -> bool:
    return (
        (item.lease is None or item.lease == lease)
        and item.holder is None
        and item.face is None
        and item.agent_status is None
        and item.step_status is None
        and item.usage is None
        and namespace == DEFAULT_NAMESPACE
    )


def _count(ledger: Ledger, queue: Queue, job_ids: list[str]) -> None:
    queue.counts[ACTIVE] -= len(job_ids)
    queue.counts[COMPLETED] += len(job_ids)
    queue.completions += len(job_ids)
    ledger.touch(queue)
    ledger.emit_all("completed", job_ids, queue.name)


def _decide(ledger: Ledger, item: Completion, namespace: str) -> Refusal | None:
    job = find_job(ledger, item.job_id, namespace)
    if isinstance(job, Refusal):
        return job
    if leases.was_ended_by(job, item.lease, "ack"):
        return None
    refusal = leases.fault_of(job, item.lease, "ack", item.holder) or _argument_fault(job, item)
    if refusal is not None:
        return refusal
    note_run(ledger, job)
    usage.record(ledger, job, item.usage, "ack")
    keep_for_face(ledger, job, item.face)
    if job.agent is not None:
        _ack_agent(ledger, job, item)
    else:
        _complete(ledger, job, item)
    return None


def _argument_fault(job: Job, item: Completion) -> Refusal | None:
    status = (item.agent_status or "").lower()
    if status not in agents.STATUSES:
        return Refusal.invalid(f"agent_status: {item.agent_status!r} is not one of continue, done, hold")
    if status and job.agent is None:
        return Refusal.invalid(f"agent_status: job {job.id} is not an agent job")
    if chains.is_step(job) and (item.step_status or "") not in chains.STEP_STATUSES:
        return Refusal.invalid(f"step_status: {item.step_status!r} is not one of continue, exit")
    return None


def _ack_agent(ledger: Ledger, job: Job, item: Completion) -> None:
    cost = item.usage.cost_usd if item.usage else 0.0
    verdict = agents.judge(job, (item.agent_status or "").lower(), cost, item.hold_reason)
    ledger.execute("UPDATE job SET agent = ? WHERE seq = ?", (verdict.agent, job.seq))
    if verdict.status == "done":
        _complete(ledger, job, item)
        return
    goes_on = verdict.status == "continue"
    _keep_values(ledger, job, item)
    if goes_on and endings.is_expired(ledger, job):
        job.outcome = "ack"
        endings.expire(ledger, job)
        return
    queue = change_state(
        ledger,
        job,
        PENDING if goes_on else HELD,
        attempt=0 if goes_on else job.attempt,
        failures=0,
        lost_leases=0,
        order_key=place_in_line(ledger, job),
        lease_until=None,
        worker_id=None,
        hostname=None,
        outcome="ack",
        hold_reason=verdict.hold_reason,
        held_at=None if goes_on else ledger.now,
    )
    data = None if verdict.hold_reason is None else json_text({"reason": verdict.hold_reason})
    ledger.emit("continued" if goes_on else "held", job.id, queue.name, data)


def _complete(ledger: Ledger, job: Job, item: Completion) -> None:
    ledger.execute(_COMPLETE_WITH_VALUES, (ledger.now, item.result, item.checkpoint, job.seq))
    _count(ledger, ledger.queue_of(job.queue), [job.id])
    endings.completed(ledger, job, item.result, item.step_status or "", item.exit_reason)


def _keep_values(ledger: Ledger, job: Job, item: Completion) -> None:
    if item.result is not None or item.checkpoint is not None:
        ledger.execute(
            "UPDATE job SET result = coalesce(?, result), checkpoint = coalesce(?, checkpoint) WHERE seq = ?",
            (item.result, item.checkpoint, job.seq),
        )
