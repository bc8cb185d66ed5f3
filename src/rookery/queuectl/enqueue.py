"""`queuectl enqueue`: add a job, from JSON, from flags, or from both."""

import sys
from pathlib import Path
from shlex import quote
from typing import Any

import click

from rookery.queuectl.commands import in_place, refuse, reject
from rookery.queuectl.home import now_ms
from rookery.queuectl.newjobs import BadInput, check_fields, complete_job, read_document, read_flag
from rookery.queuectl.output import shown
from rookery.queuectl.place import IdTaken, Place


@click.command()
@click.argument("payload", required=False)
@click.option("--json-file", metavar="FILE", help="Take the job from a file of JSON; - is stdin.")
@click.option("--id", metavar="ID", help="The job's own name, 1 to 128 characters.  [default: made up]")
@click.option("--command", metavar="TEXT", help="What the shell is to run.")
@click.option("--max-retries", metavar="N", help="How often it may run, all in all.  [default: config max_retries]")
@click.option("--priority", metavar="N", help="Higher runs first; may be negative.  [default: 0]")
@click.option("--run-at", metavar="TIME", help="Not before: ISO 8601, in UTC unless it says otherwise.")
@click.option("--delay", metavar="SECONDS", help="Not before so many seconds from now.")
@click.option("--timeout", metavar="SECONDS", help="Stop it after so long.  [default: config job_timeout]")
@click.option("--queue", metavar="NAME", help="Letters, digits and . _ : -  [default: default]")
@click.option("--idempotency-key", metavar="KEY", help="Add nothing if a job with this key is there.")
@in_place
def command(place: Place, /, payload: str | None, json_file: str | None, **flags: str | None) -> None:
    """Add a job. It is on disk when the command ends.

    PAYLOAD is a JSON object with any of the fields id, command, max_retries, priority, run_at, timeout, queue and
    idempotency_key. A flag overrides the field of the same name.

    \b
    queuectl enqueue --command "make report" --queue reports --priority 5
    queuectl enqueue '{"id": "job1", "command": "echo hi", "max_retries": 5}'
    queuectl enqueue --json-file job.json --delay 60
    """
    now = now_ms()
    try:
        fields = check_fields(_wanted_fields(payload, json_file, flags), now)
        settings = place.settings()
        added = place.add(complete_job(fields, settings), settings.backoff_base, now)
    except BadInput as error:
        reject(str(error))
    except IdTaken:
        refuse(f"job {fields['id']} already exists")
    click.echo(f"{'Enqueued' if added.is_new else 'Already there:'} {shown(added.job_id)}")


def _wanted_fields(payload: str | None, json_file: str | None, flags: dict[str, str | None]) -> dict[str, Any]:
    """What JSON and flags say together."""
    if payload is not None and json_file is not None:
        raise BadInput("give either PAYLOAD or --json-file, not both")
    said = {field: read_flag(field, text) for field, text in flags.items() if text is not None}
    if "delay" in said and "run_at" in said:
        raise BadInput("delay: give either --delay or --run-at, not both")
    fields: dict[str, Any] = {}
    if json_file is not None:
        fields = read_document(_read(json_file))
    elif payload is not None:
        if not payload.lstrip().startswith(("{", "[")):
            hint = f"--command {quote(payload)}" if payload.strip() and payload.isprintable() else "--command TEXT"
            raise BadInput(f"PAYLOAD must be a JSON object; a shell command is given by {hint}")
        fields = read_document(payload.encode(errors="surrogateescape"))
    elif "command" not in said:
        raise BadInput("command: is required; give it as --command, in PAYLOAD, or in --json-file")
    fields.pop("delay", None)
    if "delay" in said:
        fields.pop("run_at", None)
    return fields | said


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise BadInput(f"json-file: cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
