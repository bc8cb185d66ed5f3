"""What tests of the web UI share: the system's Chromium, and a page that may not complain."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_window(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages of their own; what breaks in one fails the test."""
    contexts: list[Any] = []
    broken: list[str] = []

    def open_one(**options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "timezone_id": "UTC", **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on("dialog", lambda dialog: (broken.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert broken == []


@pytest.fixture
def page(open_window: Callable[..., Any]) -> Any:
    return open_window()
