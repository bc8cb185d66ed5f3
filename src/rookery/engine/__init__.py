"""The rules of a job's life. `Machine` applies operations to one SQLite file; nothing else changes it."""

from rookery.engine.machine import Machine
from rookery.engine.ops import Batch

__all__ = ["Batch", "Machine"]
