"""Random jobs and random filters: a search finds what a plain look at every job finds, page by page."""

import json
import operator
import re
import string
from collections.abc import Iterator
from typing import Any
from unittest import mock

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rookery.engine.ops import Cancel, Delete, Enqueue, Hold, NewJob, NewJobBatch
from rookery.model.job import STATES
from rookery.model.names import is_visible
from rookery.store import payload_jq
from rookery.store.search import SCATTERED, SORTS, JobFilter, Order, count_jobs, find_ids, search
from tests.conftest import START
from tests.unit.workbench import Workbench

COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
MISSING: Any = object()

# --- payload_jq

words = st.text('abcé😀"\\\n%_X1', max_size=3)
numbers = st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.5, 2**53, 2**63, -(2**63), 2**64, 1e300])
scalars = st.none() | st.booleans() | numbers | words
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)
payloads = st.dictionaries(st.sampled_from("abc"), values, max_size=3) | values
paths = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)
signs = st.sampled_from(list(COMPARISONS))


@st.composite
def expressions(draw: st.DrawFn) -> payload_jq.Expression:
    path = draw(paths)
    match draw(st.integers(0, 5)):
        case 0:
            return payload_jq.Expression(
                path, False, "contains", draw(words | st.sampled_from(["0", "1", "true", "null"]))
            )
        case 1:
            return payload_jq.Expression(path, False, "startswith", draw(words))
        case 2:
            return payload_jq.Expression(path, True, draw(signs), draw(st.integers(-1, 4) | st.just(1.5)))
    literal = draw(scalars)
    return payload_jq.Expression(
        path, False, draw(signs if literal is not None else st.sampled_from(["==", "!="])), literal
    )


def written(expression: payload_jq.Expression, space: str) -> str:
    """The expression as somebody would write it."""
    path = "".join(f".{key}" for key in expression.path)
    literal = json.dumps(expression.literal)
    if expression.of_length:
        return space.join([path, "|", "length", expression.operator, literal])
    if expression.operator in COMPARISONS:
        return space.join([path, expression.operator, literal])
    return space.join([path, "|", expression.operator, "(", literal, ")"])


def kind(value: Any) -> str:
    if value is MISSING or value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def as_text(element: Any) -> Any:
    if isinstance(element, list | dict):
        return None
    return element if isinstance(element, str) else json.dumps(element)


def holds(expression: payload_jq.Expression, payload: Any) -> bool:
    """The contract, said plainly."""
    value = payload
    for key in expression.path:
        value = value.get(key, MISSING) if isinstance(value, dict) else MISSING
    literal: Any = expression.literal
    if expression.operator == "contains":
        if isinstance(value, str):
            return literal in value
        return isinstance(value, list) and literal in [as_text(element) for element in value]
    if expression.operator == "startswith":
        return isinstance(value, str) and value.startswith(literal)
    compare = COMPARISONS[expression.operator]
    if expression.of_length:
        if kind(value) in ("boolean", "number"):
            return False
        return bool(compare(0 if kind(value) == "null" else len(value), literal))
    if kind(value) == "null" or literal is None:
        return bool(compare(kind(value) == "null", literal is None)) if expression.operator in ("==", "!=") else False
    return kind(value) == kind(literal) and bool(compare(value, literal))


@settings(max_examples=1500, deadline=None)
@given(expression=expressions(), payload=payloads, space=st.sampled_from(["", " ", "\t\n "]), ascii=st.booleans())
def test_a_payload_is_judged_as_the_contract_says(
    expression: payload_jq.Expression, payload: Any, space: str, ascii: bool
) -> None:
    db = apsw.Connection(":memory:")
    text = json.dumps(payload, ensure_ascii=ascii, separators=(",", ":"))
    sql, parameters = payload_jq.compile(payload_jq.parse(written(expression, space)), "job.payload")
    found = bool(db.execute(f"SELECT {sql} FROM (SELECT ? AS payload) AS job", (*parameters, text)).get)
    db.close()
    assert found == holds(expression, payload)


@settings(max_examples=500, deadline=None)
@given(text=st.text('.ab|=!<>()"\\ 0159eE-+ntruelgthcosw') | st.text())
def test_whatever_is_written_is_an_expression_or_refused_with_a_place(text: str) -> None:
    refusal = None
    try:
        sql, parameters = payload_jq.compile(payload_jq.parse(text), "job.payload")
    except payload_jq.BadExpression as error:
        refusal = str(error)
    if refusal is not None:
        assert refusal.startswith("at character ")
        return
    db = apsw.Connection(":memory:")
    db.execute(f"SELECT {sql} FROM (SELECT '[1]' AS payload) AS job", parameters).fetchall()
    db.close()


# --- jobs and filters

QUEUES = ("q", "r", "team::q")
PAYLOADS = [
    '{"a":1}',
    '{"a":"X","b":[1,"x"]}',
    '{"a":"\\u00e9"}',
    '{"a":"é"}',
    "[]",
    '{"a":"100%"}',
    '{"a":"1_0"}',
    '"x"',
]
TAGS = [None, "{}", '{"t":"x"}', '{"t":"x","n":1}', '{"n":1.0,"b":true}', '{"n":"1"}', '{"b":null,"t":"y"}']
WAITS = ("pending", "held", "cancelled", "scheduled")
"""The states of jobs that nobody claims: they may depend on jobs that have not completed."""
STEP = 1000


@st.composite
def job_specs(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "queue": draw(st.sampled_from(QUEUES)),
        "state": draw(st.sampled_from(STATES)),
        "wait": draw(st.integers(0, 2)),
        "rank": draw(st.integers(0, 2)),
        "payload": draw(st.sampled_from(PAYLOADS)),
        "tags": draw(st.sampled_from(TAGS)),
        "id": draw(st.none() | st.text(string.ascii_lowercase[:3], min_size=1, max_size=3)),
        "unique_key": draw(st.sampled_from([None, None, "k", "l"])),
        "parent_id": draw(st.sampled_from([None, "p1"])),
        "chain_id": draw(st.sampled_from([None, "c1"])),
        "depends_on": draw(st.none() | st.lists(st.sampled_from("abc"), min_size=1, unique=True)),
        "in_batch": draw(st.booleans()),
        "expire_after": draw(st.sampled_from([None, "1h", "2h"])),
        "error": draw(st.sampled_from(["Boom", "timed out\0late", "50% É", "Boom\nat line 1"])),
    }


times = st.integers(-1, 12).map(lambda n: START + n * STEP) | st.just(START + 3_600_000)


@st.composite
def filters(draw: st.DrawFn) -> JobFilter:
    options: dict[str, st.SearchStrategy[Any]] = {
        "queue": st.sampled_from([*QUEUES, "none"]),
        "states": st.lists(st.sampled_from(STATES), unique=True, max_size=3).map(tuple),
        "rank": st.integers(0, 2),
        "tags": st.sampled_from(['{"t":"x"}', '{"n":1}', '{"n":"1"}', '{"b":true}', '{"b":null}', '{"t":"x","n":1.0}']),
        "payload_contains": st.sampled_from(["A", "x", "é", "%", "_", '"a":', "1", "\\", "\0", "[", "ZZ"]),
        "payload_jq": st.sampled_from([".a == 1", ".a != null", '.b | contains("x")', ".a | length > 0", '.a == "é"']),
        "attempt_min": st.integers(-1, 2),
        "attempt_max": st.integers(0, 2),
        "unique_key": st.sampled_from(["k", "none"]),
        "parent_id": st.sampled_from(["p1", "none"]),
        "chain_id": st.sampled_from(["c1", "none"]),
        "depends_on": st.sampled_from(["a", "b", "none"]),
        "worker_id": st.sampled_from(["w1", "none"]),
        "has_errors": st.booleans(),
        "error_contains": st.sampled_from(["boom", "É", "%", "\0LATE", "o"]),
        "error_matches": st.sampled_from(
            ["Boom", "B*", "*o*", "BOOM", "*%*", "B?om", "[B]oom", "", "*", "*% *", "timed *"]
        ),
        "job_id_prefix": st.sampled_from(["a", "ab", "job_", "job_0", "J", "zz"]),
    }
    for name in ("created", "scheduled", "started", "completed", "expire"):
        options[f"{name}_after"] = options[f"{name}_before"] = times
    fields = draw(st.lists(st.sampled_from(sorted(options)), unique=True, max_size=3))
    return JobFilter(**{field: draw(options[field]) for field in fields})


def make_job(bench: Workbench, spec: dict[str, Any]) -> None:
    """Add a job and bring it into its state, if nothing speaks against it."""
    bench.advance(spec["wait"] * STEP)
    state = spec["state"]
    there = {id for (id,) in bench.rows("SELECT id FROM job WHERE was_completed OR ?", state in WAITS)}
    depends_on = [id for id in spec["depends_on"] or () if id in there] or None
    job = NewJob(
        max_retries=2 if state == "retrying" else 1,
        scheduled_at=bench.now + 10**9 if state == "scheduled" else None,
        depends_on=depends_on,
        **{field: spec[field] for field in spec if field not in ("state", "wait", "in_batch", "error", "depends_on")},
    )
    enqueued = bench.do(Enqueue(jobs=[job], batch=NewJobBatch() if spec["in_batch"] else None))
    if not hasattr(enqueued, "jobs") or enqueued.jobs[0].status != "pending":
        return
    job_id = enqueued.jobs[0].job_id
    if state in ("active", "completed", "dead", "retrying"):
        claimed = bench.claim(spec["queue"], count=1, worker_id="w1", lease=10**9)
        bench.advance(spec["wait"] * STEP)
        if state == "completed":
            bench.ack(claimed[0])
        elif state != "active":
            bench.fail(claimed[0], spec["error"])
    elif state == "cancelled":
        bench.do(Cancel(job_id=job_id))
    elif state == "held":
        bench.do(Hold(job_id=job_id))


def all_jobs(bench: Workbench) -> Iterator[dict[str, Any]]:
    """Every job with its queue's name, its tags and its errors."""
    columns = [name for (name,) in bench.rows("SELECT name FROM pragma_table_info('job')")]
    names = dict(bench.rows("SELECT id, name FROM queue"))
    for row in bench.rows("SELECT * FROM job"):
        job = dict(zip(columns, row, strict=True))
        job["queue"] = names[job["queue"]]
        job["errors"] = [error for (error,) in bench.rows("SELECT error FROM error WHERE job = ?", job["seq"])]
        yield job


def lower(text: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def same(left: Any, right: Any) -> bool:
    """Whether two JSON scalars are equal."""
    return kind(left) == kind(right) and left == right


def line_matches(wanted: str, error: str) -> bool:
    """Whether the first line of an error is what is wanted; SQLite does not look beyond a NUL."""
    line = error.partition("\0")[0].partition("\n")[0]
    return re.fullmatch("[^ ]*".join(re.escape(part) for part in wanted.split("*")), line) is not None


def is_wanted(job: dict[str, Any], wanted: JobFilter, namespace: str) -> bool:
    """The contract, said plainly."""
    text = lower(job["payload"])
    tags = json.loads(job["tags"] or "{}")
    checks = [
        is_visible(namespace, job["queue"]),
        wanted.queue in (None, job["queue"]),
        not wanted.states or job["state"] in wanted.states,
        wanted.rank in (None, job["rank"]),
        wanted.attempt_min is None or job["attempt"] >= wanted.attempt_min,
        wanted.attempt_max is None or job["attempt"] <= wanted.attempt_max,
        wanted.has_errors is None or wanted.has_errors == bool(job["errors"]),
        wanted.job_id_prefix is None or job["id"].startswith(wanted.job_id_prefix),
        wanted.depends_on is None or wanted.depends_on in json.loads(job["depends_on"] or "[]"),
        wanted.error_matches is None or line_matches(wanted.error_matches, (job["errors"] or [""])[-1]),
        wanted.error_contains is None or any(lower(wanted.error_contains) in lower(error) for error in job["errors"]),
    ]
    if wanted.tags is not None:
        checks += [key in tags and same(tags[key], value) for key, value in json.loads(wanted.tags).items()]
    if wanted.payload_contains is not None:
        spellings = (wanted.payload_contains, wanted.payload_contains.replace("é", "\\u00e9"))
        checks.append(any(lower(spelling) in text for spelling in spellings))
    if wanted.payload_jq is not None:
        checks.append(holds(payload_jq.parse(wanted.payload_jq), json.loads(job["payload"])))
    for field in ("unique_key", "batch_id", "worker_id", "parent_id", "chain_id"):
        checks.append(getattr(wanted, field) in (None, job[field]))
    for name, column in (
        ("created", "created_at"),
        ("scheduled", "scheduled_at"),
        ("started", "started_at"),
        ("completed", "completed_at"),
        ("expire", "expire_at"),
    ):
        after, before, at = getattr(wanted, f"{name}_after"), getattr(wanted, f"{name}_before"), job[column]
        checks.append(after is None or (at is not None and at > after))
        checks.append(before is None or (at is not None and at < before))
    return all(checks)


def key_of(job: dict[str, Any], sort: str) -> tuple[int, str]:
    value = job["rank" if sort == "priority" else sort]
    return -1 if value is None else value, job["id"]


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    specs=st.lists(job_specs(), max_size=12),
    many=st.lists(filters(), min_size=6, max_size=6),
    namespace=st.sampled_from(["default", "default", "team", "nobody"]),
    sort=st.sampled_from(list(SORTS)),
    is_descending=st.booleans(),
    limit=st.integers(1, 4),
    few=st.sampled_from([0, 2, 5000]),
    scattered=st.sampled_from([0, SCATTERED, 1_000_000]),
    up_to=st.integers(0, 4),
)
def test_a_search_finds_what_a_look_at_every_job_finds(
    specs: list[dict[str, Any]],
    many: list[JobFilter],
    namespace: str,
    sort: str,
    is_descending: bool,
    limit: int,
    few: int,
    scattered: int,
    up_to: int,
) -> None:
    bench = Workbench()
    for spec in specs:
        make_job(bench, spec)
    jobs, db = list(all_jobs(bench)), bench.machine._db
    batches = [job["batch_id"] for job in jobs if job["batch_id"]]
    if batches:
        many = [*many, JobFilter(batch_id=batches[0])]
    order = Order(sort, is_descending)
    with mock.patch.multiple("rookery.store.search", FEW=few, SCATTERED=scattered):
        for wanted in many:
            expected = [job for job in jobs if is_wanted(job, wanted, namespace)]
            ids = [id for _, id in sorted((key_of(job, sort) for job in expected), reverse=is_descending)]
            assert pages(db, wanted, namespace, order, limit) == (ids, {len(ids)}), wanted
            assert count_jobs(db, wanted, namespace) == len(ids)
            counted = search(db, wanted, namespace, order, limit, up_to=up_to)
            assert counted.total == (up_to if counted.is_partial else len(ids))
            assert not counted.is_partial or up_to < len(ids)
            last = len(jobs) // 2 + 1
            early = sorted((job["created_at"], job["seq"], job["id"]) for job in expected if job["seq"] <= last)
            assert walked(db, wanted, namespace, last, limit) == [id for _, _, id in early]
    bench.machine.close()


def pages(
    db: apsw.Connection, wanted: JobFilter, namespace: str, order: Order, limit: int
) -> tuple[list[str], set[int]]:
    """The ids of all pages, and what they said the total was."""
    ids, totals, after = [], set(), None
    while True:
        rows, total, _ = search(db, wanted, namespace, order, limit, after)
        ids += [id for _, id, _ in rows]
        totals.add(total)
        assert len(ids) < 100, "the pages do not end"
        if len(rows) < limit:
            return ids, totals
        after = rows[-1][:2]


def walked(db: apsw.Connection, wanted: JobFilter, namespace: str, up_to: int, limit: int) -> list[str]:
    """The ids of a whole walk."""
    ids: list[str] = []
    position: str | None = None
    while True:
        found, position = find_ids(db, wanted, namespace, up_to=up_to, after=position, limit=limit)
        ids += found
        assert len(ids) < 100, "the walk does not end"
        if position is None:
            return ids


# --- change between pages


@settings(max_examples=150, deadline=None)
@given(
    size=st.integers(1, 12),
    changes=st.lists(st.tuples(st.integers(0, 11), st.sampled_from(["cancel", "hold", "delete", "add"])), max_size=10),
    is_descending=st.booleans(),
    limit=st.integers(1, 3),
    few=st.sampled_from([0, 5000]),
    wanted=st.sampled_from([JobFilter(), JobFilter(queue="q"), JobFilter(queue="q", states=("pending", "held"))]),
)
def test_paging_neither_skips_nor_repeats_while_jobs_change(
    size: int,
    changes: list[tuple[int, str]],
    is_descending: bool,
    limit: int,
    few: int,
    wanted: JobFilter,
) -> None:
    bench = Workbench()
    ids = []
    for number in range(size):
        bench.advance(number % 2)
        ids.append(bench.add())
    touched: set[str] = set()
    seen: list[str] = []
    after = None
    to_do = iter(changes)
    with mock.patch("rookery.store.search.FEW", few):
        while True:
            rows, _, _ = search(bench.machine._db, wanted, "default", Order(is_descending=is_descending), limit, after)
            seen += [id for _, id, _ in rows]
            assert len(seen) < 100, "the pages do not end"
            if len(rows) < limit:
                break
            after = rows[-1][:2]
            which, change = next(to_do, (0, ""))
            target = ids[which % size]
            if change:
                touched.add(target)
            disturb(bench, change, target)
    bench.machine.close()
    assert len(seen) == len(set(seen))
    assert set(ids) - touched <= set(seen)
    assert [id for id in seen if id in ids] == sorted((id for id in seen if id in ids), reverse=is_descending)


def disturb(bench: Workbench, change: str, job_id: str) -> None:
    match change:
        case "cancel":
            bench.do(Cancel(job_id=job_id))
        case "hold":
            bench.do(Hold(job_id=job_id))
        case "delete":
            bench.do(Delete(job_id=job_id))
        case "add":
            bench.advance(1)
            bench.add()


@pytest.mark.parametrize("few", [0, 5000])
def test_a_walk_goes_on_when_what_it_found_no_longer_matches(few: int) -> None:
    bench = Workbench()
    ids = [bench.add() for _ in range(10)]
    wanted, position, found = JobFilter(queue="q", states=("pending",)), None, []
    with mock.patch("rookery.store.search.FEW", few):
        while True:
            page, position = find_ids(bench.machine._db, wanted, "default", up_to=10, after=position, limit=3)
            if position is None:
                break
            found += page
            for job_id in page:
                bench.do(Cancel(job_id=job_id))
            bench.add()
    bench.machine.close()
    assert found == ids
