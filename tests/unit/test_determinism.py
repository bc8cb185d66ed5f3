"""The same operations always make the same store, in one batch or in many."""

import ast
import itertools
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rookery.engine
from rookery.engine import Batch, Machine
from rookery.engine.bulk import ACTIONS
from rookery.engine.ops import (
    Ack,
    AnnounceWorker,
    AnyOperation,
    AppendLogs,
    Approve,
    Bulk,
    CallbackAttempt,
    Cancel,
    Claim,
    ClearQueue,
    Completion,
    Delete,
    DeleteWebhook,
    Delivery,
    Enqueue,
    Fail,
    Failure,
    Hold,
    LimitConcurrency,
    LogLine,
    Move,
    NewJob,
    NewJobBatch,
    PauseQueue,
    RecordCallbacks,
    RecordDeliveries,
    Reject,
    Release,
    RenewReadyHook,
    Requeue,
    ResumeQueue,
    Retry,
    Return,
    SaveWebhook,
    SubscribeToReady,
    TellWebhooks,
    Throttle,
    Tick,
)
from tests.conftest import START

CHAIN = '{"steps":[{"queue":"a"},{"queue":"b"}],"on_failure":{"queue":"c"},"on_exit":{"queue":"c"}}'

OUTSIDE_WORLD = {"asyncio", "datetime", "http", "locale", "multiprocessing", "os", "platform", "random", "secrets"}
OUTSIDE_WORLD |= {"signal", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "uuid"}

names = st.sampled_from(["a", "b", "c"])
ids = st.sampled_from([f"j{number}" for number in range(6)])
hooks = st.sampled_from(["h1", "h2"])


def new_jobs() -> st.SearchStrategy[NewJob]:
    return st.builds(
        NewJob,
        queue=names,
        id=st.none() | ids,
        rank=st.integers(0, 2),
        max_retries=st.integers(0, 3),
        backoff=st.sampled_from(["none", "exponential", "exp_full_jitter"]),
        scheduled_at=st.none() | st.just(START),
        unique_key=st.none() | st.sampled_from(["k", "l"]),
        on_conflict=st.sampled_from(["keep", "replace", "reschedule"]),
        depends_on=st.none() | st.lists(ids, min_size=1, max_size=2, unique=True),
        chain_config=st.none() | st.just(CHAIN),
        starts_chain=st.booleans(),
        agent=st.none() | st.just("{}"),
        face=st.none() | st.just("{}"),
        callback=st.none() | st.just("http://example.com/done"),
        spelling=st.none() | st.sampled_from(["A", "b"]),
    )


deliveries = st.builds(
    Delivery,
    webhook_id=hooks,
    outbox_id=st.none() | st.integers(1, 6),
    event_seq=st.just(1),
    event_type=st.just("enqueued"),
    status_code=st.sampled_from([0, 200, 500]),
    duration_ms=st.just(1.0),
)


callback_attempts = st.builds(
    CallbackAttempt,
    outbox_id=st.integers(1, 6),
    succeeded=st.booleans(),
    postponed_to=st.none() | st.just(START),
)


def bulks() -> st.SearchStrategy[Bulk]:
    return st.builds(
        Bulk,
        action=st.sampled_from(sorted(ACTIONS)),
        job_ids=st.lists(ids, max_size=6),
        queue=names,
        rank=st.integers(0, 2),
    )


def operations() -> st.SearchStrategy[list[AnyOperation]]:
    queues = st.lists(names, min_size=1, max_size=3).map(tuple)
    agent_status = st.sampled_from([None, "continue", "done"])
    one: st.SearchStrategy[AnyOperation] = st.one_of(
        st.builds(
            Enqueue,
            jobs=st.lists(new_jobs(), min_size=1, max_size=3),
            batch=st.none() | st.builds(NewJobBatch, callback_queue=st.none() | names),
        ),
        st.builds(Claim, queues=queues, count=st.integers(1, 4), worker_id=st.none() | st.just("w")),
        st.builds(
            AnnounceWorker,
            worker_id=st.just("w"),
            queues=st.none() | queues,
            slots=st.none() | st.integers(1, 3),
            draining=st.none() | st.booleans(),
        ),
        st.builds(
            Ack,
            items=st.lists(
                st.builds(Completion, job_id=ids, result=st.none() | st.just("1"), agent_status=agent_status),
                max_size=4,
            ),
        ),
        st.builds(Fail, items=st.lists(st.builds(Failure, job_id=ids), max_size=2)),
        st.builds(Release, items=st.lists(st.builds(Return, job_id=ids), max_size=2)),
        st.builds(Move, job_id=ids, queue=names),
        st.builds(AppendLogs, job_id=ids, lines=st.lists(st.builds(LogLine, message=names), max_size=3)),
        *[st.builds(kind, job_id=ids) for kind in (Retry, Requeue, Cancel, Delete, Hold, Approve, Reject)],
        bulks(),
        *[st.builds(kind, queue=names) for kind in (PauseQueue, ResumeQueue, ClearQueue)],
        st.builds(LimitConcurrency, queue=names, max_active=st.none() | st.integers(1, 3)),
        st.builds(Throttle, queue=names, rate=st.integers(1, 3), window=st.just(1000)),
        st.builds(
            SaveWebhook,
            webhook_id=hooks,
            url=st.just("http://example.com"),
            events=st.none() | st.just(["enqueued"]),
            queues=st.none() | st.lists(names, max_size=2),
            enabled=st.none() | st.booleans(),
            retry_limit=st.none() | st.integers(1, 2),
        ),
        st.builds(DeleteWebhook, webhook_id=hooks),
        st.builds(RecordDeliveries, items=st.lists(deliveries, max_size=3)),
        st.just(TellWebhooks()),
        st.builds(RecordCallbacks, items=st.lists(callback_attempts, max_size=3), most_attempts=st.integers(1, 2)),
        st.builds(
            SubscribeToReady,
            hook_id=hooks,
            url=st.just("http://example.com"),
            queues=st.just({"a": "A"}),
            mode=st.just("fanout"),
            min_interval=st.just(1000),
            lifetime=st.just(1000),
        ),
        st.builds(RenewReadyHook, hook_id=hooks, lifetime=st.integers(1000, 2000)),
        st.just(Tick()),
    )
    return st.lists(one, max_size=30)


def dump(machine: Machine) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table."""
    db = machine._db
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    return {table: sorted(db.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}


def story() -> list[AnyOperation]:
    """A longer story that touches most rules."""
    told: list[AnyOperation] = [SaveWebhook(url="http://example.com"), SaveWebhook(url="http://example.org")]
    for number in range(40):
        queue = "abc"[number % 3]
        job = NewJob(queue=queue, id=f"j{number}", rank=number % 3, backoff="exp_equal_jitter")
        if number % 5 == 0:
            job.chain_config, job.starts_chain = CHAIN, True
        if number > 10 and number % 4 == 0:
            job.depends_on = [f"j{number - 7}", f"j{number - 9}"]
        told.append(Enqueue(jobs=[job], batch=NewJobBatch("done") if number % 6 == 0 else None))
        if number % 3 == 0:
            told.append(Claim(queues=("a", "b", "c"), count=2, worker_id=f"w{number % 2}"))
        if number % 4 == 1:
            told.append(Ack(items=[Completion(f"j{number - n}", result=str(n)) for n in range(1, 6)]))
        if number % 7 == 3:
            told.append(Fail(items=[Failure(f"j{number - n}", error="boom") for n in range(1, 9)]))
        if number % 11 == 5:
            told.append(Bulk(action="change_priority", rank=1, job_ids=[f"j{number - n}" for n in range(9)]))
            told += [Hold(job_id=f"j{number}"), Move(job_id=f"j{number}", queue="c"), Delete(job_id=f"j{number - 2}")]
        told += [Tick(), TellWebhooks()] if number % 2 else [Tick()]
    return told


def tell(machine: Machine) -> None:
    for number, op in enumerate(story()):
        machine.apply(Batch(START + number * 777, [op], entropy=number * 10**15))


def test_the_same_operations_make_the_same_bytes() -> None:
    with Machine() as first, Machine() as second:
        tell(first)
        tell(second)

        assert first._db.serialize("main") == second._db.serialize("main")


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_the_order_of_hashes_does_not_matter(seed: str) -> None:
    code = "from tests.unit.test_determinism import print_digest; print_digest()"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    root = Path(__file__).parents[2]
    printed = subprocess.run([sys.executable, "-c", code], env=environment, cwd=root, capture_output=True, check=True)

    assert printed.stdout.decode().strip() == digest()


def digest() -> str:
    with Machine() as machine:
        tell(machine)
        return sha256(machine._db.serialize("main")).hexdigest()


def print_digest() -> None:
    print(digest())


@settings(deadline=None, max_examples=150)
@given(operations(), st.data())
def test_one_batch_or_many_make_the_same_store(ops: list[AnyOperation], data: st.DataObject) -> None:
    cuts = data.draw(st.sets(st.integers(0, len(ops))))
    bounds = sorted({0, len(ops), *cuts})
    with Machine() as together, Machine() as alone, Machine() as in_parts:
        at_once = together.apply(Batch(START, ops, entropy=7))
        one_by_one = [alone.apply(Batch(START, [op], entropy=7))[0] for op in ops]
        parts = [in_parts.apply(Batch(START, ops[a:b], entropy=7)) for a, b in itertools.pairwise(bounds)]

        assert at_once == one_by_one == [result for part in parts for result in part]
        assert dump(together) == dump(alone) == dump(in_parts)


def test_the_engine_knows_nothing_of_the_world_outside() -> None:
    folder = Path(rookery.engine.__file__).parent
    found = set()
    for path in sorted(folder.glob("**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                imported = [node.module or ""]
            else:
                continue
            found |= {(path.name, name) for name in imported if name.partition(".")[0] in OUTSIDE_WORLD}

    assert found == set()
