"""Job batches: jobs that are followed together, with exactly one callback when the last of them has ended."""

import msgspec

from rookery.engine import enqueue
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import NewJob, NewJobBatch
from rookery.model.names import stored_name


class JobBatch(msgspec.Struct):
    """How far a job batch is."""

    id: str
    namespace: str
    total: int
    pending: int
    succeeded: int
    failed: int
    callback_queue: str | None
    callback_payload: str | None


_COLUMNS = ", ".join(JobBatch.__struct_fields__)


def open_batch(ledger: Ledger, batch_id: str, namespace: str, new: NewJobBatch, members: int) -> None:
    """Begin to follow a batch; with no member it is complete at once."""
    batch = JobBatch(batch_id, namespace, members, members, 0, 0, new.callback_queue, new.callback_payload)
    ledger.execute(
        f"INSERT INTO job_batch ({_COLUMNS}, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*msgspec.structs.astuple(batch), ledger.now),
    )
    _call_back_if_complete(ledger, batch, None)


def count_member(ledger: Ledger, batch_id: str, seq: int, *, succeeded: bool) -> None:
    """A member has ended: count it, once and for all."""
    trace = ledger.execute("UPDATE job SET batch_open = 0 WHERE seq = ? RETURNING trace", (seq,)).get
    row = ledger.execute(
        f"""
        UPDATE job_batch
           SET pending = pending - 1, succeeded = succeeded + ?, failed = failed + ?
         WHERE id = ?
        RETURNING {_COLUMNS}
        """,
        (succeeded, not succeeded, batch_id),
    ).fetchone()
    if row is not None:
        _call_back_if_complete(ledger, JobBatch(*row), trace)


def _call_back_if_complete(ledger: Ledger, batch: JobBatch, trace: str | None) -> None:
    """Enqueue the callback once nothing is pending; it goes on with the trace of the member that ended last."""
    if batch.pending or not batch.callback_queue:
        return
    enqueue.create_job(
        ledger,
        NewJob(queue=stored_name(batch.namespace, batch.callback_queue), payload=_callback_payload(batch), trace=trace),
        namespace=batch.namespace,
    )


def _callback_payload(batch: JobBatch) -> str:
    """The caller's payload with the counts put in under `batch`."""
    counts = {"id": batch.id, "total": batch.total, "succeeded": batch.succeeded, "failed": batch.failed}
    payload: dict[str, object] = {}
    if batch.callback_payload is not None:
        try:
            payload.update(msgspec.json.decode(batch.callback_payload, type=dict[str, msgspec.Raw]))
        except msgspec.ValidationError:
            payload["callback_payload"] = msgspec.Raw(batch.callback_payload)
    payload["batch"] = counts
    return json_text(payload)
