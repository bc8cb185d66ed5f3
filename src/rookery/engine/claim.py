"""Leasing jobs to workers: lowest rank first, then oldest, over all the queues a worker asks for."""

from array import array
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final

import apsw

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
       SET state = 'active', attempt = attempt + 1, started_at = ?, lease_length = ?, lease_until = ?,
           worker_id = ?, hostname = ?, outcome = NULL, lease = ? +
"""
_LEASE_ONE: Final = f"{_LEASE} 0 WHERE seq = ?"
_LEASE_MANY: Final = f"{_LEASE} given.rowid - 1 FROM carray(?) AS given WHERE seq = given.value"
_TOKEN_MASK: Final = (1 << 61) - 1

Row = tuple[Any, ...]


def claim(ledger: Ledger, ops: list[Claim]) -> list[Claimed]:
    """Lease jobs to each of these callers, in their order. Callers of the same queues share one look."""
    results: list[Claimed] = []
    singles: list[Row] = []
    for (queues, in_order), group in groupby(ops, key=attrgetter("queues", "in_order")):
        callers = list(group)
        rows = _first_in_line(ledger, queues, sum(op.count for op in callers), in_order)
        taken = 0
        for op in callers:
            if op.worker_id:
                workers.seen(ledger, op.namespace, op.worker_id, op.hostname, op.queues)
            share = rows[taken : taken + op.count]
            taken += len(share)
            results.append(Claimed(_hand_out(ledger, op, share, singles) if share else []))
        ledger.executemany(_LEASE_ONE, singles)
        singles.clear()
    return results


def _first_in_line(ledger: Ledger, names: tuple[str, ...], count: int, in_order: bool) -> list[Row]:
    """The first `count` jobs that may run, over all these queues, or of one queue after the other."""
    lines: list[list[Row]] = []
    for name in dict.fromkeys(names):
        queue = ledger.find_queue(name)
        if queue is not None and queue.ready > 0:
            slots = min(count, limits.open_slots(ledger, queue, ledger.now))
            if slots > 0:
                lines.append(ledger.execute(_READY, (queue.id, ledger.now, slots)).fetchall())
    if len(lines) == 1:
        return lines[0]
    rows = [row for line in lines for row in line]
    return rows[:count] if in_order else sorted(rows, key=lambda row: row[:3])[:count]


def _hand_out(ledger: Ledger, op: Claim, rows: list[Row], singles: list[Row]) -> list[ClaimedJob]:
    """Lease these jobs to one caller."""
    now, until, token = ledger.now, ledger.now + op.lease, ledger.ids.numbers(len(rows)) & _TOKEN_MASK
    lease = (now, op.lease, until, op.worker_id or None, op.hostname or None, token)
    if len(rows) == 1:
        singles.append((*lease, rows[0][2]))
    else:
        ledger.execute(_LEASE_MANY, (*lease, apsw.carray(array("q", [row[2] for row in rows]))))
    ledger.due(until + 1)
    about_worker = f',"worker_id":{json_text(op.worker_id)}}}' if op.worker_id else "}"
    for (queue_id, attempt), group in groupby(rows, key=itemgetter(4, 6)):
        alike = list(group)
        queue = ledger.queue_of(queue_id)
        _count(ledger, queue, len(alike))
        ledger.emit_all("started", [row[3] for row in alike], queue.name, f'{{"attempt":{attempt}{about_worker}')
        ledger.waits.extend([(queue.name, now - row[11]) for row in alike if row[11] is not None])
    names = {queue_id: ledger.queue_of(queue_id).name for queue_id in {row[4]: None for row in rows}}
    return [
        ClaimedJob(
            job_id, names[queue], payload, attempt, most, op.lease, token + n, checkpoint, tags, agent, rank, trace
        )
        for n, (rank, _, _, job_id, queue, payload, attempt, most, checkpoint, tags, agent, _, trace) in enumerate(rows)
    ]


def _count(ledger: Ledger, queue: Queue, claimed: int) -> None:
    queue.counts[PENDING] -= claimed
    queue.counts[ACTIVE] += claimed
    ledger.touch(queue)
    limits.record_claims(ledger, queue, claimed)
