"""Which jobs somebody wants, as SQL: conditions on rows of `job`, and the indexes that answer some of them alone."""

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
    has_errors: bool | None = None
    error_contains: str | None = None
    job_id_prefix: str | None = None


class Sql(NamedTuple):
    """A piece of SQL with the values for its parameters."""

    text: str
    values: tuple[Any, ...] = ()


class Condition(NamedTuple):
    """What a job must be like. `source` finds the seqs of exactly these jobs by an index, if there is one."""

    sql: Sql
    source: Sql | None = None


_TIMES: Final = {
    "created": "created_at",
    "scheduled": "scheduled_at",
    "completed": "completed_at",
    "started": "started_at",
    "expire": "expire_at",
}
_INDEXED_TIMES: Final = ("created_at", "scheduled_at")
_LINKS: Final = ("unique_key", "batch_id", "chain_id", "parent_id")
_LAST: Final = "\U0010ffff"


def conditions_of(wanted: JobFilter) -> list[Condition]:
    """What a job must be like, but for its queue and state; what is found fastest comes first."""
    conditions: list[Condition] = []
    if wanted.job_id_prefix is not None:
        prefix = Sql("id >= ? AND id < ?", (wanted.job_id_prefix, wanted.job_id_prefix + _LAST))
        conditions.append(Condition(prefix, _jobs_with(prefix)))
    for column in _LINKS:
        if (value := getattr(wanted, column)) is not None:
            link = Sql(f"{column} = ?", (value,))
            conditions.append(Condition(link, _jobs_with(link)))
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
        Sql(f"SELECT job AS seq FROM job_tag WHERE {tag}", values),
    )


def _times(wanted: JobFilter) -> list[Condition]:
    conditions = []
    for name, column in _TIMES.items():
        bounds = [(">", getattr(wanted, f"{name}_after")), ("<", getattr(wanted, f"{name}_before"))]
        given = [(sign, at) for sign, at in bounds if at is not None]
        if given:
            values = tuple(at for _, at in given)
            sql = Sql(" AND ".join(f"{column} {sign} ?" for sign, _ in given), values)
            source = _jobs_with(sql) if column in _INDEXED_TIMES else None
            if column == "completed_at":
                # A completed job has ended when it completed, and there is an index of ends.
                ended = " AND ".join(f"ended_at {sign} ?" for sign, _ in given)
                sql = Sql(f"{sql.text} AND {ended}", values * 2)
                source = _jobs_with(sql)
            conditions.append(Condition(sql, source))
    return conditions


def _errors(wanted: JobFilter) -> list[Condition]:
    conditions = []
    any_error = "EXISTS (SELECT 1 FROM error WHERE error.job = job.seq)"
    if wanted.has_errors:
        conditions.append(Condition(Sql(any_error), Sql("SELECT DISTINCT job AS seq FROM error")))
    elif wanted.has_errors is not None:
        conditions.append(Condition(Sql(f"NOT {any_error}")))
    if wanted.error_contains is not None:
        source = Sql(
            "SELECT DISTINCT job AS seq FROM error WHERE instr(lower(error), ?) > 0", (_lower(wanted.error_contains),)
        )
        conditions.append(Condition(Sql(f"seq IN ({source.text})", source.values), source))
    return conditions


def _payload_contains(text: str) -> Sql:
    """JSON may write letters beyond ASCII as they are or as escapes; a payload is kept as its producer wrote it."""
    spellings = dict.fromkeys((_lower(text), _lower(_escaped(text))))
    found = " OR ".join("instr(lower(payload), ?) > 0" for _ in spellings)
    return Sql(found, tuple(spellings))


def _escaped(text: str) -> str:
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04x}" for code in codes)


def _lower(text: str) -> str:
    """In lower case, as SQLite sees it: ASCII letters only."""
    return text.encode().lower().decode()
