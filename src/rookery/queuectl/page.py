"""The page of the dashboard as HTML. Every text is escaped here, at the one place where markup is made."""

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from rookery.model.instants import format_instant
from rookery.queuectl.home import Home, now_ms
from rookery.queuectl.local import read_status
from rookery.queuectl.reads import find_jobs

ROWS: Final = 50
_HERE: Final = Path(__file__).parent
_LONGEST: Final = 300


def render_page(home: Home, nonce: str) -> str:
    """The whole page. Scripts and styles are those with this nonce and no others."""
    db = home.reader()
    status = read_status(db)
    dead = list(find_jobs(db, "dead", limit=ROWS, newest_first=True))
    recent = list(find_jobs(db, limit=ROWS, newest_first=True))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>queuectl</title>
<link rel="icon" href="data:,">
<style nonce="{nonce}">{(_HERE / "page.css").read_text()}</style>
</head>
<body>
<main>
<header><h1>queuectl</h1><p>{_text(home.path)} <time>{format_instant(now_ms())}</time></p></header>
{_counts(status["jobs"])}
<section><h2>Workers</h2>{_workers(status)}</section>
<section><h2>Dead letters</h2>{_dead(dead, status["jobs"]["dead"])}</section>
<section><h2>Recent jobs</h2>{_recent(recent)}</section>
</main>
<script nonce="{nonce}">{(_HERE / "page.js").read_text()}</script>
</body>
</html>
"""


def _counts(jobs: dict[str, int]) -> str:
    cards = "".join(
        f'<li class="{state}"><a href="/api/jobs?state={state}"><b>{count:,}</b> {state}</a></li>'
        for state, count in jobs.items()
    )
    return f'<ul class="counts">{cards}</ul>'


def _workers(status: dict[str, Any]) -> str:
    note = "<p>Workers have been told to stop.</p>" if status["shutdown"] else ""
    rows = [
        [_text(worker["worker_id"]), _text(worker["pid"]), _text(worker["started_at"]), _job_link(worker["job_id"])]
        for worker in status["workers"]
    ]
    return note + _table(("worker", "pid", "started", "job"), rows, "No workers are running.")


def _dead(jobs: list[dict[str, Any]], count: int) -> str:
    rows = [
        [
            _job_link(job["id"]),
            f"{job['attempts']} of {job['max_retries']}",
            _code(job["command"]),
            _code(job["last_error"]),
            f'<form method="post" action="/api/dlq/{quote(job["id"], safe="")}/retry"><button>Retry</button></form>',
        ]
        for job in jobs
    ]
    more = f"<p>The {ROWS} newest of {count:,}.</p>" if count > len(jobs) else ""
    return _table(("job", "runs", "command", "last error", ""), rows, "No job is dead.") + more


def _recent(jobs: list[dict[str, Any]]) -> str:
    rows = [
        [
            _job_link(job["id"]),
            f'<span class="state {job["state"]}">{job["state"]}</span>',
            _text(job["queue"]),
            f"{job['attempts']} of {job['max_retries']}",
            _text(job["priority"]),
            _text(job["next_run_at"]),
            _code(job["command"]),
        ]
        for job in jobs
    ]
    return _table(
        ("job", "state", "queue", "failed", "priority", "next run", "command"), rows, "There are no jobs yet."
    )


def _table(columns: Iterable[str], rows: list[list[str]], if_empty: str) -> str:
    """A table of cells that are markup already."""
    if not rows:
        return f'<p class="none">{if_empty}</p>'
    head = "".join(f"<th>{column}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _job_link(job_id: str | None) -> str:
    return "" if job_id is None else f'<a href="/api/jobs/{quote(job_id, safe="")}/log">{_text(job_id)}</a>'


def _code(text: str | None) -> str:
    return "" if text is None else f'<code title="{_text(text)}">{_text(text)}</code>'


def _text(value: Any) -> str:
    """Text of whoever, in a line of a reasonable length, as text and nothing else."""
    text = " ".join(str(value).split())
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "…"
    return escape("".join(char if char.isprintable() else "�" for char in text))
