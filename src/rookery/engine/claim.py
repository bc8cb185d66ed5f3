"""Leasing jobs to workers: lowest rank first, then oldest, over all the queues a worker asks for."""

from collections import Counter
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from rookery.engine import limits, workers
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger, Queue
from rookery.engine.ops import Claim, Claimed, ClaimedJob
from rookery.model.job import ACTIVE, PENDING

_READY: Final = """
    SELECT rank, order_key, seq, id, queue, payload, attempt + 1, max_retries, checkpoint, tags, agent, ready_at, trace
      FROM job INDEXED BY job_ready
     WHERE state = 'pending' AND waiting_on = 0 AND queue = ? AND (expire_at IS NULL OR expire_at > ?)
     ORDER BY rank, order_key, seq
     LIMIT ?
"""
_LEASE: Final = """
    UPDATE job
       SET state = 'active', attempt = ?, started_at = ?, lease = ?, lease_length = ?, lease_until = ?,
           worker_id = ?, hostname = ?, outcome = NULL
     WHERE seq = ?
"""
_TOKEN_MASK: Final = (1 << 62) - 1

Row = tuple[Any, ...]


def claim(ledger: Ledger, ops: list[Claim]) -> list[Claimed]:
    """Lease jobs to each of these callers, in their order. Callers of the same queues share one look."""
    results: list[Claimed] = []
    leases: list[Row] = []
    for queues, group in groupby(ops, key=attrgetter("queues")):
        callers = list(group)
        rows = _first_in_line(ledger, queues, sum(op.count for op in callers))
        taken = 0
        for op in callers:
            if op.worker_id:
                workers.seen(ledger, op.namespace, op.worker_id, op.hostname, op.queues)
            share = rows[taken : taken + op.count]
            taken += len(share)
            results.append(Claimed(_hand_out(ledger, op, share, leases)))
        ledger.executemany(_LEASE, leases)
        leases.clear()
    return results


def _first_in_line(ledger: Ledger, names: tuple[str, ...], count: int) -> list[Row]:
    """The first `count` jobs that may run, over all these queues."""
    lines: list[list[Row]] = []
    for name in dict.fromkeys(names):
        queue = ledger.find_queue(name)
        if queue is not None and queue.ready > 0:
            slots = min(count, limits.open_slots(ledger, queue, ledger.now))
            if slots > 0:
                lines.append(ledger.execute(_READY, (queue.id, ledger.now, slots)).fetchall())
    if len(lines) == 1:
        return lines[0]
    return sorted((row for line in lines for row in line), key=lambda row: row[:3])[:count]


def _hand_out(ledger: Ledger, op: Claim, rows: list[Row], leases: list[Row]) -> list[ClaimedJob]:
    """Lease these jobs to one caller."""
    now, until = ledger.now, ledger.now + op.lease
    worker_id, hostname = op.worker_id or None, op.hostname or None
    about_worker = f',"worker_id":{json_text(op.worker_id)}}}' if op.worker_id else "}"
    number, emit, waits = ledger.ids.number, ledger.emit, ledger.waits
    queues = {queue_id: ledger.queue_of(queue_id) for queue_id in {row[4]: None for row in rows}}
    jobs = []
    for row in rows:
        rank, _, seq, job_id, queue_id, payload, attempt, max_retries, checkpoint, tags, agent, ready_at, trace = row
        queue = queues[queue_id].name
        if ready_at is not None:
            waits.append((queue, now - ready_at))
        lease = number() & _TOKEN_MASK
        leases.append((attempt, now, lease, op.lease, until, worker_id, hostname, seq))
        emit("started", job_id, queue, f'{{"attempt":{attempt}{about_worker}')
        jobs.append(
            ClaimedJob(
                job_id, queue, payload, attempt, max_retries, op.lease, lease, checkpoint, tags, agent, rank, trace
            )
        )
    for queue_id, count in Counter([row[4] for row in rows]).items():
        _count(ledger, queues[queue_id], count)
    if rows:
        ledger.due(until + 1)
    return jobs


def _count(ledger: Ledger, queue: Queue, claimed: int) -> None:
    queue.counts[PENDING] -= claimed
    queue.counts[ACTIVE] += claimed
    ledger.touch(queue)
    limits.record_claims(ledger, queue, claimed)
