"""What pages are told as it happens: until when they are right, when they rest, and with whose key they ask."""

import os
import re
import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from tests.browser.conftest import dead_job, press
from tests.browser.proxy import REFUSAL, below
from tests.conftest import Api, ServerProcess

PASSWORD = "let-me-in"
HIDE = """(isHidden) => {
  const say = (name, value) => Object.defineProperty(document, name, { configurable: true, get: () => value });
  say("hidden", isHidden);
  say("visibilityState", isHidden ? "hidden" : "visible");
  document.dispatchEvent(new Event("visibilitychange"));
}"""
LISTEN = """(path) => new Promise((resolve, reject) => {
  const source = new EventSource(path);
  source.onopen = () => { source.close(); resolve("open"); };
  source.onerror = () => { source.close(); reject(new Error("refused")); };
})"""


def is_live(page: Page, state: str = "live") -> None:
    expect(page.locator(f"[data-live={state}]")).to_have_count(1)


def pending(page: Page) -> Locator:
    counts = page.get_by_role("navigation", name="Jobs of this queue by state")
    return counts.get_by_role("link", name="pending")


@pytest.fixture
def show(api: Api, queue: str, page: Page) -> Callable[..., Page]:
    """Opens the page of the test's queue, which has a job, with a clock that the test can move on."""

    def open_page() -> Page:
        api.enqueue(queue)
        page.clock.install()
        page.goto(f"{api.server.url}/ui/queues/{queue}")
        expect(pending(page)).to_have_text("pending1")
        is_live(page)
        return page

    return open_page


def test_a_hidden_window_asks_nothing_and_catches_up_when_it_is_seen(
    api: Api, queue: str, show: Callable[..., Page]
) -> None:
    page = show()
    page.evaluate(HIDE, True)
    with page.expect_event("requestfailed", lambda request: "/changes" in request.url):
        page.clock.fast_forward(6_000)
    is_live(page, "paused")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    api.enqueue(queue)
    page.clock.fast_forward(120_000)
    expect(pending(page)).to_have_text("pending1")
    assert asked == []
    page.evaluate(HIDE, False)
    is_live(page)
    expect(pending(page)).to_have_text("pending2")
    api.enqueue(queue)
    expect(pending(page)).to_have_text("pending3")


def test_a_window_that_is_hidden_for_a_moment_stays_connected(api: Api, queue: str, show: Callable[..., Page]) -> None:
    page = show()
    opened: list[str] = []
    page.on("request", lambda request: opened.append(request.url) if "/changes" in request.url else None)
    page.evaluate(HIDE, True)
    page.clock.fast_forward(3_000)
    page.evaluate(HIDE, False)
    page.clock.fast_forward(6_000)
    api.enqueue(queue)
    expect(pending(page)).to_have_text("pending2")
    is_live(page)
    assert opened == []


def test_a_server_that_falls_silent_is_told_from_one_with_nothing_to_say(
    api: Api, queue: str, show: Callable[..., Page]
) -> None:
    page = show()
    with api.server.frozen():
        page.clock.fast_forward(25_000)
        expect(page.get_by_role("alert")).to_contain_text("Not live.")
        is_live(page, "stale")
        expect(pending(page)).to_have_text("pending1")
    page.clock.fast_forward(30_000)
    is_live(page)
    expect(page.get_by_role("alert")).to_have_count(0)
    api.enqueue(queue)
    expect(pending(page)).to_have_text("pending2")


@pytest.mark.complains("ERR_|Failed to load resource: net|dynamically imported")
def test_what_is_shown_does_not_get_newer_by_trying_in_vain(
    start_server: Callable[..., ServerProcess], page: Page
) -> None:
    server = start_server()
    Api(server).enqueue("mails")
    page.clock.install()
    page.goto(f"{server.url}/ui/queues/mails")
    is_live(page)
    server.kill()
    banner = page.get_by_role("alert").filter(has_text="Not live.")
    said = re.search(r"as of [\d:]{8}", banner.inner_text())
    assert said is not None
    for _ in range(3):
        with page.expect_event("requestfailed", lambda request: "/changes" in request.url):
            page.clock.fast_forward(30_000)
        is_live(page, "stale")
    expect(banner).to_contain_text(said[0])


def test_a_log_goes_on_after_the_server_was_started_again(
    start_server: Callable[..., ServerProcess], open_window: Callable[..., Page], request: pytest.FixtureRequest
) -> None:
    request.node.add_marker(
        pytest.mark.complains("ERR_|status of 50|Failed to load resource: net|dynamically imported")
    )
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    job_id = api.enqueue("mails")
    api.fetch("mails")
    api.post(f"/jobs/{job_id}/logs", {"lines": [{"message": "before"}]})
    page = open_window()
    page.goto(f"{server.url}/ui/jobs/{job_id}")
    log = page.get_by_role("log")
    expect(log).to_contain_text("before")
    server.kill()
    expect(page.get_by_role("alert")).to_contain_text("Not live.")
    server.flags = (*server.flags, "--bind", server.url.removeprefix("http://"))
    server.start()
    api.post(f"/jobs/{job_id}/logs", {"lines": [{"message": "after"}]})
    expect(log.get_by_text("after")).to_be_visible(timeout=60_000)
    expect(log.get_by_text("before")).to_have_count(1)


@pytest.fixture
def guarded(start_server: Callable[..., ServerProcess]) -> Api:
    """A server that wants a password, and a way in."""
    server = start_server(f"--admin-password={PASSWORD}", "--rate-limit-enabled=false")
    server.http.headers["X-API-Key"] = PASSWORD
    return Api(server)


@pytest.mark.complains("status of 401")
def test_a_key_goes_with_every_call_in_a_header_and_nowhere_else(guarded: Api, page: Page) -> None:
    job_id = guarded.enqueue("mails")
    guarded.fetch("mails")
    guarded.post(f"/jobs/{job_id}/logs", {"lines": [{"message": "at work"}]})
    page.goto(f"{guarded.server.url}/ui/jobs/{job_id}")
    page.get_by_label("API key or admin password").fill(PASSWORD)
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    page.get_by_role("button", name="Sign in").click()
    is_live(page)
    expect(page.get_by_role("log")).to_contain_text("at work")
    streams = [request for request in asked if request.url.endswith(("/changes?every=1s", "/logs/stream?after=0"))]
    assert len(streams) >= 2
    assert {request.headers.get("x-api-key") for request in asked} == {PASSWORD}
    assert not any(PASSWORD in request.url for request in asked)
    assert page.context.cookies() == []


@pytest.mark.complains("status of 401")
def test_commands_that_are_taught_work_where_one_is_and_with_the_key(guarded: Api, page: Page) -> None:
    with below(guarded.server.url, "/ops") as url:
        page.goto(f"{url}/ui/dead")
        page.get_by_label("API key or admin password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        for keys in ("go", "gj", "gd", "gh", "gs", "gk", "gw"):
            page.keyboard.type(keys)
            command = page.get_by_role("group", name=re.compile("^(fetch )?command$"))
            expect(command).to_contain_text(f"curl {url}/api/v1/")
            expect(command).to_contain_text("$ROOKERY_API_KEY")
        for path in ("dead", "schedules"):
            page.goto(f"{url}/ui/{path}")
            line = page.get_by_role("group", name="command").inner_text()
            environment = {**os.environ, "ROOKERY_API_KEY": PASSWORD}
            subprocess.run(["bash", "-c", line], check=True, timeout=30, capture_output=True, env=environment)
        page.goto("about:blank")
    assert guarded.get("/queues/emails.send").json()["pending"] == 1
    assert [one["name"] for one in guarded.get("/schedules").json()] == ["nightly-report"]


@pytest.mark.parametrize("name", ["rookery_api_key", "corvo_api_key"])
def test_a_cookie_with_the_key_opens_pages_and_streams(guarded: Api, page: Page, name: str) -> None:
    page.context.add_cookies([{"name": name, "value": PASSWORD, "url": guarded.server.url, "sameSite": "Strict"}])
    guarded.enqueue("mails")
    page.goto(f"{guarded.server.url}/ui/queues/mails")
    expect(pending(page)).to_have_text("pending1")
    is_live(page)
    guarded.enqueue("mails")
    expect(pending(page)).to_have_text("pending2")
    page.get_by_role("main").get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("paused")
    assert guarded.get("/queues/mails").json()["paused"] is True
    for stream in ("events", "changes?every=1s"):
        assert page.evaluate(LISTEN, f"{guarded.server.url}/api/v1/{stream}") == "open"


@pytest.mark.complains("status of 401|ERR_|Failed to load resource: net|dynamically imported")
def test_a_key_that_is_taken_back_is_asked_for_again(guarded: Api, page: Page) -> None:
    guarded.enqueue("mails")
    page.goto(f"{guarded.server.url}/ui/queues/mails")
    page.get_by_label("API key or admin password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    is_live(page)
    guarded.server.kill()
    address = guarded.server.url.removeprefix("http://")
    guarded.server.flags = ("--admin-password=another", "--bind", address)
    guarded.server.start()
    expect(page.get_by_role("heading", name="Sign in to Rookery")).to_be_visible(timeout=60_000)
    page.get_by_label("API key or admin password").fill("another")
    page.get_by_role("button", name="Sign in").click()
    expect(pending(page)).to_have_text("pending1")
    is_live(page)


@pytest.mark.complains("status of 403")
def test_a_key_that_may_only_read_shows_everything_and_is_told_no_in_words(api: Api, queue: str, page: Page) -> None:
    dead = dead_job(api, queue)
    held = api.enqueue(queue)
    api.post(f"/jobs/{held}/hold", {})
    schedule = api.post("/schedules", {"name": queue, "queue": queue, "cron": "0 3 * * *"}).json()
    hook = api.post("/webhooks", {"url": f"http://127.0.0.1:9/{queue}", "queues": [queue]}).json()["id"]
    before = (api.job(dead), api.get(f"/queues/{queue}").json(), api.get(f"/schedules/{schedule['id']}").json())

    def refused(*names: str) -> None:
        """Press the buttons; what comes of it is what the server says."""
        press(page, *names)
        if page.get_by_role("dialog").count():
            expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(REFUSAL)
            page.keyboard.press("Escape")
            expect(page.get_by_role("dialog")).to_have_count(0)
        else:
            expect(page.get_by_role("status").get_by_text(REFUSAL).first).to_be_visible()
            while page.get_by_role("button", name="Dismiss").count():
                page.get_by_role("button", name="Dismiss").first.click()

    with below(api.server.url, "/read", is_read_only=True) as url:
        page.goto(f"{url}/ui/queues/{queue}")
        is_live(page)
        refused("Pause")
        refused("Clear", "Clear the queue")
        refused("Drain", "Drain the queue")
        refused("Change concurrency", "Save")
        page.goto(f"{url}/ui/jobs/{dead}")
        refused("Retry")
        refused("Delete", "Delete the job")
        page.goto(f"{url}/ui/jobs?queue={queue}&state=dead")
        refused("Select all", "Retry", "Retry 1 job")
        page.goto(f"{url}/ui/held?queue={queue}")
        refused("Approve (?!all).+")
        page.goto(f"{url}/ui/schedules")
        refused("Run now")
        refused("Pause")
        refused("More for", "Delete", "Delete the schedule")
        page.goto(f"{url}/ui/webhooks")
        refused("More for", "Disable")
        page.keyboard.press("e")
        page.get_by_role("dialog").get_by_label("Queue").fill(queue)
        page.get_by_role("dialog").get_by_label("Payload").fill("{}")
        refused("Enqueue")
        is_live(page)
        page.goto("about:blank")
    after = (api.job(dead), api.get(f"/queues/{queue}").json(), api.get(f"/schedules/{schedule['id']}").json())
    assert after == before
    assert api.job(held)["state"] == "held"
    assert api.get(f"/webhooks/{hook}").json()["enabled"] is True
