"""One queue in a real browser: its numbers and limits, what is done to it, and its jobs."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import confirm, dead_job, toast
from tests.conftest import Api, ServerProcess


@pytest.fixture
def show(queue: str, visit: Callable[..., Page]) -> Callable[..., Page]:
    """Opens the page of the test's queue."""
    return lambda **params: visit(f"/queues/{queue}", **params)


def figure(page: Page, label: str) -> Locator:
    return page.locator("dl > div", has=page.locator("dt", has_text=label)).locator("dd").first


def rows(page: Page) -> Locator:
    return page.get_by_role("table", name="Jobs").locator("tbody tr")


def form(page: Page) -> Locator:
    return page.get_by_role("search", name="Search jobs")


def action(page: Page, name: str) -> Locator:
    return page.get_by_role("main").get_by_role("button", name=name, exact=True)


@pytest.mark.complains("status of 404")
def test_a_queue_that_there_is_not_can_be_begun(api: Api, queue: str, show: Callable[..., Page]) -> None:
    page = show()
    expect(page.get_by_text("There is no such queue")).to_be_visible()
    page.get_by_role("button", name="Enqueue its first job").click()
    expect(page.get_by_role("dialog").get_by_label("Queue")).to_have_value(queue)
    page.get_by_label("Payload").fill('{"first": true}')
    confirm(page, "Enqueue")
    expect(rows(page)).to_have_count(1)
    assert api.get(f"/queues/{queue}").json()["pending"] == 1


def test_the_numbers_of_a_queue_are_shown_and_change(api: Api, queue: str, show: Callable[..., Page]) -> None:
    done = api.enqueue(queue, unique_key=f"{queue}-1")
    fetched = api.fetch(queue)
    assert fetched is not None
    api.post(f"/ack/{done}", {})
    dead_job(api, queue, error="mailbox full")
    api.enqueue(queue, unique_key=f"{queue}-2")
    page = show()
    counts = page.get_by_role("navigation", name="Jobs of this queue by state")
    for state in ("completed", "dead", "pending"):
        expect(counts.get_by_role("link", name=state)).to_have_text(f"{state}1")
    expect(figure(page, "Throughput")).to_have_text("1/min")
    expect(figure(page, "Unique jobs")).to_have_text("1")
    expect(page.get_by_text("mailbox full").first).to_be_visible()
    times = page.get_by_role("table").filter(has_text="p50")
    expect(times.get_by_role("columnheader")).to_have_text(["Time", "p50", "p90", "p99", "Jobs"])
    for kind in ("Wait", "Run"):
        cells = times.get_by_role("row", name=kind).get_by_role("cell")
        expect(cells.last).to_have_text("2")
        for place in range(3):
            expect(cells.nth(place)).to_have_text(re.compile(r"^<?[\d.]+(ms|s)$"))
    expect(page.get_by_role("status").filter(has_text="results")).to_have_text(re.compile(r"^3 results \(\d+ ms\)$"))
    expect(figure(page, "Drains in")).to_have_text(re.compile(r"^~\d+(m|s)"))
    expect(figure(page, "Oldest waiting").locator("time")).to_have_attribute(
        "datetime", api.get(f"/queues/{queue}").json()["oldest_pending_at"]
    )
    api.enqueue(queue)
    expect(counts.get_by_role("link", name="pending")).to_have_text("pending2")


def test_a_queue_is_paused_and_resumed(api: Api, queue: str, show: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = show()
    action(page, "Pause").click()
    toast(page, f"{queue} is paused")
    expect(page.get_by_role("heading", level=1)).to_contain_text("paused")
    assert api.get(f"/queues/{queue}").json()["paused"] is True
    assert api.fetch(queue, timeout=0.1) is None
    action(page, "Resume").click()
    toast(page, f"{queue} runs again")
    assert api.get(f"/queues/{queue}").json()["paused"] is False


def test_a_queue_is_drained(api: Api, queue: str, show: Callable[..., Page]) -> None:
    running = api.enqueue(queue)
    api.fetch(queue)
    api.enqueue(queue)
    page = show()
    action(page, "Drain").click()
    confirm(page, "Drain the queue")
    expect(page.get_by_role("heading", level=1)).to_contain_text("draining, 1 left")
    assert api.get(f"/queues/{queue}").json()["paused"] is True
    api.post(f"/ack/{running}", {})
    expect(page.get_by_role("heading", level=1)).to_contain_text("paused")


def test_a_queue_is_cleared_of_what_waits(api: Api, queue: str, show: Callable[..., Page]) -> None:
    dead_job(api, queue)
    api.enqueue(queue)
    api.enqueue(queue, scheduled_at="2099-01-01T00:00:00Z")
    page = show()
    action(page, "Clear").click()
    expect(page.get_by_role("dialog")).to_contain_text("This deletes 1 pending job and 1 scheduled job.")
    confirm(page, "Delete 2 jobs")
    toast(page, f"2 jobs deleted from {queue}.")
    expect(rows(page)).to_have_count(1)
    view = api.get(f"/queues/{queue}").json()
    assert (view["pending"], view["scheduled"], view["dead"]) == (0, 0, 1)


def test_concurrency_is_limited_and_freed(api: Api, queue: str, show: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = show()
    page.get_by_role("button", name="Change concurrency").click()
    page.get_by_role("radio", name="At most").check()
    page.get_by_label("Jobs at a time").fill("0")
    expect(page.get_by_text("A whole number, 1 or more")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_role("button", name="Save")).to_be_disabled()
    page.get_by_label("Jobs at a time").fill("3")
    confirm(page, "Save")
    expect(figure(page, "Concurrency")).to_have_text("0 / 3")
    assert api.get(f"/queues/{queue}").json()["max_concurrency"] == 3
    action(page, "More").click()
    page.get_by_role("menuitem", name="Concurrency…").click()
    page.get_by_role("radio", name="No limit").check()
    confirm(page, "Save")
    expect(figure(page, "Concurrency")).to_have_text("no limit")
    assert api.get(f"/queues/{queue}").json()["max_concurrency"] is None


def test_the_rate_is_limited_and_freed(api: Api, queue: str, show: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = show()
    page.get_by_role("button", name="Change rate limit").click()
    page.get_by_role("radio", name="At most").check()
    page.get_by_role("dialog").get_by_label("Jobs", exact=True).fill("200")
    page.get_by_label("In each").select_option("1h")
    confirm(page, "Save")
    expect(figure(page, "Rate limit")).to_have_text("200/h")
    view = api.get(f"/queues/{queue}").json()
    assert (view["rate_limit"], view["rate_window_ms"]) == (200, 3_600_000)
    action(page, "More").click()
    page.get_by_role("menuitem", name="Rate limit…").click()
    page.get_by_role("radio", name="No limit").check()
    confirm(page, "Save")
    expect(figure(page, "Rate limit")).to_have_text("no limit")
    assert api.get(f"/queues/{queue}").json()["rate_limit"] is None


@pytest.mark.complains("status of 404")
def test_a_queue_is_deleted_only_when_its_name_is_typed(api: Api, queue: str, show: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = show()
    action(page, "More").click()
    page.get_by_role("menuitem", name="Delete queue…").click()
    delete = page.get_by_role("dialog").get_by_role("button", name="Delete the queue")
    expect(delete).to_be_disabled()
    page.get_by_label(f"Type {queue} to confirm").fill(queue[:-1])
    expect(delete).to_be_disabled()
    page.get_by_label(f"Type {queue} to confirm").fill(queue)
    confirm(page, "Delete the queue")
    page.wait_for_url("**/ui/queues")
    assert api.get(f"/queues/{queue}").status_code == 404


def test_the_jobs_are_searched_with_the_form(api: Api, queue: str, show: Callable[..., Page]) -> None:
    found = dead_job(
        api, queue, {"template": "welcome", "to": "a@example.com"}, tags={"tenant": "acme"}, priority="high"
    )
    dead_job(api, queue, {"template": "reset"}, error="mailbox full")
    api.enqueue(queue)
    page = show()
    expect(rows(page)).to_have_count(3)
    form(page).get_by_label("State").select_option("dead")
    expect(rows(page)).to_have_count(2)
    form(page).get_by_label("Priority").select_option("high")
    form(page).get_by_label("Tag").fill("tenant:acme")
    form(page).get_by_label("Error contains").fill("SMTP")
    form(page).get_by_label("Payload contains").fill("a@example.com")
    form(page).get_by_label("jq filter").fill('.template == "welcome"')
    form(page).get_by_label("Created from").fill("2020-01-01T00:00")
    form(page).get_by_label("Created until").fill("2099-01-01T00:00")
    form(page).get_by_role("button", name="Search").click()
    page.wait_for_url(re.compile("jq=.*"))
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_have_attribute("data-row", found)
    for part in ("state=dead", "priority=high", "tag=tenant", "error=SMTP", "created_before=2099"):
        assert part in page.url
    page.reload()
    expect(form(page).get_by_label("Payload contains")).to_have_value("a@example.com")
    form(page).get_by_role("button", name="Reset").click()
    expect(rows(page)).to_have_count(3)
    assert "?" not in page.url


@pytest.mark.complains("status of 400")
def test_a_bad_condition_is_said_at_its_field(api: Api, queue: str, show: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = show()
    form(page).get_by_label("jq filter").fill(".a = 1")
    form(page).get_by_role("button", name="Search").click()
    refused = api.post("/jobs/search", {"payload_jq": ".a = 1"}).json()["error"]
    expect(form(page).get_by_role("alert")).to_have_text(refused.removeprefix("payload_jq: "))
    expect(form(page).get_by_label("jq filter")).to_have_attribute("aria-invalid", "true")


def test_a_count_shows_the_jobs_of_that_state(api: Api, queue: str, show: Callable[..., Page]) -> None:
    dead = dead_job(api, queue)
    api.enqueue(queue)
    page = show()
    counts = page.get_by_role("navigation", name="Jobs of this queue by state")
    counts.get_by_role("link", name="dead").click()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_have_attribute("data-row", dead)
    counts.get_by_role("link", name="dead").click()
    expect(rows(page)).to_have_count(2)


def test_the_jobs_of_a_queue_are_acted_on_together(api: Api, queue: str, show: Callable[..., Page]) -> None:
    dead = [dead_job(api, queue) for _ in range(2)]
    page = show(state="dead")
    page.get_by_role("button", name="Select all 2").click()
    page.get_by_role("region", name="Bulk actions").get_by_role("button", name="Retry").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"queue is {queue}")
    confirm(page, "Retry 2 jobs")
    toast(page, "2 jobs retried.")
    assert {api.job(job_id)["state"] for job_id in dead} == {"pending"}


def test_a_job_is_added_with_everything_it_can_have(api: Api, queue: str, show: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = show()
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog", name="Enqueue a job")
    dialog.get_by_label("Payload").fill('{"n": 9007199254740993123,}')
    expect(dialog.get_by_role("button", name="Enqueue")).to_be_disabled()
    dialog.get_by_label("Payload").fill('{"n": 9007199254740993123}')
    dialog.get_by_label("Priority").select_option("critical")
    dialog.get_by_text("More: time, retries").click()
    dialog.get_by_label("Not before").fill("2099-01-01T10:00:00")
    dialog.get_by_label("Attempts at most").fill("7")
    dialog.get_by_label("Backoff").select_option("fixed")
    dialog.get_by_label("First delay").fill("2s")
    dialog.get_by_label("Unique key").fill(f"key-{queue}")
    dialog.get_by_label("Expires after").fill("1h")
    dialog.get_by_label("Tags").fill('{"tenant": "acme"}')
    confirm(page, "Enqueue")
    expect(rows(page)).to_have_count(2)
    found = api.post("/jobs/search", {"queue": queue, "unique_key": f"key-{queue}"}).json()["jobs"]
    job = api.job(found[0]["id"])
    assert job["payload"] == {"n": 9007199254740993123}
    assert (job["priority_name"], job["state"], job["max_retries"]) == ("critical", "scheduled", 7)
    assert (job["retry_backoff"], job["retry_base_delay_ms"], job["tags"]) == ("fixed", 2000, {"tenant": "acme"})
    assert job["scheduled_at"].startswith("2099-01-01T10:00:00")


@pytest.mark.complains("status of 413")
def test_what_the_server_refuses_is_said_in_the_dialog(start_server: Callable[..., ServerProcess], page: Page) -> None:
    server = start_server("--max-payload-size=100")
    page.goto(f"{server.url}/ui/queues")
    page.get_by_role("button", name="Enqueue", exact=True).click()
    dialog = page.get_by_role("dialog", name="Enqueue a job")
    dialog.get_by_label("Queue").fill("mails")
    dialog.get_by_label("Payload").fill(f'"{"x" * 200}"')
    dialog.get_by_role("button", name="Enqueue").click()
    expect(dialog.get_by_role("alert")).to_contain_text("payload")
    assert Api(server).get("/queues").json() == []
    dialog.get_by_label("Payload").fill('"short"')
    confirm(page, "Enqueue")
    assert Api(server).get("/queues/mails").json()["pending"] == 1


def test_a_second_job_with_a_unique_key_is_said_to_be_there(api: Api, queue: str, show: Callable[..., Page]) -> None:
    first = api.enqueue(queue, unique_key=queue)
    page = show()
    page.get_by_role("button", name="Enqueue", exact=True).click()
    dialog = page.get_by_role("dialog", name="Enqueue a job")
    expect(dialog.get_by_label("Queue")).to_have_value(queue)
    dialog.get_by_label("Payload").fill("{}")
    dialog.get_by_text("More: time, retries").click()
    dialog.get_by_label("Unique key").fill(queue)
    confirm(page, "Enqueue")
    expect(page.get_by_text("A job with this unique key is there already")).to_be_visible()
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_url(f"**/ui/jobs/{first}")
    assert api.get(f"/queues/{queue}").json()["pending"] == 1


@pytest.mark.parametrize("ending", [".a_b:c", "/a b?c=d&e#f", "%2F..%", "ÄÖ🐦"])
def test_names_with_any_character_have_their_page(
    ending: str, api: Api, queue: str, visit: Callable[..., Page]
) -> None:
    name = f"{queue}{ending}"
    api.enqueue(name)
    page = visit("/queues")
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    expect(rows(page)).to_have_count(1)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    action(page, "Pause").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("paused")
    assert [one["paused"] for one in api.get("/queues").json() if one["name"] == name] == [True]
