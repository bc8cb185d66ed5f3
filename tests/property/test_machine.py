"""Random lives of jobs, lived by the machine and by the contract side by side."""

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from rookery.engine import Batch, Machine
from rookery.engine.ops import (
    Ack,
    AnyOperation,
    Approve,
    Beat,
    Cancel,
    Claim,
    ClearQueue,
    Completion,
    Delete,
    DeleteQueue,
    Done,
    Enqueue,
    Enqueued,
    Fail,
    FailedJob,
    Failure,
    Heartbeat,
    Hold,
    LimitConcurrency,
    Move,
    NewJob,
    NewJobBatch,
    PauseQueue,
    Purge,
    Refusal,
    Reject,
    Release,
    ResumeQueue,
    Retry,
    Return,
    Sweep,
    Throttle,
    Tick,
)
from tests.conftest import START
from tests.property.contract import Chain, Job, Origin, Refused, Wish, World

QUEUES = ("a", "b", "c")
WEEK = 7 * 24 * 3_600_000
KINDS = {"not found": Refusal.NOT_FOUND, "lease lost": Refusal.LEASE_LOST, "taken": Refusal.CONFLICT}
FITTING = {
    "retry": ("dead", "cancelled", "completed", "scheduled"),
    "cancel": ("pending", "scheduled", "retrying", "active"),
    "hold": ("pending", "scheduled", "retrying", "active"),
    "approve": ("held",),
    "reject": ("held",),
    "move": ("pending", "scheduled", "retrying", "held", "completed", "dead", "cancelled"),
}
"""The states in which each action is allowed."""
GOLDEN = 0x9E3779B97F4A7C15F39C

queues = st.sampled_from(QUEUES)
numbers = st.integers(0, 999)
tokens = st.sampled_from(["none", "current", "current", "current", "old"])

chains = st.builds(
    Chain,
    steps=st.lists(queues, min_size=2, max_size=3),
    on_failure=st.sampled_from([None, "continue", "stop"]),
    exit_queue=st.none() | queues,
) | st.builds(Chain, steps=st.lists(queues, min_size=2, max_size=3), failure_queue=queues)

jobs = st.builds(
    Job,
    id=st.just(""),
    queue=queues,
    seq=st.just(0),
    created_at=st.just(0),
    rank=st.integers(0, 2),
    max_retries=st.integers(0, 3),
    max_lost=st.integers(0, 2),
    on_lost=st.sampled_from(["requeue", "requeue", "retry_now", "back_off"]),
    backoff=st.sampled_from(["none", "fixed", "linear", "exponential", "power"]),
    base=st.sampled_from([0, 1000, 5000]),
    cap=st.sampled_from([0, 6000]),
    scheduled_at=st.none() | st.sampled_from([-1000, 0, 1000, 60_000]),
    expire_after=st.none() | st.none() | st.sampled_from([5000, 60_000]),
    unique_key=st.none() | st.sampled_from(["k", "l"]),
    chain=st.none() | chains,
    max_iterations=st.none() | st.none() | st.integers(0, 2),
)

plain_jobs = st.builds(
    Job,
    id=st.just(""),
    queue=queues,
    seq=st.just(0),
    created_at=st.just(0),
    max_retries=st.integers(1, 2),
    backoff=st.just("none"),
)


class Lives(RuleBasedStateMachine):
    """Whatever is done to the machine is done to the contract, and both must agree."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "store.db"
        self.machines = [Machine(self.path, durability="relaxed") for _ in range(2)]
        self.world = World(START)
        self.turn = 0
        self.ids: list[str] = []
        self.old_tokens: dict[str, list[int]] = {}
        self.called_back: Counter[str] = Counter()

    def teardown(self) -> None:
        for machine in self.machines:
            machine.close()
        self.folder.cleanup()

    @property
    def machine(self) -> Machine:
        """Two machines take turns on the file, as two processes would."""
        return self.machines[self.turn % 3 == 0]

    def do(self, op: AnyOperation) -> Any:
        self.turn += 1
        (result,) = self.machine.apply(Batch(self.world.now, [op], self.turn * GOLDEN))
        return result

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.machine._db.execute(sql).fetchall()

    def some_id(self, number: int, *states: str) -> str:
        """A job in one of these states if there is one, else any id that ever was."""
        fitting = [job.id for job in self.world.jobs.values() if job.state in states]
        ids = fitting or self.ids
        return ids[number % len(ids)]

    def token(self, job_id: str, which: str, number: int) -> int | None:
        job = self.world.jobs.get(job_id)
        if which == "current" and job is not None:
            return job.lease
        old = self.old_tokens.get(job_id, [])
        return old[number % len(old)] if which == "old" and old else None

    def agree(self, result: object, expected: Callable[[], object]) -> None:
        """The machine's result is what the contract says, or both refuse."""
        wanted = outcome_of(expected)
        if isinstance(wanted, Refused):
            assert isinstance(result, Refusal), f"{result} although {wanted}"
            kind = KINDS.get(str(wanted))
            assert kind is None or result.kind == kind, result
        else:
            assert result == wanted
        self.welcome()

    def welcome(self) -> None:
        """Every job that was born of another one is one that the contract expects."""
        born: list[tuple[Origin, str, int]] = []
        for job_id, seq, payload, step in self.rows("SELECT id, seq, payload, chain_step FROM job ORDER BY seq"):
            if job_id not in self.world.jobs:
                born.append((origin_of(msgspec.json.decode(payload), step), job_id, seq))
        expected = sorted(self.world.births, key=lambda birth: birth[0])
        assert sorted(origin for origin, _, _ in born) == [origin for origin, _ in expected]
        for (origin, job_id, seq), (_, job) in zip(sorted(born), expected, strict=True):
            job.id, job.seq = job_id, seq
            self.world.add(job)
            self.ids.append(job_id)
            if origin[0] == "batch":
                self.called_back[origin[1]] += 1
        self.world.births.clear()

    # --- producing

    @rule(
        wanted=st.lists(jobs, min_size=1, max_size=3),
        own_id=st.none() | st.none() | st.sampled_from(["mine", "yours"]),
        depends_on=st.lists(numbers, max_size=2),
        conflict=st.sampled_from(["keep", "replace", "reschedule"]),
        period=st.sampled_from([1, 3600]),
        batch=st.none() | st.builds(NewJobBatch, callback_queue=st.none() | queues),
    )
    def enqueue(
        self,
        wanted: list[Job],
        own_id: str | None,
        depends_on: list[int],
        conflict: str,
        period: int,
        batch: NewJobBatch | None,
    ) -> None:
        others = list(dict.fromkeys(self.ids[number % len(self.ids)] for number in depends_on if self.ids))
        wishes = [Wish(replace(job), on_conflict=conflict, unique_period=period) for job in wanted]
        wishes[0].own_id = own_id
        wishes[-1].depends_on = others
        for wish in wishes:
            if wish.job.scheduled_at is not None:
                wish.job.scheduled_at += self.world.now
            if wish.job.chain is not None:
                wish.job.step = 0
        result = self.do(Enqueue(jobs=[new_job(wish) for wish in wishes], batch=batch))
        self.agree(result, lambda: self.expect_enqueued(wishes, batch, result))

    def expect_enqueued(self, wishes: list[Wish], batch: NewJobBatch | None, result: Enqueued) -> Enqueued:
        self.world.check(wishes)
        assert isinstance(result, Enqueued), result
        assert (result.batch_id is None) == (batch is None)
        seqs = dict(self.rows("SELECT id, seq FROM job"))
        members = 0
        for wish, job in zip(wishes, result.jobs, strict=True):
            holder = wish.job.unique_key and self.world.holder(wish.job.queue, wish.job.unique_key)
            status = self.world.enqueue(wish, job.job_id, seqs[job.job_id], result.batch_id)
            assert job.status == status
            if holder:
                assert job.job_id == holder.id
            else:
                assert wish.own_id in (None, job.job_id)
                self.ids.append(job.job_id)
                members += 1
        if batch is not None and result.batch_id is not None:
            self.world.open_batch(result.batch_id, batch.callback_queue, members)
        return result

    @rule(wanted=st.lists(plain_jobs, min_size=1, max_size=5))
    def enqueue_plainly(self, wanted: list[Job]) -> None:
        self.enqueue_all(wanted, None)

    @rule(wanted=st.lists(plain_jobs, min_size=2, max_size=4), callback=queues)
    def enqueue_batch(self, wanted: list[Job], callback: str) -> None:
        self.enqueue_all(wanted, NewJobBatch(callback))

    def enqueue_all(self, wanted: list[Job], batch: NewJobBatch | None) -> None:
        wishes = [Wish(replace(job)) for job in wanted]
        result = self.do(Enqueue(jobs=[new_job(wish) for wish in wishes], batch=batch))
        self.agree(result, lambda: self.expect_enqueued(wishes, batch, result))

    # --- working

    @rule(
        named=st.lists(queues, min_size=1, max_size=3),
        count=st.integers(1, 5),
        lease=st.sampled_from([1000, 60_000, 90_000]),
    )
    def claim(self, named: list[str], count: int, lease: int) -> None:
        claimed = self.do(Claim(queues=tuple(named), count=count, lease=lease, worker_id="w")).jobs
        expected = self.world.claim(set(named), count, lease, [job.lease for job in claimed])

        assert [job.job_id for job in claimed] == expected
        for job in claimed:
            assert job.lease not in self.old_tokens.get(job.job_id, [])
            assert job.attempt == self.world.jobs[job.job_id].attempt
            self.old_tokens.setdefault(job.job_id, []).append(job.lease)

    @precondition(lambda self: self.ids)
    @rule(
        number=numbers,
        which=tokens,
        agent_status=st.sampled_from([None, None, "continue", "done", "hold"]),
        step_status=st.sampled_from([None, None, "continue", "exit"]),
        any_state=st.booleans(),
    )
    def ack(self, number: int, which: str, agent_status: str | None, step_status: str | None, any_state: bool) -> None:
        job_id = self.some_id(number, *(() if any_state else ("active",)))
        token = self.token(job_id, which, number)
        item = Completion(job_id, token, agent_status=agent_status, step_status=step_status)
        outcome = self.do(Ack(items=[item])).outcomes[0]

        self.agree(outcome, lambda: self.world.ack(job_id, token, agent_status, step_status))

    @rule(number=numbers)
    def ack_all(self, number: int) -> None:
        active = [job for job in self.world.jobs.values() if job.state == "active"]
        items = [Completion(job.id, job.lease) for job in active[: number % 5]]
        outcomes = self.do(Ack(items=[*items, *items])).outcomes

        assert outcomes == [None] * (2 * len(items))
        for item in items:
            self.world.ack(item.job_id, item.lease, None, None)
        self.welcome()

    @precondition(lambda self: self.zombies())
    @rule(number=numbers, word=st.sampled_from(["ack", "fail", "release", "heartbeat"]))
    def hear_a_zombie(self, number: int, word: str) -> None:
        """Somebody whose lease is long gone still believes that the job is his."""
        zombies = self.zombies()
        job_id, token = zombies[number % len(zombies)]
        if word == "heartbeat":
            assert self.do(Heartbeat(items=[Beat(job_id, token, progress="1")])).outcomes == ["lost"]
            return
        op = {
            "ack": Ack(items=[Completion(job_id, token)]),
            "fail": Fail(items=[Failure(job_id, token)]),
            "release": Release(items=[Return(job_id, token)]),
        }[word]
        (outcome,) = self.do(op).outcomes
        assert isinstance(outcome, Refusal)
        assert outcome.kind == Refusal.LEASE_LOST

    def zombies(self) -> list[tuple[str, int]]:
        """Tokens of claims that have since been taken back or given to others."""
        jobs = self.world.jobs
        return [
            (job_id, token)
            for job_id, given in self.old_tokens.items()
            for token in given
            if job_id in jobs and jobs[job_id].lease != token
        ]

    @precondition(lambda self: self.ids)
    @rule(
        number=numbers,
        which=tokens,
        any_state=st.booleans(),
        retry_after=st.sampled_from([None, None, 0, 700]),
        end=st.sampled_from([None, None, None, "dead", "cancelled"]),
    )
    def fail(
        self, number: int, which: str, any_state: bool, retry_after: int | None = None, end: str | None = None
    ) -> None:
        job_id = self.some_id(number, *(() if any_state else ("active",)))
        token = self.token(job_id, which, number)
        outcome = self.do(Fail(items=[Failure(job_id, token, "boom", None, retry_after, end)])).outcomes[0]

        self.agree(outcome, lambda: FailedJob(*self.world.fail(job_id, token, retry_after, end)))

    @precondition(lambda self: self.ids)
    @rule(number=numbers, which=tokens, delay=st.sampled_from([0, 0, 1000]))
    def release(self, number: int, which: str, delay: int) -> None:
        job_id = self.some_id(number, "active")
        token = self.token(job_id, which, number)
        outcome = self.do(Release(items=[Return(job_id, token, delay=delay)])).outcomes[0]

        self.agree(outcome, lambda: self.world.release(job_id, token, delay))

    @precondition(lambda self: self.ids)
    @rule(number=numbers, which=tokens, progress=st.booleans(), any_state=st.booleans())
    def heartbeat(self, number: int, which: str, progress: bool, any_state: bool) -> None:
        job_id = self.some_id(number, *(() if any_state else ("active",)))
        token = self.token(job_id, which, number)
        beat = Beat(job_id, token, progress="1" if progress else None)
        outcome = self.do(Heartbeat(items=[beat])).outcomes[0]

        assert outcome == self.world.heartbeat(job_id, token, progress=progress)

    @rule(ending=st.sampled_from(["ack", "fail", "fail", "release", "reclaim"]), lease=st.sampled_from([1000, 60_000]))
    def claim_and_end(self, ending: str, lease: int) -> None:
        """A worker that takes what there is and ends all of it in one way."""
        before = {job.id for job in self.world.jobs.values() if job.state == "active"}
        self.claim(list(QUEUES), 5, lease)
        taken = [job for job in self.world.jobs.values() if job.state == "active" and job.id not in before]
        for number, job in enumerate(taken):
            index = [other.id for other in self.world.jobs.values() if other.state == "active"].index(job.id)
            if ending == "ack":
                self.ack(index, "current", None, None, any_state=False)
            elif ending == "fail":
                self.fail(index, "current", any_state=False)
            elif ending == "release":
                self.release(index, "current", 1000 * (number % 2))
        if ending == "reclaim":
            self.tick(lease + 1)

    # --- managing

    @precondition(lambda self: self.ids)
    @rule(
        number=numbers,
        action=st.sampled_from(["retry", "retry", "cancel", "hold", "approve", "reject", "move"]),
        any_state=st.sampled_from([False, False, True]),
        new_queue=queues,
        rank=st.none() | st.integers(0, 2),
        reset=st.booleans(),
    )
    def manage(self, number: int, action: str, any_state: bool, new_queue: str, rank: int | None, reset: bool) -> None:
        job_id = self.some_id(number, *(() if any_state else FITTING[action]))
        world = self.world
        op, expected = {
            "retry": (Retry(job_id=job_id), lambda: world.retry(job_id)),
            "cancel": (Cancel(job_id=job_id), lambda: world.cancel(job_id)),
            "hold": (Hold(job_id=job_id), lambda: world.hold(job_id)),
            "approve": (Approve(job_id=job_id), lambda: world.approve(job_id)),
            "reject": (Reject(job_id=job_id), lambda: world.reject(job_id)),
            "move": (
                Move(job_id=job_id, queue=new_queue, rank=rank, reset_attempt=reset),
                lambda: world.move(job_id, new_queue, rank, reset=reset),
            ),
        }[action]
        result = self.do(op)  # type: ignore[arg-type]
        self.agree(result, lambda: Done(expected()))

    @precondition(lambda self: self.turn % 3 == 0)
    @rule(
        name=queues,
        setting=st.sampled_from(["pause", "limit", "throttle"]),
        most=st.none() | st.integers(1, 3),
        window=st.sampled_from([1000, 10_000]),
    )
    def configure(self, name: str, setting: str, most: int | None, window: int) -> None:
        if setting == "pause":
            self.do(ResumeQueue(queue=name) if most is None else PauseQueue(queue=name))
            self.world.queue(name).paused = most is not None
        elif setting == "limit":
            self.do(LimitConcurrency(queue=name, max_active=most))
            self.world.queue(name).max_active = most
        else:
            self.do(Throttle(queue=name, rate=most, window=None if most is None else window))
            self.world.throttle(name, most, 0 if most is None else window)

    @precondition(lambda self: any(queue.paused for queue in self.world.queues.values()))
    @rule()
    def resume_all(self) -> None:
        for name, queue in self.world.queues.items():
            self.do(ResumeQueue(queue=name))
            queue.paused = False

    # --- forgetting

    @precondition(lambda self: self.ids)
    @rule(number=numbers, any_state=st.booleans())
    def delete(self, number: int, any_state: bool) -> None:
        job_id = self.some_id(number, *(() if any_state else ("pending", "active", "completed")))
        result = self.do(Delete(job_id=job_id))
        self.agree(result, lambda: Done(self.world.delete(job_id)))

    @precondition(lambda self: self.turn % 8 == 0)
    @rule(name=queues, whole=st.booleans())
    def clear(self, name: str, whole: bool) -> None:
        cleared = self.do(DeleteQueue(queue=name) if whole else ClearQueue(queue=name))
        gone = self.world.delete_queue(name) if whole else self.world.clear(name, ("pending", "scheduled"))
        assert (cleared.deleted, cleared.done) == (gone, True)
        self.welcome()

    @precondition(lambda self: self.turn % 4 == 0)
    @rule(age=st.sampled_from([0, 1000, 60_000, WEEK]))
    def purge(self, age: int) -> None:
        before = self.world.now - age
        assert self.do(Purge(before=before)).jobs == self.world.purge(before)
        self.welcome()

    # --- time passing

    @rule(ms=st.sampled_from([1, 999, 1000, 1001, 5000, 10_000, 60_001]))
    def let_time_pass(self, ms: int) -> None:
        self.world.now += ms

    @rule(ms=st.sampled_from([0, 1, 1000, 1001, 5000, 60_001]))
    def tick(self, ms: int) -> None:
        self.world.now += ms
        ticked = self.do(Tick())
        self.world.tick()
        assert not ticked.more
        self.welcome()

    @precondition(lambda self: self.turn % 4 == 0)
    @rule()
    def sweep(self) -> None:
        self.do(Sweep())
        self.world.sweep()

    @precondition(lambda self: self.turn % 4 == 0)
    @rule()
    def restart(self) -> None:
        for machine in self.machines:
            machine.close()
        self.machines = [Machine(self.path, durability="relaxed") for _ in range(2)]
        for machine in self.machines:
            machine.apply(Batch(self.world.now, []))

    # --- what always holds

    @invariant()
    def jobs_are_as_the_contract_says(self) -> None:
        stored = self.rows(
            """
            SELECT job.id, queue.name, state, rank, attempt, scheduled_at, expire_at, lease_until, job.created_at,
                   failed_at, completed_at, waiting_on, chain_step, batch_id, batch_open
              FROM job
              JOIN queue ON queue.id = job.queue
             ORDER BY job.id
            """
        )
        expected = [
            (
                job.id,
                job.queue,
                job.state,
                job.rank,
                job.attempt,
                job.scheduled_at,
                job.expire_at,
                job.lease_until,
                job.created_at,
                job.failed_at,
                job.completed_at,
                len(job.waits_for),
                job.step,
                job.batch,
                int(job.batch is not None and not job.is_counted),
            )
            for _, job in sorted(self.world.jobs.items())
        ]
        assert stored == expected
        errors = dict(self.rows("SELECT job.id, count(*) FROM error JOIN job ON job.seq = error.job GROUP BY job.id"))
        assert errors == {job.id: job.errors for job in self.world.jobs.values() if job.errors}

    @invariant()
    def what_a_job_depends_on_is_kept_as_long_as_the_job(self) -> None:
        jobs = self.world.jobs.values()
        kept = self.rows("SELECT id, job FROM named_dependency ORDER BY job, id")
        assert kept == sorted(((id, job.seq) for job in jobs for id in job.depends_on), key=lambda row: row[::-1])
        waits = self.rows("SELECT dependency, dependent FROM dependency ORDER BY dependent, dependency")
        assert waits == [(id, job.seq) for job in sorted(jobs, key=lambda job: job.seq) for id in sorted(job.waits_for)]

    @invariant()
    def counts_equal_a_recount(self) -> None:
        states = ["pending", "active", "held", "completed", "dead", "scheduled", "retrying", "cancelled"]
        recount = ", ".join(f"(SELECT count(*) FROM job WHERE queue = queue.id AND state = '{s}')" for s in states)
        blocked = "(SELECT count(*) FROM job WHERE queue = queue.id AND state = 'pending' AND waiting_on > 0)"
        kept = self.rows(f"SELECT name, {', '.join(states)}, blocked FROM queue ORDER BY name")
        assert kept == self.rows(
            f"SELECT name, {recount.replace('queue = queue.id', 'job.queue = queue.id')}, "
            f"{blocked.replace('queue = queue.id', 'job.queue = queue.id')} FROM queue ORDER BY name"
        )
        counters = {name: (queue.enqueued, queue.failed) for name, queue in self.world.queues.items()}
        assert {name: (n, m) for name, n, m in self.rows("SELECT name, enqueued, failed FROM queue")} == counters

    @invariant()
    def a_job_is_in_one_live_set_at_the_most(self) -> None:
        strays = self.rows(
            """
            SELECT id, state FROM job
             WHERE (lease_until IS NOT NULL) <> (state = 'active')
                OR (scheduled_at IS NOT NULL) <> (state IN ('scheduled', 'retrying'))
                OR (ended_at IS NOT NULL) <> (state IN ('completed', 'dead', 'cancelled'))
            """
        )
        assert strays == []

    @invariant()
    def a_lease_belongs_to_one_holder(self) -> None:
        leases = [lease for (lease,) in self.rows("SELECT lease FROM job WHERE state = 'active'")]
        assert None not in leases
        assert len(set(leases)) == len(leases)

    @invariant()
    def batches_call_back_exactly_once(self) -> None:
        stored = self.rows("SELECT id, total, pending, succeeded, failed FROM job_batch ORDER BY id")
        assert stored == [
            (id, batch.total, batch.pending, batch.succeeded, batch.failed)
            for id, batch in sorted(self.world.batches.items())
        ]
        for id, total, pending, succeeded, failed in stored:
            assert total == pending + succeeded + failed
            assert self.called_back[id] == int(pending == 0 and self.world.batches[id].callback is not None)
        assert all(count == 1 for count in self.called_back.values())

    @invariant()
    def a_unique_key_has_one_holder(self) -> None:
        now = self.world.now
        stored = self.rows(
            f"""
            SELECT queue.name, key, job.id
              FROM unique_lock
              JOIN queue ON queue.id = unique_lock.queue
              JOIN job ON job.seq = unique_lock.job
             WHERE expires_at > {now}
             ORDER BY 1, 2
            """
        )
        held = [(*place, id) for place, (id, until) in sorted(self.world.locks.items()) if until > now]
        assert stored == [lock for lock in held if lock[2] in self.world.jobs]

    @invariant()
    def the_timeline_has_no_gap_and_tells_every_life(self) -> None:
        rows = self.rows("SELECT seq, job_id, type FROM event ORDER BY seq")
        assert [seq for seq, _, _ in rows] == list(range(1, len(rows) + 1))
        told: dict[str, list[str]] = {}
        for _, job_id, type in rows:
            told.setdefault(job_id, []).append(type)
        assert told == self.world.events

    @invariant()
    def nothing_that_is_due_is_slept_through(self) -> None:
        due = self.world.next_due()
        if self.turn and due is not None:
            assert self.machine.next_due is not None
            assert self.machine.next_due <= due

    @invariant()
    def nothing_that_can_be_claimed_is_overlooked(self) -> None:
        for name in self.world.queues if self.turn else ():
            assert self.machine.claimable(name, self.world.now) >= len(self.world.runnable({name}))


def outcome_of(expected: Callable[[], object]) -> object:
    """What the contract answers, be it a refusal."""
    try:
        return expected()
    except Refused as refused:
        return refused


def origin_of(payload: dict[str, Any], step: int | None) -> Origin:
    """Why a job that nobody enqueued is there."""
    if "batch" in payload:
        return ("batch", payload["batch"]["id"], 0)
    if "failed_job_id" in payload:
        return ("failed", payload["failed_job_id"], step or 0)
    return ("previous", payload["previous_job_id"], step or 0)


def new_job(wish: Wish) -> NewJob:
    """A wish in the engine's words."""
    job = wish.job
    return NewJob(
        queue=job.queue,
        id=wish.own_id,
        rank=job.rank,
        max_retries=job.max_retries,
        max_lost_leases=job.max_lost,
        on_lost_lease=job.on_lost,
        backoff=job.backoff,
        base_delay=job.base,
        max_delay=job.cap,
        scheduled_at=job.scheduled_at,
        expire_after=None if job.expire_after is None else f"{job.expire_after}ms",
        unique_key=job.unique_key,
        unique_period=wish.unique_period,
        on_conflict=wish.on_conflict,
        depends_on=wish.depends_on or None,
        chain_config=None if job.chain is None else chain_config(job.chain),
        starts_chain=job.chain is not None,
        agent=None
        if job.max_iterations is None
        else msgspec.json.encode({"max_iterations": job.max_iterations}).decode(),
    )


def chain_config(chain: Chain) -> str:
    config = {
        "steps": [{"queue": queue} for queue in chain.steps],
        "on_failure": {"queue": chain.failure_queue} if chain.failure_queue else chain.on_failure,
        "on_exit": {"queue": chain.exit_queue} if chain.exit_queue else None,
    }
    return msgspec.json.encode(config).decode()


def test_the_machine_lives_by_the_contract(is_long: bool) -> None:
    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=1500 if is_long else 120,
            stateful_step_count=100 if is_long else 60,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
