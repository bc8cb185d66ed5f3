"""The figures as text: the table, the rest of the section, and its place in docs/benchmarks.md."""

import platform
from dataclasses import dataclass
from datetime import date

from bench.peers.machine import Machine
from bench.peers.measuring import Row
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
    amount = (
        f"{run.jobs:,} jobs each"
        if run.jobs
        else f"as many jobs as take about {run.seconds:g} seconds, by a short burst before and by the round before"
    )
    parts = [
        f"One run of `{run.command}`, {run.date}: {run.rounds} rounds, the systems in turn in each, {amount}; "
        f"{run.minutes:.0f} minutes. Figures are medians, with the lowest and the highest round.",
        f"Machine: {run.machine.described()}. Python {platform.python_version()}; " + "; ".join(run.servers) + ".",
        f"![Jobs a second, enqueued one by one and processed]({chart})",
        figures(rows),
        _standing(rows),
        "What each system promises in the configuration that was measured, and how it ran:",
        _promises(rows),
        "The commands. DIR is an empty directory, PORT a free port, SERVER the address of the server; the "
        "programs are in `bench/peers/programs/`:",
        _commands(rows),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def figures(rows: list[Row]) -> str:
    """The main table. Ratios are a system's rate divided by Rookery's."""
    ours = next((row for row in rows if row.system is ROOKERY and row.is_measured), None)
    lines = [
        "| system | jobs are kept in | written to disk | enqueue/s | of Rookery | process/s | of Rookery |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        name, server = row.system.name, row.system.server
        start = f"| {name} | {server.name} | {server.syncs}"
        if not row.is_measured:
            lines.append(f"{start} | {_cell(row.problem or 'not run')} | | | |")
            continue
        cells = []
        for index in (0, 1):
            spread = f"{_rate(row.lowest[index])} to {_rate(row.highest[index])}"
            cells.append(f"{_rate(row.median[index])} ({spread})")
            cells.append(f"{row.median[index] / ours.median[index]:.2f}" if ours else "")
        lines.append(f"{start} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _standing(rows: list[Row]) -> str:
    """Who is ahead of Rookery, in so many words."""
    ours = next((row for row in rows if row.system is ROOKERY and row.is_measured), None)
    if ours is None:
        return ""
    sentences = []
    for index, what in enumerate(("enqueuing one by one", "processing")):
        ahead = sorted(
            (row for row in rows if row.is_measured and row.median[index] > ours.median[index]),
            key=lambda row: -row.median[index],
        )
        names = ", ".join(f"{_name(row)} {row.median[index] / ours.median[index]:.1f} times" for row in ahead)
        sentences.append(f"Faster than Rookery at {what}: {names or 'none'}.")
    return "\n".join(sentences)


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
    lines = []
    for row in rows:
        system = row.system
        program = f"{'node' if system.environment == 'node' else 'python'} {' '.join(system.program)}"
        lines += [
            f"# {_name(row)}",
            system.server.command,
            f"{program} enqueue 0 {row.counts.enqueue}",
            " ".join(system.worker).replace("BIN/", ""),
            "",
        ]
    return "\n".join(["```", *lines[:-1], "```"])


def _name(row: Row) -> str:
    """The system, told apart from the same system with another setting."""
    return f"{row.system.name} ({row.system.server.syncs})"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())
