"""Nothing that others wrote becomes part of the page, and no page asks or obeys anybody but its server.

Every text that users, workers and receivers can choose holds HTML here. The browser tells of every breach of the
policy, so a handler that it kept from running is found too.
"""

from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import dead_job, press
from tests.conftest import Api, ServerProcess
from tests.receiver import receiving

EVIL = "<img src=x onerror=harm()></script><script>harm()</script><b class=evil>"
LINK = "javascript:harm()"
QUEUE = f"q/{EVIL}?a=1#b%20"
WATCH = """
  window.harmed = [];
  window.harm = () => harmed.push("a script of somebody else ran");
  addEventListener("securitypolicyviolation", (event) => harmed.push(`${event.violatedDirective} ${event.blockedURI}`));
"""
STRANGE = """() => [
  ...document.querySelectorAll("body img, body script:not([src]), iframe, object, embed, .evil, [onerror], [onclick]"),
  ...[...document.querySelectorAll("[href], [src], [action]")].filter((one) =>
    ["href", "src", "action"].some((name) => /^\\s*(javascript|data|vbscript):/i.test(one.getAttribute(name) ?? ""))
    && one.getAttribute("rel") !== "icon"),
].map((one) => one.outerHTML.slice(0, 200))"""

Jobs = dict[str, str]


@pytest.fixture(scope="module")
def jobs(server: ServerProcess) -> Iterator[Jobs]:
    """A server on which nothing has a harmless name; its jobs by their state."""
    api = Api(server)
    fields = {"tags": {EVIL: EVIL, "link": LINK}, "unique_key": EVIL}
    dead = dead_job(api, QUEUE, {EVIL: EVIL, "link": LINK}, error=f"{EVIL} {LINK}", **fields)
    held = api.enqueue(QUEUE, EVIL)
    api.post(f"/jobs/{held}/hold", {"reason": EVIL})
    steps = [{"queue": QUEUE, "payload": EVIL}, {"queue": f"{EVIL}2"}]
    active = api.enqueue(QUEUE, [EVIL], chain={"steps": steps}, max_retries=5, retry_backoff="none")
    assert api.fetch(QUEUE, worker_id=EVIL, hostname=LINK)
    api.post(f"/fail/{active}", {"error": EVIL, "backtrace": f"{EVIL}\n{LINK}"})
    assert api.fetch(QUEUE, worker_id=EVIL, hostname=LINK)
    progress = {"current": 1, "total": 2, "message": EVIL}
    api.post("/heartbeat", {"jobs": {active: {"progress": progress, "checkpoint": {EVIL: LINK}}}})
    api.post(f"/jobs/{active}/logs", {"lines": [{"message": EVIL, "level": EVIL[:20]}, {"message": LINK}]})
    done = api.enqueue(f"{QUEUE}.done", EVIL)
    assert api.fetch(f"{QUEUE}.done", worker_id=LINK)
    api.post(f"/ack/{done}", {"result": {EVIL: LINK}})
    waiting = api.enqueue(f"{QUEUE}.wait", EVIL, depends_on=[active])
    body = {"name": EVIL, "queue": QUEUE, "cron": "0 3 * * *", "payload": EVIL, "unique_key": EVIL}
    assert api.post("/schedules", body).status_code == 201
    with receiving() as receiver:
        path = f"/evil?{quote(EVIL)}&{LINK}&onerror=harm()"
        receiver.answers[path] = EVIL.encode()
        hook = {"url": receiver.url(path), "events": ["*"], "queues": [QUEUE]}
        answer = api.post("/webhooks", hook)
        assert answer.status_code == 200, answer.text
        yield {"dead": dead, "held": held, "active": active, "done": done, "waiting": waiting, **answer.json()}


@pytest.fixture
def look(server: ServerProcess, jobs: Jobs, open_window: Callable[..., Page]) -> Iterator[Callable[[str], Page]]:
    """Opens a page and watches it; at the end nothing may have happened."""
    page = open_window(reduced_motion="reduce")
    page.add_init_script(WATCH)
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(request.url))

    def show(path: str) -> Page:
        page.goto(f"{server.url}/ui{path.format(queue=quote(QUEUE, safe=''), **jobs)}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("[data-live=live]")).to_have_count(1)
        expect(page.get_by_label("Loading")).to_have_count(0)
        check(page)
        return page

    yield show
    check(page)
    assert {url for url in asked if not url.startswith(f"{server.url}/")} == set()


def check(page: Page) -> None:
    assert page.evaluate("window.harmed") == []
    assert page.evaluate(STRANGE) == []


PAGES = {
    "/": 3,
    "/queues": 1,
    "/queues/{queue}": 4,
    "/jobs": 4,
    f"/jobs?payload={quote(EVIL)}&error={quote(EVIL)}&worker={quote(EVIL)}&view={quote(EVIL)}": 3,
    "/jobs/{dead}": 5,
    "/jobs/{active}": 8,
    "/jobs/{active}?data=checkpoint": 8,
    "/jobs/{active}?data=tags": 4,
    "/jobs/{done}?data=result": 2,
    "/jobs/{waiting}": 2,
    f"/jobs/{quote(EVIL, safe='')}": 1,
    "/dead": 2,
    f"/dead?tab=jobs&queue={quote(EVIL)}": 1,
    "/held": 3,
    "/schedules": 2,
    "/workers": 1,
    "/webhooks": 1,
    "/webhooks?id={id}": 1,
    "/settings": 0,
    f"/{quote(EVIL, safe='')}": 0,
}
"""Every page, and how often at the least it says what somebody else wrote."""


@pytest.mark.complains("status of 404")
@pytest.mark.parametrize("path", PAGES)
def test_what_others_wrote_is_text_on_every_page(look: Callable[[str], Page], path: str) -> None:
    page = look(path)
    if PAGES[path]:
        expect(page.get_by_role("main")).to_contain_text("onerror=harm()")
        said = page.get_by_role("main").inner_text().count("onerror=harm()")
        assert said >= PAGES[path]


DIALOGS = {
    "/": [["Enqueue"], ["Theme"], ["Keyboard shortcuts"], ["Search or run a command"]],
    "/queues/{queue}": [
        ["Enqueue"],
        ["Clear"],
        ["Drain"],
        ["Change concurrency"],
        ["Change rate limit"],
        ["More", "Concurrency"],
        ["More", "Rate limit"],
        ["More", "Delete queue"],
        ["Select all", "Retry"],
    ],
    "/jobs": [
        ["Views"],
        ["Columns"],
        ["Export"],
        *(["Select all", name] for name in ("Retry", "Delete", "More actions")),
        *(
            ["Select all", "More actions", name]
            for name in ("Move to queue", "Change priority", "Cancel", "Hold", "Approve", "Reject", "Requeue")
        ),
    ],
    "/jobs/{dead}": [["Move"], ["Delete"], ["More"], ["More", "Clone and edit"]],
    "/jobs/{active}": [["Cancel"], ["Hold"], ["Delete"]],
    "/jobs/{held}": [["Reject"], ["Move"]],
    "/jobs/{done}": [["Retry"]],
    "/dead": [["Retry all"], ["Delete all"], ["Retry all jobs"], ["Delete all jobs"]],
    "/held": [["Approve all"], ["Reject all"], ["Reject (?!all).+"]],
    "/schedules": [
        ["New schedule"],
        [".img src.x"],
        ["More for"],
        ["More for", "Edit"],
        ["More for", "Make a copy"],
        ["More for", "Delete"],
    ],
    "/webhooks": [["New webhook"], ["Send a test"], ["More for"], ["More for", "Edit"], ["More for", "Delete"]],
    "/settings": [["Use a key"]],
}
"""What is pressed on a page, one after the other, until something is open."""


@pytest.mark.parametrize("path", DIALOGS)
def test_what_others_wrote_is_text_in_every_dialog(look: Callable[[str], Page], path: str) -> None:
    page = look(path)
    for names in DIALOGS[path]:
        press(page, *names)
        opened = page.locator("dialog[open], [role=dialog], [role=menu]").last
        expect(opened, " > ".join(names)).to_be_visible()
        expect(opened.locator(".skeleton")).to_have_count(0)
        check(page)
        page.keyboard.press("Escape")
        expect(opened, " > ".join(names)).to_have_count(0)
        if names[0] == "Select all":
            page.get_by_role("region", name="Bulk actions").get_by_role("button", name="Clear").click()


def test_what_is_typed_and_kept_is_text_too(look: Callable[[str], Page]) -> None:
    page = look(f"/jobs?payload={quote(EVIL)}")
    page.get_by_role("button", name="Views").click()
    page.get_by_label("Save this search as").fill(EVIL[:60])
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("status").get_by_text(f"View “{EVIL[:60]}” saved")).to_be_visible()
    check(page)
    page.keyboard.press("Control+k")
    page.keyboard.type(EVIL[:30])
    expect(page.get_by_role("listbox", name="Results")).to_contain_text(f"payload contains “{EVIL[:30]}”")
    check(page)
    page.keyboard.press("Escape")
    page.get_by_role("search").get_by_role("combobox").press_sequentially("queue:")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_contain_text(EVIL)
    check(page)


def test_what_a_receiver_answers_is_text_too(look: Callable[[str], Page]) -> None:
    page = look("/webhooks?id={id}")
    page.get_by_role("button", name="Send a test").first.click()
    dialog = page.get_by_role("dialog", name="Test the webhook")
    expect(dialog).to_contain_text(EVIL)
    check(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("table", name="Deliveries")).to_contain_text(EVIL)


@pytest.mark.complains("Content Security Policy")
def test_a_breach_would_be_seen(look: Callable[[str], Page]) -> None:
    """What the other tests watch for is there once it is made on purpose, and the policy keeps it from doing harm."""
    page = look("/settings")
    page.evaluate("(html) => document.body.insertAdjacentHTML('beforeend', html)", EVIL)
    page.wait_for_function("window.harmed.length > 0")
    assert page.evaluate("window.harmed") == ["script-src-attr inline"]
    assert len(page.evaluate(STRANGE)) >= 2
    page.goto("about:blank")
    page.evaluate("window.harmed = []")
