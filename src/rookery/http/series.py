"""Metrics as we speak of them, before they are put into the words of Prometheus."""

import msgspec

from rookery.model.histogram import Histogram

Labels = tuple[str, ...]


class Sample(msgspec.Struct, frozen=True):
    """The value of a series under some labels."""

    labels: Labels
    value: float | Histogram


class Series(msgspec.Struct, frozen=True):
    """One name with what it says, and its values."""

    kind: str
    name: str
    help: str
    samples: list[Sample]
    labels: Labels = ()


def gauge(name: str, help: str, value: float) -> Series:
    """A number that goes up and down."""
    return Series("gauge", name, help, [Sample((), value)])


def counter(name: str, help: str, value: float) -> Series:
    """A number that only goes up while the server runs."""
    return Series("counter", name, help, [Sample((), value)])


def histogram(name: str, help: str, values: Histogram) -> Series:
    """How values are spread."""
    return Series("histogram", name, help, [Sample((), values)])
