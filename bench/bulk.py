"""Enqueue and fetch while a bulk operation runs, beside the same without one: `python -m bench.bulk`.

The store has a million finished, a million scheduled and a million pending jobs; the bulk cancels the scheduled ones.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import httpx

from bench import api
from bench.__main__ import Table, alternate
from bench.filled import QUEUE, fill
from bench.server import Running, rookery

SECONDS = 3


class Bulk:
    """A bulk operation that runs, and how fast it is."""

    def __init__(self, http: httpx.Client) -> None:
        wanted = {"queue": QUEUE, "state": ["scheduled"]}
        answer = http.post("/jobs/bulk", json={"action": "cancel", "filter": wanted, "async": True}, timeout=60)
        self._http = http
        self._path = f"/bulk/{answer.raise_for_status().json()['bulk_operation_id']}"
        self._begun = time.perf_counter()

    def finish(self) -> float:
        """Jobs a second, once it is done."""
        while (bulk := self._http.get(self._path).json())["finished_at"] is None:
            time.sleep(0.05)
        return bulk["affected"] / (time.perf_counter() - self._begun)

    def cancel(self) -> float:
        """Jobs a second until now; it must still have had something to do."""
        bulk = self._http.post(f"{self._path}/cancel").raise_for_status().json()
        return bulk["affected"] / (time.perf_counter() - self._begun)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.bulk", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement")
    parser.add_argument("--jobs", type=int, default=1_000_000, help="jobs that the bulk operation is about")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        print("bench: wrk is not installed (Debian: apt-get install wrk)", file=sys.stderr)
        return 2
    table = Table()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        fill(Path(name) / "rookery.db", options.jobs)
        with rookery(Path(name)) as server, httpx.Client(base_url=f"http://127.0.0.1:{server.port}/api/v1") as http:
            _measure(table, server, http, options.rounds)
    return int(table.has_missed)


def _measure(table: Table, server: Running, http: httpx.Client, rounds: int) -> None:
    speeds: list[float] = []

    def beside(measure: partial[float]) -> float:
        bulk = Bulk(http)
        figure = measure()
        speeds.append(bulk.cancel())
        return figure

    for what, measure in (("enqueues", api.single_enqueues), ("fetches", api.single_fetches)):
        alone = partial(measure, server, SECONDS)
        yardstick, figure = alternate(rounds, alone, partial(beside, alone))
        table.ratio(f"HTTP: single {what} while a bulk operation runs", figure, yardstick, "alone", 0.5)
    speed = statistics.median(speeds)
    table.add("  the bulk operation meanwhile", f"{speed:,.0f} jobs/s", "", "> 0", speed > 0)
    speed = Bulk(http).finish()
    table.add("bulk operation on an otherwise idle server", f"{speed:,.0f} jobs/s", "", "> 0", speed > 0)


if __name__ == "__main__":
    sys.exit(main())
