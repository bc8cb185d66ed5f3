"""What jobs have cost, as their workers report it."""

from typing import Final

import click
import msgspec

from rookery.cli.answers import ask, pretty, read
from rookery.cli.flags import SwitchCommand, SwitchGroup, client_flags
from rookery.cli.remote import Remote
from rookery.cli.tables import cell

CACHE_PERIOD: Final = "24h"


class Totals(msgspec.Struct):
    """Tokens and costs, added up."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    cost_usd: float = 0.0
    count: int = 0


class Group(Totals):
    """The same for one queue, model or provider."""

    key: str = ""


class Summary(msgspec.Struct):
    """What was reported in a while."""

    period: str
    start: str = msgspec.field(name="from")
    end: str = msgspec.field(name="to")
    totals: Totals
    groups: list[Group] = []


@click.command("usage", cls=SwitchCommand)
@click.option("--period", default="24h", show_default=True, metavar="DUR", help="How far back to look, like 30d.")
@click.option(
    "--group-by", type=click.Choice(["queue", "model", "provider", "none"]), help="Also add up by this, dearest first."
)
@client_flags
def usage(remote: Remote, is_json: bool, period: str, group_by: str | None) -> None:
    """Add up the tokens and the costs that workers have reported."""
    params = {"period": period} if group_by is None else {"period": period, "group_by": group_by}
    answer = ask(remote, "GET", "/usage/summary", params=params)
    summary = read(answer, Summary)
    if is_json:
        click.echo(pretty(answer))
        return
    totals = summary.totals
    lines = [
        f"Usage summary ({summary.period})",
        f"Window: {summary.start} -> {summary.end}",
        f"Total rows: {totals.count}",
        f"Input tokens: {totals.input_tokens}",
        f"Output tokens: {totals.output_tokens}",
        f"Cache create tokens: {totals.cache_creation_tokens}",
        f"Cache read tokens: {totals.cache_read_tokens}",
        f"Total cost USD: {totals.cost_usd:.6f}",
    ]
    if summary.groups:
        lines += ["Groups:", *map(_group_line, summary.groups)]
    click.echo("\n".join(lines))


def _group_line(group: Group) -> str:
    return (
        f"- {cell(group.key) or '(none)'} rows={group.count} in={group.input_tokens} out={group.output_tokens} "
        f"cache_create={group.cache_creation_tokens} cache_read={group.cache_read_tokens} cost={group.cost_usd:.6f}"
    )


@click.group("cache", cls=SwitchGroup)
@client_flags
def cache(remote: Remote, is_json: bool) -> None:
    """Show how well prompt caches work."""


@cache.command("stats")
@client_flags
def stats(remote: Remote, is_json: bool) -> None:
    """Show how many tokens of the last 24 hours were written to prompt caches and read from them."""
    answer = ask(remote, "GET", "/usage/summary", params={"period": CACHE_PERIOD})
    totals = read(answer, Summary).totals
    if is_json:
        click.echo(pretty(answer))
        return
    created, hits = totals.cache_creation_tokens, totals.cache_read_tokens
    rate = 100 * hits / (hits + created) if hits + created else 0.0
    click.echo(f"Cache create tokens: {created}\nCache read tokens: {hits}\nEstimated hit rate: {rate:.1f}%")
