"""The files of the web UI: where they are, how long they may be kept, and what they may do in a browser."""

import gzip
import re
from collections.abc import Callable

import httpx
import pytest

from tests.api.expectations import assert_refused
from tests.conftest import ServerProcess


def get(server: ServerProcess, path: str, **headers: str) -> httpx.Response:
    return server.http.get(path, headers=headers, follow_redirects=False)


def asset(server: ServerProcess, ending: str) -> str:
    """The path of an asset that the page names."""
    found = re.search(rf'"\./(assets/[^"]+\.{ending})"', get(server, "/ui/").text)
    assert found is not None
    return f"/ui/{found[1]}"


def test_the_way_to_the_app_ends_with_a_slash(server: ServerProcess) -> None:
    answer = get(server, "/ui")
    assert (answer.status_code, answer.headers["Location"]) == (301, "/ui/")


def test_a_browser_at_the_root_is_sent_to_the_app_and_a_program_is_not(server: ServerProcess) -> None:
    browser = get(server, "/", Accept="text/html,application/xhtml+xml")
    assert (browser.status_code, browser.headers["Location"]) == (302, "/ui/")
    assert_refused(get(server, "/"), 404, "NOT_FOUND", "/ui/")


def test_behind_a_proxy_the_way_leads_to_where_the_proxy_has_put_us(server: ServerProcess) -> None:
    assert get(server, "/ui", **{"X-Forwarded-Prefix": "/ops/jobs/"}).headers["Location"] == "/ops/jobs/ui/"


@pytest.mark.parametrize("prefix", ["//elsewhere.example", "https://elsewhere.example", "/a b", "ops"])
def test_nobody_is_sent_to_another_site(server: ServerProcess, prefix: str) -> None:
    assert get(server, "/ui", **{"X-Forwarded-Prefix": prefix}).headers["Location"] == "/ui/"


def test_the_page_may_not_be_kept_and_may_load_nothing_from_elsewhere(server: ServerProcess) -> None:
    answer = get(server, "/ui/")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["form-action"] == "'none'"


def test_the_page_has_no_inline_script_or_style_and_names_no_other_host(server: ServerProcess) -> None:
    page = get(server, "/ui/").text
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=|https?://", page) == []


@pytest.mark.parametrize(
    ("path", "up"),
    [
        ("/ui/", "./"),
        ("/ui/jobs", "./"),
        ("/ui/jobs/job_1", "../"),
        ("/ui/queues/a%2Fb", "../"),
        ("/ui/a/b/c", "../../"),
    ],
)
def test_every_path_of_the_app_is_its_page_and_finds_its_files_from_there(
    server: ServerProcess, path: str, up: str
) -> None:
    answer = get(server, path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert f'<base href="{up}" />' in answer.text


@pytest.mark.parametrize(("ending", "type"), [("js", "text/javascript"), ("css", "text/css")])
def test_assets_may_be_kept_for_a_year(server: ServerProcess, ending: str, type: str) -> None:
    answer = get(server, asset(server, ending))
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith(type)
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_files_are_packed_for_those_who_can_unpack_them(server: ServerProcess) -> None:
    path = asset(server, "js")
    plain = get(server, path, **{"Accept-Encoding": "identity"})
    packed = get(server, path, **{"Accept-Encoding": "br, gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "accept-encoding"
    assert int(packed.headers["Content-Length"]) == len(gzip.compress(plain.content, 9, mtime=0)) < len(plain.content)
    assert packed.content == plain.content


def test_what_somebody_has_already_is_not_sent_again(server: ServerProcess) -> None:
    tag = get(server, "/ui/").headers["ETag"]
    again = get(server, "/ui/", **{"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert get(server, "/ui/", **{"If-None-Match": '"another"'}).status_code == 200
    assert get(server, "/ui/jobs/x").headers["ETag"] != tag


def test_an_asset_that_there_is_not_is_said_to_be_missing(server: ServerProcess) -> None:
    assert_refused(get(server, "/ui/assets/index-old.js"), 404, "NOT_FOUND", "load it again")


@pytest.mark.parametrize("path", ["/ui/../http/gate.py", "/ui/..%2Fhttp%2Fgate.py", "/ui/%2e%2e/__init__.py"])
def test_nothing_but_the_app_is_served(server: ServerProcess, path: str) -> None:
    answer = get(server, path)
    assert "import" not in answer.text.partition("<head>")[0]
    assert answer.status_code == 404 or answer.headers["Content-Type"].startswith("text/html")


def test_the_first_load_is_small(server: ServerProcess) -> None:
    files = ["/ui/", *(f"/ui/{name}" for name in re.findall(r'"\./([^"]+\.(?:js|css|svg))"', get(server, "/ui/").text))]
    sizes = [int(get(server, path, **{"Accept-Encoding": "gzip"}).headers["Content-Length"]) for path in files]
    assert len(files) >= 4
    assert sum(sizes) < 250_000


def test_the_app_needs_no_key_where_the_api_does(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--admin-password", "secret")
    assert get(server, "/ui/").status_code == 200
    assert_refused(get(server, "/api/v1/queues"), 401, "UNAUTHORIZED", "missing API key")
