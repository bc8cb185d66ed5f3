"""Settings in a real browser: theme, key, and what the server says of itself."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from rookery import __version__
from tests.conftest import Api, ServerProcess


def fact(page: Page, card: str, label: str) -> Any:
    """What a card says under a label."""
    section = page.locator("section", has=page.get_by_role("heading", name=card, exact=True))
    return section.locator("dl > div", has=page.locator("dt", has_text=re.compile(f"^{label}"))).locator("dd")


def open_settings(page: Page, server: ServerProcess) -> None:
    page.goto(f"{server.url}/ui/settings")
    expect(page.get_by_role("heading", name="Settings")).to_be_visible()


def test_version_storage_and_limits_are_the_servers(start_server: Callable[..., ServerProcess], page: Page) -> None:
    server = start_server("--max-payload-size=2048", "--retention=36h", "--rate-limit-write-rps=5")
    Api(server).enqueue("q")
    open_settings(page, server)
    expect(fact(page, "About", "Rookery")).to_have_text(__version__)
    expect(fact(page, "Storage", "Jobs")).to_contain_text("1in 1 queue")
    expect(fact(page, "Limits", "Largest payload")).to_have_text("2 KiB")
    expect(fact(page, "Limits", "Ended jobs are kept for")).to_have_text("1d 12h")
    expect(fact(page, "Limits", "Writes of one caller")).to_have_text("5/s")
    expect(fact(page, "About", "Process$")).to_contain_text(str(server.process.pid))


def test_links_lead_to_what_is_there(page: Page, server: ServerProcess) -> None:
    open_settings(page, server)
    links = page.get_by_role("listitem").get_by_role("link").filter(has_text="opens in a new window")
    addresses = [links.nth(n).get_attribute("href") for n in range(links.count())]
    assert [str(address).removeprefix(server.url) for address in addresses] == [
        "/docs",
        "/openapi.json",
        "/metrics",
        "/healthz",
    ]
    assert [server.http.get(str(address)).status_code for address in addresses] == [200] * 4


def test_the_theme_is_kept(page: Page, server: ServerProcess) -> None:
    open_settings(page, server)
    page.get_by_role("group", name="Theme").get_by_text("Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()


@pytest.mark.complains("status of 401")
def test_a_key_is_used_and_forgotten(start_server: Callable[..., ServerProcess], page: Page) -> None:
    server = start_server("--admin-password=let-me-in")
    page.goto(f"{server.url}/ui/settings")
    page.get_by_label("API key or admin password").fill("let-me-in")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("key in use")).to_be_visible()
    assert "let-me-in" not in page.content()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("heading", name="Sign in to Rookery")).to_be_visible()


def test_a_key_is_given_to_a_server_that_wants_none(page: Page, server: ServerProcess) -> None:
    open_settings(page, server)
    page.get_by_role("button", name="Use a key").click()
    page.get_by_role("dialog").get_by_label("API key or admin password").fill("anything")
    with page.expect_request(lambda request: request.headers.get("x-api-key") == "anything"):
        page.get_by_role("dialog").get_by_role("button", name="Use it").click()
    assert page.evaluate("sessionStorage.getItem('rookery.key')") == "anything"
    assert page.evaluate("localStorage.getItem('rookery.key')") is None


def test_a_backup_is_downloaded(api: Api, page: Page, server: ServerProcess, queue: str, tmp_path: Path) -> None:
    job_id = api.enqueue(queue, {"n": 9007199254740993123})
    open_settings(page, server)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download a backup").click()
    waiting.value.save_as(tmp_path / "backup.json")
    document = json.loads((tmp_path / "backup.json").read_text())
    assert {"id": job_id, "payload": {"n": 9007199254740993123}}.items() <= {
        key: value
        for job in document["jobs"]
        if job["id"] == job_id
        for key, value in job.items()
        if key in ("id", "payload")
    }.items()
