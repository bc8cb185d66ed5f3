"""How soon every page of the web UI shows its first rows or numbers, in Chromium, with a million jobs in the store:
`python -m bench.pages`.

Cold: the server has just started, nothing of its files is in memory, and the browser has never been there. Warm: the
same page once more, with the processor time that it takes the server. Beside it stands the slowest call that the page
made, as the browser saw it.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from bench.million import fill
from bench.server import rookery
from bench.thousand import NUMBERED_FROM, QUEUES

PATIENCE = 60_000
FIRST_ROWS_MS = 1000
NEEDLE_MS = 2500
"""For what only a look into every payload can find."""


class View(NamedTuple):
    """A page, and a pattern of text that is on it as soon as it shows what it is about."""

    name: str
    path: str
    text: str
    params: dict[str, Any] = {}
    limit: int = FIRST_ROWS_MS


class Shown(NamedTuple):
    """Milliseconds from the navigation to the first rows and to the whole page, and of each call it made."""

    first: float
    whole: float
    calls: dict[str, float]

    @property
    def slowest(self) -> tuple[str, float]:
        return max(self.calls.items(), key=lambda call: call[1], default=("", 0.0))


def views(url: str) -> list[View]:
    """Every page there is, for a store made by `bench.million`."""
    found = httpx.post(f"{url}/api/v1/jobs/search", json={"state": "dead", "limit": 1}, timeout=60).json()
    number, queue = NUMBERED_FROM + 500, QUEUES[5]
    payload = "@example.com"
    return [
        View("overview", "/", "|".join(QUEUES)),
        View("overview, 24 hours", "/", "|".join(QUEUES), {"range": "24h"}),
        View("queues", "/queues", QUEUES[0]),
        View("queue", f"/queues/{queue}", payload),
        View("jobs", "/jobs", payload),
        View("jobs: queue and state", "/jobs", payload, {"queue": queue, "state": "completed"}),
        View("jobs: tag of a few", "/jobs", payload, {"tag": "tenant:tenant-7"}),
        View("jobs: tag of many", "/jobs", payload, {"tag": "env:prod"}),
        View("jobs: payload text, one", "/jobs", payload, {"payload": f"user{number}@"}),
        View("jobs: payload text, many", "/jobs", payload, {"payload": '"plan":"pro"'}),
        View("jobs: payload text, dead", "/jobs", payload, {"payload": '"plan":"pro"', "state": "dead"}),
        View("jobs: jq, one", "/jobs", payload, {"jq": f".user.id == {number}"}, NEEDLE_MS),
        View("jobs: jq, many", "/jobs", payload, {"jq": ".user.age >= 50"}),
        View("jobs: error", "/jobs", payload, {"error": "bad certificate"}),
        View(
            "jobs: error of a group",
            "/jobs",
            payload,
            {"error_matches": found["jobs"][0]["last_error"], "state": "dead"},
        ),
        View("jobs: by completion", "/jobs", payload, {"sort": "completed_at"}),
        View("job", f"/jobs/{found['jobs'][0]['id']}", payload),
        View("dead", "/dead", "timed out after"),
        View("dead, one by one", "/dead", "timed out after", {"tab": "jobs"}),
        View("held", "/held", "more than the limit"),
        View("schedules", "/schedules", f"nightly {QUEUES[0]}"),
        View("workers", "/workers", "worker-"),
        View("webhooks", "/webhooks", "127.0.0.1:9"),
        View("settings", "/settings", "Rookery"),
    ]


_IS_SHOWN = """([text, whole]) => {
  const main = document.querySelector("main");
  if (!main || !new RegExp(text).test(main.innerText) || main.querySelector(".opacity-60")) return false;
  if (whole && main.querySelector(".skeleton")) return false;
  return performance.now();
}"""
_CALLS = """() => performance.getEntriesByType("resource")
  .filter((entry) => entry.name.includes("/api/v1/") && entry.responseEnd > 0)
  .map((entry) => [entry.name.split("/api/v1")[1], entry.responseEnd - entry.requestStart])"""


def show(page: Page, url: str, view: View) -> Shown:
    """Go there and wait until all is shown."""
    query = urlencode(view.params, doseq=True)
    page.goto(f"{url}/ui{view.path}{f'?{query}' if query else ''}", wait_until="commit")
    first, whole = (
        float(page.wait_for_function(_IS_SHOWN, arg=[view.text, is_whole], timeout=PATIENCE).json_value())
        for is_whole in (False, True)
    )
    page.wait_for_load_state("load")
    calls: dict[str, float] = {}
    for path, took in page.evaluate(_CALLS):
        if not path.startswith("/changes"):
            calls[path] = max(took, calls.get(path, 0))
    return Shown(first, whole, calls)


def chromium(launcher: Any) -> Browser:
    """The system's own."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path is not None, "there is no Chromium: apt-get install chromium"
    browser: Browser = launcher.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
    return browser


def _forget(directory: Path) -> None:
    """Let the system read these files from the disk when they are next asked for."""
    for path in directory.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _measure(browser: Browser, directory: Path, number: int, rounds: int) -> tuple[View, Shown, list[Shown], float]:
    """One view on a server of its own; the last figure is the processor time that a warm visit takes the server."""
    _forget(directory)
    with rookery(directory) as server:
        url = f"http://127.0.0.1:{server.port}"
        view = views(url)[number]
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        cold = show(page, url, view)
        before = sum(server.processor_seconds())
        warm = [show(page, url, view) for _ in range(rounds)]
        busy = (sum(server.processor_seconds()) - before) / rounds
        context.close()
        return view, cold, warm, busy


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.pages", description=__doc__)
    parser.add_argument("--data", type=Path, help="a directory that bench.million has made; otherwise one is made")
    parser.add_argument("--thousands", type=int, default=1000, help="how many thousand jobs")
    parser.add_argument("--rounds", type=int, default=3, help="warm visits of each page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name, sync_playwright() as playwright:
        directory = options.data or Path(name) / "data"
        if not (directory / "rookery.db").exists():
            fill(directory / "rookery.db", options.thousands)
        browser = chromium(playwright)
        is_met = _print(browser, directory, options.rounds)
        browser.close()
    return int(not is_met)


def _print(browser: Browser, directory: Path, rounds: int) -> bool:
    is_met = True
    print(f"{'page':28} {'cold':>8} {'whole':>8} {'warm':>8} {'whole':>8} {'server':>8}  slowest call, cold and warm")
    with rookery(directory) as server:
        count = len(views(f"http://127.0.0.1:{server.port}"))
    for number in range(count):
        view, cold, warm, busy = _measure(browser, directory, number, rounds)
        first, whole = (statistics.median(times) for times in zip(*((s.first, s.whole) for s in warm), strict=True))
        path, took = cold.slowest
        again = statistics.median(shown.slowest[1] for shown in warm)
        is_met &= cold.first < view.limit
        figures = "".join(f" {figure:5.0f} ms" for figure in (cold.first, cold.whole, first, whole))
        calls = f"{took:5.0f} ms {again:5.0f} ms"
        print(f"{view.name:28}{figures} {busy * 1000:5.0f} ms  {calls} {path[:44]}", flush=True)
    return is_met


if __name__ == "__main__":
    sys.exit(main())
