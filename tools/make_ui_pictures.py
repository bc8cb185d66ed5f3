"""Takes the pictures of the web UI in `docs/ui/`: every page, dialog and state, of a server that has a day behind it.

Look at them after every change of how things look: `make ui-pictures`. With names (`overview job-held`), only those.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from threading import Event, Thread
from typing import Any, Final, NamedTuple
from urllib.request import Request, urlopen

from playwright.sync_api import Browser, Page, expect, sync_playwright
from ui_day import LONG_QUEUE, SILENT, TRADES, Story, live_a_day

from rookery.cli.ready import ready_url

PICTURES: Final = Path(__file__).parents[1] / "docs" / "ui"
LOOKS: Final[dict[str, dict[str, Any]]] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
PAGES: Final = ("overview", "queues", "jobs", "dead", "held", "schedules", "workers", "webhooks", "settings")


class Scene(NamedTuple):
    """What a picture shows: an address, and what is done there before it is taken."""

    path: str
    act: Callable[[Page], object] = lambda _: None
    looks: tuple[str, ...] = ("light",)
    is_whole: bool = False
    """Whether all of the page is shown, not only what fits into the window."""


# --- servers


@contextmanager
def running(data_dir: Path, *flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of its own on a free port."""
    command = [sys.executable, "-m", "rookery", "server", "--bind", "127.0.0.1:0", "--data-dir", str(data_dir), *flags]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        yield server, next(url for line in server.stderr if (url := ready_url(line)))
    finally:
        server.terminate()
        server.wait()
        server.stderr.close()


def call(url: str, path: str, body: object) -> Any:
    """Ask the server's API."""
    with urlopen(Request(f"{url}/api/v1{path}", json.dumps(body).encode())) as answer:
        return json.load(answer)


@contextmanager
def business_as_usual(url: str) -> Iterator[None]:
    """While pictures are taken, work goes on, and workers say that they are there, all but the silent one."""
    active = call(url, "/jobs/search", {"state": ["active"], "limit": 100})["jobs"]
    held: dict[str, object] = {job["id"]: {} for job in active if job["worker_id"] != SILENT[0]}
    is_over = Event()

    def work() -> None:
        while not is_over.wait(5):
            call(url, "/enqueue", {"queue": "emails", "payload": {"to": "grace@example.com", "template": "receipt"}})
            call(url, "/enqueue", {"queue": "images", "payload": {"key": "uploads/4711.jpg", "width": 640}})
            for trade in TRADES:
                who = {"worker_id": trade.worker[0], "hostname": trade.worker[1], "timeout": 0, "count": 1}
                for job in call(url, "/fetch/batch", {"queues": [trade.name], **who})["jobs"]:
                    call(url, f"/ack/{job['job_id']}", {"lease_token": job["lease_token"]})
            call(url, "/heartbeat", {"jobs": held})

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


# --- what is shown


def press(name: str, role: Any = "button") -> Callable[[Page], object]:
    """Press that button of the page."""
    return lambda page: page.get_by_role(role, name=name, exact=True).first.click()


def enqueue(payload: str) -> Callable[[Page], object]:
    """Fill in the form for a new job."""

    def fill(page: Page) -> None:
        page.keyboard.press("e")
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Queue").fill("emails")
        dialog.get_by_label("Payload").fill(payload)
        dialog.get_by_label("Payload").blur()

    return fill


def bulk(action: str, sure: str = "") -> Callable[[Page], object]:
    """Choose all jobs that were found, and what to do to them; say yes to it if that is given."""

    def choose(page: Page) -> None:
        page.get_by_role("checkbox", name="Select all on this page").check()
        everything = page.get_by_role("region", name="Bulk actions").get_by_role("button", name="Select all")
        if everything.count():
            everything.click()
        page.get_by_role("region", name="Bulk actions").get_by_role("button", name=action, exact=True).click()
        page.get_by_text("Preview (first").wait_for()
        if sure:
            page.get_by_role("dialog").get_by_role("button", name=sure).click()
            page.get_by_text("Elapsed").wait_for()

    return choose


def palette(words: str) -> Callable[[Page], object]:
    """Search for something from anywhere."""

    def look(page: Page) -> None:
        page.get_by_role("button", name="Search or run a command").click()
        page.get_by_role("dialog").get_by_role("combobox").fill(words)

    return look


def fail_to_load(page: Page) -> None:
    """Cut the line when the page asks for what it shows."""
    page.route("**/api/v1/schedules*", lambda route: route.abort())
    page.reload()
    page.get_by_role("button", name="Try again").wait_for()
    page.unroute("**/api/v1/schedules*")


def scenes(story: Story) -> dict[str, Scene]:
    """All that there is to see of the server with a day behind it."""
    everywhere = tuple(LOOKS)
    jobs = {f"job-{name.replace('_', '-')}": f"/jobs/{job_id}" for name, job_id in story._asdict().items()}
    return {
        **{name: Scene(f"/{'' if name == 'overview' else name}", looks=everywhere) for name in PAGES},
        "overview-day": Scene("/?range=24h", is_whole=True),
        "queue": Scene("/queues/emails", looks=everywhere),
        "queue-backlog": Scene("/queues/summaries"),
        "queue-long-name": Scene(f"/queues/{LONG_QUEUE}", looks=("light", "phone")),
        "job": Scene(jobs.pop("job-dead"), looks=everywhere, is_whole=True),
        "job-running": Scene(jobs.pop("job-running"), looks=("light", "phone"), is_whole=True),
        "job-long": Scene(jobs.pop("job-long"), looks=("light", "phone"), is_whole=True),
        **{name: Scene(path) for name, path in jobs.items()},
        "job-move": Scene(f"/jobs/{story.dead}", press("Move")),
        "job-unknown": Scene("/jobs/job_01JUNKNOWN"),
        "page-unknown": Scene("/nowhere"),
        "jobs-long": Scene(f"/jobs?queue={LONG_QUEUE}", looks=("light", "phone")),
        "schedules-fault": Scene("/schedules", fail_to_load),
        "jobs-none": Scene("/jobs?payload=nowhere"),
        "enqueue": Scene("/jobs", enqueue('{\n  "to": "ada@example.com",\n  "template": "welcome"\n}')),
        "enqueue-fault": Scene("/jobs", enqueue('{\n  "to": "ada@example.com",\n  "template": welcome\n}')),
        "bulk": Scene("/jobs?queue=summaries&state=pending", bulk("Delete")),
        "palette": Scene("/", palette("pay"), ("light", "phone")),
        "shortcuts": Scene("/", press("Keyboard shortcuts")),
        "drawer": Scene("/", press("Open navigation"), ("phone",)),
        "schedule-new": Scene("/schedules", press("New schedule")),
        "webhook-new": Scene("/webhooks", press("New webhook")),
    }


DELETING: Final = Scene("/jobs?queue=emails&state=completed", bulk("Delete", sure="Delete"))


class Album:
    """Takes pictures in a browser."""

    def __init__(self, browser: Browser, wanted: list[str]) -> None:
        self._browser = browser
        self._wanted = wanted

    def wants(self, name: str) -> bool:
        """Whether that picture is to be taken."""
        return not self._wanted or name in self._wanted

    def open(self, look: str) -> Page:
        """A window of that look."""
        return self._browser.new_context(timezone_id="UTC", **LOOKS[look]).new_page()

    def show(self, page: Page, url: str, scene: Scene) -> None:
        """Go where the scene is, and wait until everything is there."""
        page.goto(f"{url}/ui{scene.path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_label("Loading")).to_have_count(0)
        scene.act(page)

    def take(self, page: Page, name: str, look: str, *, is_whole: bool = False) -> None:
        """Take the picture, once things stand still."""
        size = LOOKS[look]["viewport"]
        if is_whole:
            # Not by a picture of the full page: what sticks to the window would end where the window did.
            page.set_viewport_size(size | {"height": page.evaluate("document.documentElement.scrollHeight")})
        page.wait_for_timeout(700)
        page.screenshot(path=PICTURES / f"{name}-{look}.png")
        page.set_viewport_size(size)

    def take_all(self, url: str, shown: dict[str, Scene]) -> None:
        """Pictures of these scenes in their looks."""
        for look in LOOKS:
            page = self.open(look)
            for name, scene in shown.items():
                if look in scene.looks and self.wants(name):
                    self.show(page, url, scene)
                    self.take(page, name, look, is_whole=scene.is_whole)
            page.context.close()


def take_used(album: Album, data_dir: Path) -> None:
    """The server with a day behind it, and what is left on the screen when it goes."""
    story = live_a_day(data_dir)
    with running(data_dir, "--rate-limit-enabled=false") as (server, url):
        with business_as_usual(url):
            album.take_all(url, scenes(story))
            # The last, as it changes what others show.
            album.take_all(url, {"bulk-progress": DELETING})
        if album.wants("stale"):
            page = album.open("light")
            album.show(page, url, Scene("/jobs"))
            server.terminate()
            server.wait()
            page.get_by_text("Not live.").wait_for()
            album.take(page, "stale", "light")
            page.get_by_role("link", name="Webhooks").click()
            page.get_by_text("This page could not be shown").wait_for()
            album.take(page, "gone", "light")


def take_empty(album: Album, data_dir: Path) -> None:
    """A server that nobody has used yet."""
    with running(data_dir) as (_, url):
        looks = {"overview": ("light", "dark", "phone")}
        album.take_all(
            url,
            {
                f"empty-{name}": Scene(f"/{'' if name == 'overview' else name}", looks=looks.get(name, ("light",)))
                for name in PAGES[:-1]
            },
        )


def take_locked(album: Album, data_dir: Path) -> None:
    """A server that asks who comes."""
    with running(data_dir, "--admin-password=let-me-in") as (_, url):

        def refuse(page: Page) -> None:
            page.get_by_label("API key or admin password").fill("guess")
            page.get_by_role("button", name="Sign in").click()
            page.get_by_text("The server says:").wait_for()

        album.take_all(url, {"sign-in": Scene("/", looks=tuple(LOOKS)), "sign-in-refused": Scene("/", refuse)})


def main() -> None:
    """Take the pictures anew."""
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as place:
        album = Album(
            playwright.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"]), sys.argv[1:]
        )
        for take in (take_used, take_empty, take_locked):
            data_dir = Path(place) / take.__name__
            data_dir.mkdir()
            take(album, data_dir)


if __name__ == "__main__":
    main()
