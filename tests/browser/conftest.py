"""What tests of the web UI share: the system's Chromium, and pages that may not complain.

They look at the files that `make ui` has built into `src/rookery/ui/`.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.conftest import Api

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is Chromium without what nobody sees here, and takes half as long."""
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
PATIENCE = 15_000
AXE = Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js"
SERIOUS = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}"""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a file. Longer it may not live: as long as it does, nobody can use asyncio."""
    assert CHROMIUM is not None, "there is no Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "complains(pattern): what the browser says here when it goes as it should")


@pytest.fixture
def open_window(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Page]]:
    """Opens windows of their own. An error on the console, a breach of the policy or an exception fails the test.

    A browser also complains of every call that is refused; tests that want that say so with `complains`.
    """
    contexts: list[Any] = []
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            complaints.append(f"{message.text} ({message.location['url']})")

    def open_one(**options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "timezone_id": "UTC", **options})
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", hear)
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        return page

    yield open_one
    for context in contexts:
        context.close()
    expected = [str(mark.args[0]) for mark in request.node.iter_markers("complains")]
    assert [text for text in complaints if not any(re.search(pattern, text) for pattern in expected)] == []


@pytest.fixture
def page(open_window: Callable[..., Page]) -> Page:
    return open_window()


@pytest.fixture
def visit(api: Api, page: Page) -> Callable[..., Page]:
    """Opens an address of the app: `visit("/jobs", queue="a", state=["dead", "held"])`."""

    def go(path: str = "/", **params: Any) -> Page:
        query = urlencode(params, doseq=True)
        page.goto(f"{api.server.url}/ui{path}{f'?{query}' if query else ''}")
        expect(page.get_by_role("main").get_by_role("heading", level=1)).to_be_visible()
        return page

    return go


def press(page: Page, *names: str) -> None:
    """Press one button or item of a menu after the other, each by the whole words that its name begins with."""
    for name in names:
        begins = re.compile(rf"^{name}(?!\w)")
        top = page.locator("dialog[open]").last
        buttons = (top if top.count() else page).get_by_role("button", name=begins)
        items = page.get_by_role("menu").get_by_role("menuitem", name=begins)
        (items if items.count() else buttons).first.click()


def toast(page: Page, text: str) -> None:
    """Wait until the page says so, and let it be quiet again."""
    said = page.get_by_role("status").get_by_text(text)
    expect(said.first).to_be_visible()
    page.get_by_role("button", name="Dismiss").first.click()


def confirm(page: Page, name: str) -> None:
    """Press the button of the open dialog, which then closes."""
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def barriers(page: Page) -> list[str]:
    """What keeps people from using what is shown. The window must be one with `bypass_csp`: axe is not the app's."""
    if not page.evaluate("'axe' in window"):
        page.add_script_tag(path=AXE)
    found: list[str] = page.evaluate(SERIOUS)
    return found


def dead_job(api: Api, queue: str, payload: Any = None, *, error: str = "SMTP timeout", **fields: Any) -> str:
    """A job whose only attempt has failed."""
    job_id = api.enqueue(queue, payload, max_retries=1, **fields)
    fetched = api.fetch(queue)
    assert fetched is not None
    assert fetched["job_id"] == job_id
    assert api.post(f"/fail/{job_id}", {"error": error}).json()["status"] == "dead"
    return job_id
