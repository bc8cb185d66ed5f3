"""What attempts have cost: every report of a worker is kept as a row, also when its job is long gone."""

from rookery.engine.jobs import Job
from rookery.engine.ledger import Ledger
from rookery.engine.ops import Usage


def record(ledger: Ledger, job: Job, usage: Usage | None, phase: str) -> None:
    """Keep a report; one that says nothing is dropped."""
    if usage is None or usage == Usage():
        return
    ledger.execute(
        """
        INSERT INTO usage (job_id, queue, attempt, phase, input_tokens, output_tokens, cache_creation_tokens,
                           cache_read_tokens, model, provider, cost_usd, at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            job.id,
            ledger.queue_of(job.queue).name,
            job.attempt,
            phase,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_creation_tokens,
            usage.cache_read_tokens,
            usage.model,
            usage.provider,
            usage.cost_usd,
            ledger.now,
        ),
    )
