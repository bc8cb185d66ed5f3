"""Files that a command writes: how far it is, how large they are, and that they stay."""

import os
import sys
from pathlib import Path


class Progress:
    """How far something is, on stderr, if somebody looks there."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._is_shown = sys.stderr.isatty()
        self._last = -1

    def __call__(self, done: int, total: int) -> None:
        """So much is done of so much."""
        percent = done * 100 // total if total else 100
        if self._is_shown and percent != self._last:
            self._last = percent
            print(f"\r{self._label} {percent} %", end="\n" if percent == 100 else "", file=sys.stderr, flush=True)


def shown_size(size: int) -> str:
    """`512 B`, `1.5 MiB`."""
    amount, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"


def sync_directory(path: Path) -> None:
    """Make sure that names given in a directory are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
