"""Workers in a real browser: who is there, on what, and whose jobs nobody takes."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.conftest import Api, ServerProcess


def row(page: Page, worker: str) -> Any:
    return page.get_by_role("row").filter(has_text=worker)


def test_without_workers_the_page_teaches(start_server: Callable[..., ServerProcess], page: Page) -> None:
    page.goto(f"{start_server().url}/ui/workers")
    expect(page.get_by_text("No worker has asked for jobs")).to_be_visible()
    expect(page.get_by_role("group", name="worker command")).to_contain_text("rookery worker")


def test_a_worker_is_shown_with_host_queues_and_jobs(api: Api, page: Page, queue: str) -> None:
    job_id = api.enqueue(queue)
    assert api.fetch(queue, worker_id="worker-1", hostname="pod-1") is not None
    page.goto(f"{api.server.url}/ui/workers")
    expect(row(page, "worker-1")).to_contain_text("live")
    expect(row(page, "worker-1")).to_contain_text("pod-1")
    expect(row(page, "worker-1")).to_contain_text(queue)
    row(page, "worker-1").get_by_role("link", name="1 job", exact=True).click()
    expect(page).to_have_url(f"{api.server.url}/ui/jobs?worker=worker-1&state=active")
    assert api.job(job_id)["worker_id"] == "worker-1"


def test_workers_are_found_by_name_host_and_queue(api: Api, page: Page, queue: str) -> None:
    api.fetch(queue, worker_id="one", hostname="alpha", timeout=0.01)
    api.fetch(f"{queue}.b", worker_id="two", hostname="beta", timeout=0.01)
    page.goto(f"{api.server.url}/ui/workers")
    expect(row(page, "alpha")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("BETA")
    expect(row(page, "two")).to_be_visible()
    expect(row(page, "alpha")).to_have_count(0)
    page.reload()
    expect(row(page, "two")).to_be_visible()
    expect(row(page, "alpha")).to_have_count(0)
    page.get_by_text("Silent", exact=True).last.click()
    expect(page.get_by_text("No worker is like that.")).to_be_visible()


def test_a_worker_shows_how_many_of_its_slots_are_in_use(api: Api, page: Page, queue: str) -> None:
    for _ in range(3):
        api.enqueue(queue)
    api.post("/fetch/batch", {"queues": [queue], "worker_id": "roomy", "count": 3})
    api.post("/workers/roomy", {"slots": 10})
    api.fetch(queue, worker_id="speechless", timeout=0.01)
    page.goto(f"{api.server.url}/ui/workers")
    expect(row(page, "roomy").get_by_role("link", name="3 jobs, runs 10 at a time")).to_have_text("3/10")
    bar = row(page, "roomy").locator("[role=meter]")
    expect(bar).to_have_attribute("aria-valuenow", "3")
    expect(bar).to_have_attribute("aria-valuemax", "10")
    whole, full = bar.bounding_box(), bar.locator("span").bounding_box()
    assert whole is not None
    assert full is not None
    assert round(full["width"] / whole["width"], 2) == 0.3
    expect(row(page, "speechless").get_by_role("link", name="0 jobs")).to_have_text("0")
    expect(row(page, "speechless").locator("[role=meter]")).to_have_count(0)


def test_workers_that_drain_are_told_apart_and_found(
    start_server: Callable[..., ServerProcess], open_window: Callable[..., Page]
) -> None:
    api = Api(start_server("--rate-limit-enabled=false"))
    for _ in range(2):
        api.enqueue("mails")
    api.fetch("mails", worker_id="leaving")
    api.post("/workers/leaving", {"slots": 5, "draining": True})
    page = open_window()
    page.goto(f"{api.server.url}/ui/workers")
    expect(row(page, "leaving")).to_contain_text("draining")
    expect(row(page, "leaving")).to_contain_text("1/5")
    expect(page.get_by_text("No live worker takes jobs from")).to_contain_text("mails (1 waiting)")
    expect(page.locator("dl")).to_contain_text("and 1 draining")
    expect(page.locator("dl")).to_contain_text("of 5 slots")

    api.fetch("other", worker_id="staying", timeout=0.01)
    expect(row(page, "staying")).to_contain_text("live")
    page.get_by_role("radio", name="Draining").check()
    page.wait_for_url("**/ui/workers?show=draining")
    expect(row(page, "leaving")).to_be_visible()
    expect(row(page, "staying")).to_have_count(0)
    page.get_by_role("radio", name="Live").check()
    expect(row(page, "staying")).to_be_visible()
    expect(row(page, "leaving")).to_have_count(0)

    api.post("/workers/leaving", {"draining": False})
    expect(row(page, "leaving")).to_contain_text("live")


def test_queues_that_nobody_takes_jobs_from_are_named(api: Api, page: Page, queue: str) -> None:
    api.enqueue(queue)
    page.goto(f"{api.server.url}/ui/workers")
    expect(page.get_by_role("link", name=queue).first).to_be_visible()
    expect(page.get_by_text("No live worker takes jobs from")).to_be_visible()


def test_a_worker_that_comes_appears_without_a_reload(api: Api, page: Page, queue: str) -> None:
    page.goto(f"{api.server.url}/ui/workers")
    expect(page.locator("[data-live=live]")).to_be_visible()
    api.enqueue(queue)
    api.fetch(queue, worker_id="latecomer")
    expect(row(page, "latecomer")).to_be_visible()
