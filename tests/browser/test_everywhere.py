"""What holds on every page: it fits a phone, is read in light and dark, needs no mouse, and outlives its server."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import barriers, dead_job
from tests.browser.proxy import below
from tests.conftest import Api, ServerProcess

LONG = "a-very-long-queue-name.for.the.billing.department.of.acme-corporation.nightly-runs"
PAGES = {
    "/": "Overview",
    "/queues": "Queues",
    f"/queues/{LONG}": LONG,
    "/jobs": "Jobs",
    "/jobs?payload=nowhere": "Jobs",
    "/jobs/{job}": "",
    "/dead": "Dead letters",
    "/held": "Held",
    "/schedules": "Schedules",
    "/workers": "Workers",
    "/webhooks": "Webhooks",
    "/settings": "Settings",
    "/nowhere": "Not found",
}


@pytest.fixture(scope="module")
def job(server: ServerProcess) -> str:
    """A job of a server on which something of everything is there."""
    api = Api(server)
    error = "SMTP timeout: " + "no-space-in-this-word-" * 12
    found = dead_job(api, LONG, {"to": "x" * 300, "n": 9007199254740993123}, error=error, tags={"tenant": "acme" * 20})
    for n in range(30):
        api.enqueue("emails.send", {"to": f"user{n}@example.com"}, tags={"shard": n % 3})
    held = api.enqueue(LONG, {"approve": "me"})
    api.post(f"/jobs/{held}/hold", {"reason": "somebody should look at this " * 5})
    api.fetch("emails.send", worker_id="worker-with-a-rather-long-name-1234567890", hostname="pod-xyz-1")
    api.post("/schedules", {"name": "nightly", "queue": LONG, "cron": "0 3 * * *", "timezone": "Europe/Paris"})
    api.post("/webhooks", {"url": f"http://127.0.0.1:9/{'long/' * 30}", "events": ["dead"]})
    return found


@pytest.fixture
def look(api: Api, job: str, open_window: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a page in a window of a kind, and waits until it shows what it has."""

    def show(path: str, **options: Any) -> Page:
        page = open_window(**options)
        page.goto(f"{api.server.url}/ui{path.format(job=job)}")
        expect(page.get_by_role("main").get_by_role("heading", level=1)).to_contain_text(PAGES[path] or job[-8:])
        expect(page.get_by_label("Loading")).to_have_count(0)
        expect(page.locator("[data-live=live]")).to_have_count(1)
        return page

    return show


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_everybody_can_read_every_page(look: Callable[..., Page], path: str, scheme: str) -> None:
    page = look(path, color_scheme=scheme, bypass_csp=True)
    expect(page.locator("html")).to_have_attribute("data-theme", scheme)
    assert barriers(page) == []


@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_a_phone(look: Callable[..., Page], path: str) -> None:
    page = look(path, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("innerWidth") == 390
    page.get_by_role("button", name="Open navigation").tap()
    drawer = page.get_by_role("dialog", name="Navigation")
    drawer.get_by_role("link", name="Workers").tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("Workers")
    expect(drawer).to_have_count(0)


def test_what_opens_on_a_phone_stays_on_its_screen(look: Callable[..., Page]) -> None:
    page = look("/jobs", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page.get_by_role("checkbox", name="Select job").first.tap()
    for button, role in (("Views", "dialog"), ("Columns", "dialog"), ("Export", "menu"), ("More actions", "menu")):
        page.get_by_role("button", name=button, exact=True).tap()
        opened = page.get_by_role(role, name=button)  # type: ignore[arg-type]
        expect(opened).to_be_visible()
        place = opened.bounding_box()
        assert place is not None
        assert place["x"] >= 0, button
        assert place["x"] + place["width"] <= 390, button
        page.keyboard.press("Escape")
        expect(opened).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "opener", ["Enqueue", "Search or run a command", "Keyboard shortcuts", "Views", "Columns", "Export"]
)
def test_what_opens_can_be_read_too(look: Callable[..., Page], opener: str, scheme: str) -> None:
    page = look("/jobs", color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")
    page.get_by_role("button", name=opener, exact=opener != "Search or run a command").first.click()
    expect(page.locator("dialog[open], [role=dialog], [role=menu]").first).to_be_visible()
    assert barriers(page) == []


def test_the_theme_is_chosen_and_kept(look: Callable[..., Page]) -> None:
    page = look("/queues", color_scheme="light")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("menuitem", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("menuitem", name="As the system").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_keys_lead_to_every_page(look: Callable[..., Page]) -> None:
    page = look("/settings")
    for keys, title in {
        "go": "Overview",
        "gq": "Queues",
        "gj": "Jobs",
        "gd": "Dead letters",
        "gh": "Held",
        "gs": "Schedules",
        "gw": "Workers",
        "gk": "Webhooks",
        "ge": "Settings",
    }.items():
        page.keyboard.type(keys)
        expect(page.get_by_role("heading", level=1)).to_contain_text(title)
    page.keyboard.press("?")
    shortcuts = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_contain_text("Select the row")
    page.keyboard.press("Escape")
    expect(shortcuts).to_have_count(0)


def test_a_job_is_added_found_and_deleted_without_a_mouse(api: Api, queue: str, visit: Callable[..., Page]) -> None:
    page = visit()
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog", name="Enqueue a job")
    expect(dialog.get_by_label("Queue")).to_be_focused()
    page.keyboard.type(queue)
    for _ in range(3):
        page.keyboard.press("Tab")
        if dialog.get_by_label("Payload").evaluate("field => field === document.activeElement"):
            break
    page.keyboard.press("Control+a")
    page.keyboard.type('{"by": "hand"}')
    while not dialog.get_by_role("button", name="Enqueue").evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    page.keyboard.type("gj")
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    page.keyboard.press("/")
    page.keyboard.type(f"queue:{queue}")
    page.keyboard.press("Enter")
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
    expect(rows).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("x")
    delete = page.get_by_role("region", name="Bulk actions").get_by_role("button", name="Delete")
    expect(delete).to_be_visible()
    while not delete.evaluate("one => one === document.activeElement"):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    submit = page.get_by_role("dialog").get_by_role("button", name="Delete 1 job")
    expect(submit).to_be_enabled()
    while not submit.evaluate("one => one === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No job matches")).to_be_visible()
    assert api.post("/jobs/search", {"queue": queue}).json()["total"] == 0


def test_a_dialog_keeps_the_focus_and_gives_it_back(look: Callable[..., Page]) -> None:
    page = look("/queues")
    opener = page.get_by_role("button", name="Keyboard shortcuts")
    opener.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    for _ in range(10):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()


@pytest.mark.complains("ERR_|status of 50|Failed to load resource: net|dynamically imported")
def test_a_page_outlives_its_server(
    start_server: Callable[..., ServerProcess], open_window: Callable[..., Page]
) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    api.enqueue("mails", {"n": 1})
    port = server.url.rpartition(":")[2]
    page = open_window()
    page.goto(f"{server.url}/ui/jobs?queue=mails")
    rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
    expect(rows).to_have_count(1)
    server.kill()
    expect(page.get_by_role("alert")).to_contain_text("Not live.")
    expect(rows).to_have_count(1)
    with page.expect_request("**/api/v1/changes*"):
        page.get_by_role("button", name="Try now").click()
    expect(page.get_by_role("alert")).to_contain_text("Not live.")
    # The last --bind counts: the same port again, as after an upgrade.
    server.flags = (*server.flags, "--bind", f"127.0.0.1:{port}")
    server.start()
    api.enqueue("mails", {"n": 2})
    expect(rows).to_have_count(2, timeout=60_000)
    expect(page.get_by_role("alert")).to_have_count(0)
    api.enqueue("mails", {"n": 3})
    expect(rows).to_have_count(3)


@pytest.mark.complains(
    "ERR_|Failed to load resource: net|dynamically imported|Failed to fetch dynamically|cannot be reached"
)
def test_a_page_that_was_never_opened_comes_when_the_server_is_back(
    start_server: Callable[..., ServerProcess], open_window: Callable[..., Page]
) -> None:
    server = start_server()
    port = server.url.rpartition(":")[2]
    page = open_window()
    page.goto(f"{server.url}/ui/jobs")
    expect(page.get_by_text("No jobs yet")).to_be_visible()
    server.kill()
    expect(page.get_by_role("alert")).to_contain_text("Not live.")
    page.get_by_role("link", name="Webhooks").click()
    expect(page.get_by_text("This page could not be shown")).to_be_visible()
    page.get_by_role("button", name="Load it again").click()
    expect(page.get_by_role("status").get_by_text("cannot be reached")).to_be_visible()
    server.flags = (*server.flags, "--bind", f"127.0.0.1:{port}")
    server.start()
    expect(page.get_by_role("heading", level=1)).to_have_text("Webhooks", timeout=60_000)


def test_below_a_path_everything_works(api: Api, queue: str, page: Page) -> None:
    job_id = api.enqueue(queue, {"n": 1})
    with below(api.server.url, "/ops/rookery") as url:
        page.goto(f"{url}/ui")
        page.wait_for_url(f"{url}/ui/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        expect(page.locator("[data-live=live]")).to_have_count(1)
        page.keyboard.type("gj")
        page.wait_for_url(f"{url}/ui/jobs")
        page.goto(f"{url}/ui/jobs?queue={queue}")
        expect(page.locator(f"[data-row={job_id}]")).to_be_visible()
        api.enqueue(queue, {"n": 2})
        expect(page.get_by_role("table", name="Jobs").locator("tbody tr")).to_have_count(2)
        page.locator(f"[data-row={job_id}]").get_by_role("link").first.click()
        page.wait_for_url(f"{url}/ui/jobs/{job_id}")
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_contain_text(job_id[-8:])
        page.goto(f"{url}/ui/queues/{queue}")
        page.get_by_role("main").get_by_role("button", name="Pause", exact=True).click()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        assert api.get(f"/queues/{queue}").json()["paused"] is True
        page.goto("about:blank")


@pytest.mark.complains("status of 401")
def test_a_server_with_keys_asks_for_one(start_server: Callable[..., ServerProcess], page: Page) -> None:
    server = start_server("--admin-password=let-me-in")
    page.goto(f"{server.url}/ui/jobs")
    page.get_by_label("API key or admin password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("The server says:")).to_be_visible()
    page.get_by_label("API key or admin password").fill("let-me-in")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("No jobs yet")).to_be_visible()
    expect(page.locator("[data-live=live]")).to_have_count(1)
    expect(page.get_by_role("group", name="command", exact=True)).to_contain_text("$ROOKERY_API_KEY")
    assert "let-me-in" not in page.content()
