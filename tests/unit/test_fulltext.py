"""The full-text index: what it finds, how it follows the store, and when it is of no use any more."""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from rookery.engine.ops import Delete, Purge
from rookery.store import fulltext
from rookery.store.connections import open_reader
from rookery.store.fulltext import FullTextIndex, OutOfStep, find_by_text, find_by_words
from tests.unit.workbench import Workbench


class Library:
    """A store on disk, its index, and a reader who searches."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "rookery.db"
        self.path = folder / "fulltext.db"
        self.bench = Workbench(str(self.store))
        self.reader = open_reader(self.store)
        self.index = FullTextIndex.create(self.path, self.store)

    def catch_up(self) -> int:
        """Take in everything; in how many steps."""
        steps = 1
        while self.index.advance():
            steps += 1
        return steps

    def words(self, query: str, limit: int = 50, namespace: str = "default") -> list[str]:
        """The ids of the jobs that a query finds."""
        return [hit.id for hit in find_by_words(self.reader, self.path, query, limit, namespace)]

    def text(self, text: str, limit: int = 50, namespace: str = "default") -> list[str]:
        """The ids of the jobs that have a text in them."""
        return [hit.id for hit in find_by_text(self.reader, text, limit, namespace)]

    def documents(self) -> list[int]:
        return [number for (number,) in self.index._db.execute("SELECT id FROM doc_docsize ORDER BY id")]

    def reopen(self) -> None:
        self.index.close()
        self.index = FullTextIndex(self.path, self.store)

    def close(self) -> None:
        self.index.close()
        self.reader.close()
        self.bench.machine.close()


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path)
    yield library
    library.close()


# --- what is found


@pytest.mark.parametrize(
    "query",
    [
        "mails",
        "pending",
        "welcome",
        "blue",
        "WELCOME",
        "wel*",
        "welcome AND blue",
        "nothing OR welcome",
        "welcome NOT red",
        '"someone example com"',
        "queue:mails",
        "payload:someone tags:blue",
        "NEAR(someone welcome)",
        "cafe",
    ],
)
def test_a_job_is_found_by(library: Library, query: str) -> None:
    job_id = library.bench.add(
        "mails", payload='{"to":"someone@example.com","template":"welcome","at":"café"}', tags='{"team":"blue"}'
    )
    library.bench.add("other", payload='{"n":1}', tags='{"team":"red"}')
    library.bench.take("other")
    library.catch_up()
    assert library.words(query) == [job_id]


@pytest.mark.parametrize("query", ["absent", "welcome AND red", "tags:welcome", '"welcome template"', "active"])
def test_a_job_is_not_found_by(library: Library, query: str) -> None:
    library.bench.add("mails", payload='{"template":"welcome"}', tags='{"team":"blue"}')
    library.catch_up()
    assert library.words(query) == []


def test_the_words_of_errors_are_found(library: Library) -> None:
    job_id = library.bench.add(max_retries=3)
    library.bench.fail(library.bench.take(), "mailbox is full")
    library.catch_up()
    assert library.words("errors:mailbox") == [job_id]
    library.bench.now += 3_600_000
    library.bench.tick()
    library.bench.fail(library.bench.take(), "no such user")
    library.catch_up()
    assert library.words("mailbox AND user") == [job_id]


def test_a_change_of_state_is_followed(library: Library) -> None:
    job_id = library.bench.add()
    library.catch_up()
    library.bench.run()
    assert library.words("state:completed") == []
    library.catch_up()
    assert library.words("state:completed") == [job_id]
    assert library.words("state:pending OR state:active") == []


def test_what_is_found_shows_the_job_as_it_is_now(library: Library) -> None:
    library.bench.add("ours::q", payload='{"a": 1}', tags=None)
    library.catch_up()
    library.bench.run("ours::q")
    [hit] = find_by_words(library.reader, library.path, "pending", 1, "ours")
    assert (hit.queue, hit.state, hit.payload, hit.tags) == ("q", "completed", '{"a": 1}', "")
    assert hit.created_at == "2027-01-15T08:00:00.000Z"


def test_escaped_characters_are_no_part_of_words(library: Library) -> None:
    job_id = library.bench.add(payload=r'{"the text":["one\ntwo",{"caf\u00e9":"\"quoted\""}],"n":7,"b":true}')
    library.catch_up()
    for query in ("one", "two", "café", "quoted", '"the text one two café quoted"', "7"):
        assert library.words(query) == [job_id], query
    assert library.words("ntwo OR u00e9") == []


def test_a_payload_that_is_no_json_does_no_harm(library: Library) -> None:
    job_id = library.bench.add(payload=r"C:\temp\file not json")
    library.catch_up()
    assert library.words("file") == [job_id]


def test_the_newest_come_first_and_no_more_than_wanted(library: Library) -> None:
    ids = [library.bench.add(payload='"word"') for _ in range(5)]
    library.catch_up()
    assert library.words("word") == ids[::-1]
    assert library.words("word", limit=2) == library.text("word", limit=2) == ids[:-3:-1]


@pytest.mark.parametrize(
    "query",
    ['"', "(", "a AND", "no:such", "a@b.c", "-", "*reads", "*", "\0", "word\0", "a" * 10_000, "a " * 5000, "(" * 5000],
)
def test_what_is_no_query_finds_nothing(library: Library, query: str) -> None:
    library.bench.add(payload='"word"')
    library.catch_up()
    assert library.words(query) == []
    assert library.words("word") != []


def test_namespaces_see_their_own(library: Library) -> None:
    spaces = ["a", "a-b", "a-b-c", "b"]
    ids = {space: library.bench.add(f"{space}::q", payload='"word a b c"') for space in spaces}
    library.bench.add("q", payload='"word a b c"')
    library.catch_up()
    for find in (library.words, library.text):
        assert {space: find("word", namespace=space) for space in spaces} == {s: [ids[s]] for s in spaces}
        assert len(find("word")) == 5


# --- text as it stands


@pytest.mark.parametrize("text", ["WELC", '"to":"', "@EXAMPLE.com", "mai", "endin", '"blue"', "50%", "a_b", "\\n", "é"])
def test_a_text_is_found_as_it_stands(library: Library, text: str) -> None:
    job_id = library.bench.add(
        "mails", payload='{"to":"x@example.com","template":"welcome","rate":"50% a_b\\né"}', tags='{"team":"blue"}'
    )
    library.bench.add("other")
    library.bench.take("other")
    assert library.text(text) == [job_id]


@pytest.mark.parametrize("text", ["5%0", "axb", "%", "_", "\0", "\0a", "\\"])
def test_no_character_stands_for_others(library: Library, text: str) -> None:
    library.bench.add("q", payload='"500 aXXb"')
    assert library.text(text) == []


def test_the_namespace_is_no_part_of_a_queues_name_for_those_in_it(library: Library) -> None:
    job_id = library.bench.add("ours::q")
    assert library.text("ours") == library.text("ours::q") == [job_id]
    assert library.text("ours", namespace="ours") == library.text(":", namespace="ours") == []
    assert library.text("q", namespace="ours") == [job_id]
    library.catch_up()
    assert library.words("ours") == library.words("q", namespace="ours") == [job_id]
    for query in ("ours", "queue : ours", "namespace : ours", "ours OR nothing"):
        assert library.words(query, namespace="ours") == []


# --- following the store


def test_jobs_from_before_the_index_are_taken_in(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [library.bench.add(payload='"old"') for _ in range(10)]
    library.index.close()
    library.index = FullTextIndex.create(library.path, library.store)
    monkeypatch.setattr(fulltext, "MOST_JOBS", 4)
    assert library.index.advance()
    assert not library.index.is_filled
    assert library.words("old") == []
    new = library.bench.add(payload='"new and old"')
    assert library.catch_up() == 2
    assert library.index.is_filled
    assert library.words("old") == [new, *ids[::-1]]


def test_a_step_takes_a_bounded_number_of_events(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext, "MOST_EVENTS", 4)
    for _ in range(10):
        library.bench.add()
    assert library.index.advance()
    assert library.index.position == 4
    assert library.catch_up() == 2
    assert library.index.position == 10
    assert library.documents() == list(range(1, 11))


@pytest.mark.parametrize("is_old", [True, False])
def test_a_step_takes_a_bounded_amount_of_text(library: Library, monkeypatch: pytest.MonkeyPatch, is_old: bool) -> None:
    monkeypatch.setattr(fulltext, "MOST_BYTES", 1000)
    for size in (400, 400, 400, 5000, 10, 10):
        library.bench.add(payload='"' + size * "x" + '"')
    if is_old:
        library.index.close()
        library.index = FullTextIndex.create(library.path, library.store)
    assert 4 <= library.catch_up() <= 6
    assert library.documents() == [1, 2, 3, 4, 5, 6]


def test_an_index_that_is_opened_again_goes_on_where_it_was(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    library.bench.add(payload='"first"')
    library.catch_up()
    library.bench.add(payload='"second"')
    library.reopen()
    assert library.index.position == 1
    library.catch_up()
    assert len(library.words("first OR second")) == 2


def test_an_index_that_is_opened_again_goes_on_taking_in_old_jobs(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        library.bench.add()
    library.index.close()
    library.index = FullTextIndex.create(library.path, library.store)
    monkeypatch.setattr(fulltext, "MOST_JOBS", 2)
    library.index.advance()
    library.reopen()
    assert not library.index.is_filled
    library.catch_up()
    assert library.documents() == [1, 2, 3, 4, 5]


def test_nothing_new_is_nothing_to_do(library: Library) -> None:
    assert not library.index.advance()
    library.bench.add()
    assert not library.index.advance()
    written = library.index._db.total_changes()
    assert not library.index.advance()
    assert library.index._db.total_changes() == written


def test_deleted_jobs_are_not_found(library: Library) -> None:
    job_id = library.bench.add(payload='"word"')
    library.catch_up()
    library.bench.do(Delete(job_id=job_id))
    assert library.words("word") == []
    assert not library.index.has_seen_deletions
    library.catch_up()
    assert library.words("word") == []
    assert library.index.has_seen_deletions


def test_purged_jobs_leave_the_index_and_others_stay(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fulltext, "MOST_CHECKED", 3)
    for _ in range(8):
        library.bench.add(payload='"word"')
    for _ in range(4):
        library.bench.run()
    library.catch_up()
    library.bench.do(Purge(before=library.bench.now + 1))
    assert library.documents() == [1, 2, 3, 4, 5, 6, 7, 8]
    after: int | None = 0
    while after is not None:
        after = library.index.forget_purged(after)
    assert library.documents() == [5, 6, 7, 8]
    assert len(library.words("word")) == 4


# --- of no use


def test_an_index_of_another_format_is_of_no_use(library: Library) -> None:
    library.index._db.pragma("user_version", fulltext.FORMAT + 1)
    with pytest.raises(OutOfStep):
        library.reopen()


def spoil_by_another_store(library: Library) -> None:
    """Another store in its place that has as many events, and more."""
    library.bench.machine.close()
    library.reader.close()
    for suffix in ("", "-wal", "-shm"):
        library.store.with_name(library.store.name + suffix).unlink(missing_ok=True)
    library.bench = Workbench(str(library.store))
    library.bench.advance(1000)
    library.reader = open_reader(library.store)
    for _ in range(5):
        library.bench.add()


def spoil_by_an_older_store(library: Library) -> None:
    library.bench.machine._db.execute("DELETE FROM event WHERE seq > 1; UPDATE machine SET event_seq = 1")


def spoil_by_forgetting_events(library: Library) -> None:
    library.bench.machine._db.execute("DELETE FROM event WHERE seq <= 2")


@pytest.mark.parametrize("spoil", [spoil_by_another_store, spoil_by_an_older_store, spoil_by_forgetting_events])
def test_an_index_is_of_no_use(library: Library, spoil: Callable[[Library], None]) -> None:
    for _ in range(2):
        library.bench.add()
    library.catch_up()
    library.index.close()
    library.bench.add()
    spoil(library)
    with pytest.raises(OutOfStep):
        library.reopen()


def test_an_index_notices_while_it_is_open_that_events_are_gone(library: Library) -> None:
    library.bench.add()
    library.catch_up()
    library.bench.add()
    spoil_by_forgetting_events(library)
    with pytest.raises(OutOfStep):
        library.catch_up()


def test_an_empty_index_does_not_overlook_events_that_came_and_went(library: Library) -> None:
    for _ in range(3):
        library.bench.add()
    spoil_by_forgetting_events(library)
    with pytest.raises(OutOfStep):
        library.catch_up()


@pytest.mark.parametrize("garbage", [b"", b"no database at all " * 500, b"SQLite format 3\0" + 5000 * b"\xff"])
def test_a_new_index_takes_the_place_of_garbage(library: Library, garbage: bytes) -> None:
    job_id = library.bench.add(payload='"word"')
    library.index.close()
    library.path.write_bytes(garbage)
    with pytest.raises((OutOfStep, apsw.NotADBError, apsw.CorruptError)):
        library.reopen()
    library.index = FullTextIndex.create(library.path, library.store)
    library.catch_up()
    assert library.words("word") == [job_id]


def test_the_store_is_only_read(library: Library) -> None:
    with pytest.raises(apsw.ReadOnlyError):
        library.index._db.execute("DELETE FROM store.job")
