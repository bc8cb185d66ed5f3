"""A job, a queue or a worker as text to read."""

import json
from collections.abc import Iterable
from typing import Any

from rich.text import Text

from rookery.cli.answers import segment
from rookery.cli.figures import one_line, seconds_since, shown_age, shown_slots, without_controls
from rookery.cli.overview import Row
from rookery.cli.remote import Remote
from rookery.cli.why import in_words
from rookery.model.durations import format_duration


def job_details(remote: Remote, job_id: str, now: float) -> Text:
    """All that one wants to know of a failed job: where it stands, why, what went wrong, what it carries."""
    path = f"/jobs/{segment(job_id)}"
    job, why = remote.call("GET", path), remote.call("GET", f"{path}/why")
    text = _fields(
        [
            ("queue", job["queue"]),
            ("state", job["state"]),
            ("attempt", f"{job['attempt']} of {job['max_retries']}"),
            ("priority", job["priority_name"]),
            ("worker", job["worker_id"]),
            ("tags", job["tags"] and ", ".join(f"{name}={value}" for name, value in job["tags"].items())),
            ("created", _moment(job["created_at"], now)),
            ("failed", _moment(job["failed_at"], now)),
            ("next try", _moment(job["scheduled_at"], now)),
        ]
    )
    _section(text, "Why", (in_words(reason, now) for reason in why["reasons"]))
    for error in reversed(job["errors"]):
        _section(text, f"Attempt {error['attempt']}, {_moment(error['at'], now)}", [error["error"]], "red")
        if error["backtrace"]:
            text.append(f"{_indented(error['backtrace'])}\n", "dim")
    _section(text, "Payload", [json.dumps(job["payload"], indent=2, ensure_ascii=False)])
    return text


def queue_details(queue: Row, now: float) -> Text:
    """The settings of a queue and all its counts."""
    rate = queue["rate_limit"] and f"{queue['rate_limit']} per {format_duration(queue['rate_window_ms'])}"
    states = ("pending", "active", "scheduled", "retrying", "held", "completed", "dead", "cancelled")
    return _fields(
        [
            ("paused", "yes" if queue["paused"] else "no"),
            ("at a time", queue["max_concurrency"] or "no limit"),
            ("rate", rate or "no limit"),
            ("oldest", _moment(queue["oldest_pending_at"], now)),
            ("created", _moment(queue["created_at"], now)),
            ("", ""),
            *((state, f"{queue[state]:,}") for state in states),
            ("", ""),
            ("jobs/min", f"{queue.get('throughput_per_min', 0):,}"),
            ("enqueued", f"{queue['enqueued']:,} since it was created"),
            ("failed", f"{queue['failed']:,} attempts"),
        ]
    )


def worker_details(worker: Row, now: float) -> Text:
    """A worker and the queues it serves."""
    text = _fields(
        [
            ("host", worker["hostname"]),
            ("jobs", shown_slots(worker["active_jobs"], worker.get("slots"))),
            ("state", "draining: takes no more jobs, finishes those it has" if worker.get("draining") else None),
            ("seen", _moment(worker["last_heartbeat"], now)),
            ("started", _moment(worker["started_at"], now)),
        ]
    )
    _section(text, "Queues", worker["queues"])
    return text


def _fields(fields: Iterable[tuple[str, Any]]) -> Text:
    text = Text()
    for name, value in fields:
        if value is not None:
            text.append(f"{name:<10}", "dim")
            text.append(f"{one_line(str(value))}\n")
    return text


def _section(text: Text, title: str, lines: Iterable[str], style: str = "") -> None:
    text.append(f"\n{title}\n", "bold")
    for line in lines:
        text.append(f"{_indented(line)}\n", style)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in without_controls(text).splitlines())


def _moment(time: str | None, now: float) -> str | None:
    if time is None:
        return None
    passed = seconds_since(time, now)
    return f"{time} ({f'{shown_age(passed)} ago' if passed >= 0 else f'in {shown_age(-passed)}'})"
