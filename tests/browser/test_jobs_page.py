"""All jobs in a real browser: finding them, keeping searches, and acting on one or on all that match."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import confirm, dead_job, toast
from tests.conftest import Api, ServerProcess, wait_for

BIG = 9007199254740993123
"""A number that JavaScript cannot hold."""


def rows(page: Page) -> Locator:
    return page.get_by_role("table", name="Jobs").locator("tbody tr")


def box(page: Page) -> Locator:
    return page.get_by_role("search", name="Search jobs").get_by_role("combobox")


def chip(page: Page, label: str) -> Locator:
    return page.get_by_role("button", name=f"Change {label}", exact=True)


def option(page: Page, label: str) -> Locator:
    return page.get_by_role("listbox").get_by_role("option").filter(has_text=label)


def address(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def bar(page: Page) -> Locator:
    return page.get_by_role("region", name="Bulk actions")


def states(api: Api, job_ids: list[str]) -> set[str]:
    return {api.job(job_id)["state"] for job_id in job_ids}


def test_a_store_without_jobs_shows_how_the_first_is_made(
    start_server: Callable[..., ServerProcess], page: Page
) -> None:
    server = start_server()
    page.goto(f"{server.url}/ui/jobs")
    expect(page.get_by_text("No jobs yet")).to_be_visible()
    expect(page.get_by_role("group", name="command", exact=True)).to_contain_text(f"curl {server.url}/api/v1/enqueue")
    page.goto(f"{server.url}/ui/jobs?state=dead")
    expect(page.get_by_text("No job matches")).to_be_visible()
    expect(page.get_by_text("No jobs yet")).to_have_count(0)


def test_a_search_that_finds_nothing_says_so_and_is_reset(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = visit("/jobs", queue=queue, payload="nowhere")
    expect(page.get_by_text("No job matches")).to_be_visible()
    page.get_by_role("button", name="Reset the search").click()
    expect(rows(page).first).to_be_visible()
    assert address(page) == {}


def test_a_queue_is_completed_as_one_types(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    job_id = api.enqueue(queue)
    page = visit("/jobs")
    page.keyboard.press("/")
    expect(box(page)).to_be_focused()
    page.keyboard.type(queue[:-1])
    expect(option(page, f"queue is {queue}")).to_be_visible()
    page.keyboard.press("Enter")
    expect(chip(page, f"queue is {queue}")).to_be_visible()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_have_attribute("data-row", job_id)
    assert address(page) == {"queue": [queue]}


def test_jobs_are_found_by_a_job_in_sight_that_they_depend_on(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    first = api.enqueue(queue)
    waiting = api.enqueue(f"{queue}.after", depends_on=[first])
    page = visit("/jobs", queue=queue)
    expect(rows(page)).to_have_count(1)
    box(page).press_sequentially("depends_on:")
    option(page, f"depends on {first}").click()
    expect(chip(page, f"depends on {first}")).to_be_visible()
    expect(page.get_by_text("No job matches")).to_be_visible()
    page.get_by_role("button", name=f"Remove queue is {queue}").click()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_have_attribute("data-row", waiting)
    assert address(page) == {"depends_on": [first]}


def test_a_field_is_chosen_from_the_list_and_then_its_value(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    api.enqueue(queue, {"n": 1}, tags={"tenant": "acme"})
    found = api.enqueue(queue, {"n": 2}, tags={"tenant": "globex", "size": 5})
    page = visit("/jobs", queue=queue)
    expect(rows(page)).to_have_count(2)
    box(page).click()
    option(page, "Tag").click()
    option(page, "tag size:=5").click()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_have_attribute("data-row", found)
    assert address(page)["tag"] == ["size:=5"]
    page.get_by_role("button", name="Remove tag size:=5").click()
    expect(rows(page)).to_have_count(2)


@pytest.mark.parametrize(
    ("typed", "chip_label", "param"),
    [
        ("payload:needle", "payload contains needle", ("payload", "needle")),
        ('jq:.kind == "needle"', 'jq .kind == "needle"', ("jq", '.kind == "needle"')),
        ("error:mailbox", "error contains mailbox", ("error", "mailbox")),
        ("errors:yes", "has errors", ("errors", "yes")),
        ("priority:high", "priority is high", ("priority", "high")),
        ("worker:w-needle", "worker is w-needle", ("worker", "w-needle")),
        ("unique:key-needle", "unique key is key-needle", ("unique", "key-needle")),
        ("attempt_min:1", "attempt at least 1", ("attempt_min", "1")),
        ("started_after:1h", "started after 1h ago", ("started_after", "1h")),
        ("error_matches:mailbox *", "last error is mailbox *", ("error_matches", "mailbox *")),
        ("state:dead", "state is dead", ("state", "dead")),
    ],
)
def test_every_kind_of_filter_finds_its_job(
    api: Api, queue: str, visit: Callable[..., Page], typed: str, chip_label: str, param: tuple[str, str]
) -> None:
    api.enqueue(queue, {"kind": "hay"})
    needle = api.enqueue(
        queue, {"kind": "needle"}, priority="high", max_retries=1, unique_key=f"key-needle-{queue}"[:10]
    )
    fetched = api.fetch(queue, worker_id="w-needle")
    assert fetched is not None
    assert fetched["job_id"] == needle
    api.post(f"/fail/{needle}", {"error": "mailbox full"})
    page = visit("/jobs", queue=queue)
    expect(rows(page)).to_have_count(2)
    box(page).press_sequentially(typed)
    page.keyboard.press("Enter")
    expect(chip(page, chip_label)).to_be_visible()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_have_attribute("data-row", needle)
    assert address(page)[param[0]] == [param[1]]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("created_after:1h", {"done", "due", "passing"}),
        ("created_before:1h", set()),
        ("started_before:2099-01-01", {"done"}),
        ("completed_after:15m", {"done"}),
        ("completed_before:15m", set()),
        ("scheduled_after:2090-01-01", {"due"}),
        ("scheduled_before:2090-01-01", set()),
        ("expire_after:2020-01-01", {"passing"}),
        ("expire_before:2020-01-01", set()),
        ("attempt_max:0", {"due", "passing"}),
        ("errors:no", {"done", "due", "passing"}),
    ],
)
def test_every_time_of_a_job_is_a_filter(
    api: Api, queue: str, visit: Callable[..., Page], typed: str, found: set[str]
) -> None:
    ids = {"done": api.enqueue(queue)}
    api.fetch(queue)
    api.post(f"/ack/{ids['done']}", {})
    ids["due"] = api.enqueue(queue, scheduled_at="2099-01-01T00:00:00Z")
    ids["passing"] = api.enqueue(queue, expire_after="1h")
    page = visit("/jobs", queue=queue)
    expect(rows(page)).to_have_count(3)
    box(page).press_sequentially(typed)
    page.keyboard.press("Enter")
    name, _, value = typed.partition(":")
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get(name) == [value])
    expect(page.get_by_role("button", name=re.compile("^Change "))).to_have_count(2)
    expect(page.get_by_role("status").filter(has_text="result")).to_contain_text(re.compile(rf"^{len(found)} result"))
    assert {row.get_attribute("data-row") for row in rows(page).all()} == {ids[one] for one in found}


def test_batches_chains_parents_and_ids_are_filters_too(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    batch = api.post("/enqueue/batch", {"jobs": [{"queue": queue}], "batch": {"callback_queue": "after"}}).json()
    other = api.enqueue(queue)
    page = visit("/jobs", queue=queue, batch=batch["batch_id"])
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_have_attribute("data-row", batch["job_ids"][0])
    page = visit("/jobs", id=other)
    expect(rows(page)).to_have_count(1)
    expect(chip(page, f"id begins with {other}")).to_be_visible()
    page = visit("/jobs", queue=queue, chain="chain_nobody")
    expect(page.get_by_text("No job matches")).to_be_visible()
    page = visit("/jobs", queue=queue, parent=other)
    expect(page.get_by_text("No job matches")).to_be_visible()


def test_a_time_is_picked_from_a_calendar(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = visit("/jobs", queue=queue)
    box(page).press_sequentially("created_after:")
    page.locator("input[type=datetime-local]").fill("2020-02-10T14:30")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(chip(page, "created after 2020-02-10 14:30")).to_be_visible()
    expect(rows(page)).to_have_count(1)
    assert address(page)["created_after"] == ["2020-02-10T14:30"]


def test_what_can_never_be_right_is_said_before_it_is_sent(queue: str, visit: Callable[..., Page]) -> None:
    page = visit("/jobs", queue=queue)
    box(page).press_sequentially("created_after:soon")
    expect(option(page, "Such as 1h, 2d")).to_be_visible()
    page.keyboard.press("Enter")
    expect(chip(page, "created after soon")).to_have_count(0)
    assert "created_after" not in address(page)


@pytest.mark.complains("status of 400")
def test_a_condition_that_the_server_refuses_is_marked_and_can_be_mended(
    api: Api, queue: str, visit: Callable[..., Page]
) -> None:
    api.enqueue(queue, {"a": 1})
    page = visit("/jobs", queue=queue)
    box(page).press_sequentially("jq:.a = 1")
    page.keyboard.press("Enter")
    fault = page.get_by_role("search").get_by_role("alert")
    refused = api.post("/jobs/search", {"payload_jq": ".a = 1"}).json()["error"]
    expect(fault).to_contain_text(refused.removeprefix("payload_jq: "))
    expect(box(page)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("The server does not understand this search")).to_be_visible()
    chip(page, "jq .a = 1").click()
    expect(box(page)).to_have_value(".a = 1")
    box(page).fill(".a == 1")
    page.keyboard.press("Enter")
    expect(fault).to_have_count(0)
    expect(rows(page)).to_have_count(1)


def test_several_states_are_chosen_and_their_counts_told(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    dead = [dead_job(api, queue) for _ in range(2)]
    held = api.enqueue(queue)
    api.post(f"/jobs/{held}/hold", {})
    api.enqueue(queue)
    page = visit("/jobs", queue=queue)
    row = page.get_by_role("group", name="States")
    expect(row.get_by_role("button", name="All")).to_have_text("All4")
    expect(row.get_by_role("button", name="dead")).to_have_text("dead2")
    row.get_by_role("button", name="dead").click()
    row.get_by_role("button", name="held").click()
    expect(rows(page)).to_have_count(3)
    assert address(page)["state"] == ["held", "dead"]
    assert {row.get_attribute("data-row") for row in rows(page).all()} == {*dead, held}
    row.get_by_role("button", name="dead").click()
    expect(rows(page)).to_have_count(1)
    row.get_by_role("button", name="All").click()
    expect(rows(page)).to_have_count(4)


def test_the_counts_are_those_of_the_search(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    dead_job(api, queue, {"to": "needle"})
    dead_job(api, queue, {"to": "hay"})
    api.enqueue(queue, {"to": "needle"})
    page = visit("/jobs", queue=queue, payload="needle")
    row = page.get_by_role("group", name="States")
    expect(row.get_by_role("button", name="All")).to_have_text("All2")
    expect(row.get_by_role("button", name="dead")).to_have_text("dead1")
    expect(row.get_by_role("button", name="held")).to_have_text("held0")


def test_the_address_brings_everything_back(api: Api, queue: str, visit: Callable[..., Page], page: Page) -> None:
    first = api.enqueue(queue, {"to": "needle"}, tags={"tenant": "acme"})
    second = api.enqueue(queue, {"to": "needle"}, tags={"tenant": "acme"})
    visit("/jobs", queue=queue, tag="tenant:acme", payload="needle", order="asc", columns="id,state,priority")
    expect(rows(page)).to_have_count(2)
    assert [row.get_attribute("data-row") for row in rows(page).all()] == [first, second]
    expect(page.get_by_role("columnheader")).to_have_count(4)
    chip(page, "payload contains needle").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove payload contains needle").click()
    expect(chip(page, "payload contains needle")).to_have_count(0)
    page.go_back()
    expect(chip(page, "payload contains needle")).to_be_visible()
    page.reload()
    expect(chip(page, "tag tenant:acme")).to_be_visible()
    expect(rows(page)).to_have_count(2)


def test_backspace_takes_the_last_filter_away(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    api.enqueue(queue, {"to": "a"})
    page = visit("/jobs", queue=queue, payload="nothing")
    expect(page.get_by_text("No job matches")).to_be_visible()
    box(page).press("Backspace")
    expect(rows(page)).to_have_count(1)
    assert address(page) == {"queue": [queue]}


def test_jobs_appear_and_change_by_themselves(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    first = api.enqueue(queue)
    page = visit("/jobs", queue=queue)
    expect(rows(page)).to_have_count(1)
    api.enqueue(queue)
    expect(rows(page)).to_have_count(2)
    api.post(f"/jobs/{first}/cancel")
    expect(page.locator(f"[data-row={first}]")).to_contain_text("cancelled")


def test_pages_follow_each_other_without_gap_or_repetition(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    jobs = [{"queue": queue, "payload": {"n": n}} for n in range(60)]
    ids = api.post("/enqueue/batch", {"jobs": jobs}).json()["job_ids"]
    page = visit("/jobs", queue=queue, size="25")
    pages = page.get_by_role("navigation", name="Pages of the list")
    expect(pages).to_contain_text("Page 1 of 3")
    seen: list[str | None] = []
    for number in (1, 2, 3):
        expect(pages).to_contain_text(f"Page {number} of 3")
        expect(rows(page)).to_have_count(25 if number < 3 else 10)
        seen += [row.get_attribute("data-row") for row in rows(page).all()]
        if number < 3:
            pages.get_by_role("button", name="Next").click()
    assert sorted(map(str, seen)) == sorted(ids)
    expect(pages.get_by_role("button", name="Next")).to_be_disabled()
    page.reload()
    expect(pages).to_contain_text("Page 3 of 3")
    page.go_back()
    expect(pages).to_contain_text("Page 2 of 3")
    pages.get_by_role("button", name="Previous").click()
    expect(pages).to_contain_text("Page 1 of 3")
    pages.get_by_label("Rows").select_option("100")
    expect(rows(page)).to_have_count(60)


def test_a_heading_sorts(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    low = api.enqueue(queue)
    high = api.enqueue(queue, priority="high")
    newest = api.enqueue(queue)
    page = visit("/jobs", queue=queue, columns="id,priority,created")
    expect(rows(page).first).to_have_attribute("data-row", newest)
    page.get_by_role("button", name="Created").click()
    expect(rows(page).first).to_have_attribute("data-row", low)
    expect(page.get_by_role("columnheader", name="Created")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("button", name="Priority").click()
    expect(rows(page).last).to_have_attribute("data-row", high)
    page.get_by_role("button", name="Priority").click()
    expect(rows(page).first).to_have_attribute("data-row", high)
    assert (address(page)["sort"], address(page)["order"]) == (["priority"], ["asc"])


def test_columns_are_chosen_and_remembered(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    dead_job(api, queue, error="mailbox full")
    page = visit("/jobs", queue=queue)
    expect(page.get_by_role("columnheader", name="Worker")).to_have_count(0)
    page.get_by_role("button", name="Columns", exact=True).click()
    page.get_by_role("checkbox", name="Worker").check()
    page.get_by_role("checkbox", name="Last error").check()
    page.get_by_role("checkbox", name="Tags").uncheck()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="Worker")).to_be_visible()
    expect(rows(page)).to_contain_text("mailbox full")
    expect(page.get_by_role("columnheader", name="Tags")).to_have_count(0)
    visit("/jobs", queue=queue)
    expect(page.get_by_role("columnheader", name="Worker")).to_be_visible()
    page.get_by_role("button", name="Columns", exact=True).click()
    page.get_by_role("button", name="The usual columns").click()
    expect(page.get_by_role("columnheader", name="Worker")).to_have_count(0)
    expect(page.get_by_role("columnheader", name="Tags")).to_be_visible()


def test_a_view_is_kept_changed_renamed_made_the_first_and_deleted(
    api: Api, queue: str, visit: Callable[..., Page]
) -> None:
    api.enqueue(queue, {"to": "a"})
    page = visit("/jobs", queue=queue, payload="a")
    views = page.get_by_role("dialog", name=re.compile("Views|Mails"))
    page.get_by_role("button", name="Views").click()
    page.get_by_label("Save this search as").fill("Mails")
    page.get_by_role("button", name="Save", exact=True).click()
    toast(page, "View “Mails” saved")
    expect(page.get_by_role("button", name="Mails")).to_be_visible()

    page.get_by_role("button", name="Remove payload contains a").click()
    page.get_by_role("button", name="Mails (changed)").click()
    page.get_by_role("button", name="Save changes to “Mails”").click()
    toast(page, "View “Mails” saved")

    visit("/jobs")
    page.get_by_role("button", name="Views").click()
    views.get_by_role("button", name="Open the page with Mails").click()
    views.get_by_role("button", name="Rename Mails").click()
    views.get_by_label("New name of Mails").fill("My mails")
    views.get_by_role("button", name="Rename", exact=True).click()
    expect(views.get_by_role("button", name="My mails", exact=True)).to_be_visible()
    expect(views.get_by_text("default")).to_be_visible()

    visit("/jobs")
    expect(chip(page, f"queue is {queue}")).to_be_visible()
    expect(chip(page, "payload contains a")).to_have_count(0)
    assert address(page) == {"queue": [queue], "view": ["My mails"]}

    page.get_by_role("button", name="My mails").click()
    page.get_by_role("button", name="All jobs").click()
    expect(chip(page, f"queue is {queue}")).to_have_count(0)
    page.get_by_role("button", name="Views").click()
    page.get_by_role("button", name="My mails", exact=True).click()
    expect(chip(page, f"queue is {queue}")).to_be_visible()
    page.get_by_role("button", name="My mails").click()
    page.get_by_role("button", name="Delete My mails").click()
    expect(page.get_by_text("View “My mails” deleted")).to_be_visible()
    assert page.evaluate("localStorage.getItem('rookery.views')") is None
    page.get_by_role("button", name="Undo").click()
    wait_for(lambda: page.evaluate("localStorage.getItem('rookery.views')") is not None)


def test_keys_move_select_and_open(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    older, newer = api.enqueue(queue), api.enqueue(queue)
    page = visit("/jobs", queue=queue)
    expect(rows(page)).to_have_count(2)
    page.keyboard.press("j")
    expect(rows(page).nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(rows(page).nth(1)).to_be_focused()
    page.keyboard.press("x")
    expect(bar(page)).to_contain_text("1 job selected")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(bar(page)).to_contain_text("2 jobs selected")
    page.keyboard.press("x")
    expect(bar(page)).to_contain_text("1 job selected")
    expect(page.get_by_role("checkbox", name=f"Select {older}")).to_be_checked()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/jobs/{newer}")


def test_a_row_leads_to_its_job_and_its_queue(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    job_id = api.enqueue(queue)
    page = visit("/jobs", queue=queue)
    rows(page).get_by_text("pending").click()
    page.wait_for_url(f"**/ui/jobs/{job_id}")
    page.go_back()
    rows(page).get_by_role("link", name=queue).click()
    page.wait_for_url(f"**/ui/queues/{queue}")


def test_selected_jobs_are_retried_after_a_look_at_them(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    dead = [dead_job(api, queue, {"n": BIG + n}) for n in range(3)]
    waiting = api.enqueue(queue)
    page = visit("/jobs", queue=queue)
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("checkbox", name=f"Select {dead[0]}").uncheck()
    expect(bar(page)).to_contain_text("3 jobs selected")
    bar(page).get_by_role("button", name="Retry").click()
    dialog = page.get_by_role("dialog", name="Bulk operation: Retry")
    expect(dialog).to_contain_text("This will retry 2 jobs that you have selected.")
    expect(dialog).to_contain_text("1 other job is left alone")
    expect(dialog).to_contain_text("This action cannot be undone.")
    expect(dialog).to_contain_text(str(BIG + 2))
    confirm(page, "Retry 2 jobs")
    toast(page, "2 jobs retried, 1 skipped.")
    assert [api.job(job_id)["state"] for job_id in (*dead, waiting)] == ["dead", "pending", "pending", "pending"]
    expect(bar(page)).to_have_count(0)


def test_all_that_match_are_retried_and_nothing_else(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    dead = [dead_job(api, queue, error="SMTP timeout") for _ in range(30)]
    other = dead_job(api, queue, error="mailbox full")
    page = visit("/jobs", queue=queue, error="SMTP", state="dead", size="25")
    page.get_by_role("checkbox", name="Select all on this page").check()
    expect(bar(page)).to_contain_text("25 jobs selected")
    bar(page).get_by_role("button", name="Select all 30 matching").click()
    expect(bar(page)).to_contain_text("All 30 matching jobs selected")
    bar(page).get_by_role("button", name="Retry").click()
    dialog = page.get_by_role("dialog", name="Bulk operation: Retry")
    expect(dialog).to_contain_text("This will retry 30 jobs matching:")
    expect(dialog).to_contain_text("error contains SMTP")
    expect(dialog).to_contain_text("Preview (first 5)")
    expect(dialog).to_contain_text("… and 25 more")
    confirm(page, "Retry 30 jobs")
    expect(page.get_by_text("No job matches")).to_be_visible()
    assert states(api, dead) == {"pending"}
    assert api.job(other)["state"] == "dead"


def act_on_all(page: Page, action: str) -> Locator:
    """Choose an action for all jobs that match, and wait for its question."""
    page.get_by_role("button", name=re.compile(r"Select all \d")).click()
    if action in ("Retry", "Delete"):
        bar(page).get_by_role("button", name=action).click()
    else:
        bar(page).get_by_role("button", name="More actions").click()
        page.get_by_role("menuitem", name=action, exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Preview")
    return dialog


def test_all_that_match_are_moved_to_another_queue(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    ids = [api.enqueue(queue, {"n": n}) for n in range(3)]
    page = visit("/jobs", queue=queue)
    dialog = act_on_all(page, "Move to queue…")
    expect(dialog.get_by_role("button", name="Move 3 jobs")).to_be_disabled()
    dialog.get_by_label("Target queue").fill(f"{queue}.new")
    expect(dialog).to_contain_text("A new queue will come into being")
    confirm(page, "Move 3 jobs")
    toast(page, "3 jobs moved.")
    assert {api.job(job_id)["queue"] for job_id in ids} == {f"{queue}.new"}


def test_all_that_match_get_another_priority(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    ids = [api.enqueue(queue) for _ in range(2)]
    page = visit("/jobs", queue=queue, columns="id,priority")
    act_on_all(page, "Change priority…").get_by_label("New priority").select_option("critical")
    confirm(page, "Change priority of 2 jobs")
    expect(rows(page).filter(has_text="critical")).to_have_count(2)
    assert {api.job(job_id)["priority_name"] for job_id in ids} == {"critical"}


@pytest.mark.parametrize(
    ("action", "verb", "before", "after"),
    [
        ("Cancel", "Cancel", "pending", "cancelled"),
        ("Hold", "Hold", "pending", "held"),
        ("Approve", "Approve", "held", "pending"),
        ("Reject", "Reject", "held", "dead"),
        ("Requeue, keep attempts", "Requeue", "dead", "pending"),
    ],
)
def test_every_action_is_done_to_all_that_match(
    api: Api, queue: str, visit: Callable[..., Page], action: str, verb: str, before: str, after: str
) -> None:
    ids = [dead_job(api, queue) if before == "dead" else api.enqueue(queue) for _ in range(2)]
    if before == "held":
        for job_id in ids:
            api.post(f"/jobs/{job_id}/hold", {})
    page = visit("/jobs", queue=queue)
    act_on_all(page, action)
    confirm(page, f"{verb} 2 jobs")
    wait_for(lambda: states(api, ids) == {after})
    expect(rows(page).filter(has_text=after)).to_have_count(2)


def test_jobs_are_deleted_only_when_that_is_confirmed(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    ids = [api.enqueue(queue) for _ in range(2)]
    page = visit("/jobs", queue=queue)
    act_on_all(page, "Delete").get_by_role("button", name="Cancel", exact=True).click()
    assert states(api, ids) == {"pending"}
    bar(page).get_by_role("button", name="Delete").click()
    confirm(page, "Delete 2 jobs")
    expect(page.get_by_text("No job matches")).to_be_visible()
    assert api.get(f"/jobs/{ids[0]}").status_code == 404


def test_an_action_that_fits_no_job_cannot_be_done(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = visit("/jobs", queue=queue)
    page.get_by_role("button", name="Select all 1").click()
    bar(page).get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Approve").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("None of these jobs can be approved: that is for jobs that are held.")
    expect(dialog.get_by_role("button", name="Approve")).to_be_disabled()


def many(api: Api, queue: str, count: int) -> None:
    for start in range(0, count, 1000):
        jobs: list[dict[str, Any]] = [
            {"queue": queue, "payload": {"n": BIG + n}} for n in range(start, min(count, start + 1000))
        ]
        assert api.post("/enqueue/batch", {"jobs": jobs}).status_code in (200, 201)


def test_a_long_operation_shows_how_far_it_is_and_can_be_left_alone(
    api: Api, queue: str, visit: Callable[..., Page]
) -> None:
    many(api, queue, 4000)
    page = visit("/jobs", queue=queue)
    act_on_all(page, "Cancel")
    with api.server.frozen():
        page.get_by_role("dialog").get_by_role("button", name="Cancel 4,000 jobs").click()
    expect(page.get_by_role("dialog")).to_have_count(1)
    dialog = page.get_by_role("dialog", name="Bulk operation: Cancel")
    for word in ("Elapsed", "Remaining", "Rate", "/ 4,000 jobs"):
        expect(dialog).to_contain_text(word)
    expect(dialog.get_by_role("progressbar")).to_have_attribute("aria-valuemax", "4000")
    expect(dialog).to_contain_text("Done: 4,000 jobs changed.")
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert api.post("/jobs/search", {"queue": queue, "state": ["cancelled"]}).json()["total"] == 4000


def test_a_long_operation_is_cancelled_on_the_way(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    many(api, queue, 20_000)
    page = visit("/jobs", queue=queue)
    act_on_all(page, "Cancel")
    page.get_by_role("dialog").get_by_role("button", name="Cancel 20,000 jobs").click()
    stop = page.get_by_role("button", name="Cancel operation")
    stop.wait_for()
    with api.server.frozen():
        stop.click()
    expect(page.get_by_role("dialog")).to_contain_text("Cancelled. What was done so far stays done.")
    done = api.post("/jobs/search", {"queue": queue, "state": ["cancelled"]}).json()["total"]
    assert done < 20_000


def test_a_long_operation_tells_its_speed_and_the_time_it_still_needs(
    api: Api, queue: str, visit: Callable[..., Page]
) -> None:
    many(api, queue, 20_000)
    page = visit("/jobs", queue=queue)
    act_on_all(page, "Move to queue…").get_by_label("Target queue").fill(f"{queue}.v2")
    page.get_by_role("dialog").get_by_role("button", name="Move 20,000 jobs").click()
    dialog = page.get_by_role("dialog", name=f"Bulk operation: Move to {queue}.v2")
    expect(dialog.get_by_role("definition")).to_have_text(
        [re.compile(r"^\d.*s$"), re.compile(r"^~[\d.]+(ms|s)$"), re.compile(r"^[\d,]+/s$")]
    )
    expect(dialog).to_contain_text("Done: 20,000 jobs changed.")
    assert api.get(f"/queues/{queue}.v2").json()["pending"] == 20_000


def hardly_retried(api: Api, queue: str, name: str, count: int) -> list[str]:
    """So many jobs that can be retried, and before them 103 that a retry of all spares; the ids of these."""
    spared = [f"{name}-{n}" for n in range(103)]
    jobs = [{"id": id, "queue": queue, "state": "dead", "internal": {"by_result": True}} for id in spared]
    assert api.post("/admin/restore", {"jobs": jobs}).json()["restored_jobs"] == 103
    for start in range(0, count, 5000):
        later = [{"queue": queue, "scheduled_at": "2099-01-01T00:00:00Z"}] * min(5000, count - start)
        assert api.post("/enqueue/batch", {"jobs": later}).status_code == 201
    return spared


def test_jobs_that_a_long_operation_could_not_change_are_listed_in_the_end(
    api: Api, queue: str, visit: Callable[..., Page]
) -> None:
    spared = hardly_retried(api, queue, "listed", 1000)
    page = visit("/jobs", queue=queue)
    act_on_all(page, "Retry")
    page.get_by_role("dialog").get_by_role("button", name="Retry 1,103 jobs").click()
    dialog = page.get_by_role("dialog", name="Bulk operation: Retry")
    expect(dialog).to_contain_text("Done: 1,000 jobs changed.")
    expect(dialog).not_to_contain_text("will be listed")
    listed = dialog.get_by_role("region", name="Errors")
    expect(listed).to_contain_text("Errors: 103")
    expect(listed).to_contain_text("… and 3 more")
    expect(listed.get_by_role("link")).to_have_text(spared[:100])
    first = listed.get_by_role("listitem").first
    expect(first).to_contain_text("it failed by its result: it is run again only by its id")
    first.get_by_role("link").click()
    page.wait_for_url(f"**/ui/jobs/{spared[0]}")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_long_operation_counts_its_errors_on_the_way_and_lists_them_also_if_it_was_left_alone(
    api: Api, queue: str, visit: Callable[..., Page]
) -> None:
    hardly_retried(api, queue, "counted", 40_000)
    page = visit("/jobs", queue=queue)
    act_on_all(page, "Retry")
    page.get_by_role("dialog").get_by_role("button", name="Retry 40,103 jobs").click()
    dialog = page.get_by_role("dialog", name="Bulk operation: Retry")
    dialog.get_by_text("Errors: 103 (will be listed when complete)").wait_for()
    page.get_by_role("button", name="Go on in the background").click()
    expect(page.get_by_text("Retry: 40,000 jobs changed, 103 errors.")).to_be_visible(timeout=60_000)
    page.get_by_role("status").get_by_role("button", name="Show").click()
    expect(dialog.get_by_role("region", name="Errors").get_by_role("listitem")).to_have_count(100)


def test_a_long_operation_that_changed_all_lists_nothing(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    many(api, queue, 1001)
    page = visit("/jobs", queue=queue)
    act_on_all(page, "Cancel")
    page.get_by_role("dialog").get_by_role("button", name="Cancel 1,001 jobs").click()
    dialog = page.get_by_role("dialog", name="Bulk operation: Cancel")
    expect(dialog).to_contain_text("Done: 1,001 jobs changed.")
    expect(dialog).not_to_contain_text("Errors")


@pytest.mark.complains("ERR_|status of 50|Failed to load resource: net|dynamically imported")
def test_an_operation_outlives_its_server_and_is_still_in_sight(
    start_server: Callable[..., ServerProcess], page: Page
) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    many(api, "mails", 20_000)
    page.goto(f"{server.url}/ui/jobs?queue=mails")
    act_on_all(page, "Cancel")
    with server.frozen():
        page.get_by_role("dialog").get_by_role("button", name="Cancel 20,000 jobs").click()
    page.get_by_role("button", name="Go on in the background").click()
    expect(page.get_by_role("progressbar", name="Progress of Cancel")).to_be_visible()
    server.kill()
    expect(page.get_by_role("alert")).to_contain_text("Not live.")
    with page.expect_event("requestfailed", lambda request: "/bulk/" in request.url):
        pass
    with page.expect_event("requestfailed", lambda request: "/bulk/" in request.url):
        pass
    with page.expect_event("requestfailed", lambda request: "/bulk/" in request.url):
        pass
    server.flags = (*server.flags, "--bind", server.url.removeprefix("http://"))
    server.start()
    expect(page.get_by_text("Cancel: 20,000 jobs changed.")).to_be_visible(timeout=60_000)
    assert api.post("/jobs/search", {"queue": "mails", "state": ["cancelled"]}).json()["total"] == 20_000


def test_an_operation_in_the_background_stays_in_sight(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    many(api, queue, 20_000)
    page = visit("/jobs", queue=queue)
    act_on_all(page, "Cancel")
    page.get_by_role("dialog").get_by_role("button", name="Cancel 20,000 jobs").click()
    page.get_by_role("button", name="Go on in the background").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("Cancel: 20,000 jobs changed.")).to_be_visible()
    expect(page.get_by_role("group", name="States").get_by_role("button", name="cancelled")).to_contain_text("20k")


def test_all_that_match_are_exported_with_every_digit(
    api: Api, queue: str, visit: Callable[..., Page], tmp_path: Path
) -> None:
    many(api, queue, 2500)
    page = visit("/jobs", queue=queue)
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export as NDJSON").click()
    assert re.fullmatch(r"jobs-[\d-]+\.ndjson", download.value.suggested_filename)
    expect(page.get_by_role("dialog")).to_contain_text("2,500 jobs saved as jobs-")
    file = tmp_path / "jobs.ndjson"
    download.value.save_as(file)
    jobs = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(job["payload"]["n"] for job in jobs) == [BIG + n for n in range(2500)]
    assert {job["queue"] for job in jobs} == {queue}


def test_an_export_is_cancelled(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    many(api, queue, 3000)
    page = visit("/jobs", queue=queue)
    downloads: list[Any] = []
    page.on("download", lambda download: downloads.append(download))
    page.get_by_role("button", name="Export", exact=True).click()
    with api.server.frozen():
        page.get_by_role("menuitem", name="Export as NDJSON").click()
        expect(page.get_by_role("dialog").get_by_role("progressbar", name="Exported")).to_be_visible()
        page.get_by_role("button", name="Cancel export").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
    expect(rows(page).first).to_be_visible()
    assert downloads == []


def test_the_search_is_copied_as_a_command_that_works(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    job_id = api.enqueue(queue, {"to": "it's"})
    page = visit("/jobs", queue=queue, payload="it's")
    page.get_by_role("button", name="Export", exact=True).click()
    page.get_by_role("menuitem", name="Copy as curl").click()
    toast(page, "curl command copied")
    command = page.evaluate("navigator.clipboard.readText()")
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=30)
    assert [job["id"] for job in json.loads(done.stdout)["jobs"]] == [job_id]


def test_the_search_is_copied_as_python_that_works(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    job_id = api.enqueue(queue, {"to": 'say "hi"'}, tags={"on": True})
    page = visit("/jobs", queue=queue, tag="on:=true", created_after="1h", state="pending")
    page.get_by_role("button", name="Export", exact=True).click()
    page.get_by_role("menuitem", name="Copy as Python").click()
    toast(page, "Python code copied")
    code = page.evaluate("navigator.clipboard.readText()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == [job_id, queue, "pending"]


def test_nothing_in_a_payload_becomes_part_of_the_page(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    api.enqueue(queue, {"a": evil}, tags={"t": evil})
    dead_job(api, f"{queue}.dead", {"a": evil}, error=evil)
    page = visit("/jobs", payload="onerror=alert")
    expect(rows(page).first).to_contain_text("<img src=x")
    assert page.locator("main img, main script").count() == 0
