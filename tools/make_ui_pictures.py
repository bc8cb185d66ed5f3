"""Takes the pictures of the web UI in `docs/ui/`: every page, light and dark, of a server with demo jobs.

Look at them after every change of how things look: `make ui-pictures`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, expect, sync_playwright

from rookery.cli.ready import ready_url

PICTURES = Path(__file__).parents[1] / "docs" / "ui"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
PAGES = ("overview", "queues", "jobs", "dead", "held", "schedules", "workers", "webhooks", "settings")


def start_server(data_dir: str) -> tuple[subprocess.Popen[str], str]:
    """A server of its own on a free port."""
    command = [sys.executable, "-m", "rookery", "server", "--bind", "127.0.0.1:0", "--data-dir", data_dir]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    for line in server.stderr:
        url = ready_url(line)
        if url:
            return server, url
    raise SystemExit("the server did not start")


def call(url: str, path: str, body: object = None) -> dict[str, object]:
    """Ask the server's API."""
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(f"{url}/api/v1{path}", data)) as answer:
        found: dict[str, object] = json.load(answer)
        return found


def fill(url: str) -> str:
    """Add what the pages are to show; the id of the job whose page is taken."""
    subprocess.run([sys.executable, "-m", "rookery", "seed", "demo", "--count", "200", "--server", url], check=True)
    call(url, "/webhooks", {"url": "https://hooks.example.com/jobs", "events": ["dead"]})
    dead = call(url, "/jobs/search", {"state": ["dead"], "limit": 1})["jobs"]
    assert isinstance(dead, list)
    return str(dead[0]["id"])


def take(browser: Browser, url: str, job_id: str) -> None:
    """One picture of every page in each look."""
    PICTURES.mkdir(exist_ok=True)
    addresses = {name: f"/{'' if name == 'overview' else name}" for name in PAGES}
    addresses |= {"queue": "/queues/demo.emails", "job": f"/jobs/{job_id}"}
    for look, size, scheme in (("light", DESK, "light"), ("dark", DESK, "dark"), ("phone", PHONE, "light")):
        page = browser.new_context(viewport=size, color_scheme=scheme, timezone_id="UTC").new_page()
        for name, address in addresses.items():
            page.goto(f"{url}/ui{address}")
            expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_visible()
            page.wait_for_timeout(1500)
            page.screenshot(path=PICTURES / f"{name}-{look}.png")


def main() -> None:
    """Take all pictures anew."""
    from shutil import which

    with tempfile.TemporaryDirectory() as data_dir:
        server, url = start_server(data_dir)
        try:
            job_id = fill(url)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
                take(browser, url, job_id)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
