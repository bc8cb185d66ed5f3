"""Fixtures of the tests of `queuectl`."""

from tests.queuectl.desk import desk

__all__ = ["desk"]
