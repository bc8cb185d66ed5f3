"""How long a failed job waits before its next attempt. Every policy is a name plus two numbers of the job.

The four native policies count attempts. `power` and the two jittered ones serve the other faces; their
randomness is passed in, so that the same failure always gives the same delay.
"""

from typing import Final

NATIVE_POLICIES: Final = ("none", "fixed", "linear", "exponential")
POLICIES: Final = (*NATIVE_POLICIES, "power", "exp_equal_jitter", "exp_full_jitter")

LONGEST_DELAY: Final = 100 * 365 * 86_400_000
"""A hundred years: the end of every growing series, so that no delay overflows a clock."""

_LONGEST_EXPONENT: Final = 50


def retry_delay(policy: str, base: int, cap: int, attempt: int, failures: int, jitter: float) -> int:
    """Milliseconds to wait after `attempt` failed; a `cap` of 0 means none, `jitter` is in [0, 1)."""
    if policy == "power":
        return power_delay(base / 1000, failures)
    delay = _steady_delay(policy, base, attempt)
    delay = min(delay, cap or LONGEST_DELAY, LONGEST_DELAY)
    if policy == "exp_equal_jitter":
        half = delay // 2000
        return (half + int(jitter * (half + 1))) * 1000
    if policy == "exp_full_jitter":
        return int(jitter * (delay // 1000 + 1)) * 1000
    return delay


def _steady_delay(policy: str, base: int, attempt: int) -> int:
    if policy == "none":
        return 0
    if policy == "fixed":
        return base
    if policy == "linear":
        return base * max(1, attempt)
    return int(base * 2 ** min(max(1, attempt) - 1, _LONGEST_EXPONENT))


def power_delay(base: float, failures: int) -> int:
    """`base` seconds raised to the number of failures, in milliseconds; capped by nothing but the length of time."""
    try:
        return min(round(base**failures * 1000), LONGEST_DELAY)
    except OverflowError:
        return LONGEST_DELAY
