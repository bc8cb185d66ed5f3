"""Whole tasks without a mouse: every press of a key goes to whatever has the focus."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import dead_job
from tests.conftest import Api, wait_for

MANY = 80
"""More presses of Tab than any page needs."""


def tab_to(page: Page, target: Locator, key: str = "Tab") -> None:
    """Press Tab until the target has the focus, and find that one sees it there."""
    expect(target).to_be_visible()
    expect(target).to_be_enabled()
    for _ in range(MANY):
        if target.evaluate("one => one === document.activeElement"):
            break
        page.keyboard.press(key)
    expect(target).to_be_focused()
    expect(target).to_be_in_viewport()


def enter(page: Page, target: Locator) -> None:
    tab_to(page, target)
    page.keyboard.press("Enter")


def test_all_that_match_are_retried_by_keys_alone(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    dead = [dead_job(api, queue, error="SMTP timeout") for _ in range(30)]
    other = dead_job(api, queue, error="mailbox full")
    page = visit()
    page.keyboard.type("gj")
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    page.keyboard.press("/")
    for condition in (f"queue:{queue}", "state:dead", "error:SMTP"):
        page.keyboard.type(condition)
        page.keyboard.press("Enter")
        expect(page.get_by_role("search").get_by_role("combobox")).to_have_value("")
    expect(page.get_by_role("status").filter(has_text="30 results")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    enter(page, page.get_by_role("button", name="Select all 30"))
    bar = page.get_by_role("region", name="Bulk actions")
    expect(bar).to_contain_text("All 30 matching jobs selected")
    retry = bar.get_by_role("button", name="Retry")
    enter(page, retry)
    dialog = page.get_by_role("dialog", name="Bulk operation: Retry")
    expect(dialog).to_contain_text("This will retry 30 jobs")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(retry).to_be_focused()
    page.keyboard.press("Enter")
    enter(page, dialog.get_by_role("button", name="Retry 30 jobs"))
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("status").get_by_text("30 jobs retried.")).to_be_visible()
    expect(page.get_by_text("No job matches")).to_be_visible()
    assert {api.job(job_id)["state"] for job_id in dead} == {"pending"}
    assert api.job(other)["state"] == "dead"


def test_a_job_with_tags_is_added_by_keys_alone(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    page = visit("/settings")
    page.keyboard.press("Control+k")
    page.keyboard.type("enqueue a")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Enqueue a job")
    expect(dialog.get_by_label("Queue")).to_be_focused()
    page.keyboard.type(queue)
    tab_to(page, dialog.get_by_label("Priority"))
    page.keyboard.type("High")
    tab_to(page, dialog.get_by_label("Payload"))
    page.keyboard.press("Control+a")
    page.keyboard.type('{"n": 9007199254740993123')
    expect(dialog.get_by_role("alert")).to_be_visible()
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    page.keyboard.type("}")
    expect(dialog.get_by_role("alert")).to_have_count(0)
    more = dialog.locator("summary")
    tab_to(page, more)
    page.keyboard.press("Enter")
    tab_to(page, dialog.get_by_label("Attempts at most"))
    page.keyboard.type("7")
    tab_to(page, dialog.get_by_label("Tags"))
    page.keyboard.type('{"tenant": "acme"}')
    enter(page, dialog.get_by_role("button", name="Enqueue"))
    expect(dialog).to_have_count(0)
    enter(page, page.get_by_role("status").get_by_role("button", name="Open"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("job_")
    page.wait_for_url("**/ui/jobs/job_*")
    job = api.job(page.url.rpartition("/")[2])
    assert (job["queue"], job["payload"], job["tags"]) == (queue, {"n": 9007199254740993123}, {"tenant": "acme"})
    assert (job["priority_name"], job["max_retries"]) == ("high", 7)


def test_a_menu_is_opened_walked_and_left_by_keys(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    job_id = api.enqueue(queue)
    page = visit("/jobs", queue=queue)
    expect(page.locator(f"[data-row={job_id}]")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("x")
    more = page.get_by_role("region", name="Bulk actions").get_by_role("button", name="More actions")
    tab_to(page, more, "Shift+Tab")
    page.keyboard.press("Enter")
    menu = page.get_by_role("menu", name="More actions")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(menu.get_by_role("menuitem").last).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(more).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("menuitem", name="Change priority")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Bulk operation: Change priority")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(more).to_be_focused()


def test_an_example_is_retried_and_a_queue_paused_and_opened_by_keys(
    api: Api, queue: str, visit: Callable[..., Page]
) -> None:
    job_id = dead_job(api, queue)
    page = visit("/dead", queue=queue)
    group = page.get_by_role("list", name="Errors").get_by_role("listitem")
    expect(group).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    examples = page.get_by_role("table", name="The newest jobs with this error")
    enter(page, examples.get_by_role("button", name="Retry"))
    wait_for(lambda: api.job(job_id)["state"] == "pending")
    page.keyboard.type("gq")
    expect(page.get_by_role("heading", level=1)).to_have_text("Queues")
    page.keyboard.press("/")
    page.keyboard.type(queue)
    row = page.locator(f'[data-row="{queue}"]')
    expect(page.get_by_role("table", name="Queues").locator("tbody tr")).to_have_count(1)
    enter(page, row.get_by_role("button", name=f"Pause {queue}"))
    expect(row.get_by_role("button", name=f"Resume {queue}")).to_be_visible()
    assert api.get(f"/queues/{queue}").json()["paused"] is True
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/queues/{queue}")


def test_the_first_tab_skips_the_navigation(visit: Callable[..., Page]) -> None:
    page = visit("/settings")
    page.keyboard.press("Tab")
    skip = page.get_by_role("button", name="Skip to the page")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
