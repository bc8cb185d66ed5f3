"""Rookery: a job server with an embedded store, for any language."""

__version__ = "0.1.0"
