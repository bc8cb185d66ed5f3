"""Agent jobs: one job that runs again and again until it says done, within its limits."""

from typing import Final

import msgspec

from rookery.engine.jobs import Job
from rookery.engine.jsontext import json_text

STATUSES: Final = frozenset({"", "continue", "done", "hold"})


HIGHEST_COST: Final = 1e15
"""Where adding up ends, so that a sum is always a number."""


class Agent(msgspec.Struct):
    """An agent's limits (0 = none) and how far it is."""

    max_iterations: int = 0
    max_cost_usd: float = 0.0
    iteration_timeout: str = ""
    iteration: int = 1
    total_cost_usd: float = 0.0


class Verdict(msgspec.Struct, frozen=True):
    """What an agent's ack comes to: done, continue or hold (with why), and its state from now on."""

    status: str
    agent: str
    hold_reason: str | None = None


def judge(job: Job, status: str, cost_usd: float, hold_reason: str | None) -> Verdict:
    """Add up the cost and decide whether the agent may go on."""
    assert job.agent is not None
    agent = msgspec.json.decode(job.agent, type=Agent)
    agent.total_cost_usd = min(agent.total_cost_usd + max(0.0, cost_usd), HIGHEST_COST)
    status = status or "done"
    reason = None
    if status == "continue":
        agent.iteration += 1
        reason = _limit_reached(agent)
        if reason is not None:
            status = "hold"
    if status == "hold":
        reason = hold_reason or reason
    return Verdict(status, json_text(agent), reason)


def _limit_reached(agent: Agent) -> str | None:
    if 0 < agent.max_iterations < agent.iteration:
        return f"max_iterations exceeded ({agent.max_iterations})"
    if 0 < agent.max_cost_usd < agent.total_cost_usd:
        return f"max_cost_usd exceeded ({agent.total_cost_usd:.4f} > {agent.max_cost_usd:.4f})"
    return None
