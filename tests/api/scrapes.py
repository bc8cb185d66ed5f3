"""A scrape of the metrics, as Prometheus would read it."""

from collections.abc import Mapping
from typing import Any

import httpx
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families


class Scrape:
    """The series of one scrape."""

    def __init__(self, answer: httpx.Response) -> None:
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        self.text = answer.text
        self.families: dict[str, Metric] = {family.name: family for family in text_string_to_metric_families(self.text)}

    def kind(self, name: str) -> str:
        """What kind of series it is; the parser takes `_total` off the names of counters."""
        family = self.families.get(name) or self.families[name.removesuffix("_total")]
        return str(family.type)

    def labelled(self, name: str) -> list[Mapping[str, str]]:
        """The labels under which a series has values."""
        return [sample.labels for family in self.families.values() for sample in family.samples if sample.name == name]

    def value(self, name: str, **labels: Any) -> float | None:
        """The value of a series; None if there is none under these labels."""
        for family in self.families.values():
            for sample in family.samples:
                if sample.name == name and sample.labels == labels:
                    return float(sample.value)
        return None

    def bounds(self, name: str, **labels: str) -> list[float]:
        """The bounds of a histogram."""
        return [
            float(found["le"])
            for found in self.labelled(f"{name}_bucket")
            if {key: value for key, value in found.items() if key != "le"} == labels
        ]
