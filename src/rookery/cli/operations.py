"""How the server is: its queues, its workers, the nodes of a cluster."""

import click
import msgspec

from rookery.cli.answers import ask, pretty, read
from rookery.cli.figures import shown_slots
from rookery.cli.flags import SwitchCommand, SwitchGroup, client_flags
from rookery.cli.queues import COUNTS, Queue
from rookery.cli.remote import Remote
from rookery.cli.tables import Table


class Member(msgspec.Struct):
    """One node."""

    id: str = ""
    role: str = ""
    address: str | None = None
    voter: bool | None = None
    status: str | None = None
    lag: int | None = None
    is_self: bool = msgspec.field(default=False, name="self")


class Cluster(msgspec.Struct):
    """What a server says of itself and of its peers."""

    mode: str
    status: str
    nodes: list[Member] = []
    applied_index: int = 0
    commit_index: int = 0


class Worker(msgspec.Struct):
    """Somebody who asks for jobs."""

    id: str
    hostname: str | None = None
    last_heartbeat: str | None = None
    active_jobs: int = 0
    slots: int | None = None
    draining: bool = False


@click.command("status", cls=SwitchCommand)
@client_flags
def status(remote: Remote, is_json: bool) -> None:
    """Show how the server is, and its queues."""
    cluster_answer, queues_answer = ask(remote, "GET", "/cluster/status"), ask(remote, "GET", "/queues")
    state, queues = read(cluster_answer, Cluster), read(queues_answer, list[Queue])
    if is_json:
        both = msgspec.json.encode({"cluster": cluster_answer, "queues": queues_answer})
        click.echo(pretty(msgspec.Raw(both)))
        return
    click.echo(f"Mode: {state.mode}  Status: {state.status}\n")
    if queues:
        Table(*COUNTS).show(queue.counts() for queue in queues)
    else:
        click.echo("No queues")


@click.command("workers", cls=SwitchCommand)
@client_flags
def workers(remote: Remote, is_json: bool) -> None:
    """List the workers that were heard of in the last day, the latest first."""
    answer = ask(remote, "GET", "/workers")
    found = read(answer, list[Worker])
    if is_json:
        click.echo(pretty(answer))
    elif not found:
        click.echo("No workers connected")
    else:
        rows = (
            (
                worker.id,
                worker.hostname,
                worker.last_heartbeat,
                shown_slots(worker.active_jobs, worker.slots),
                "draining" if worker.draining else "",
            )
            for worker in found
        )
        Table("ID", "HOSTNAME", "LAST HEARTBEAT", "JOBS", "STATE").show(rows)


@click.group("cluster", cls=SwitchGroup)
@client_flags
def cluster(remote: Remote, is_json: bool) -> None:
    """Show the nodes of a cluster."""


@cluster.command("status")
@client_flags
def cluster_status(remote: Remote, is_json: bool) -> None:
    """Show every node, its role, and how many updates it is behind."""
    answer = ask(remote, "GET", "/cluster/status")
    state = read(answer, Cluster)
    if is_json:
        click.echo(pretty(answer))
        return
    rows = (
        (node.id, node.role, node.address, _yes_or_no(node.voter), node.status, _lag(node, state))
        for node in state.nodes
    )
    Table("NODE", "ROLE", "ADDRESS", "VOTER", "STATUS", "LAG").show(rows)


def _yes_or_no(answer: bool | None) -> str:
    return {True: "yes", False: "no", None: ""}[answer]


def _lag(node: Member, state: Cluster) -> int | None:
    """Of itself a node knows it; of another, only if that is said."""
    if node.lag is None and node.is_self:
        return max(0, state.commit_index - state.applied_index)
    return node.lag
