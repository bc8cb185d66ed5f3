"""Held jobs in a real browser: why and since when, yes and no, to one and to many."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import Api, ServerProcess, wait_for


def hold(api: Api, queue: str, reason: str | None = None) -> str:
    job_id = api.enqueue(queue)
    assert api.post(f"/jobs/{job_id}/hold", {"reason": reason}).status_code == 200
    return job_id


@pytest.fixture
def show(api: Api, page: Page, queue: str) -> Callable[[], Page]:
    """Opens the page for the test's queue only."""

    def open_page() -> Page:
        page.goto(f"{api.server.url}/ui/held?queue={queue}")
        expect(page.get_by_role("heading", name="Held")).to_be_visible()
        return page

    return open_page


def row(page: Page, job_id: str) -> Any:
    return page.get_by_role("row").filter(has_text=job_id[-8:])


def state(api: Api, job_id: str) -> Any:
    return api.job(job_id)["state"]


def test_without_held_jobs_the_page_teaches(start_server: Callable[..., ServerProcess], page: Page) -> None:
    page.goto(f"{start_server().url}/ui/held")
    expect(page.get_by_text("No job waits for a person")).to_be_visible()
    expect(page.get_by_role("group", name="command")).to_contain_text("/hold")
    expect(page.get_by_role("button", name="Approve all")).to_be_disabled()


def test_reason_holder_and_time_are_shown(api: Api, queue: str, show: Callable[[], Page]) -> None:
    job = hold(api, queue, "check the amount")
    silent = hold(api, queue)
    page = show()
    expect(row(page, job)).to_contain_text("check the amount")
    expect(row(page, job)).to_contain_text("by hand")
    title = row(page, job).locator("time").get_attribute("title")
    assert title is not None
    assert [line[-3:] for line in title.split("\n")] == ["UTC", "UTC"]
    expect(row(page, silent)).to_contain_text("No reason was given")


def test_a_job_is_approved_and_can_be_held_again(api: Api, queue: str, show: Callable[[], Page]) -> None:
    job = hold(api, queue, "look")
    page = show()
    row(page, job).get_by_role("button", name="Approve").click()
    expect(page.get_by_text("is approved")).to_be_visible()
    expect(row(page, job)).to_have_count(0)
    assert state(api, job) == "pending"
    page.get_by_role("button", name="Hold again").click()
    expect(row(page, job)).to_contain_text("look")
    assert (state(api, job), api.job(job)["hold_reason"]) == ("held", "look")


def test_a_job_is_rejected_after_a_question(api: Api, queue: str, show: Callable[[], Page]) -> None:
    job = hold(api, queue, "look")
    page = show()
    row(page, job).get_by_role("button", name="Reject").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert state(api, job) == "held"
    row(page, job).get_by_role("button", name="Reject").click()
    page.get_by_role("dialog").get_by_role("button", name="Reject the job").click()
    expect(page.get_by_text(f"No held jobs in {queue}")).to_be_visible()
    assert state(api, job) == "dead"


def test_those_selected_are_approved_together(api: Api, queue: str, show: Callable[[], Page]) -> None:
    jobs = [hold(api, queue) for _ in range(3)]
    page = show()
    for job in jobs[:2]:
        page.get_by_role("checkbox", name=f"Select {job}").check()
    page.get_by_role("button", name="Approve 2", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Approve 2 jobs").click()
    expect(row(page, jobs[0])).to_have_count(0)
    assert [state(api, job) for job in jobs] == ["pending", "pending", "held"]


@pytest.mark.parametrize(("verb", "after"), [("Reject", "dead"), ("Approve", "pending")])
def test_all_are_decided_together(verb: str, after: str, api: Api, queue: str, show: Callable[[], Page]) -> None:
    jobs = [hold(api, queue) for _ in range(2)]
    elsewhere = hold(api, f"{queue}.other")
    page = show()
    page.get_by_role("button", name=f"{verb} all").click()
    page.get_by_role("dialog").get_by_role("button", name=f"{verb} 2 jobs").click()
    wait_for(lambda: [state(api, job) for job in jobs] == [after] * 2)
    assert state(api, elsewhere) == "held"


def test_a_job_that_is_held_appears_without_a_reload(api: Api, queue: str, show: Callable[[], Page]) -> None:
    api.enqueue(queue)
    page = show()
    expect(page.get_by_text(f"No held jobs in {queue}")).to_be_visible()
    expect(page.locator("[data-live=live]")).to_be_visible()
    job = hold(api, queue, "all of a sudden")
    expect(row(page, job)).to_contain_text("all of a sudden")
