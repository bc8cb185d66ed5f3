"""Chains: when a step ends, the next one is enqueued, or the handler for the chain's exit or failure."""

from typing import Final

import msgspec

from rookery.engine import enqueue
from rookery.engine.jobs import Job
from rookery.engine.jsontext import json_text
from rookery.engine.ledger import Ledger
from rookery.engine.ops import NewJob
from rookery.model.names import queue_name_fault, stored_name

ON_EXIT: Final = -1
ON_FAILURE: Final = -2
STEP_STATUSES: Final = frozenset({"", "continue", "exit"})

Payload = dict[str, object]


class Step(msgspec.Struct):
    """A job that the chain may enqueue."""

    queue: str
    payload: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class Chain(msgspec.Struct):
    """A chain as its producer wrote it."""

    steps: list[Step]
    on_failure: Step | str | None = None
    on_exit: Step | None = None


def is_step(job: Job) -> bool:
    """Whether the job is one of a chain's own steps; handlers never trigger anything."""
    return job.chain_id is not None and job.chain_step is not None and job.chain_step >= 0


def step_completed(ledger: Ledger, job: Job, result: str | None, step_status: str, exit_reason: str | None) -> None:
    """Go on to the next step, or out."""
    chain = _chain_of(ledger, job)
    if chain is None or job.chain_step is None:
        return
    payload: Payload = {"previous_job_id": job.id}
    if result is not None:
        payload["previous_result"] = msgspec.Raw(result)
    following = job.chain_step + 1
    if step_status != "exit" and following < len(chain.steps):
        _enqueue(ledger, job, chain.steps[following], following, payload)
    elif chain.on_exit is not None:
        if exit_reason:
            payload["exit_reason"] = exit_reason
        _enqueue(ledger, job, chain.on_exit, ON_EXIT, payload)


def step_died(ledger: Ledger, job: Job, error: str) -> None:
    """Enqueue the handler for failure, or go on if the chain says so."""
    chain = _chain_of(ledger, job)
    if chain is None or job.chain_step is None:
        return
    handler = chain.on_failure
    if handler == "continue":
        following = job.chain_step + 1
        payload: Payload = {"previous_job_id": job.id, "previous_error": error}
        if following < len(chain.steps):
            _enqueue(ledger, job, chain.steps[following], following, payload)
        elif chain.on_exit is not None:
            _enqueue(ledger, job, chain.on_exit, ON_EXIT, payload)
        return
    if isinstance(handler, str):
        handler = None if handler in ("", "stop") else Step(handler)
    if handler is not None:
        payload = {"failed_job_id": job.id, "failed_step": job.chain_step, "error": error}
        _enqueue(ledger, job, handler, ON_FAILURE, payload)


def _chain_of(ledger: Ledger, job: Job) -> Chain | None:
    """The chain that the job is a step of; a raw `chain_config` that is no chain moves nothing."""
    config = ledger.execute("SELECT chain_config FROM job WHERE seq = ?", (job.seq,)).get
    if config is None:
        return None
    try:
        return msgspec.json.decode(config, type=Chain)
    except msgspec.DecodeError:
        return None


def _enqueue(ledger: Ledger, job: Job, step: Step, number: int, payload: Payload) -> None:
    if queue_name_fault(step.queue) is not None:
        return
    config, namespace, trace = ledger.execute(
        "SELECT chain_config, namespace, trace FROM job WHERE seq = ?", (job.seq,)
    ).get
    enqueue.create_job(
        ledger,
        NewJob(
            queue=stored_name(namespace, step.queue),
            payload=_with_own_payload(payload, step.payload),
            chain_id=job.chain_id,
            chain_step=number,
            chain_config=config,
            trace=trace,
        ),
        namespace=namespace,
    )


def _with_own_payload(payload: Payload, own: msgspec.Raw) -> str:
    """What the chain hands on, with the step's own keys on top."""
    if bytes(own) not in (b"", b"null"):
        try:
            payload.update(msgspec.json.decode(own, type=dict[str, msgspec.Raw]))
        except msgspec.ValidationError:
            payload["payload"] = own
    return json_text(payload)
