"""`rookery enqueue`: add a job."""

import time
from typing import Any

import click
import msgspec

from rookery.cli.answers import ask, read, report
from rookery.cli.arguments import NUMBER, PRIORITY, TEXT, TIME, json_text, queue_argument
from rookery.cli.flags import DURATION, SwitchCommand, client_flags
from rookery.cli.remote import Remote
from rookery.model.instants import format_instant


class Enqueued(msgspec.Struct):
    """What became of the job."""

    job_id: str
    status: str


@click.command("enqueue", cls=SwitchCommand)
@queue_argument()
@click.argument("payload")
@click.option("--priority", type=PRIORITY, help="critical, high or normal (default).")
@click.option("--unique-key", type=TEXT, help="Add no second job while one of the queue holds this key.")
@click.option("--unique-period", type=int, metavar="SEC", help="For how long the key is held at the most.")
@click.option(
    "--unique-on-conflict",
    type=click.Choice(["keep", "replace", "reschedule"]),
    help="What becomes of the waiting job that holds the key.",
)
@click.option("--max-retries", type=int, metavar="N", help="Attempts in all.  [server's default: 3]")
@click.option("--scheduled-at", type=TIME, help="When it is to run: ISO 8601 with an offset, or a day.")
@click.option("--delay", type=DURATION, help="How long from now it is to run, like 5m; instead of --scheduled-at.")
@click.option("--tags", metavar="JSON", help='Names with values: {"customer": "acme"}.')
@click.option("--expire-after", metavar="DUR", help="Dead if it has not begun by then, like 1h30m.")
@click.option("--retry-backoff", metavar="KIND", help="none, fixed, linear or exponential (default).")
@click.option("--retry-base-delay", metavar="DUR", help="The first delay between attempts.  [server's default: 5s]")
@click.option("--retry-max-delay", metavar="DUR", help="The longest delay between attempts.  [server's default: 10m]")
@click.option(
    "--depends-on", type=TEXT, metavar="ID", multiple=True, help="A job that must have completed first; repeatable."
)
@click.option("--chain", metavar="JSON", help='Jobs that follow: {"steps": [...], "on_failure": ..., "on_exit": ...}.')
@click.option("--agent-max-iterations", type=int, metavar="N", help="An agent job: held after so many iterations.")
@click.option("--agent-max-cost-usd", type=NUMBER, metavar="X", help="An agent job: held when it has cost more.")
@click.option("--agent-iteration-timeout", metavar="DUR", help="An agent job: how long an iteration should take.")
@click.option("--parent-id", type=TEXT, metavar="ID", help="A free link to another job.")
@click.option("--job-id", type=TEXT, metavar="ID", help="An id of your own; refused if it is taken.")
@client_flags
def command(
    remote: Remote,
    is_json: bool,
    payload: str,
    delay: int | None,
    tags: str | None,
    chain: str | None,
    agent_max_iterations: int | None,
    agent_max_cost_usd: msgspec.Raw | None,
    agent_iteration_timeout: str | None,
    depends_on: tuple[str, ...],
    **fields: Any,
) -> None:
    """Add a job to QUEUE. PAYLOAD is JSON; - reads it from stdin, @FILE from a file."""
    if delay is not None:
        if fields["scheduled_at"] is not None:
            raise click.UsageError("--delay and --scheduled-at exclude each other")
        fields["scheduled_at"] = format_instant(int(time.time() * 1000) + delay)
    agent = _given(
        max_iterations=agent_max_iterations,
        max_cost_usd=agent_max_cost_usd,
        iteration_timeout=agent_iteration_timeout,
    )
    job = _given(
        **fields,
        payload=json_text(payload, "payload"),
        tags=None if tags is None else json_text(tags, "--tags"),
        chain=None if chain is None else json_text(chain, "--chain"),
        agent=agent or None,
        depends_on=depends_on or None,
    )
    answer = ask(remote, "POST", "/enqueue", job)
    enqueued = read(answer, Enqueued)
    report(answer, is_json, f"Job enqueued: {enqueued.job_id} (status: {enqueued.status})")


def _given(**fields: Any) -> dict[str, Any]:
    """Only what was said: the server knows its own defaults."""
    return {name: value for name, value in fields.items() if value is not None}
