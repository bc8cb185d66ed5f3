"""Numbers, ages and small bars as people read them, and text of others made safe to show in a terminal."""

import re
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from rookery.model.instants import parse_instant

BARS: Final = "▁▂▃▄▅▆▇█"
_AGES: Final = (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1))
_SCALES: Final = (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12))
_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def shown_age(seconds: float) -> str:
    """`12s`, `3m20s`, `2h5m`, `4d`: the two largest units, the second only while it matters."""
    rest = max(0, int(seconds))
    for (unit, size), (lesser, part) in pairwise(_AGES):
        if rest >= size:
            whole, rest = divmod(rest, size)
            return f"{whole}{unit}" + (f"{rest // part}{lesser}" if whole < 10 and rest >= part else "")
    return f"{rest}s"


def seconds_since(instant: str, now: float | None = None) -> float:
    """How long ago a time was that a server has sent; negative if it has not come."""
    return (time.time() if now is None else now) - parse_instant(instant) / 1000


def shown_number(number: float, width: int = 9) -> str:
    """`1,234`, or `1.2M` if there is no room for all of it."""
    text = f"{number:,.0f}"
    if len(text) <= width:
        return text
    for unit, size in _SCALES[1:]:
        if abs(number) < size * 1000:
            scaled = number / size
            text = f"{scaled:.1f}{unit}" if scaled < 100 else f"{scaled:.0f}{unit}"
            return text if len(text) <= width else f"{scaled:.0f}{unit}"
    return f"{number / _SCALES[-1][1]:.0f}T"


def shown_slots(active: int, slots: int | None) -> str:
    """`3/10`: the jobs that a worker has, and how many it runs at a time, if it has said so."""
    return f"{active:,}" if slots is None else f"{active:,}/{slots:,}"


def spark(values: Sequence[float], peak: float | None = None) -> str:
    """A bar for each value, as high as it is compared to the peak. The lowest bar means nothing at all."""
    top = max(values, default=0) if peak is None else peak
    if top <= 0:
        return BARS[0] * len(values)
    most = len(BARS) - 1
    return "".join(BARS[min(most, 1 + int(value / top * (most - 0.001)))] if value > 0 else BARS[0] for value in values)


def one_line(text: str) -> str:
    """Text without line ends or anything else that could move the cursor or change colours."""
    return " ".join(_CONTROLS.sub(" ", _COLOURS.sub("", text)).split())


def without_controls(text: str) -> str:
    """The same for text that may have several lines; what is taken out is written out, but for colours."""
    text = _COLOURS.sub("", text)
    return "\n".join(_CONTROLS.sub(_visible, line.replace("\t", "    ")) for line in text.splitlines())


def _visible(control: re.Match[str]) -> str:
    return repr(control[0])[1:-1]
