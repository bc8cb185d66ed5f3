"""The settings of a home: which there are, and what they may be. Their defaults are in the view `config`."""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import apsw

LARGEST_INT: Final = (1 << 63) - 1
LONGEST_TIME: Final = 100 * 365 * 86_400
"""A hundred years of seconds: nothing waits longer."""

_INT: Final = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Settings(NamedTuple):
    """All settings, as what they mean."""

    max_retries: int
    backoff_base: float
    shutdown: bool
    poll_interval: float
    job_timeout: float | None
    kill_grace: float


class Setting(NamedTuple):
    """What a setting is for, what it may be, and how its text is read; that raises ValueError."""

    meaning: str
    valid: str
    read: Callable[[str], Any]


def _count(text: str) -> int:
    if not _INT.fullmatch(text):
        raise ValueError
    number = int(text) if len(text) < 30 else -1
    if not 0 <= number <= LARGEST_INT:
        raise ValueError
    return number


def _number(text: str) -> int | float:
    if not _NUMBER.fullmatch(text):
        raise ValueError
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError
    return int(text) if _INT.fullmatch(text) and number <= LARGEST_INT else number


def _seconds(text: str) -> int | float:
    number = _number(text)
    if number > LONGEST_TIME:
        raise ValueError
    return number


def _some_seconds(text: str) -> int | float:
    number = _seconds(text)
    if number == 0:
        raise ValueError
    return number


def _some_seconds_or_none(text: str) -> int | float | None:
    return _some_seconds(text) if text else None


def _switch(text: str) -> bool:
    return {"true": True, "false": False}[text]


SETTINGS: Final[dict[str, Setting]] = {
    "max_retries": Setting("how often a job may run that does not say so itself", "an integer of at least 0", _count),
    "backoff_base": Setting(
        "a job waits so many seconds to the power of its failures", "a number of at least 0", _number
    ),
    "shutdown": Setting("whether workers are to stop", "true or false", _switch),
    "poll_interval": Setting("seconds for which an idle worker sleeps", "seconds above 0", _some_seconds),
    "job_timeout": Setting(
        "seconds that a job may run", "seconds above 0, or empty for no limit", _some_seconds_or_none
    ),
    "kill_grace": Setting("seconds between asking a job to stop and killing it", "seconds of at least 0", _seconds),
}


class BadSetting(ValueError):
    """A value that a setting cannot have."""


def setting_name(text: str) -> str:
    """The name that is meant: `max-retries` is `max_retries`."""
    return text.replace("-", "_")


def checked_text(name: str, text: str) -> str:
    """How a value is kept, if it is one for this setting."""
    kept = text.strip().lower()
    try:
        SETTINGS[name].read(kept)
    except (ValueError, KeyError, OverflowError):
        raise BadSetting(f"{name} must be {SETTINGS[name].valid}, not {text[:64]!r}") from None
    return kept


def read_settings(db: apsw.Connection) -> Settings:
    """What they are at this moment."""
    return Settings(**{name: SETTINGS[name].read(text) for name, text in read_texts(db).items()})


def read_texts(db: apsw.Connection) -> dict[str, str]:
    """The same as texts, in their order."""
    return dict(db.execute("SELECT key, value FROM config"))
