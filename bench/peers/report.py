"""The figures as text: the table, the rest of the section, and its place in docs/benchmarks.md."""

import platform
import textwrap
from dataclasses import dataclass
from datetime import date

from bench.peers.figures import Row
from bench.peers.machine import Machine
from bench.peers.systems import ROOKERY

BEGIN = "<!-- peers: written by python -m bench.peers, from here -->"
END = "<!-- peers: to here -->"


@dataclass(frozen=True)
class Run:
    """When, where and how the figures were taken."""

    machine: Machine
    date: date
    command: str
    rounds: int
    seconds: float
    jobs: int | None
    minutes: float
    servers: list[str]


def put_into(document: str, section: str) -> str:
    """The document with the part between the two markers replaced."""
    before, found, rest = document.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"the document has no part between {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{section}\n{END}{after}"


def section(run: Run, rows: list[Row], chart: str) -> str:
    """All that is written between the markers."""
    rounds = "1 round" if run.rounds == 1 else f"{run.rounds} rounds, the systems in turn in each"
    jobs = (
        f"{run.jobs:,} jobs each"
        if run.jobs
        else f"as many jobs as take about {run.seconds:g} s, by a short burst at the beginning and by the round before"
    )
    parts = [
        f"`{run.command}` on {run.date}: {rounds}, {jobs}; {run.minutes:.0f} minutes. Figures are medians, with the "
        "lowest and the highest round in brackets; ratios are to Rookery's.",
        f"Machine: {run.machine.described()}. Python {platform.python_version()}; {'; '.join(run.servers)}.",
        f"![Jobs a second, enqueued one by one and processed]({chart})",
        figures(rows),
        _remarks(rows),
        _standing(rows),
        "What each system promises in the configuration that was measured, and how it ran:",
        _promises(rows),
        "The commands, with the number of jobs in the last round. DIR is an empty directory, PORT a free port, SERVER "
        "the server's address; the programs are in `bench/peers/programs/`.",
        _commands(rows),
    ]
    return "\n\n".join(_wrapped(part) for part in parts if part) + "\n"


def _wrapped(part: str) -> str:
    """Prose in lines of the usual length; tables, lists and code as they are."""
    is_prose = not part.startswith(("|", "- ", "```", "!"))
    return textwrap.fill(part, 120, break_long_words=False, break_on_hyphens=False) if is_prose else part


def figures(rows: list[Row]) -> str:
    """The main table; a ratio is a system's rate divided by Rookery's."""
    ours = next((row for row in rows if row.system is ROOKERY and row.is_measured), None)
    lines = [
        "| system | jobs are kept in | written to disk | enqueue/s | of Rookery | process/s | of Rookery |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        name, server = row.system.name, row.system.server
        start = f"| {name} | {server.name} | {server.syncs}"
        if not row.is_measured:
            lines.append(f"{start} | {row.problem.partition(':')[0] or 'not run'} | | | |")
            continue
        cells = []
        for index in (0, 1):
            spread = f"{_rate(row.lowest[index])} to {_rate(row.highest[index])}"
            cells.append(f"{_rate(row.median[index])} ({spread})")
            cells.append(_ratio(row.median[index] / ours.median[index]) if ours else "")
        lines.append(f"{start} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _remarks(rows: list[Row]) -> str:
    """What went wrong, and what was done more than once."""
    lines = [f"- {_name(row)} {row.problem}" for row in rows if row.problem]
    lines += [
        f"- {_name(row)}: of {row.processed:,} jobs {row.again:,} were done more than once, without any failure."
        for row in rows
        if row.is_measured and row.again
    ]
    return "\n".join(lines)


def _standing(rows: list[Row]) -> str:
    """Who is ahead of Rookery, in so many words."""
    ours = next((row for row in rows if row.system is ROOKERY and row.is_measured), None)
    if ours is None:
        return ""
    lines = []
    for index, what in enumerate(("enqueuing one by one", "processing")):
        rates = {_name(row): row.median[index] / ours.median[index] for row in rows if row.is_measured}
        ahead = sorted(((ratio, name) for name, ratio in rates.items() if ratio > 1), reverse=True)
        names = ", ".join(f"{name} {_ratio(ratio)} times" for ratio, name in ahead)
        lines.append(f"- Faster than Rookery at {what}: {names or 'none'}.")
    return "\n".join(lines)


def _promises(rows: list[Row]) -> str:
    lines = [
        "| system | an acknowledged enqueue survives | a job whose worker is killed | ten at a time by | versions |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        system = row.system
        versions = ", ".join(f"{name} {version}" for name, version in row.versions.items())
        lines.append(f"| {_name(row)} | {system.server.survives} | {system.after_kill} | {system.runs} | {versions} |")
    return "\n".join(lines)


def _commands(rows: list[Row]) -> str:
    servers = {f"{row.system.server.name}, {row.system.server.syncs}": row.system.server.command for row in rows}
    lines = [line for name, command in servers.items() for line in (f"# {name}", command)]
    for row in rows:
        program = f"{'node' if row.system.environment == 'node' else 'python'} {' '.join(row.system.program)}"
        worker = " ".join(row.system.worker).replace("BIN/", "")
        lines += ["", f"# {_name(row)}", f"{program} enqueue 0 {row.counts.enqueue}"]
        lines.append(f"{worker}  # {row.counts.process} jobs")
    return "\n".join(["```sh", *lines, "```"])


def _name(row: Row) -> str:
    """The system, told apart from the same system with another setting."""
    return f"{row.system.name} ({row.system.server.syncs})"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}"


def _ratio(ratio: float) -> str:
    """Two digits that say something, or more where the ratio is large."""
    decimals = next((places for limit, places in ((10, 0), (1, 1), (0.1, 2)) if ratio >= limit), 3)
    return f"{ratio:.{decimals}f}"
