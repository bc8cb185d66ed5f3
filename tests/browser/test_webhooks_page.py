"""Webhooks in a real browser: made, tested, looked at, changed, switched and deleted, with a real receiver."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import Api, ServerProcess, wait_for
from tests.receiver import Receiver, receiving


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def hook(api: Api, receiver: Receiver, queue: str) -> str:
    """A webhook for the test's queue."""
    body = {"url": receiver.url(f"/{queue}"), "queues": [queue], "secret": "hush"}
    return str(api.post("/webhooks", body).json()["id"])


@pytest.fixture
def show(api: Api, page: Page) -> Callable[[], Page]:
    def open_page() -> Page:
        page.goto(f"{api.server.url}/ui/webhooks")
        expect(page.get_by_role("heading", name="Webhooks")).to_be_visible()
        return page

    return open_page


def row(page: Page, queue: str) -> Any:
    return page.get_by_role("table", name="Webhooks").get_by_role("row").filter(has_text=f"/{queue}")


def menu(page: Page, queue: str, item: str) -> None:
    row(page, queue).get_by_role("button", name="More for").click()
    page.get_by_role("menuitem", name=item).click()


def look(api: Api, hook: str) -> dict[str, Any]:
    return dict(api.get(f"/webhooks/{hook}").json())


def test_without_webhooks_the_page_teaches(start_server: Callable[..., ServerProcess], page: Page) -> None:
    page.goto(f"{start_server().url}/ui/webhooks")
    expect(page.get_by_text("No webhooks yet")).to_be_visible()
    expect(page.get_by_role("group", name="command")).to_contain_text("/api/v1/webhooks")


def test_a_webhook_is_made_with_a_secret_that_is_not_shown_again(
    api: Api, receiver: Receiver, queue: str, show: Callable[[], Page]
) -> None:
    page = show()
    page.get_by_role("button", name="New webhook").click()
    dialog = page.get_by_role("dialog", name="New webhook")
    dialog.get_by_label("Address").fill("nonsense")
    dialog.get_by_label("Address").blur()
    expect(dialog.get_by_role("alert")).to_contain_text("https://")
    dialog.get_by_label("Address").fill(receiver.url(f"/{queue}"))
    dialog.get_by_label("failed", exact=True).check()
    dialog.get_by_label("Queues").fill(queue)
    dialog.get_by_role("button", name="Add").click()
    dialog.get_by_text("Sign deliveries").click()
    given = dialog.get_by_label("The secret", exact=True)
    secret = given.input_value()
    assert secret.startswith("whsec_")
    given.fill("")
    expect(dialog.get_by_role("button", name="Make the webhook")).to_be_disabled()
    dialog.get_by_role("button", name="Generate").click()
    assert given.input_value() not in ("", secret)
    secret = given.input_value()
    dialog.get_by_role("button", name="Make the webhook").click()
    expect(row(page, queue)).to_contain_text("signed")
    made = next(one for one in api.get("/webhooks").json() if one["url"].endswith(f"/{queue}"))
    assert (sorted(made["events"]), made["queues"]) == (["completed", "dead", "failed"], [queue])
    assert made["secret_set"] is True
    menu(page, queue, "Edit…")
    expect(page.get_by_role("radio", name="Keep it")).to_be_checked()
    assert secret not in page.content()


def test_a_test_shows_what_was_answered(receiver: Receiver, hook: str, queue: str, show: Callable[[], Page]) -> None:
    receiver.answers[f"/{queue}"] = b"<b>thanks</b>"
    page = show()
    row(page, queue).get_by_role("button", name="Send a test").click()
    dialog = page.get_by_role("dialog", name="Test the webhook")
    expect(dialog).to_contain_text("delivered")
    expect(dialog).to_contain_text("HTTP 200")
    expect(dialog).to_contain_text("<b>thanks</b>")
    receiver.statuses[f"/{queue}"] = 503
    dialog.get_by_role("button", name="Send again").click()
    expect(dialog).to_contain_text("HTTP 503")
    expect(dialog).to_contain_text("failed")
    assert [request.event["type"] for request in receiver.at(f"/{queue}")] == ["test", "test"]


def test_deliveries_are_shown_with_their_errors(
    api: Api, receiver: Receiver, hook: str, queue: str, show: Callable[[], Page]
) -> None:
    receiver.statuses[f"/{queue}"] = 500
    api.post("/webhooks", {"id": hook, "retry_limit": 1})
    api.enqueue(queue)
    page = show()
    row(page, queue).get_by_role("button", name=f"/{queue}", exact=False).first.click()
    expect(page).to_have_url(f"{api.server.url}/ui/webhooks?id={hook}")
    deliveries = page.get_by_role("table", name="Deliveries")
    expect(deliveries).to_contain_text("enqueued", timeout=15_000)
    expect(deliveries).to_contain_text("answered 500", timeout=15_000)
    receiver.statuses[f"/{queue}"] = 200
    api.enqueue(queue)
    expect(deliveries).to_contain_text("delivered", timeout=15_000)
    page.get_by_text("Failed", exact=True).click()
    expect(deliveries).not_to_contain_text("delivered")


def test_a_webhook_is_changed_and_its_secret_taken_away(
    api: Api, receiver: Receiver, hook: str, queue: str, show: Callable[[], Page]
) -> None:
    page = show()
    menu(page, queue, "Edit…")
    dialog = page.get_by_role("dialog", name="Edit webhook")
    dialog.get_by_label("Address").fill(receiver.url(f"/{queue}/new"))
    dialog.get_by_text("Some", exact=True).click()
    dialog.get_by_label("dead", exact=True).check()
    dialog.get_by_role("button", name=f"Remove {queue}").click()
    dialog.get_by_text("Remove it", exact=True).click()
    dialog.get_by_label("Attempts for each event").fill("9")
    dialog.get_by_role("button", name="Save").click()
    expect(row(page, queue)).to_contain_text("not signed")
    changed = look(api, hook)
    assert changed["url"].endswith("/new")
    assert (changed["events"], changed["queues"]) == (["dead"], [])
    assert (changed["secret_set"], changed["retry_limit"]) == (False, 9)


def test_a_webhook_is_disabled_and_enabled(api: Api, hook: str, queue: str, show: Callable[[], Page]) -> None:
    page = show()
    menu(page, queue, "Disable")
    expect(row(page, queue).get_by_text("disabled", exact=True)).to_be_visible()
    assert look(api, hook)["enabled"] is False
    menu(page, queue, "Enable")
    expect(row(page, queue).get_by_text("disabled", exact=True)).to_have_count(0)
    assert look(api, hook)["enabled"] is True


def test_a_webhook_is_deleted_after_a_question(api: Api, hook: str, queue: str, show: Callable[[], Page]) -> None:
    page = show()
    menu(page, queue, "Delete…")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert look(api, hook)["id"] == hook
    menu(page, queue, "Delete…")
    page.get_by_role("dialog").get_by_role("button", name="Delete the webhook").click()
    expect(row(page, queue)).to_have_count(0)
    wait_for(lambda: api.get(f"/webhooks/{hook}").status_code == 404)
