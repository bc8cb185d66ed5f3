"""`queuectl dashboard`: the page, its API, and what keeps other sites out."""

import re
import signal
import socket
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import quote

import httpx
import pytest

from tests.queuectl.desk import Desk

EVIL = "<img src=x onerror=alert(1)>/../\u202e'\"&"


class Page(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def site(desk: Desk) -> Iterator[httpx.Client]:
    process = desk.start("dashboard", "--port", "0")
    assert process.stdout is not None
    match = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
    assert match is not None
    with httpx.Client(base_url=match[0], timeout=30) as client:
        yield client
    process.send_signal(signal.SIGTERM)
    printed, complaint = process.communicate(timeout=20)
    assert (process.returncode, printed, complaint) == (0, "", "")


def test_the_page_has_counts_workers_jobs_and_dead_letters(desk: Desk, site: httpx.Client) -> None:
    assert "No job is dead" in site.get("/").text
    desk.bury("broken", "no such <file>")
    desk.add("echo recent", id="recent")

    answer = site.get("/")
    page = Page(answer.text)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    for word in ("pending", "processing", "completed", "failed", "dead", "No workers", "echo recent", "no such <file>"):
        assert word in page.text
    assert {"method": "post", "action": "/api/dlq/broken/retry"} in [attrs for tag, attrs in page.tags if tag == "form"]


def test_nothing_of_a_job_becomes_markup_and_nothing_comes_from_elsewhere(desk: Desk, site: httpx.Client) -> None:
    desk.bury(EVIL, "<script>alert(2)</script>\x00\x1b[2J")
    desk.add('<svg onload="alert(3)">" onfocus=alert(4) x="', id="'><b>")

    answer = site.get("/")
    page = Page(answer.text)
    assert {tag for tag, _ in page.tags} <= {
        *("html", "head", "meta", "title", "link", "style", "body", "main", "header", "h1", "h2", "p", "time", "ul"),
        *("li", "a", "b", "section", "div", "table", "thead", "tbody", "tr", "th", "td", "code", "span", "form"),
        *("button", "script"),
    }
    attributes = {name for _, attrs in page.tags for name in attrs}
    assert not {name for name in attributes if name.startswith("on")}
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "<script>alert(2)</script>" in page.text
    links = [value for _, attrs in page.tags for name, value in attrs.items() if name in ("href", "src", "action")]
    assert all(link is not None and (link.startswith("/api/") or link == "data:,") for link in links)
    assert f"/api/dlq/{quote(EVIL, safe='')}/retry" in links
    policy = answer.headers["content-security-policy"]
    (nonce,) = set(re.findall(r"'nonce-([\w-]+)'", policy))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert all(attrs["nonce"] == nonce for tag, attrs in page.tags if tag in ("script", "style"))
    assert nonce not in site.get("/").headers["content-security-policy"]


def test_the_api_answers_what_the_commands_print(desk: Desk, site: httpx.Client) -> None:
    desk.bury("x")
    desk.add(id="a", queue="q")
    desk.add(id="b/c d")

    assert site.get("/api/status").json() == desk.json("status")
    assert site.get("/api/jobs").json() == desk.json("list")
    assert site.get("/api/jobs?state=pending&queue=q&limit=5").json() == desk.json("list", "--queue", "q")
    assert len(site.get("/api/jobs?limit=2").json()) == 2
    assert site.get("/api/jobs?state=&queue=&limit=").json() == desk.json("list")
    assert site.get("/api/jobs/b%2Fc%20d").json() == desk.job("b/c d")
    assert site.get("/metrics").text == desk.ok("metrics")
    assert site.head("/api/status").content == b""
    for query in ("state=odd", "limit=-1", "limit=x", "limit=9999999999999999999999"):
        answer = site.get(f"/api/jobs?{query}")
        assert answer.status_code == 400
        assert query.partition("=")[0] in answer.json()["error"]


def test_logs_are_text_and_nothing_else(desk: Desk, site: httpx.Client) -> None:
    desk.add(id="../x")
    path = "/api/jobs/..%2Fx/log"
    assert site.get(path).text == ""
    desk.home.log_path("../x").write_bytes(b"<b>one</b>\ntwo\n")

    answer = site.get(path)
    assert answer.text == "<b>one</b>\ntwo\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert site.get(f"{path}?tail=1").text == "two\n"


@pytest.mark.parametrize("path", ["/api/jobs/nope", "/api/jobs/nope/log", "/nope", "/api", "/api/jobs/", "/api/%ff"])
def test_what_is_not_there_is_not_found(site: httpx.Client, path: str) -> None:
    answer = site.get(path)
    assert answer.status_code == 404
    assert "error" in answer.json()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_what_is_only_read_takes_nothing_else(site: httpx.Client, method: str) -> None:
    for path, status in {"/": 405, "/api/status": 405, "/api/jobs/nope": 404, "/nope": 404}.items():
        answer = site.request(method, path)
        assert (answer.status_code, list(answer.json())) == (status, ["error"])


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_dead_job_is_not_retried_by_anything_but_post(desk: Desk, site: httpx.Client, method: str) -> None:
    desk.bury()

    assert site.request(method, "/api/dlq/dead/retry").status_code == 405
    assert desk.job("dead")["state"] == "dead"


def test_a_dead_job_is_retried_by_post(desk: Desk, site: httpx.Client) -> None:
    desk.bury(EVIL)
    path = f"/api/dlq/{quote(EVIL, safe='')}/retry"

    assert site.get(path).status_code == 405
    assert desk.job(EVIL)["state"] == "dead"
    answer = site.post(path, content=b"ignored")
    assert (answer.status_code, answer.json()["state"]) == (200, "pending")
    assert desk.job(EVIL)["attempts"] == 0
    assert site.post(path).status_code == 404
    assert site.post("/api/dlq/nope/retry").status_code == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
    ],
)
def test_pages_of_other_sites_cannot_retry(desk: Desk, site: httpx.Client, headers: dict[str, str]) -> None:
    desk.bury("x")

    assert site.post("/api/dlq/x/retry", headers=headers).status_code == 403
    assert desk.job("x")["state"] == "dead"
    own = {"Origin": str(site.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert site.post("/api/dlq/x/retry", headers=own).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:5", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
    ],
)
def test_a_name_that_leads_here_is_not_enough(site: httpx.Client, host: str, status: int) -> None:
    assert site.get("/api/status", headers={"Host": host}).status_code == status


def test_ctrl_c_stops_it_and_the_exit_code_is_zero(desk: Desk) -> None:
    process = desk.start("dashboard", "--port", "0")
    assert process.stdout is not None
    assert "Ctrl-C" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 0


def test_a_port_that_is_taken_is_told_in_a_line(desk: Desk) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        complaint = desk.refused("dashboard", "--port", str(taken.getsockname()[1]), code=1)
    assert "cannot listen on 127.0.0.1" in complaint
    desk.refused("dashboard", "--port", "70000", code=2)
