"""What can be done to one job, and the list of those that are held."""

from typing import Any

import click
import msgspec

from rookery.cli.answers import ask, pretty, read, report, segment
from rookery.cli.arguments import QUEUE, job_argument
from rookery.cli.flags import SwitchCommand, client_flags
from rookery.cli.remote import Remote
from rookery.cli.tables import Table

MOST_HELD = 100


class Outcome(msgspec.Struct):
    """A word on how it went."""

    status: str


class HeldJob(msgspec.Struct):
    """A job that waits for somebody."""

    id: str
    queue: str
    state: str
    hold_reason: str | None = None


class HeldJobs(msgspec.Struct):
    """What a search for them finds."""

    jobs: list[HeldJob]
    total: int


@click.command("inspect", cls=SwitchCommand)
@job_argument
@client_flags
def inspect(remote: Remote, is_json: bool, job_id: str) -> None:
    """Show all that there is to know of a job, as JSON."""
    click.echo(pretty(ask(remote, "GET", f"/jobs/{segment(job_id)}")))


@click.command("retry", cls=SwitchCommand)
@job_argument
@client_flags
def retry(remote: Remote, is_json: bool, job_id: str) -> None:
    """Run a job again from its first attempt: one that is dead, cancelled, completed or scheduled."""
    report(_act(remote, job_id, "retry"), is_json, "Job retried")


@click.command("cancel", cls=SwitchCommand)
@job_argument
@client_flags
def cancel(remote: Remote, is_json: bool, job_id: str) -> None:
    """Cancel a job that waits or runs. The worker of a running one hears of it with its next heartbeat."""
    answer = _act(remote, job_id, "cancel")
    report(answer, is_json, f"Job {job_id}: {read(answer, Outcome).status}")


@click.command("move", cls=SwitchCommand)
@job_argument
@click.argument("target_queue", type=QUEUE)
@client_flags
def move(remote: Remote, is_json: bool, job_id: str, target_queue: str) -> None:
    """Move a job to another queue, with its place in line by age."""
    report(_act(remote, job_id, "move", {"queue": target_queue}), is_json, f"Job moved to {target_queue}")


@click.command("delete", cls=SwitchCommand)
@job_argument
@client_flags
def delete(remote: Remote, is_json: bool, job_id: str) -> None:
    """Delete a job, whatever its state, with its errors and its log."""
    report(ask(remote, "DELETE", f"/jobs/{segment(job_id)}"), is_json, "Job deleted")


@click.command("hold", cls=SwitchCommand)
@job_argument
@click.option("--reason", help="Why; shown with the job.")
@client_flags
def hold(remote: Remote, is_json: bool, job_id: str, reason: str | None) -> None:
    """Hold a job until somebody approves or rejects it."""
    report(_act(remote, job_id, "hold", {"reason": reason} if reason else {}), is_json, f"Job {job_id} held")


@click.command("approve", cls=SwitchCommand)
@job_argument
@client_flags
def approve(remote: Remote, is_json: bool, job_id: str) -> None:
    """Let a held job go on."""
    report(_act(remote, job_id, "approve"), is_json, f"Job {job_id} approved")


@click.command("reject", cls=SwitchCommand)
@job_argument
@client_flags
def reject(remote: Remote, is_json: bool, job_id: str) -> None:
    """Bury a held job: it is dead."""
    report(_act(remote, job_id, "reject"), is_json, f"Job {job_id} rejected")


@click.command("held", cls=SwitchCommand)
@client_flags
def held(remote: Remote, is_json: bool) -> None:
    """List the jobs that are held, newest first, at most 100 of them."""
    wanted = {"state": ["held"], "limit": MOST_HELD, "sort": "created_at", "order": "desc"}
    answer = ask(remote, "POST", "/jobs/search", wanted)
    found = read(answer, HeldJobs)
    if is_json:
        click.echo(pretty(answer))
    elif not found.jobs:
        click.echo("No held jobs")
    else:
        Table("ID", "QUEUE", "STATE", "REASON").show(
            (job.id, job.queue, job.state, job.hold_reason) for job in found.jobs
        )
        if found.total > len(found.jobs):
            click.echo(f"{len(found.jobs)} of {found.total} held jobs", err=True)


def _act(remote: Remote, job_id: str, action: str, body: Any = None) -> msgspec.Raw:
    return ask(remote, "POST", f"/jobs/{segment(job_id)}/{action}", body)
