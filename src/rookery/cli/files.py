"""Files that a command writes: how large they are, and that they stay."""

import os
from pathlib import Path


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
