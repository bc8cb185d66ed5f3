"""How it looks where one seldom is: on a new server, at the door, in every dialog; to a finger, zoomed, on paper."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import barriers, dead_job
from tests.conftest import Api, ServerProcess

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PLACES = {
    "": "Overview",
    "queues": "Queues",
    "jobs": "Jobs",
    "dead": "Dead letters",
    "held": "Held",
    "schedules": "Schedules",
    "workers": "Workers",
    "webhooks": "Webhooks",
    "settings": "Settings",
}
JOB_DIALOGS = ("Move", "Delete")
QUEUE_DIALOGS = ("Clear", "Drain")
QUEUE_MENU = ("Concurrency…", "Rate limit…", "Delete queue…")
FINGER = 44
NOT_MEANT = ".link, thead *, td button:not([class*=border]), [role=group] [aria-expanded]"
"""Words in a text, headings that a phone does not show, and the lines of a JSON tree."""
TOO_SMALL = f"""() => [...document.querySelectorAll("button, select, [role=tab], nav a, .field")]
  .filter((one) => one.checkVisibility() && !one.matches("{NOT_MEANT}"))
  .map((one) => [one, one.getBoundingClientRect(), parseFloat(getComputedStyle(one, "::after").inset) || 0])
  .filter(([, box, more]) => box.width > 1 && box.height - 2 * more < {FINGER})
  .map(([one, box]) => `${{box.height}} px: ${{one.outerHTML.slice(0, 120)}}`)"""


@pytest.fixture(scope="module")
def job(server: ServerProcess) -> str:
    """A dead job of a server that has one of everything."""
    api = Api(server)
    for n in range(3):
        api.enqueue(
            "emails", {"n": n}, tags={"tenant": "globex", "region": "eu-central-1-and-a-long-tail", "plan": "x"}
        )
    held = api.enqueue("emails", {"approve": "me"})
    api.post(f"/jobs/{held}/hold", {"reason": "look at it"})
    api.post("/schedules", {"name": "nightly", "queue": "emails", "cron": "0 3 * * *"})
    api.post("/webhooks", {"url": "http://127.0.0.1:9/hook", "events": ["approved"]})
    return dead_job(api, "broken", {"to": "nobody"})


@pytest.fixture
def at(api: Api, job: str, open_window: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a window at an address, and waits until it shows what it has."""

    def go(path: str, url: str = "", **options: Any) -> Page:
        page = open_window(reduced_motion="reduce", bypass_csp=True, **options)
        page.goto(f"{url or api.server.url}/ui/{path.format(job=job)}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_label("Loading")).to_have_count(0)
        return page

    return go


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_new_server_can_be_read(
    start_server: Callable[..., ServerProcess], at: Callable[..., Page], scheme: str
) -> None:
    page = at("", start_server().url, color_scheme=scheme)
    for path, title in PLACES.items():
        page.get_by_role("navigation", name="Pages").get_by_role("link", name=title).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        expect(page.get_by_label("Loading")).to_have_count(0)
        expect(page).to_have_title(f"{title} · Rookery")
        assert barriers(page) == [], path


@pytest.mark.complains("status of 401")
@pytest.mark.parametrize("look", [{"color_scheme": "light"}, {"color_scheme": "dark"}, PHONE])
def test_the_door_can_be_read(
    start_server: Callable[..., ServerProcess], at: Callable[..., Page], look: dict[str, Any]
) -> None:
    page = at("", start_server("--admin-password=let-me-in").url, **look)
    expect(page).to_have_title("Sign in · Rookery")
    assert barriers(page) == []
    page.get_by_label("API key or admin password").fill("guess")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("The server says:")).to_be_visible()
    assert barriers(page) == []


@pytest.mark.complains("ERR_FAILED|status of 404")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_went_wrong_can_be_read(at: Callable[..., Page], scheme: str) -> None:
    page = at("jobs/job_01JUNKNOWN", color_scheme=scheme)
    expect(page.get_by_text("There is no such job")).to_be_visible()
    assert barriers(page) == []

    def cut(route: Route) -> None:
        route.abort()

    page.route("**/api/v1/webhooks*", cut)
    page.get_by_role("link", name="Webhooks").click()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    assert barriers(page) == []
    page.unroute("**/api/v1/webhooks*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table", name="Webhooks")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_dialog_can_be_read(at: Callable[..., Page], scheme: str) -> None:
    page = at("jobs/{job}", color_scheme=scheme)
    main, dialog = page.get_by_role("main"), page.get_by_role("dialog")

    def judge(name: str) -> None:
        expect(dialog).to_be_visible()
        assert barriers(page) == [], name
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)

    for name in JOB_DIALOGS:
        main.get_by_role("button", name=name, exact=True).click()
        judge(name)
    page.get_by_role("link", name="broken").first.click()
    for name in QUEUE_DIALOGS:
        main.get_by_role("button", name=name, exact=True).click()
        judge(name)
    for name in QUEUE_MENU:
        main.get_by_role("button", name="More", exact=True).click()
        page.get_by_role("menuitem", name=name).click()
        judge(name)
    for place, button in (("Schedules", "New schedule"), ("Webhooks", "New webhook"), ("Settings", "Use a key")):
        page.get_by_role("navigation", name="Pages").get_by_role("link", name=place).click()
        main.get_by_role("button", name=button).click()
        judge(button)
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Jobs").click()
    page.get_by_role("checkbox", name="Select all on this page").check()
    page.get_by_role("region", name="Bulk actions").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Preview (first")).to_be_visible()
    judge("bulk")
    page.get_by_role("button", name="Search or run a command").click()
    dialog.get_by_role("combobox").fill("broken")
    expect(dialog.get_by_role("option", name="broken").first).to_be_visible()
    judge("palette")
    page.keyboard.press("e")
    dialog.get_by_label("Payload").fill("{nonsense")
    dialog.get_by_text("More: time, retries").click()
    expect(dialog.get_by_text("Line 1, column 2")).to_be_visible()
    judge("enqueue")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_drawer_can_be_read(at: Callable[..., Page], scheme: str) -> None:
    page = at("", color_scheme=scheme, **PHONE)
    page.get_by_role("button", name="Open navigation").tap()
    expect(page.get_by_role("dialog", name="Navigation")).to_be_visible()
    assert barriers(page) == []


@pytest.mark.parametrize("path", [*PLACES, "jobs/{job}", "queues/emails"])
def test_a_finger_hits_what_it_means(at: Callable[..., Page], path: str) -> None:
    page = at(path, **PHONE)
    assert page.evaluate(TOO_SMALL) == []


def test_a_finger_hits_what_it_means_in_menus_and_the_drawer(at: Callable[..., Page]) -> None:
    page = at("jobs", **PHONE)
    page.get_by_role("button", name="Export").tap()
    expect(page.get_by_role("menu")).to_be_visible()
    assert page.evaluate(TOO_SMALL) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Open navigation").tap()
    expect(page.get_by_role("dialog", name="Navigation")).to_be_visible()
    assert page.evaluate(TOO_SMALL) == []


@pytest.mark.parametrize("path", [*PLACES, "jobs/{job}", "queues/emails"])
def test_at_twice_the_size_nothing_is_lost(at: Callable[..., Page], path: str) -> None:
    """A window of 1280 px that is zoomed to 200 % has 640 of them."""
    page = at(path, viewport={"width": 640, "height": 450})
    assert page.evaluate("document.documentElement.scrollWidth") == 640


def test_the_states_stand_in_one_row(at: Callable[..., Page]) -> None:
    page = at("jobs")
    states = page.get_by_role("group", name="States").get_by_role("button")
    tops = {(states.nth(n).bounding_box() or {}).get("y") for n in range(states.count())}
    assert states.count() == 9
    assert len(tops) == 1


def test_tags_are_not_cut_off_at_the_edge(at: Callable[..., Page]) -> None:
    for options in ({}, PHONE):
        page = at("jobs?queue=emails&state=pending", **options)
        rows = page.get_by_role("table", name="Jobs").locator("tbody tr")
        tags = rows.first.locator("[title^='tenant:'], [title^='region:']")
        # Two of them, and how many more there are.
        expect(tags).to_have_count(3)
        cell = tags.first.locator("xpath=..").bounding_box()
        assert cell is not None
        for n in range(3):
            box = tags.nth(n).bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= cell["x"] + cell["width"] + 1


def test_the_dashed_end_of_a_chart_is_explained(at: Callable[..., Page]) -> None:
    page = at("")
    expect(page.get_by_text("not over yet")).to_be_visible()
    plot = page.locator(".u-over")
    box = plot.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 20)
    expect(page.get_by_text("so far")).to_be_visible()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    expect(page.get_by_text("so far")).to_have_count(0)


def test_paper_shows_the_page_and_nothing_around_it(at: Callable[..., Page]) -> None:
    page = at("jobs")
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages", exact=True, include_hidden=True)).to_be_hidden()
    expect(page.get_by_role("button", name="Enqueue", include_hidden=True).first).to_be_hidden()


def test_whoever_wants_no_motion_sees_none(at: Callable[..., Page]) -> None:
    page = at("")
    expect(page.locator("[data-live=live]")).to_have_count(1)
    page.wait_for_function("() => document.getAnimations().every((one) => one.playState !== 'running')")
