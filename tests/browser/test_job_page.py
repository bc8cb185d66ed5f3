"""The page of one job in a real browser: what it shows, what it does, and what the API says then."""

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import Api, wait_for

BIG = 9007199254740993123
"""A number that JavaScript cannot hold."""


@pytest.fixture
def show(api: Api, page: Page) -> Callable[[str], Page]:
    """Opens a job's page and waits until the job is there."""

    def open_job(job_id: str) -> Page:
        page.goto(f"{api.server.url}/ui/jobs/{job_id}")
        expect(page.get_by_role("heading", name=job_id)).to_be_visible()
        return page

    return open_job


def button(page: Page, name: str) -> Any:
    return page.get_by_role("main").get_by_role("button", name=name, exact=True)


def confirm(page: Page, name: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def fact(page: Page, label: str) -> Any:
    return page.locator("dl > div", has=page.locator("dt", has_text=label)).locator("dd")


def dead_job(api: Api, queue: str, **fields: Any) -> str:
    job_id = api.enqueue(queue, max_retries=1, **fields)
    api.fetch(queue)
    backtrace = 'Traceback (most recent call last):\n  File "mail.py", line 48, in send'
    api.post(f"/fail/{job_id}", {"error": "SMTP connection timeout", "backtrace": backtrace})
    return job_id


def test_everything_about_a_running_job_is_shown(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    fields = {"priority": "high", "unique_key": "welcome-a@example.com", "tags": {"tenant": "acme"}}
    job_id = api.enqueue(queue, {"to": "a@example.com"}, max_retries=5, retry_backoff="none", **fields)
    api.fetch(queue, worker_id="worker-1", hostname="pod-1")
    api.post(f"/fail/{job_id}", {"error": "SMTP connection timeout"})
    assert api.fetch(queue, worker_id="worker-2", hostname="pod-2")
    progress = {"current": 450, "total": 1000, "message": "Sending batch"}
    api.post("/heartbeat", {"jobs": {job_id: {"progress": progress, "checkpoint": {"sent": 450}}}})
    page = show(job_id)
    expect(fact(page, "Queue")).to_have_text(queue)
    expect(fact(page, "State")).to_contain_text("attempt 2 of 5")
    expect(fact(page, "Priority")).to_have_text("high")
    expect(fact(page, "Worker")).to_have_text("worker-2 on pod-2")
    expect(fact(page, "Started")).to_contain_text("queue time")
    expect(fact(page, "Unique key")).to_have_text("welcome-a@example.com")
    expect(fact(page, "Tags")).to_have_text("tenant:acme")
    expect(page.get_by_role("progressbar", name="Progress")).to_have_attribute("aria-valuenow", "45")
    expect(page.get_by_text("450/1000", exact=True)).to_be_visible()
    expect(page.get_by_role("img", name="Running, attempt 2, by worker-2")).to_be_visible()
    attempts = page.locator("section", has=page.get_by_role("heading", name="Attempts")).get_by_role("listitem")
    expect(attempts).to_have_count(2)
    expect(attempts.nth(0)).to_contain_text("SMTP connection timeout")
    expect(attempts.nth(1)).to_contain_text("running")
    page.get_by_role("tab", name="Checkpoint").click()
    expect(page.get_by_role("group", name="checkpoint")).to_contain_text('"sent": 450')
    assert page.url.endswith("?data=checkpoint")


def test_a_dead_job_shows_its_traceback_and_is_retried_without_a_question(
    api: Api, queue: str, show: Callable[[str], Page]
) -> None:
    job_id = dead_job(api, queue)
    page = show(job_id)
    expect(page.get_by_role("group", name="Error of attempt 1")).to_contain_text('File "mail.py", line 48, in send')
    button(page, "Retry").click()
    expect(fact(page, "State")).to_contain_text("pending")
    assert api.job(job_id)["state"] == "pending"
    expect(page.get_by_role("heading", name="Why is it not running?")).to_be_visible()


def test_a_completed_job_is_run_again_only_when_that_is_meant(
    api: Api, queue: str, show: Callable[[str], Page]
) -> None:
    job_id = api.enqueue(queue)
    api.fetch(queue)
    api.post(f"/ack/{job_id}", {"result": {"n": BIG}})
    page = show(job_id)
    page.get_by_role("tab", name="Result").click()
    expect(page.get_by_role("group", name="result")).to_contain_text(str(BIG))
    button(page, "Retry").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert api.job(job_id)["state"] == "completed"
    button(page, "Retry").click()
    confirm(page, "Run again")
    expect(fact(page, "State")).to_contain_text("pending")


def test_a_job_is_cancelled_after_a_question(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    job_id = api.enqueue(queue)
    page = show(job_id)
    button(page, "Cancel").click()
    assert api.job(job_id)["state"] == "pending"
    confirm(page, "Cancel the job")
    expect(fact(page, "State")).to_contain_text("cancelled")
    assert api.job(job_id)["state"] == "cancelled"


def test_a_job_is_moved_with_a_new_counter_and_a_new_priority(
    api: Api, queue: str, show: Callable[[str], Page]
) -> None:
    job_id = dead_job(api, queue, priority="high")
    page = show(job_id)
    button(page, "Move").click()
    dialog = page.get_by_role("dialog", name="Move job to queue")
    expect(dialog.get_by_label("Reset attempt counter")).to_be_checked()
    expect(dialog.get_by_label("Keep current priority")).not_to_be_checked()
    expect(dialog.get_by_role("button", name="Move")).to_be_disabled()
    dialog.get_by_label("Target queue").fill(queue)
    expect(dialog.get_by_role("button", name="Move")).to_be_disabled()
    dialog.get_by_label("Target queue").fill(f"{queue}.legacy")
    dialog.get_by_label("New priority").select_option("critical")
    confirm(page, "Move")
    expect(fact(page, "Queue")).to_have_text(f"{queue}.legacy")
    job = api.job(job_id)
    assert (job["queue"], job["attempt"], job["priority_name"]) == (f"{queue}.legacy", 0, "critical")


def test_a_moved_job_may_keep_its_counter_and_its_priority(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    job_id = dead_job(api, queue, priority="high")
    page = show(job_id)
    button(page, "Move").click()
    dialog = page.get_by_role("dialog", name="Move job to queue")
    dialog.get_by_label("Target queue").fill(f"{queue}.legacy")
    dialog.get_by_label("Reset attempt counter").uncheck()
    dialog.get_by_label("Keep current priority").check()
    confirm(page, "Move")
    job = api.job(job_id)
    assert (job["attempt"], job["priority_name"]) == (1, "high")


def test_a_job_is_held_with_a_reason_and_approved(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    job_id = api.enqueue(queue)
    page = show(job_id)
    expect(button(page, "Approve")).to_have_count(0)
    button(page, "Hold").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("finance must agree")
    confirm(page, "Hold")
    expect(fact(page, "Hold reason")).to_have_text("finance must agree")
    assert api.job(job_id)["state"] == "held"
    button(page, "Approve").click()
    expect(fact(page, "State")).to_contain_text("pending")
    assert api.job(job_id)["state"] == "pending"


def test_a_held_job_is_rejected_after_a_question(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    job_id = api.enqueue(queue)
    api.post(f"/jobs/{job_id}/hold")
    page = show(job_id)
    button(page, "Reject").click()
    confirm(page, "Reject the job")
    expect(fact(page, "State")).to_contain_text("dead")
    assert api.job(job_id)["state"] == "dead"


@pytest.mark.complains("status of 404")
def test_a_job_is_deleted_after_a_question(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    job_id = api.enqueue(queue)
    page = show(job_id)
    button(page, "Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("This cannot be undone.")
    confirm(page, "Delete the job")
    page.wait_for_url(f"**/ui/queues/{queue}")
    assert api.get(f"/jobs/{job_id}").status_code == 404


@pytest.mark.parametrize(
    ("state", "refused"), [("active", ["Retry", "Move"]), ("completed", ["Cancel", "Hold"]), ("pending", ["Retry"])]
)
def test_what_the_state_forbids_says_why_and_does_nothing(
    state: str, refused: list[str], api: Api, queue: str, show: Callable[[str], Page]
) -> None:
    job_id = api.enqueue(queue)
    if state != "pending":
        api.fetch(queue)
    if state == "completed":
        api.post(f"/ack/{job_id}", {})
    page = show(job_id)
    for name in refused:
        expect(button(page, name)).to_have_attribute("aria-disabled", "true")
        assert button(page, name).get_attribute("title")
        button(page, name).click(force=True)
        expect(page.get_by_role("dialog")).to_have_count(0)
    assert api.job(job_id)["state"] == state


def test_a_clone_is_edited_and_keeps_every_digit(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    job_id = api.enqueue(queue, {"n": BIG}, priority="high", max_retries=7, tags={"tenant": "acme"})
    page = show(job_id)
    button(page, "More").click()
    page.get_by_role("menuitem", name="Clone and edit").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Queue")).to_have_value(queue)
    payload = dialog.get_by_label("Payload")
    expect(payload).to_have_value(f'{{\n  "n": {BIG}\n}}')
    payload.fill(f'{{"n": {BIG}, "again": true}}')
    confirm(page, "Enqueue")
    page.get_by_role("button", name="Open", exact=True).click()
    page.wait_for_url(lambda url: "/jobs/" in url and job_id not in url)
    clone = api.job(page.url.rpartition("/")[2])
    assert clone["payload"] == {"n": BIG, "again": True}
    assert (clone["priority_name"], clone["max_retries"], clone["tags"]) == ("high", 7, {"tenant": "acme"})


@pytest.mark.parametrize("language", ["curl", "Python"])
def test_copied_code_makes_the_same_job(language: str, api: Api, queue: str, open_window: Callable[..., Page]) -> None:
    payload = {"n": BIG, "it's": ["<b>", None, True], "nested": {"a": 'quote " and \\'}}
    fields = {"priority": "critical", "max_retries": 7, "retry_base_delay": "7s", "tags": {"tenant": "acme"}}
    job_id = api.enqueue(queue, payload, **fields)
    page = open_window(permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"{api.server.url}/ui/jobs/{job_id}")
    button(page, "More").click()
    page.get_by_role("menuitem", name=f"Copy as {language}").click()
    expect(page.get_by_role("status").get_by_text("copied")).to_be_visible()
    code = page.evaluate("navigator.clipboard.readText()")
    command = ["bash", "-c", code] if language == "curl" else [sys.executable, "-c", code]
    subprocess.run(command, check=True, timeout=30, capture_output=True)
    found = api.post("/jobs/search", {"queue": queue, "order": "asc"}).json()["jobs"]
    assert len(found) == 2
    one, other = (api.job(job["id"]) for job in found)
    for field in ("payload", "priority", "max_retries", "retry_base_delay", "tags"):
        assert one[field] == other[field]


def test_the_page_follows_the_job_without_being_loaded_again(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    job_id = api.enqueue(queue)
    page = show(job_id)
    expect(page.get_by_role("heading", name="Why is it not running?")).to_be_visible()
    page.evaluate("window.isTheSame = true")
    api.fetch(queue, worker_id="worker-9")
    expect(fact(page, "Worker")).to_contain_text("worker-9")
    expect(page.get_by_role("heading", name="Why is it not running?")).to_have_count(0)
    api.post("/heartbeat", {"jobs": {job_id: {"progress": 0.5}}})
    expect(page.get_by_role("progressbar", name="Progress")).to_have_attribute("aria-valuenow", "50")
    api.post(f"/ack/{job_id}", {"result": {"ok": True}})
    expect(fact(page, "State")).to_contain_text("completed")
    expect(page.get_by_role("tab", name="Result")).to_be_visible()
    assert page.evaluate("window.isTheSame") is True


def test_the_log_follows_until_one_scrolls_up(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    job_id = api.enqueue(queue)
    api.fetch(queue)
    lines = [{"message": f"line {number}"} for number in range(1, 101)]
    api.post(f"/jobs/{job_id}/logs", {"lines": [*lines, {"message": "it burns", "level": "error"}]})
    page = show(job_id)
    log = page.get_by_role("log")
    log.scroll_into_view_if_needed()
    expect(log.get_by_text("it burns")).to_be_in_viewport()
    api.post(f"/jobs/{job_id}/logs", {"lines": [{"message": "the newest"}]})
    expect(log.get_by_text("the newest")).to_be_in_viewport()
    log.hover()
    page.mouse.wheel(0, -600)
    expect(button(page, "Follow")).to_be_visible()
    top = log.evaluate("box => box.scrollTop")
    api.post(f"/jobs/{job_id}/logs", {"lines": [{"message": "later"}, {"message": "last"}]})
    expect(button(page, "2 new")).to_be_visible()
    assert log.evaluate("box => box.scrollTop") == top
    button(page, "2 new").click()
    expect(log.get_by_text("last", exact=True)).to_be_in_viewport()
    page.get_by_role("group", name="Level").get_by_text("Errors").click()
    expect(log.get_by_text("it burns")).to_be_visible()
    expect(log.get_by_text("line 100")).to_have_count(0)


def test_a_job_in_a_paused_queue_says_so_and_resumes_it(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    first = api.enqueue(f"{queue}.first")
    job_id = api.enqueue(queue, depends_on=[first])
    api.post(f"/queues/{queue}/pause")
    page = show(job_id)
    reasons = page.locator("section", has=page.get_by_role("heading", name="Why is it not running?"))
    expect(reasons.get_by_role("listitem").first).to_contain_text("1 other job must complete first")
    button(page, "Resume queue").click()
    expect(button(page, "Resume queue")).to_have_count(0)
    assert api.get(f"/queues/{queue}").json()["paused"] is False
    api.fetch(f"{queue}.first")
    api.post(f"/ack/{first}", {})
    expect(reasons).not_to_contain_text("must complete first")


def test_relations_are_links_for_the_keyboard(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    steps = [{"queue": f"{queue}.one"}, {"queue": f"{queue}.two"}, {"queue": f"{queue}.three"}]
    first = api.enqueue(f"{queue}.one", chain={"steps": steps})
    api.fetch(f"{queue}.one")
    api.post(f"/ack/{first}", {})
    second = wait_for(lambda: api.fetch(f"{queue}.two"))
    page = show(second["job_id"])
    graph = page.get_by_role("group", name="Jobs that belong together")
    expect(graph.get_by_role("listitem")).to_have_count(3)
    expect(graph.get_by_role("listitem").nth(2)).to_contain_text(f"{queue}.three")
    graph.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/jobs/{first}")
    expect(fact(page, "State")).to_contain_text("completed")
    expect(fact(page, "Chain")).to_contain_text("step 1 of 3")


def graph_of(page: Page) -> Any:
    return page.get_by_role("group", name="Jobs that belong together")


def test_who_waits_for_a_job_is_shown_before_and_after_it_has_completed(
    api: Api, queue: str, show: Callable[[str], Page]
) -> None:
    first = api.enqueue(queue)
    waiting = [api.enqueue(f"{queue}.after", depends_on=[first]) for _ in range(7)]
    page = show(first)
    boxes = graph_of(page).get_by_role("listitem")
    expect(boxes).to_have_count(6)
    expect(boxes.nth(1)).to_contain_text("waits for this")
    api.fetch(queue)
    api.post(f"/ack/{first}", {})
    expect(boxes.nth(1)).to_contain_text("waited for this")
    expect(boxes.last).to_contain_text("3 more")
    boxes.last.get_by_role("link").click()
    page.wait_for_url(f"**/ui/jobs?depends_on={first}")
    expect(page.get_by_role("button", name=f"Change depends on {first}", exact=True)).to_be_visible()
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
    expect(rows).to_have_count(len(waiting))
    rows.first.get_by_role("link").first.click()
    expect(graph_of(page).get_by_role("listitem")).to_have_text([re.compile("dependency"), re.compile("this job")])


def test_all_that_a_job_waits_for_can_be_seen(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    first = [api.enqueue(f"{queue}.first") for _ in range(9)]
    gone = first[1]
    page = show(api.enqueue(queue, depends_on=first))
    boxes = graph_of(page).get_by_role("listitem")
    expect(boxes).to_have_count(6)
    graph_of(page).get_by_role("button", name="5 more").click()
    expect(boxes).to_have_count(10)
    expect(boxes.nth(8).get_by_role("link")).to_have_attribute("href", re.compile(first[8]))
    api.delete(f"/jobs/{gone}")
    expect(boxes.nth(1)).to_contain_text("deleted")
    expect(boxes.nth(1).get_by_role("link")).to_have_count(0)


def test_a_job_is_found_among_its_batch_its_parent_and_its_children(
    api: Api, queue: str, show: Callable[[str], Page]
) -> None:
    parent = api.enqueue(f"{queue}.parent")
    jobs = [{"queue": queue, "parent_id": parent}] * 2
    batch = api.post("/enqueue/batch", {"jobs": jobs, "batch": {"callback_queue": f"{queue}.done"}}).json()
    job_id = batch["job_ids"][0]
    for _ in range(6):
        api.enqueue(f"{queue}.child", parent_id=job_id, depends_on=[job_id])
    page = show(job_id)
    boxes = graph_of(page).get_by_role("listitem")
    roles = ["parent", "this job", "batch", "when all have ended", *["child, waits for this"] * 4]
    expect(boxes).to_have_text([re.compile(word) for word in (*roles, "children2 more", "wait for this2 more")])
    for job in batch["job_ids"]:
        api.fetch(queue)
        api.post(f"/ack/{job}", {})
    expect(boxes.nth(2)).to_contain_text("2 of 2 ended")
    expect(boxes.nth(3).get_by_role("link")).to_have_attribute("href", re.compile(f"/queues/{queue}.done"))
    boxes.nth(8).get_by_role("link").click()
    page.wait_for_url(f"**/ui/jobs?parent={job_id}")
    expect(page.get_by_role("table", name="Jobs").locator("tbody tr")).to_have_count(6)


def test_a_chain_that_failed_leads_to_its_handler(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    steps = [{"queue": f"{queue}.{number}"} for number in range(4)]
    chain = {"steps": steps, "on_exit": {"queue": f"{queue}.end"}, "on_failure": {"queue": f"{queue}.alarm"}}
    job_id = api.enqueue(f"{queue}.0", chain=chain)
    page = show(job_id)
    boxes = graph_of(page).get_by_role("listitem")
    expect(boxes).to_have_text([re.compile(word) for word in ("step 1 of 4", "step 2", "step 3", "later1 more")])
    api.fetch(f"{queue}.0")
    api.post(f"/fail/{job_id}", {"error": "boom", "end": "dead"})
    expect(boxes).to_have_text([re.compile("step 1 of 4"), re.compile(f"a step died.*{queue}.alarm")])


def test_a_phone_shows_the_jobs_that_belong_together_in_a_list(
    api: Api, queue: str, open_window: Callable[..., Page]
) -> None:
    first = api.enqueue(f"{queue}.first")
    job_id = api.enqueue(queue, depends_on=[first])
    api.enqueue(f"{queue}.after", depends_on=[job_id])
    page = open_window(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.goto(f"{api.server.url}/ui/jobs/{job_id}")
    boxes = graph_of(page).get_by_role("listitem")
    expect(boxes).to_have_text([re.compile(word) for word in ("dependency", "this job", "waits for this")])
    places = [box.bounding_box() for box in boxes.all()]
    assert all(place["x"] >= 0 and place["x"] + place["width"] <= 390 for place in places)
    assert all(upper["y"] + upper["height"] < lower["y"] for upper, lower in pairwise(places))


def test_of_a_long_chain_the_job_itself_is_in_sight(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    steps = [{"queue": f"{queue}.{number}"} for number in range(12)]
    job_id = api.enqueue(f"{queue}.0", chain={"steps": steps})
    for number in range(6):
        api.fetch(f"{queue}.{number}")
        api.post(f"/ack/{job_id}", {})
        job_id = api.post("/jobs/search", {"queue": f"{queue}.{number + 1}"}).json()["jobs"][0]["id"]
    page = show(job_id)
    own = graph_of(page).locator("[aria-current]")
    expect(own).to_contain_text("step 7 of 12")
    box, frame = own.bounding_box(), graph_of(page).bounding_box()
    assert frame["x"] < box["x"]
    assert box["x"] + box["width"] < frame["x"] + frame["width"]
    graph_of(page).get_by_role("link", name="earlier").click()
    page.wait_for_url("**/ui/jobs?chain=*")


@pytest.mark.complains("status of 404")
def test_a_job_that_is_deleted_meanwhile_is_said_to_be_gone(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    job_id = api.enqueue(queue, {"kept": "on the screen"})
    page = show(job_id)
    api.delete(f"/jobs/{job_id}")
    expect(page.get_by_text("This job was deleted.")).to_be_visible()
    expect(page.get_by_role("group", name="payload")).to_contain_text("on the screen")
    expect(button(page, "Delete")).to_have_count(0)


@pytest.mark.complains("status of 404")
def test_a_job_that_there_is_not_is_said_to_be_missing(api: Api, page: Page) -> None:
    page.goto(f"{api.server.url}/ui/jobs/job_nobody")
    expect(page.get_by_text("There is no such job")).to_be_visible()


def test_nothing_in_a_job_becomes_part_of_the_page(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    html = "<img src=x onerror=alert(1)><script>alert(2)</script><b class=evil>"
    job_id = api.enqueue(queue, {html: html}, max_retries=1, tags={html: html}, unique_key=html)
    api.fetch(queue, worker_id=html)
    api.post("/heartbeat", {"jobs": {job_id: {"progress": html, "checkpoint": html}}})
    api.post(f"/jobs/{job_id}/logs", {"lines": [{"message": html, "level": "<b class=evil>"}]})
    api.post(f"/fail/{job_id}", {"error": html, "backtrace": html})
    page = show(job_id)
    expect(page.get_by_role("log")).to_contain_text(html)
    assert page.locator("main img, main script, main .evil").count() == 0


def test_much_of_everything_does_no_harm(api: Api, queue: str, show: Callable[[str], Page]) -> None:
    items = [{"id": number, "name": f"item number {number}"} for number in range(5000)]
    job_id = api.enqueue(queue, {"items": items})
    api.fetch(queue)
    for number in range(500):
        api.post("/heartbeat", {"jobs": {job_id: {"progress": {"current": number, "total": 500}}}})
    page = show(job_id)
    expect(page.get_by_role("group", name="payload")).to_contain_text("4900 more")
    events = page.locator("section", has=page.get_by_role("heading", name="Events")).get_by_role("listitem")
    expect(events).to_have_count(3)
    button(page, "Show all progress").click()
    expect(events).to_have_count(40)
    button(page, "Show 462 earlier").click()
    expect(events).to_have_count(502)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_long_names_stay_within_a_phone(scheme: str, api: Api, queue: str, open_window: Callable[..., Page]) -> None:
    long_queue = f"{queue}." + "part." * 20
    job_id = api.enqueue(long_queue, {"x" * 300: "y" * 3000}, job_id=f"{scheme}-" + "i" * 120, max_retries=1)
    api.fetch(long_queue, worker_id="w" * 120, hostname="h" * 120)
    api.post(f"/fail/{job_id}", {"error": "e" * 2000, "backtrace": "b" * 2000})
    page = open_window(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.goto(f"{api.server.url}/ui/jobs/{job_id}")
    expect(fact(page, "State")).to_contain_text("dead")
    expect(page.get_by_role("group", name="Error of attempt 1")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in ("Retry", "Move", "Delete", "More"):
        expect(button(page, name)).to_be_in_viewport()
