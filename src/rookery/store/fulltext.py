"""The full-text index: a file of its own beside the store, made from it and good for nothing else.

It follows the timeline: every job that an event names is indexed anew. It may be thrown away at any time. It only ever
reads the store.
"""

from pathlib import Path
from typing import Any, Final, Self

import apsw
import msgspec

from rookery.model.instants import format_instant
from rookery.model.names import DEFAULT_NAMESPACE, shown_name, stored_name
from rookery.store.connections import CHECKPOINT_PAGES

FORMAT: Final = 2
MOST_EVENTS: Final = 10_000
"""How many events one step takes in; as the store cannot shrink its log below a step's view, steps are short."""
MOST_JOBS: Final = 4000
"""How many jobs one step adds to an index that is being made."""
MOST_BYTES: Final = 8 << 20
"""About how much text one step reads."""
MOST_CHECKED: Final = 10_000
"""How many documents one step compares with the store."""

_SCHEMA: Final = f"""
CREATE VIRTUAL TABLE doc USING fts5 (
  namespace, queue, state, payload, tags, errors,
  content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');
-- A job is indexed again at every change of its state: merge less often because of what was replaced.
INSERT INTO doc (doc, rank) VALUES ('deletemerge', 40);
CREATE TABLE progress (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  position INTEGER NOT NULL,  -- the last event that is in the index
  mark     TEXT,              -- what tells that event from another of the same number
  filled   INTEGER NOT NULL,  -- jobs up to this one are in it
  fill_to  INTEGER NOT NULL   -- jobs behind this one come by their events
) STRICT;
INSERT INTO progress
SELECT 1, event_seq, (SELECT at || ' ' || job_id FROM store.event WHERE seq = event_seq), 0, job_seq
  FROM store.machine;
PRAGMA user_version = {FORMAT};
"""


def _text_of(column: str) -> str:
    """JSON as words. An escaped character is no part of a word, so such a value is taken apart."""
    return rf"""
        CASE WHEN instr({column}, '\') AND json_valid({column})
             THEN (SELECT group_concat(iif(typeof(key) = 'text', key || ' ', '') || coalesce(atom, ''), ' ')
                     FROM json_tree({column}))
             ELSE coalesce({column}, '') END"""


_SHOWN_QUEUE: Final = "iif(queue.namespace = 'default', queue.name, substr(queue.name, length(queue.namespace) + 3))"

# A step is one statement, an INSERT into a view: the thread that runs it shares the interpreter with the server, and
# every statement is one more occasion on which they wait for each other.
# Jobs are added in order of their numbers: FTS5 gathers in memory only as long as they rise.
_ADD_TOUCHED: Final = f"""
SELECT RAISE(ABORT, 'too much text')
 WHERE NEW.until > NEW.after + 1
   AND NEW.most < (SELECT total(octet_length(payload)) FROM touched CROSS JOIN store.job ON job.seq = touched.seq);
INSERT OR REPLACE INTO doc (rowid, namespace, queue, state, payload, tags, errors)
SELECT job.seq, queue.namespace, {_SHOWN_QUEUE}, job.state, {_text_of("job.payload")}, {_text_of("job.tags")},
       coalesce((
         SELECT group_concat(substr(error, 1, 4000), ' ')
           FROM (SELECT error FROM store.error WHERE error.job = job.seq ORDER BY id DESC LIMIT 10)), '')
  FROM touched
  CROSS JOIN store.job ON job.seq = touched.seq
  CROSS JOIN store.queue ON queue.id = job.queue
 ORDER BY touched.seq;
DELETE FROM touched;
"""
_STEPS: Final = f"""
CREATE TEMP TABLE touched (seq INTEGER PRIMARY KEY);
CREATE TEMP VIEW events_step AS SELECT 0 AS after, 0 AS until, 0 AS most;
CREATE TEMP VIEW jobs_step AS SELECT 0 AS after, 0 AS until, 0 AS most;
CREATE TEMP TRIGGER take_in_events INSTEAD OF INSERT ON events_step BEGIN
  INSERT OR IGNORE INTO touched
  SELECT job.seq
    FROM store.event
    JOIN store.job ON job.id = event.job_id
   WHERE event.seq > NEW.after AND event.seq <= NEW.until AND event.type <> 'progress';
  {_ADD_TOUCHED}
  UPDATE progress
     SET position = NEW.until, mark = (SELECT at || ' ' || job_id FROM store.event WHERE seq = NEW.until);
END;
CREATE TEMP TRIGGER take_in_jobs INSTEAD OF INSERT ON jobs_step BEGIN
  INSERT INTO touched
  SELECT seq FROM store.job WHERE seq > NEW.after AND seq <= NEW.until;
  {_ADD_TOUCHED}
  UPDATE progress SET filled = NEW.until;
END;
"""


class OutOfStep(Exception):
    """The index is not one of this store, or of another format, or the events it has yet to see are gone."""


class FullTextIndex:
    """The index as the one who keeps it has it. Each step is one transaction and takes a fraction of a second."""

    def __init__(self, path: Path, store: Path) -> None:
        """Open the index that is there; raises OutOfStep, or whatever SQLite says, when it is of no use."""
        self.position = 0
        self.has_seen_deletions = False
        self._filled = 0
        self._fill_to = 0
        self._db = _connect(path, store)
        try:
            if self._db.pragma("user_version") != FORMAT:
                raise OutOfStep("it has another format")
            self._db.execute(_STEPS)
            self._read_progress()
        except BaseException:
            self._db.close()
            raise

    @classmethod
    def create(cls, path: Path, store: Path) -> Self:
        """Put a new, empty index in the place of whatever is there."""
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        db = _connect(path, store)
        try:
            with db:
                db.execute(_SCHEMA)
        finally:
            db.close()
        return cls(path, store)

    @property
    def is_filled(self) -> bool:
        """Whether the jobs that were there before the index are all in it."""
        return self._filled >= self._fill_to

    def advance(self) -> bool:
        """Take in the next events, and when they are few, jobs from before the index; whether there is more."""
        return self.follow() or self.fill()

    def follow(self) -> bool:
        """Take in the next events; whether there are more."""
        newest = self._read_progress()
        if newest == self.position:
            return False
        before = self.position
        self.position = self._take_in("events_step", before, min(newest, before + MOST_EVENTS))
        self.has_seen_deletions |= self._has_deletions(before, self.position)
        return newest > self.position

    def _has_deletions(self, after: int, until: int) -> bool:
        found = self._db.execute(
            "SELECT EXISTS (SELECT 1 FROM store.event WHERE seq > ? AND seq <= ? AND type = 'deleted')", (after, until)
        ).get
        return bool(found)

    def fill(self) -> bool:
        """Take in jobs from before the index; whether there are more."""
        if self.is_filled:
            return False
        until = self._db.execute(
            "SELECT max(seq) FROM (SELECT seq FROM store.job WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?)",
            (self._filled, self._fill_to, MOST_JOBS),
        ).get
        self._filled = self._take_in("jobs_step", self._filled, until or self._fill_to)
        return not self.is_filled

    def _take_in(self, step: str, after: int, until: int) -> int:
        """Index what comes behind `after` up to `until`, or less if that is too much text; how far that was."""
        while True:
            try:
                self._db.execute(f"INSERT INTO {step} VALUES (?, ?, ?)", (after, until, MOST_BYTES))
            except apsw.ConstraintError:
                until = after + (until - after) // 2
            else:
                return until

    def forget_purged(self, after: int) -> int | None:
        """Drop documents whose jobs are gone, in order of their numbers; behind which one to go on."""
        with self._db:
            until: int | None = self._db.execute(
                "SELECT max(id) FROM (SELECT id FROM doc_docsize WHERE id > ? ORDER BY id LIMIT ?)",
                (after, MOST_CHECKED),
            ).get
            if until is not None:
                self._db.execute(
                    """
                    DELETE FROM doc WHERE rowid IN (
                      SELECT id FROM doc_docsize
                       WHERE id > ? AND id <= ? AND NOT EXISTS (SELECT 1 FROM store.job WHERE seq = doc_docsize.id))
                    """,
                    (after, until),
                )
        return until

    def _read_progress(self) -> int:
        """Look up how far the index is, and whether the store still has the event it has come to; the newest event."""
        row = self._db.execute(
            """
            SELECT position, filled, fill_to, event_seq
              FROM progress
              JOIN store.machine
             WHERE iif(position = 0,
                       coalesce((SELECT min(seq) FROM store.event), 1) = 1,
                       mark = (SELECT at || ' ' || job_id FROM store.event WHERE seq = position))
            """
        ).fetchone()
        if row is None:
            raise OutOfStep("it is out of step with the store")
        newest: int
        self.position, self._filled, self._fill_to, newest = row
        return newest

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _connect(path: Path, store: Path) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(str(path), flags=flags)
    try:
        db.set_busy_timeout(10_000)
        db.execute("PRAGMA journal_mode = WAL")
        # What a crash takes away, the events bring again: the position goes with it.
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        db.execute("PRAGMA journal_size_limit = 67108864")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("ATTACH ? AS store", (f"{store.absolute().as_uri()}?mode=ro",))
    except BaseException:
        db.close()
        raise
    return db


class FullTextHit(msgspec.Struct):
    """A job that was found; payload and tags are JSON text."""

    id: str
    queue: str
    state: str
    payload: str
    tags: str
    created_at: str


_SELECT_HITS: Final = "SELECT job.id, queue.name, job.state, job.payload, coalesce(job.tags, ''), job.created_at"
_OF_NAMESPACE: Final = "AND job.queue IN (SELECT id FROM queue WHERE namespace = :namespace)"
_INDEXED_OF_NAMESPACE: Final = f"AND doc MATCH :space {_OF_NAMESPACE}"
_MATCHING: Final = f"""
{_SELECT_HITS}
  FROM fulltext.doc
  CROSS JOIN job ON job.seq = doc.rowid
  JOIN queue ON queue.id = job.queue
 WHERE doc MATCH :query {{visible}} AND EXISTS (SELECT 1 FROM fulltext.progress WHERE filled >= fill_to)
 ORDER BY doc.rowid DESC
 LIMIT :limit
"""
_CONTAINING: Final = rf"""
{_SELECT_HITS}
  FROM job
  JOIN queue ON queue.id = job.queue
 WHERE (job.queue IN (SELECT id FROM queue WHERE substr(name, :skipped + 1) LIKE :pattern ESCAPE '\')
        OR job.state LIKE :pattern ESCAPE '\'
        OR job.payload LIKE :pattern ESCAPE '\'
        OR job.tags LIKE :pattern ESCAPE '\') {{visible}}
 ORDER BY job.seq DESC
 LIMIT :limit
"""


def find_by_words(
    db: apsw.Connection, index: Path, query: str, limit: int, namespace: str = DEFAULT_NAMESPACE
) -> list[FullTextHit]:
    """The newest jobs that an FTS5 query matches; none if it is no such query. `db` is a reader of the store."""
    # An asterisk in front asks FTS5 about itself, and a NUL would end the query before its end.
    if query.startswith("*") or "\0" in query:
        return []
    if "fulltext" in db.db_names():
        _detach(db)
    db.execute("ATTACH ? AS fulltext", (str(index),))
    visible = "" if namespace == DEFAULT_NAMESPACE else _INDEXED_OF_NAMESPACE
    if namespace != DEFAULT_NAMESPACE:
        query = f"- namespace : ({query})"
    parameters = {"query": query, "space": f'namespace : ^ "{namespace}"', "limit": limit}
    try:
        return _hits(db, _MATCHING.format(visible=visible), namespace, parameters)
    except apsw.SQLError:
        return []
    finally:
        _detach(db)


def _detach(db: apsw.Connection) -> None:
    """Let go of the index, so that the next search opens whichever is there then. That ends the transaction."""
    if db.in_transaction:
        db.execute("ROLLBACK")
    db.execute("DETACH fulltext")


def find_by_text(db: apsw.Connection, text: str, limit: int, namespace: str = DEFAULT_NAMESPACE) -> list[FullTextHit]:
    """The newest jobs that have the text in queue, state, payload or tags; capital letters of ASCII count as small."""
    if "\0" in text:
        return []
    literal = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    visible = "" if namespace == DEFAULT_NAMESPACE else _OF_NAMESPACE
    parameters = {"pattern": f"%{literal}%", "skipped": len(stored_name(namespace, "")), "limit": limit}
    return _hits(db, _CONTAINING.format(visible=visible), namespace, parameters)


def _hits(db: apsw.Connection, sql: str, namespace: str, parameters: dict[str, Any]) -> list[FullTextHit]:
    return [
        FullTextHit(id, shown_name(namespace, queue), state, payload, tags, format_instant(created_at))
        for id, queue, state, payload, tags, created_at in db.execute(sql, {"namespace": namespace, **parameters})
    ]
