"""`rookery why`: why a job is not running, in words."""

import time
from collections.abc import Callable
from typing import Any, Final, TypedDict

import click

from rookery.cli.answers import ask, pretty, segment
from rookery.cli.arguments import job_argument
from rookery.cli.figures import one_line, seconds_since, shown_age
from rookery.cli.flags import SwitchCommand, client_flags
from rookery.cli.remote import Remote, unpack
from rookery.model.job import DEAD

Reason = dict[str, Any]


class Coded(TypedDict):
    """What every reason has."""

    code: str


class Explanation(TypedDict):
    """What is needed of the answer."""

    job_id: str
    state: str
    runnable: bool
    reasons: list[Coded]


class JobError(TypedDict):
    """What went wrong in an attempt."""

    error: str


class DeadJob(TypedDict):
    """What is needed of a job that is dead."""

    attempt: int
    max_retries: int
    errors: list[JobError]


@click.command("why", cls=SwitchCommand)
@job_argument
@client_flags
def command(job_id: str, remote: Remote, is_json: bool) -> None:
    """Say why a job is not running: everything that is in its way, the reason that binds first."""
    answer = ask(remote, "GET", f"/jobs/{segment(job_id)}/why")
    if is_json:
        click.echo(pretty(answer))
        return
    explanation = unpack(bytes(answer), Explanation)
    lines = explained(explanation, time.time())
    if explanation["state"] == DEAD:
        lines.append(f"    {how_it_died(remote.call('GET', f'/jobs/{segment(job_id)}', shape=DeadJob))}")
    click.echo("\n".join(lines))


def how_it_died(job: DeadJob) -> str:
    """`dead after attempt 1 of 3: ValueError: no such address`."""
    errors = job["errors"]
    last = f": {errors[-1]['error']}" if errors else ""
    return one_line(f"dead after attempt {job['attempt']} of {job['max_retries']}{last}")


def explained(answer: dict[str, Any], now: float) -> list[str]:
    """The answer as lines to read."""
    ended = answer["reasons"][0]["code"] in ("finished", "running") if answer["reasons"] else False
    verdict = "" if ended else ", can run" if answer["runnable"] else ", cannot run yet"
    lines = [f"{answer['job_id']}: {answer['state']}{verdict}"]
    if answer["reasons"]:
        first, *rest = (in_words(reason, now) for reason in answer["reasons"])
        lines += ["", f"  * {first}", *(f"    {words}" for words in rest)]
    if answer.get("position") is not None:
        lines += ["", f"Position {answer['position']:,} in line"]
    return lines


def in_words(reason: Reason, now: float) -> str:
    """`rate limited: 10 per 1m, next slot in 4s`."""
    name = reason["code"].replace("_", " ")
    say = _WORDS.get(reason["code"])
    return one_line(f"{name}: {say(reason, now) if say else reason['detail']}")


def _since(time: str, now: float) -> str:
    return f"since {time} ({shown_age(seconds_since(time, now))} ago)"


def _at(time: str, now: float) -> str:
    left = -seconds_since(time, now)
    return f"in {shown_age(left + 0.999)}" if left > 0 else "now"


def _finished(reason: Reason, now: float) -> str:
    return f"at {reason['at']} ({shown_age(seconds_since(reason['at'], now))} ago)"


def _running(reason: Reason, now: float) -> str:
    worker = f"on worker {reason['worker_id']}, " if reason["worker_id"] else ""
    return worker + _since(reason["since"], now)


def _held(reason: Reason, now: float) -> str:
    because = f"{reason['hold_reason']}, " if reason["hold_reason"] else ""
    return f"{because}{_since(reason['since'], now)} (rookery approve or rookery reject)"


def _due(reason: Reason, now: float) -> str:
    return f"until {reason['at']} ({_at(reason['at'], now)})"


def _dependencies(reason: Reason, now: float) -> str:
    return ", ".join(f"{other['job_id']} ({other['state']})" for other in reason["dependencies"])


def _at_concurrency(reason: Reason, now: float) -> str:
    return f"{reason['active']} of {reason['max']} at a time run already"


def _rate_limited(reason: Reason, now: float) -> str:
    return f"{reason['rate']} per {reason['period']}, next slot {_at(reason['next_slot_at'], now)}"


def _over_budget(reason: Reason, now: float) -> str:
    return f"{reason['scope']}: {reason['spent_usd']:.2f} of {reason['limit_usd']:.2f} USD are spent"


def _no_workers(reason: Reason, now: float) -> str:
    seen = reason["last_seen"]
    last = f"the last one was seen {shown_age(seconds_since(seen, now))} ago" if seen else "none is known"
    return f"nobody has asked for its queue in the last minute, {last}"


def _behind_others(reason: Reason, now: float) -> str:
    if not reason["ahead"]:
        return "next in line"
    turn = f"its turn comes {_at(reason['eta'], now)}" if reason["eta"] else "when its turn comes is not known"
    return f"{reason['ahead']:,} ahead of it, {turn}"


_WORDS: Final[dict[str, Callable[[Reason, float], str]]] = {
    "finished": _finished,
    "running": _running,
    "held": _held,
    "scheduled": _due,
    "retry_backoff": _due,
    "waiting_for_dependencies": _dependencies,
    "queue_paused": lambda reason, now: _since(reason["since"], now),
    "queue_at_concurrency": _at_concurrency,
    "rate_limited": _rate_limited,
    "over_budget": _over_budget,
    "no_workers": _no_workers,
    "behind_others": _behind_others,
}
