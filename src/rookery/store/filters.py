"""Which jobs somebody wants, as SQL: conditions on rows of `job`, and the indexes that answer some of them alone."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from rookery.store import payload_jq

INT64: Final = range(-(1 << 63), 1 << 63)


class JobFilter(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Which jobs somebody wants: those that pass all that is given. Times are milliseconds, `tags` is JSON text."""

    queue: str | None = None
    states: tuple[str, ...] = ()
    rank: int | None = None
    tags: str | None = None
    payload_contains: str | None = None
    payload_jq: str | None = None
    created_after: int | None = None
    created_before: int | None = None
    scheduled_after: int | None = None
    scheduled_before: int | None = None
    started_after: int | None = None
    started_before: int | None = None
    completed_after: int | None = None
    completed_before: int | None = None
    expire_after: int | None = None
    expire_before: int | None = None
    attempt_min: int | None = None
    attempt_max: int | None = None
    unique_key: str | None = None
    batch_id: str | None = None
    worker_id: str | None = None
    parent_id: str | None = None
    chain_id: str | None = None
    depends_on: str | None = None
    has_errors: bool | None = None
    error_contains: str | None = None
    error_matches: str | None = None
    job_id_prefix: str | None = None


class Sql(NamedTuple):
    """A piece of SQL with the values for its parameters."""

    text: str
    values: tuple[Any, ...] = ()


class Source(NamedTuple):
    """An index that finds all jobs that meet a condition: their seqs, and the first and the last of these.

    Unless it `is_exact` it finds others too.
    """

    seqs: Sql
    ends: Sql | None
    is_exact: bool = True


class Condition(NamedTuple):
    """What a job must be like, and the index that answers it alone, if there is one."""

    sql: Sql
    source: Source | None = None


def _equals(seqs: Sql) -> Source:
    """An index on a value: its entries for one value are in the order of seq, so that both ends are at hand."""
    ends = f"SELECT (SELECT min(seq) FROM ({seqs.text})), (SELECT max(seq) FROM ({seqs.text}))"
    return Source(seqs, Sql(ends, seqs.values * 2))


def _ranges(seqs: Sql) -> Source:
    """An index on a range of values: one look at all its entries finds the ends."""
    return Source(seqs, Sql(f"SELECT min(seq), max(seq) FROM ({seqs.text})", seqs.values))


_TIMES: Final = {
    "created": "created_at",
    "scheduled": "scheduled_at",
    "completed": "completed_at",
    "started": "started_at",
    "expire": "expire_at",
}
_LINKS: Final = ("unique_key", "batch_id", "chain_id", "parent_id")
_LAST: Final = "\U0010ffff"
BLANKS: Final = " \t\r\n"
"""What does not count around an error."""
ERROR_LINE: Final = 300
"""So much of an error's first line tells of which kind it is."""
_BLANKS: Final = f"char({', '.join(str(ord(blank)) for blank in BLANKS)})"


def conditions_of(wanted: JobFilter) -> list[Condition]:
    """What a job must be like, but for its queue and state; what is found fastest comes first."""
    conditions: list[Condition] = []
    if wanted.job_id_prefix is not None:
        prefix = Sql("id >= ? AND id < ?", (wanted.job_id_prefix, wanted.job_id_prefix + _LAST))
        conditions.append(Condition(prefix, _ranges(_jobs_with(prefix))))
    for column in _LINKS:
        if (value := getattr(wanted, column)) is not None:
            link = Sql(f"{column} = ?", (value,))
            conditions.append(Condition(link, _equals(_jobs_with(link))))
    if wanted.depends_on is not None:
        conditions.append(_depends_on(wanted.depends_on))
    if wanted.tags is not None:
        conditions.extend(_has_tag(key, value) for key, value in msgspec.json.decode(wanted.tags).items())
    conditions.extend(_times(wanted))
    for sql, number in (
        ("rank = ?", wanted.rank),
        ("attempt >= ?", wanted.attempt_min),
        ("attempt <= ?", wanted.attempt_max),
        ("worker_id = ?", wanted.worker_id),
    ):
        if number is not None:
            conditions.append(Condition(Sql(sql, (number,))))
    conditions.extend(_errors(wanted))
    if wanted.payload_contains is not None:
        conditions.append(Condition(_payload_contains(wanted.payload_contains)))
    if wanted.payload_jq is not None:
        conditions.append(Condition(Sql(*payload_jq.compile(payload_jq.parse(wanted.payload_jq), "job.payload"))))
    return conditions


def all_of(conditions: list[Condition]) -> Sql:
    """One piece of SQL that holds for jobs that meet all conditions."""
    text = " AND ".join(f"({condition.sql.text})" for condition in conditions) or "TRUE"
    return Sql(text, tuple(value for condition in conditions for value in condition.sql.values))


def _jobs_with(sql: Sql) -> Sql:
    return Sql(f"SELECT seq FROM job WHERE {sql.text}", sql.values)


def _depends_on(job_id: str) -> Condition:
    named = "SELECT job AS seq FROM named_dependency WHERE id = ?"
    return Condition(
        Sql("EXISTS (SELECT 1 FROM named_dependency WHERE id = ? AND named_dependency.job = job.seq)", (job_id,)),
        _equals(Sql(named, (job_id,))),
    )


def _has_tag(key: str, value: Any) -> Condition:
    """The value is compared as `tag_of_job` writes it."""
    quoted = "?"
    if isinstance(value, bool) or value is None:
        value = {True: "true", False: "false", None: "null"}[value]
    else:
        quoted = "json_quote(?)"
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and value not in INT64:
            value = float(value)
    tag, values = f"key = ? AND value = {quoted}", (key, value)
    return Condition(
        Sql(f"EXISTS (SELECT 1 FROM job_tag WHERE {tag} AND job_tag.job = job.seq)", values),
        _equals(Sql(f"SELECT job AS seq FROM job_tag WHERE {tag}", values)),
    )


def _times(wanted: JobFilter) -> Iterator[Condition]:
    for name, column in _TIMES.items():
        bounds = ((">", getattr(wanted, f"{name}_after")), ("<", getattr(wanted, f"{name}_before")))
        given = [(sign, at) for sign, at in bounds if at is not None]
        if given:
            sql = Sql(" AND ".join(f"{column} {sign} ?" for sign, _ in given), tuple(at for _, at in given))
            yield Condition(sql, _index_of_times(column, sql))


def _index_of_times(column: str, sql: Sql) -> Source | None:
    """Searches walk along `created_at` anyway, so its ends are not looked for."""
    match column:
        case "created_at":
            return Source(_jobs_with(sql), None)
        case "scheduled_at":
            return _ranges(_jobs_with(sql))
        case "completed_at":
            # A completed job has ended when it completed, and there is an index of ends.
            ended = sql.text.replace(column, "ended_at")
            return _ranges(_jobs_with(Sql(f"{ended} AND completed_at IS NOT NULL", sql.values)))
    return None


def _errors(wanted: JobFilter) -> Iterator[Condition]:
    any_error = "EXISTS (SELECT 1 FROM error WHERE error.job = job.seq)"
    if wanted.has_errors:
        yield Condition(Sql(any_error), _ranges(Sql("SELECT DISTINCT job AS seq FROM error")))
    elif wanted.has_errors is not None:
        yield Condition(Sql(f"NOT {any_error}"))
    if wanted.error_contains is not None:
        like_it = "SELECT DISTINCT job AS seq FROM error WHERE instr(lower(error), ?) > 0"
        seqs = Sql(like_it, (_lower(wanted.error_contains),))
        yield Condition(Sql(f"seq IN ({seqs.text})", seqs.values), _ranges(seqs))
    if wanted.error_matches is not None:
        line = wanted.error_matches.strip(BLANKS)
        yield Condition(_last_error_matches(line), _errors_like(line))


def _errors_like(line: str) -> Source | None:
    """Jobs with any error that has the longest part of the line in it: those that match are among them."""
    part = max(line.split("*"), key=len)
    if not part:
        return None
    return _ranges(Sql("SELECT DISTINCT job AS seq FROM error WHERE instr(error, ?) > 0", (part,)))._replace(
        is_exact=False
    )


def _last_error_matches(line: str) -> Sql:
    """What a `*` stands for has no space in it: then the line has as many spaces as what is wanted."""
    glob = line.replace("[", "[[]").replace("?", "[?]")
    return Sql(
        f"""
        coalesce((
          SELECT line GLOB ? AND length(line) - length(replace(line, ' ', '')) = ?
            FROM (SELECT trim(substr(text, 1, min({ERROR_LINE}, instr(text || char(10), char(10)) - 1)), {_BLANKS})
                         AS line
                    FROM (SELECT trim(error, {_BLANKS}) AS text
                            FROM error WHERE error.job = job.seq ORDER BY error.id DESC LIMIT 1))
        ), '' GLOB ?)
        """,
        (glob, line.count(" "), glob),
    )


def _payload_contains(text: str) -> Sql:
    """LIKE is faster than instr(lower()). A program that uses the engine may have letters beyond ASCII escaped."""
    text = text.replace("\0", "\\u0000")
    spellings = dict.fromkeys((text, _escaped(text)))
    patterns = tuple(payload_jq.like_pattern(spelling) for spelling in spellings)
    return Sql(" OR ".join("payload LIKE ? ESCAPE '!'" for _ in patterns), patterns)


def _escaped(text: str) -> str:
    """As JSON that keeps to ASCII writes it."""
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)


def _lower(text: str) -> str:
    """In lower case, as SQLite sees it: ASCII letters only."""
    return text.encode().lower().decode()
