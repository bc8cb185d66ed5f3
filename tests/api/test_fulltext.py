"""Full text over HTTP: what is found, by whom, and what happens when the index is not there."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import apsw
import pytest

from tests.api.expectations import assert_refused, bury_job, finish_job, moment
from tests.api.test_namespaces import Tenant
from tests.conftest import Api, ServerProcess, wait_for


def search(api: Api, q: str, **parameters: Any) -> list[dict[str, Any]]:
    """The jobs that are found."""
    answer = api.get("/search/fulltext", params={"q": q, **parameters})
    assert answer.status_code == 200, answer.text
    assert answer.json()["q"] == q
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def found(api: Api, q: str, **parameters: Any) -> list[str]:
    """The ids of the jobs that are found."""
    return [hit["id"] for hit in search(api, q, **parameters)]


def wait_until_indexed(server: ServerProcess) -> None:
    """Wait until the index has every event, as its file says."""

    def is_current() -> bool:
        if not (server.data_dir / "fulltext.db").exists():
            return False
        db = apsw.Connection(str(server.data_dir / "rookery.db"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            db.execute("ATTACH ? AS fulltext", (str(server.data_dir / "fulltext.db"),))
            sql = "SELECT position = event_seq AND filled >= fill_to FROM fulltext.progress, machine"
            return bool(db.execute(sql).get)
        except apsw.Error:
            return False
        finally:
            db.close()

    wait_for(is_current)


def index_of(server: ServerProcess) -> dict[str, list[str]]:
    """The ids of the jobs that the index has under each state."""
    db = apsw.Connection(str(server.data_dir / "rookery.db"), flags=apsw.SQLITE_OPEN_READONLY)
    db.execute("ATTACH ? AS fulltext", (str(server.data_dir / "fulltext.db"),))
    sql = "SELECT id FROM fulltext.doc JOIN job ON seq = doc.rowid WHERE doc MATCH 'state:' || ? ORDER BY seq"
    states = [state for (state,) in db.execute("SELECT DISTINCT state FROM job")]
    index = {state: [job_id for (job_id,) in db.execute(sql, (state,))] for state in states}
    db.close()
    return index


def test_a_new_job_is_found_soon(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, {"to": "someone@example.com", "body": "Dear Ms Rook"}, tags={"team": "blue"})
    # A phrase that is not in the text as it stands: the index must have found it.
    [hit] = wait_for(lambda: search(api, '"someone example com body dear"'))
    assert list(hit) == ["id", "queue", "state", "payload", "tags", "created_at"]
    assert (hit["id"], hit["queue"], hit["state"]) == (job_id, queue, "pending")
    assert hit["payload"] == '{"to":"someone@example.com","body":"Dear Ms Rook"}'
    assert hit["tags"] == '{"team":"blue"}'
    assert hit["created_at"] == api.job(job_id)["created_at"]
    assert moment(hit["created_at"])


def test_tags_are_an_empty_text_when_there_are_none(api: Api, queue: str) -> None:
    api.enqueue(queue, "taglessness")
    assert [hit["tags"] for hit in search(api, "taglessness")] == [""]


@pytest.mark.parametrize(
    "q",
    [
        "quail",
        "QUAIL",
        "qua*",
        "quail AND teal",
        "quail teal",
        "penguin OR quail",
        "quail NOT heron",
        '"quail and teal"',
        "payload:quail",
        "tags:moorhen",
        "(quail OR heron) AND moorhen",
        "bird_queue",
        "active AND quail",
    ],
)
def test_words_find_a_job(server: ServerProcess, api: Api, queue: str, q: str) -> None:
    if not api.get("/search/fulltext", params={"q": "quail"}).json()["results"]:
        api.enqueue("bird_queue", {"text": "quail and teal"}, tags={"kind": "moorhen"})
        api.enqueue("bird_queue", {"text": "teal"}, tags={"kind": "heron"}, scheduled_at="2090-01-01T00:00:00Z")
        assert api.fetch("bird_queue", lease_duration=300) is not None
    wait_until_indexed(server)
    hits = search(api, q)
    assert '{"text":"quail and teal"}' in [hit["payload"] for hit in hits]
    assert len(hits) == (2 if q == "bird_queue" else 1)


def test_words_of_errors_find_a_job(server: ServerProcess, api: Api, queue: str) -> None:
    job_id = bury_job(api, queue)
    wait_until_indexed(server)
    assert job_id in found(api, "errors:boom AND state:dead")


def test_a_job_is_found_by_the_state_it_is_in_now(server: ServerProcess, api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, "kingfisher")
    wait_until_indexed(server)
    assert found(api, "kingfisher AND pending") == [job_id]
    api.post(f"/jobs/{job_id}/cancel")
    wait_until_indexed(server)
    assert found(api, "kingfisher AND pending") == []
    assert [hit["state"] for hit in search(api, "kingfisher AND cancelled")] == ["cancelled"]


def test_a_deleted_job_is_gone_at_once(server: ServerProcess, api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, "dodo")
    wait_until_indexed(server)
    assert found(api, "dodo") == [job_id]
    api.delete(f"/jobs/{job_id}")
    assert found(api, "dodo") == []


@pytest.mark.parametrize(
    "q", ["a@owl.example", '"owl":"A', "snowy owl'", "50% owl", "owl_s", "SNOWY OWL'", "(owl", "nowy o"]
)
def test_what_is_no_query_or_has_no_hit_is_looked_for_as_it_stands(api: Api, queue: str, q: str) -> None:
    payload = {"to": "a@owl.example", "owl": "A", "text": "snowy owl' 50% owl (owl owl_s"}
    if not search(api, "a@owl.example"):
        api.enqueue(queue, payload)
    assert len(search(api, q)) == 1


def test_percent_and_underscore_stand_for_themselves(api: Api, queue: str) -> None:
    api.enqueue(queue, "egret 100")
    assert found(api, "egret%100") == found(api, "egret_100") == []


@pytest.mark.parametrize(
    "q",
    [
        "\0",
        "stork\0",
        '"',
        "'",
        '""',
        "*",
        "*reads",
        ":",
        "a:b",
        "-x",
        "^",
        "{}",
        "NEAR(",
        "AND",
        "NOT x",
        "\ud7ff\uffff",
        "stork" * 2000,
        "stork OR " * 1100 + "x",
        "x* " * 3000,
        "(" * 10_000,
    ],
)
def test_no_query_makes_the_server_fail(api: Api, queue: str, q: str) -> None:
    api.enqueue(queue, "stork")
    search(api, q)


@pytest.mark.parametrize("parameters", [{}, {"q": ""}, {"q": "  \t"}])
def test_a_blank_query_is_refused(api: Api, parameters: dict[str, str]) -> None:
    assert_refused(api.get("/search/fulltext", params=parameters), 400, "VALIDATION_ERROR", "q")


def test_a_very_long_query_is_refused(api: Api) -> None:
    assert_refused(api.get("/search/fulltext", params={"q": 20_000 * "x"}), 400, "VALIDATION_ERROR", "q")


def test_the_limit_is_50_unless_a_good_one_is_given(server: ServerProcess, api: Api, queue: str) -> None:
    ids = [api.enqueue(queue, "starling") for _ in range(60)][::-1]
    wait_until_indexed(server)
    assert found(api, "starling") == ids[:50]
    for limit in (1, 7, 500):
        assert found(api, "starling", limit=limit) == ids[:limit]
        assert found(api, "tarlin", limit=limit) == ids[:limit]
    for limit in ("0", "-1", "x", "", "501", "1.5", "9" * 30, "²"):
        assert found(api, "starling", limit=limit) == ids[:50], limit


def test_a_namespace_finds_its_own_jobs(server: ServerProcess, api: Api, queue: str) -> None:
    ours, theirs = Tenant(server, "ours"), Tenant(server, "theirs")
    mine, other = ours.enqueue(queue, "raven"), theirs.enqueue(queue, "raven")
    wait_until_indexed(server)
    for q in ("raven", '"rave'):
        assert [(hit["id"], hit["queue"]) for hit in search(ours, q)] == [(mine, queue)]
        assert found(theirs, q) == [other]
        assert [hit["queue"] for hit in search(api, q)] == [f"theirs::{queue}", f"ours::{queue}"]


# --- the index itself


def test_the_index_is_made_anew_on_demand(server: ServerProcess, api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, {"text": "jackdaw and magpie"})
    answer = api.post("/admin/rebuild-sqlite")
    assert answer.status_code == 200
    body = answer.json()
    assert (body["status"], body["rebuilt"]) == ("ok", True)
    assert type(body["duration_ms"]) is int
    assert list(body) == ["status", "rebuilt", "duration_ms"]
    assert found(api, '"text jackdaw"') == [job_id]


def test_two_may_ask_for_a_new_index_at_once(api: Api, queue: str, background: Callable[..., Future[Any]]) -> None:
    for _ in range(5):
        api.post("/enqueue/batch", {"jobs": [{"queue": queue, "payload": "bunting"}] * 500})
    calls = [background(api.post, "/admin/rebuild-sqlite") for _ in range(4)]
    assert [call.result().status_code for call in calls] == [200] * 4
    assert len(found(api, "bunting", limit=500)) == 500


def test_jobs_are_found_while_the_index_is_made(api: Api, queue: str, background: Callable[..., Future[Any]]) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue, "payload": "swift"}] * 1000})
    rebuild = background(api.post, "/admin/rebuild-sqlite")
    while not rebuild.done():
        assert len(found(api, "swift")) == 50
    assert rebuild.result().status_code == 200


def without_index(server: ServerProcess) -> None:
    for path in server.data_dir.glob("fulltext.db*"):
        path.unlink()


def with_garbage(server: ServerProcess) -> None:
    (server.data_dir / "fulltext.db").write_bytes(b"no index " * 1000)


def with_a_torn_file(server: ServerProcess) -> None:
    path = server.data_dir / "fulltext.db"
    path.write_bytes(path.read_bytes()[:5000])


def with_an_index_of_another_store(server: ServerProcess) -> None:
    db = apsw.Connection(str(server.data_dir / "fulltext.db"))
    db.execute("UPDATE progress SET position = position + 1000, mark = 'another'")
    db.close()


def with_an_older_format(server: ServerProcess) -> None:
    db = apsw.Connection(str(server.data_dir / "fulltext.db"))
    db.execute("PRAGMA user_version = 0; DROP TABLE progress")
    db.close()


@pytest.mark.parametrize(
    "spoil", [without_index, with_garbage, with_a_torn_file, with_an_index_of_another_store, with_an_older_format]
)
def test_a_server_starts_and_finds_everything(
    start_server: Callable[..., ServerProcess], spoil: Callable[[ServerProcess], None]
) -> None:
    server = start_server()
    api = Api(server)
    finished = finish_job(api, "q", payload={"text": "old gull"})
    wait_until_indexed(server)
    assert server.stop() == 0
    spoil(server)
    server.start()
    pending = api.enqueue("q", {"text": "new gull"})
    wait_until_indexed(server)
    wait_for(lambda: found(api, '"text old gull"') == [finished])
    assert found(api, "gull") == [pending, finished]
    assert index_of(server) == {"completed": [finished], "pending": [pending]}


def test_a_server_goes_on_where_it_was(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    api = Api(server)
    first = api.enqueue("q", {"text": "gannet one"})
    wait_until_indexed(server)
    server.stop()
    assert {path.name for path in server.data_dir.iterdir()} == {"rookery.db", "fulltext.db", "lock"}
    server.start()
    wait_for(lambda: found(api, '"text gannet one"') == [first])
    second = api.enqueue("q", {"text": "gannet two"})
    wait_for(lambda: found(api, '"text gannet two"') == [second])
    assert found(api, "gannet") == [second, first]
    assert "full-text" not in server.log.read_text()


def test_an_index_that_cannot_be_written_harms_nobody(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    api = Api(server)
    server.stop()
    without_index(server)
    obstacle = server.data_dir / "fulltext.db"
    obstacle.mkdir()
    server.start()
    job_id = api.enqueue("q", {"text": "puffin"})
    assert found(api, "puffin") == [job_id]
    assert_refused(api.post("/admin/rebuild-sqlite"), 503, "UNHEALTHY", "full-text")
    assert server.http.get("/healthz").status_code == 200
    wait_for(lambda: server.log.read_text().count("the full-text index cannot be kept") == 1)

    obstacle.rmdir()
    assert api.post("/admin/rebuild-sqlite").status_code == 200
    assert found(api, '"text puffin"') == [job_id]
    assert server.log.read_text().count("the full-text index cannot be kept") == 1


@pytest.mark.parametrize("spoil", [without_index, with_garbage])
def test_an_index_that_is_lost_under_a_running_server_is_made_anew(
    start_server: Callable[..., ServerProcess], spoil: Callable[[ServerProcess], None]
) -> None:
    server = start_server()
    api = Api(server)
    job_id = api.enqueue("q", {"text": "curlew"})
    wait_until_indexed(server)
    server.stop()
    server.start()
    wait_for(lambda: found(api, '"text curlew"') == [job_id])
    spoil(server)
    wait_for(lambda: found(api, '"text curlew"') == [job_id])
    later = api.enqueue("q", {"text": "curlew"})
    wait_for(lambda: found(api, '"text curlew"') == [later, job_id])


def test_without_the_index_text_is_found_as_it_stands(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server("--fulltext-enabled=false")
    api = Api(server)
    job_id = api.enqueue("q", {"text": "one bittern"})
    assert found(api, "ONE bitt") == [job_id]
    assert found(api, '"text one bittern"') == []
    assert_refused(api.post("/admin/rebuild-sqlite"), 501, "UNSUPPORTED", "--fulltext-enabled")
    assert not (server.data_dir / "fulltext.db").exists()


def test_a_search_that_takes_too_long_is_ended(start_server: Callable[..., ServerProcess]) -> None:
    api = Api(start_server("--fulltext-enabled=false", "--search-timeout=30ms"))
    answer = api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": "x" * 5000}] * 500})
    assert answer.status_code == 201
    assert_refused(api.get("/search/fulltext", params={"q": "x" * 500 + "y"}), 503, "SEARCH_TIMEOUT")
