"""The overview in a real browser: queues, failures, workers and the cluster, and what one does from there."""

import json
import re
import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import confirm, dead_job, toast
from tests.conftest import Api, ServerProcess, wait_for


@pytest.fixture
def api(start_server: Callable[..., ServerProcess]) -> Api:
    """A server of its own: the page shows everything there is."""
    return Api(start_server("--rate-limit-enabled=false"))


def card(page: Page, title: str) -> Locator:
    return page.locator("section", has=page.get_by_role("heading", name=title, exact=True))


def figure(page: Page, label: str) -> Locator:
    return page.locator("dl > div", has=page.locator("dt", has_text=label)).locator("dd").first


def queue_row(page: Page, name: str) -> Locator:
    return page.locator(f'[data-row="{name}"]')


def test_a_new_server_teaches_how_to_begin(api: Api, visit: Callable[..., Page]) -> None:
    page = visit()
    expect(page.get_by_text("No jobs yet")).to_be_visible()
    expect(page.get_by_role("group", name="command", exact=True)).to_contain_text("/api/v1/enqueue")
    expect(page.get_by_text("No worker has asked for jobs")).to_be_visible()
    command = page.get_by_role("group", name="command", exact=True).inner_text()
    done = subprocess.run(["bash", "-c", command], check=True, timeout=30, capture_output=True, text=True)
    assert api.job(json.loads(done.stdout)["job_id"])["queue"] == "emails.send"
    expect(queue_row(page, "emails.send")).to_be_visible()
    api.delete("/queues/emails.send", params={"confirm": "true"})
    page.get_by_role("button", name="Enqueue one here").click()
    page.get_by_label("Payload").fill('{"n": 9007199254740993123}')
    confirm(page, "Enqueue")
    toast(page, "Job added to emails.send")
    expect(queue_row(page, "emails.send")).to_be_visible()
    assert "9007199254740993123" in api.post("/jobs/search", {"queue": "emails.send"}).text


def test_queues_failures_workers_and_the_node_are_shown(api: Api, visit: Callable[..., Page]) -> None:
    dead_job(api, "mails", error="SMTP timeout after 30 s")
    for seconds in (31, 32, 33, 34):
        dead_job(api, "mails", error=f"SMTP timeout after {seconds} s")
    done = api.enqueue("calm")
    api.fetch("calm", worker_id="worker-1", hostname="pod-1")
    api.post(f"/ack/{done}", {})
    api.enqueue("calm")
    page = visit()
    expect(figure(page, "Completed")).to_have_text("1")
    expect(figure(page, "Failed attempts")).to_have_text("5")
    expect(figure(page, "Pending")).to_have_text("1")
    expect(figure(page, "Dead")).to_have_text("5")
    rows = page.get_by_role("table", name="Queues").locator("tbody tr")
    expect(rows.first).to_contain_text("mails")
    expect(rows.first).to_contain_text("100%")
    expect(queue_row(page, "calm")).to_contain_text("0%")
    expect(page.get_by_text("1 queue needs attention")).to_be_visible()
    failures = card(page, "Recent failures")
    expect(failures.get_by_role("listitem")).to_have_count(1)
    expect(failures).to_contain_text("5\N{MULTIPLICATION SIGN}")
    expect(failures).to_contain_text("5 dead")
    expect(card(page, "Workers")).to_contain_text("worker-1")
    expect(card(page, "Workers")).to_contain_text("pod-1")
    expect(card(page, "Cluster")).to_contain_text("This server runs alone")
    expect(card(page, "Cluster")).to_contain_text("healthy")
    expect(card(page, "Throughput").get_by_text("Throughput in the last hour", exact=False)).to_be_attached()


def test_workers_are_shown_with_their_slots_and_who_drains(api: Api, visit: Callable[..., Page]) -> None:
    for worker, count, slots, draining in (("worker-a", 3, 10, False), ("worker-b", 1, 5, True)):
        api.post("/enqueue/batch", {"jobs": [{"queue": "mails"}] * count})
        api.post("/fetch/batch", {"queues": ["mails"], "worker_id": worker, "hostname": "pod-1", "count": count})
        api.post(f"/workers/{worker}", {"slots": slots, "draining": draining})
    api.fetch("mails", worker_id="worker-c", timeout=0.01)
    page = visit()
    workers = card(page, "Workers")
    expect(workers).to_contain_text("3 connected")
    expect(workers.get_by_role("row", name="worker-a")).to_contain_text("3/10")
    expect(workers.get_by_role("row", name="worker-a")).not_to_contain_text("draining")
    expect(workers.get_by_role("row", name="worker-b")).to_contain_text("1/5")
    expect(workers.get_by_role("row", name="worker-b")).to_contain_text("(draining)")
    expect(workers.get_by_role("row", name="worker-b").get_by_role("meter")).to_have_attribute("aria-valuemax", "5")


def test_a_queue_tells_its_depth_age_pace_errors_and_when_it_will_be_empty(
    api: Api, visit: Callable[..., Page]
) -> None:
    for _ in range(10):
        job_id = api.enqueue("mails")
        assert api.fetch("mails")
        api.post(f"/ack/{job_id}", {})
    dead_job(api, "mails")
    for _ in range(3):
        api.enqueue("mails")
    page = visit()
    titled = page.get_by_role("table", name="Queues").get_by_role("columnheader")
    expect(titled.filter(has_text="Pending")).to_be_visible()
    titles = titled.all_inner_texts()

    def cell(title: str) -> Locator:
        return queue_row(page, "mails").get_by_role("cell").nth(titles.index(title)).locator("> div")

    expect(cell("Pending")).to_have_text("3")
    expect(cell("Oldest")).to_have_text(re.compile(r"^\d+(ms|s)$"))
    oldest = cell("Oldest").locator("time").get_attribute("datetime")
    assert oldest == api.get("/queues/mails").json()["oldest_pending_at"]
    expect(cell("Done")).to_have_text("10")
    expect(cell("Dead")).to_have_text("1")
    expect(cell("Rate")).to_have_text(re.compile(r"^\d+/min$"))
    expect(cell("Errors")).to_have_text("9.1%")
    trend = cell("Trend").get_by_role("img")
    expect(trend).to_have_attribute("aria-label", "mails: 10 completed, 1 failed in the last hour")
    assert trend.locator("rect").count() > 1
    expect(cell("Drains in")).to_have_text(re.compile(r"^~\d+s$"))
    figure_caption = card(page, "Throughput").locator("figcaption")
    for part in ("Completed10", "Enqueued14", "Failed1"):
        expect(figure_caption).to_contain_text(part)
    page.get_by_role("button", name="Pause mails").click()
    expect(cell("Drains in")).to_have_text("paused")


def test_the_sidebar_counts_the_states_and_leads_to_their_jobs(api: Api, visit: Callable[..., Page]) -> None:
    job_id = dead_job(api, "mails")
    api.enqueue("mails")
    page = visit()
    states = page.get_by_role("navigation", name="Jobs by state")
    expect(states.get_by_role("link", name="dead")).to_have_text("dead1")
    expect(states.get_by_role("link", name="held")).to_have_text("held0")
    states.get_by_role("link", name="dead").click()
    page.wait_for_url("**/ui/jobs?state=dead")
    expect(page.get_by_role("table", name="Jobs").locator("tbody tr")).to_have_attribute("data-row", job_id)
    api.post(f"/jobs/{job_id}/retry")
    expect(states.get_by_role("link", name="dead")).to_have_text("dead0")


def test_a_range_is_chosen_and_stays_in_the_address(api: Api, visit: Callable[..., Page]) -> None:
    api.enqueue("mails")
    page = visit()
    with page.expect_request(lambda request: "minutes=360" in request.url and "throughput" in request.url):
        page.get_by_role("radio", name="6 hours").check()
    page.wait_for_url("**/ui/?range=6h")
    page.reload()
    expect(page.get_by_role("radio", name="6 hours")).to_be_checked()
    expect(card(page, "Throughput")).to_contain_text("6 hours")


def test_a_queue_is_paused_and_resumed_from_its_row(api: Api, visit: Callable[..., Page]) -> None:
    api.enqueue("mails")
    page = visit()
    page.get_by_role("button", name="Pause mails").click()
    toast(page, "mails is paused")
    expect(queue_row(page, "mails")).to_contain_text("paused")
    assert api.get("/queues/mails").json()["paused"] is True
    page.get_by_role("button", name="Resume mails").click()
    expect(page.get_by_role("button", name="Pause mails")).to_be_visible()
    assert api.get("/queues/mails").json()["paused"] is False


def test_figures_change_by_themselves(api: Api, visit: Callable[..., Page]) -> None:
    job_id = api.enqueue("mails")
    page = visit()
    expect(figure(page, "Pending")).to_have_text("1")
    api.enqueue("mails")
    expect(figure(page, "Pending")).to_have_text("2")
    fetched = api.fetch("mails")
    assert fetched is not None
    expect(figure(page, "Active")).to_have_text("1")
    api.post(f"/ack/{job_id}", {})
    expect(figure(page, "Completed")).to_have_text("1")


def test_a_failure_leads_to_its_jobs_and_a_row_to_its_queue(api: Api, visit: Callable[..., Page]) -> None:
    job_id = dead_job(api, "mails", error="SMTP timeout")
    dead_job(api, "mails", error="mailbox full")
    page = visit()
    card(page, "Recent failures").get_by_role("link", name="SMTP timeout").click()
    page.wait_for_url("**/ui/jobs?*error=SMTP*")
    expect(page.get_by_role("table", name="Jobs").locator("tbody tr")).to_have_count(1)
    expect(page.locator(f"[data-row={job_id}]")).to_be_visible()
    page.go_back()
    queue_row(page, "mails").get_by_role("link", name="mails").click()
    page.wait_for_url("**/ui/queues/mails")


def test_all_queues_are_found_by_name(api: Api, visit: Callable[..., Page]) -> None:
    for name in ("mails", "invoices", "images"):
        api.enqueue(name)
    page = visit()
    page.get_by_role("link", name="All queues").click()
    page.wait_for_url("**/ui/queues")
    rows = page.get_by_role("table", name="Queues").locator("tbody tr")
    expect(rows).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("inv")
    expect(rows).to_have_count(1)
    page.get_by_label("Find a queue").fill("nothing")
    page.get_by_role("button", name="Show all").click()
    expect(rows).to_have_count(3)


def test_the_palette_finds_pages_queues_and_jobs(api: Api, visit: Callable[..., Page]) -> None:
    job_id = api.enqueue("mails", {"to": "somebody@example.com"})
    wait_for(lambda: api.get("/search/fulltext", params={"q": "somebody"}).json()["results"])
    page = visit()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search and commands")
    page.keyboard.type("somebody")
    expect(palette.get_by_role("option", name="somebody@example.com").first).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/jobs/{job_id}")
    page.keyboard.press("Control+k")
    page.keyboard.type("mails")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/queues/mails")
