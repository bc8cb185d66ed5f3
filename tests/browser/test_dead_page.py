"""Dead letters in a real browser: groups by error, examples, retrying and deleting, one by one and together."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.api.expectations import start_job
from tests.conftest import Api, ServerProcess, wait_for


def bury(api: Api, queue: str, error: str, **fields: Any) -> str:
    """A job whose only attempt fails with this error."""
    job_id = str(start_job(api, queue, {"n": 9007199254740993123}, max_retries=1, **fields)["job_id"])
    assert api.post(f"/fail/{job_id}", {"error": error}).json()["status"] == "dead"
    return job_id


@pytest.fixture
def show(api: Api, page: Page, queue: str) -> Callable[..., Page]:
    """Opens the page for the test's queue only."""

    def open_page(**params: str) -> Page:
        query = "&".join(f"{name}={value}" for name, value in {"queue": queue, **params}.items())
        page.goto(f"{api.server.url}/ui/dead?{query}")
        expect(page.get_by_role("heading", name="Dead letters")).to_be_visible()
        return page

    return open_page


def group(page: Page, error: str) -> Any:
    return page.get_by_role("list", name="Errors").get_by_role("listitem").filter(has_text=error)


def confirm(page: Page, label: str) -> None:
    page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def state(api: Api, job_id: str) -> Any:
    return api.job(job_id)["state"]


def test_without_dead_jobs_the_page_teaches(start_server: Callable[..., ServerProcess], page: Page) -> None:
    page.goto(f"{start_server().url}/ui/dead")
    expect(page.get_by_text("No dead jobs")).to_be_visible()
    expect(page.get_by_role("group", name="command")).to_contain_text("max_retries")
    expect(page.get_by_role("button", name="Retry all")).to_be_disabled()


def test_errors_of_one_kind_are_a_group_with_count_queues_and_examples(
    api: Api, queue: str, show: Callable[..., Page]
) -> None:
    jobs = [bury(api, queue, f"timeout after {n} ms\n  at line 3") for n in (10, 20)]
    bury(api, queue, "mailbox full")
    page = show()
    expect(group(page, "timeout after 20 ms").get_by_role("button", expanded=False)).to_contain_text("2")
    expect(group(page, "mailbox full")).to_contain_text(queue)
    group(page, "timeout after").get_by_role("button", expanded=False).click()
    expect(group(page, "timeout after")).to_contain_text("at line 3")
    examples = page.get_by_role("table", name="The newest jobs with this error")
    expect(examples.get_by_role("row")).to_have_count(3)
    expect(examples).to_contain_text("9007199254740993123")
    page.reload()
    expect(examples.get_by_role("row")).to_have_count(3)
    examples.get_by_role("link", name=jobs[1][-8:]).click()
    expect(page).to_have_url(f"{api.server.url}/ui/jobs/{jobs[1]}")


def test_a_group_is_retried_after_a_question_and_the_others_stay(
    api: Api, queue: str, show: Callable[..., Page]
) -> None:
    mine = [bury(api, queue, f"timeout {n}") for n in range(3)]
    other = bury(api, queue, "timeout")
    page = show()
    group(page, "timeout 2").get_by_role("button", name="Retry all jobs").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This will retry 3 jobs")
    expect(dialog).to_contain_text("timeout *")
    expect(dialog.get_by_role("listitem").filter(has_text="job_")).to_have_count(3)
    dialog.get_by_role("button", name="Cancel").click()
    assert [state(api, job) for job in mine] == ["dead"] * 3
    group(page, "timeout 2").get_by_role("button", name="Retry all jobs").click()
    confirm(page, "Retry 3 jobs")
    expect(page.get_by_text("3 jobs retried")).to_be_visible()
    expect(group(page, "timeout")).to_have_count(1)
    assert [state(api, job) for job in [*mine, other]] == ["pending"] * 3 + ["dead"]


def test_a_group_is_deleted(api: Api, queue: str, show: Callable[..., Page]) -> None:
    job = bury(api, queue, "boom 1")
    page = show()
    group(page, "boom").get_by_role("button", name="Delete all jobs").click()
    confirm(page, "Delete 1 job")
    expect(page.get_by_text(f"No dead jobs in {queue}")).to_be_visible()
    assert api.get(f"/jobs/{job}").status_code == 404


def test_jobs_that_died_without_a_word_are_retried_alone(api: Api, queue: str, show: Callable[..., Page]) -> None:
    silent, loud = bury(api, queue, ""), bury(api, queue, "boom")
    page = show()
    group(page, "No error was given").get_by_role("button", name="Retry all jobs").click()
    confirm(page, "Retry 1 job")
    wait_for(lambda: state(api, silent) == "pending")
    assert state(api, loud) == "dead"


def test_one_example_is_retried_at_once(api: Api, queue: str, show: Callable[..., Page]) -> None:
    job = bury(api, queue, "boom")
    page = show()
    group(page, "boom").get_by_role("button", expanded=False).click()
    page.get_by_role("table").get_by_role("button", name="Retry").click()
    expect(page.get_by_text("is tried again")).to_be_visible()
    assert state(api, job) == "pending"


def test_all_are_retried(api: Api, queue: str, show: Callable[..., Page]) -> None:
    jobs = [bury(api, queue, error) for error in ("this", "that")]
    page = show()
    page.get_by_role("button", name="Retry all", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text(f"queue is {queue}")
    confirm(page, "Retry 2 jobs")
    wait_for(lambda: [state(api, job) for job in jobs] == ["pending"] * 2)


def test_all_of_a_queue_are_deleted_and_no_others(api: Api, queue: str, show: Callable[..., Page]) -> None:
    jobs = [bury(api, queue, error) for error in ("this", "that")]
    other = bury(api, f"{queue}.other", "this")
    page = show()
    page.get_by_role("button", name="Delete all", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("This action cannot be undone.")
    confirm(page, "Delete 2 jobs")
    expect(page.get_by_text(f"No dead jobs in {queue}")).to_be_visible()
    assert [api.get(f"/jobs/{job}").status_code for job in jobs] == [404, 404]
    assert state(api, other) == "dead"


def test_the_list_shows_every_job_and_acts_on_those_selected(api: Api, queue: str, show: Callable[..., Page]) -> None:
    one, two = bury(api, queue, "this"), bury(api, queue, "that")
    page = show()
    page.get_by_role("tab", name="All jobs").click()
    expect(page).to_have_url(f"{api.server.url}/ui/dead?queue={queue}&tab=jobs")
    expect(page.get_by_role("row")).to_have_count(3)
    page.get_by_role("checkbox", name=f"Select {one}").check()
    page.get_by_role("region", name="Bulk actions").get_by_role("button", name="Delete").click()
    confirm(page, "Delete 1 job")
    expect(page.get_by_role("row")).to_have_count(2)
    assert api.get(f"/jobs/{one}").status_code == 404
    assert state(api, two) == "dead"


def test_a_job_that_dies_appears_without_a_reload(api: Api, queue: str, show: Callable[..., Page]) -> None:
    api.enqueue(queue)
    page = show()
    expect(page.get_by_text(f"No dead jobs in {queue}")).to_be_visible()
    expect(page.locator("[data-live=live]")).to_be_visible()
    bury(api, f"{queue}.other", "elsewhere")
    job = start_job(api, f"{queue}.x", max_retries=1)
    api.post(f"/fail/{job['job_id']}", {"error": "elsewhere too"})
    claimed = api.fetch(queue)
    assert claimed is not None
    api.post(f"/fail/{claimed['job_id']}", {"error": "live and dead", "end": "dead"})
    expect(group(page, "live and dead")).to_be_visible()


def test_groups_are_opened_by_keys(api: Api, queue: str, show: Callable[..., Page]) -> None:
    bury(api, queue, "boom")
    page = show()
    expect(group(page, "boom")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="The newest jobs with this error")).to_be_visible()


def test_it_fits_a_phone(api: Api, queue: str, open_window: Callable[..., Page]) -> None:
    bury(api, queue, "psycopg.errors.UniqueViolation: " + "a_very_long_name_" * 12)
    page = open_window(viewport={"width": 390, "height": 844})
    page.goto(f"{api.server.url}/ui/dead?queue={queue}")
    group(page, "psycopg").get_by_role("button", expanded=False).click()
    expect(page.get_by_role("table")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
