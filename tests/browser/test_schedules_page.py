"""Schedules in a real browser: made, looked at, changed, paused, run and deleted."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import Api, ServerProcess, wait_for


def make(api: Api, name: str, **fields: Any) -> dict[str, Any]:
    body = {"name": name, "queue": name, "cron": "30 2 * * *", "timezone": "Asia/Tokyo", **fields}
    answer = api.post("/schedules", body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def look(api: Api, schedule: dict[str, Any]) -> dict[str, Any]:
    return dict(api.get(f"/schedules/{schedule['id']}").json())


@pytest.fixture
def show(api: Api, page: Page) -> Callable[[], Page]:
    def open_page() -> Page:
        page.goto(f"{api.server.url}/ui/schedules")
        expect(page.get_by_role("heading", name="Schedules")).to_be_visible()
        return page

    return open_page


def row(page: Page, name: str) -> Any:
    return page.get_by_role("row").filter(has=page.get_by_role("button", name=name, exact=True))


def test_without_schedules_the_page_teaches(start_server: Callable[..., ServerProcess], page: Page) -> None:
    page.goto(f"{start_server().url}/ui/schedules")
    expect(page.get_by_text("No schedules yet")).to_be_visible()
    expect(page.get_by_role("group", name="command")).to_contain_text("/api/v1/schedules")
    page.get_by_role("button", name="Make one here").click()
    expect(page.get_by_role("dialog", name="New schedule")).to_be_visible()


def test_fire_times_are_shown_in_the_zone_and_in_utc(api: Api, queue: str, show: Callable[[], Page]) -> None:
    make(api, queue)
    page = show()
    expect(row(page, queue)).to_contain_text("every day at 02:30")
    expect(row(page, queue)).to_contain_text("02:30 GMT+9")
    expect(row(page, queue)).to_contain_text("17:30 UTC")
    row(page, queue).get_by_role("button", name=queue, exact=True).click()
    times = page.get_by_role("dialog", name=queue).get_by_role("table", name="Next fire times")
    expect(times.get_by_role("row")).to_have_count(6)
    expect(times).to_contain_text("17:30 UTC")


@pytest.mark.complains("status of 400")
def test_a_schedule_is_made_with_a_look_at_its_times(api: Api, queue: str, show: Callable[[], Page]) -> None:
    page = show()
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog", name="New schedule")
    dialog.get_by_label("Name").fill(queue)
    dialog.get_by_label("Queue").fill(f"{queue}.jobs")
    dialog.get_by_label("Cron line").fill("61 * * * *")
    expect(dialog.get_by_role("alert")).to_contain_text("61")
    expect(dialog.get_by_role("button", name="Make the schedule")).to_be_disabled()
    dialog.get_by_label("Cron line").fill("0 9 * * mon-fri")
    dialog.get_by_label("Time zone").fill("Mars/Base")
    expect(dialog.get_by_role("alert")).to_contain_text("Mars/Base")
    dialog.get_by_label("Time zone").fill("Europe/Berlin")
    expect(dialog.get_by_role("table", name="Next fire times").get_by_role("row")).to_have_count(6)
    dialog.get_by_label("If the last job has not ended").select_option("skip")
    dialog.get_by_label("For runs missed").select_option("all")
    dialog.get_by_label("Attempts at most").fill("7")
    dialog.get_by_label("Payload of each job").fill('{"n": 9007199254740993123}')
    dialog.get_by_role("button", name="Make the schedule").click()
    expect(row(page, queue)).to_contain_text("Monday to Friday at 09:00")
    made = next(one for one in api.get("/schedules").json() if one["name"] == queue)
    assert (made["cron"], made["timezone"], made["queue"]) == ("0 9 * * mon-fri", "Europe/Berlin", f"{queue}.jobs")
    assert (made["overlap"], made["missed"], made["max_retries"]) == ("skip", "all", 7)
    assert made["payload"] == {"n": 9007199254740993123}


@pytest.mark.complains("status of 409")
def test_a_name_that_is_taken_is_refused_in_the_dialog(api: Api, queue: str, show: Callable[[], Page]) -> None:
    make(api, queue)
    page = show()
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog", name="New schedule")
    dialog.get_by_label("Name").fill(queue)
    dialog.get_by_label("Queue").fill("q")
    dialog.get_by_role("button", name="Make the schedule").click()
    expect(dialog.get_by_role("alert")).to_contain_text(queue)


def test_a_schedule_is_changed(api: Api, queue: str, show: Callable[[], Page]) -> None:
    schedule = make(api, queue, payload={"n": 9007199254740993123}, unique_key="k")
    page = show()
    row(page, queue).get_by_role("button", name="More for").click()
    page.get_by_role("menuitem", name="Edit…").click()
    dialog = page.get_by_role("dialog", name=f"Edit {queue}")
    dialog.get_by_role("button", name="Hourly").click()
    dialog.get_by_label("Unique key").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(row(page, queue)).to_contain_text("every hour")
    changed = look(api, schedule)
    assert (changed["cron"], changed["unique_key"]) == ("@hourly", None)
    assert changed["payload"] == {"n": 9007199254740993123}


def test_a_schedule_is_paused_and_resumed(api: Api, queue: str, show: Callable[[], Page]) -> None:
    schedule = make(api, queue)
    page = show()
    row(page, queue).get_by_role("button", name=f"Pause {queue}").click()
    expect(row(page, queue)).to_contain_text("when resumed")
    assert look(api, schedule)["enabled"] is False
    row(page, queue).get_by_role("button", name=f"Resume {queue}").click()
    expect(row(page, queue)).not_to_contain_text("when resumed")
    assert look(api, schedule)["enabled"] is True


def test_a_schedule_is_run_now(api: Api, queue: str, show: Callable[[], Page]) -> None:
    make(api, queue)
    page = show()
    row(page, queue).get_by_role("button", name=f"Run now: {queue}").click()
    page.get_by_role("status").get_by_role("button", name="Open").click()
    page.wait_for_url("**/ui/jobs/job_*")
    job = api.job(page.url.rpartition("/")[2])
    assert (job["queue"], job["state"]) == (queue, "pending")


def test_a_schedule_is_deleted_after_a_question(api: Api, queue: str, show: Callable[[], Page]) -> None:
    schedule = make(api, queue)
    page = show()
    row(page, queue).get_by_role("button", name="More for").click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert look(api, schedule)["name"] == queue
    row(page, queue).get_by_role("button", name="More for").click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the schedule").click()
    expect(row(page, queue)).to_have_count(0)
    wait_for(lambda: api.get(f"/schedules/{schedule['id']}").status_code == 404)


def test_a_copy_is_made(api: Api, queue: str, show: Callable[[], Page]) -> None:
    make(api, queue)
    page = show()
    row(page, queue).get_by_role("button", name="More for").click()
    page.get_by_role("menuitem", name="Make a copy…").click()
    page.get_by_role("dialog").get_by_role("button", name="Make the schedule").click()
    expect(row(page, f"{queue}-copy")).to_be_visible()
