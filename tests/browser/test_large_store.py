"""The web UI on a store with very many jobs: a million with `--long`, of the same kind but fewer otherwise."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.million import fill
from bench.pages import show, views
from playwright.sync_api import Page, Request, expect

from tests.conftest import Api, ServerProcess

FEW_THOUSANDS, MANY_THOUSANDS = 12, 1000
COUNTED = "10,000+"


@pytest.fixture(scope="module")
def thousands(request: pytest.FixtureRequest) -> int:
    return MANY_THOUSANDS if request.config.getoption("--long") else FEW_THOUSANDS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, thousands: int) -> Iterator[ServerProcess]:
    data = tmp_path_factory.mktemp("large") / "data"
    fill(data / "rookery.db", thousands)
    server = ServerProcess(data, "--rate-limit-enabled=false")
    yield server
    server.kill()


def searches(page: Page) -> list[dict[str, Any]]:
    """The bodies of all searches that the page sends from now on."""
    bodies: list[dict[str, Any]] = []

    def note(request: Request) -> None:
        if request.url.endswith("/jobs/search"):
            bodies.append(json.loads(request.post_data or "{}"))

    page.on("request", note)
    return bodies


def test_every_page_shows_its_first_rows(page: Page, api: Api, is_long: bool) -> None:
    late: dict[str, float] = {}
    for view in views(api.server.url):
        shown = show(page, api.server.url, view)
        if is_long and shown.first > view.limit:
            late[view.name] = shown.first
    assert late == {}


def test_matches_that_are_very_many_are_not_all_counted(page: Page, api: Api, visit: Any) -> None:
    sent = searches(page)
    visit("/jobs", payload='"user"')
    main = page.get_by_role("main")
    expect(main.get_by_role("status").get_by_text(f"{COUNTED} results")).to_be_visible()
    expect(main.get_by_text("Page 1 of 200+")).to_be_visible()
    main.get_by_role("button", name="Next").click()
    expect(main.get_by_text("Page 2 of 200+")).to_be_visible()
    assert all(body["total_up_to"] == 10_000 for body in sent), "no search counts them all, not even by state"


def test_all_that_match_are_counted_before_anything_is_done_to_them(
    page: Page, api: Api, visit: Any, thousands: int
) -> None:
    visit("/jobs", payload='"user"')
    main = page.get_by_role("main")
    main.get_by_role("button", name=f"Select all {COUNTED}").click()
    expect(page.get_by_role("region", name="Bulk actions")).to_contain_text(f"All {COUNTED} matching jobs")
    page.get_by_role("region", name="Bulk actions").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"delete {1000 * thousands:,} jobs")
    page.keyboard.press("Escape")


def test_an_export_is_gathered_on_the_disk_and_counted_once(page: Page, visit: Any, tmp_path: Path) -> None:
    visit("/jobs", tag="env:prod")
    expect(page.get_by_role("main").get_by_role("row").nth(1)).to_be_visible()
    sent = searches(page)
    page.get_by_role("button", name="Export").click()
    with page.expect_download(timeout=600_000) as download:
        page.get_by_role("menuitem", name="Export as NDJSON").click()
    download.value.save_as(tmp_path / "jobs.ndjson")
    expect(page.get_by_role("dialog")).to_contain_text("saved as", timeout=600_000)
    ids = [json.loads(line)["id"] for line in (tmp_path / "jobs.ndjson").read_text().splitlines()]
    assert len(ids) == len(set(ids)) > 1000
    pages = [body for body in sent if body["limit"] == 1000]
    assert [body.get("total_up_to") for body in pages] == [None, *[0] * (len(pages) - 1)]
    sizes = page.evaluate(
        """async () => {
          const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("exports");
          const sizes = [];
          for await (const [, handle] of folder.entries()) sizes.push((await handle.getFile()).size);
          return sizes;
        }"""
    )
    assert sizes == [(tmp_path / "jobs.ndjson").stat().st_size]


def test_a_cancelled_export_leaves_nothing_on_the_disk(page: Page, visit: Any) -> None:
    visit("/jobs")
    expect(page.get_by_role("main").get_by_role("row").nth(1)).to_be_visible()
    page.route("**/jobs/search", lambda route: route.fallback() if not _is_second(route.request) else None)
    page.get_by_role("button", name="Export").click()
    page.get_by_role("menuitem", name="Export as NDJSON").click()
    expect(page.get_by_role("dialog")).to_contain_text("1,000 /")
    page.get_by_role("button", name="Cancel export").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.wait_for_function(
        """async () => {
          const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("exports");
          for await (const _ of folder.entries()) return false;
          return true;
        }"""
    )


def _is_second(request: Request) -> bool:
    body = json.loads(request.post_data or "{}")
    return body.get("limit") == 1000 and body.get("cursor") is not None
