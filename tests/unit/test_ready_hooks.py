"""Subscriptions to ready queues: they live as long as they are renewed."""

from typing import Any

from rookery.engine.ops import ReadyHookLives, Refusal, RenewReadyHook, SubscribeToReady, Sweep
from rookery.engine.ready_hooks import MOST_HOOKS
from rookery.store.ready_hooks import Audience, ReadyHook, read_ready_hooks
from tests.unit.workbench import Workbench

ID = "2f1c6d5e-0000-4000-8000-000000000001"


def subscribe(bench: Workbench, hook_id: str = ID, **fields: Any) -> ReadyHookLives | Refusal:
    usual = {"url": "http://there/", "queues": {"q": "Q"}, "mode": "fanout", "min_interval": 5000, "lifetime": 10_000}
    result: ReadyHookLives | Refusal = bench.do(SubscribeToReady(hook_id=hook_id, **(usual | fields)))
    return result


def alive(bench: Workbench) -> list[ReadyHook]:
    return read_ready_hooks(bench.machine.connection, bench.now)


def test_a_subscription_is_there_until_it_runs_out(bench: Workbench) -> None:
    assert subscribe(bench, group_id="g", mode="group") == ReadyHookLives(ID, bench.now + 10_000)
    assert bench.machine.has_new_hooks
    (hook,) = alive(bench)
    assert (hook.url, hook.queues, hook.mode, hook.group_id) == ("http://there/", {"q": "Q"}, "group", "g")
    bench.advance(9_999)
    assert len(alive(bench)) == 1
    bench.advance(1)
    assert alive(bench) == []


def test_renewing_counts_from_now(bench: Workbench) -> None:
    subscribe(bench)
    bench.advance(9_000)

    assert bench.do(RenewReadyHook(hook_id=ID, lifetime=20_000)) == ReadyHookLives(ID, bench.now + 20_000)
    bench.advance(19_999)
    assert len(alive(bench)) == 1


def test_only_an_end_that_comes_sooner_is_news(bench: Workbench) -> None:
    subscribe(bench)
    bench.do(RenewReadyHook(hook_id=ID, lifetime=20_000))
    assert not bench.machine.has_new_hooks
    bench.do(RenewReadyHook(hook_id=ID, lifetime=1_000))
    assert bench.machine.has_new_hooks


def test_an_audience_is_those_who_asked_for_the_queue_or_for_all_of_its_namespace(bench: Workbench) -> None:
    subscribe(bench, "one", queues={"a": "A", "b": "B"})
    subscribe(bench, "all", queues={"*": "*", "a": "A"})
    subscribe(bench, "theirs", queues={"*": "*"}, namespace="acme")
    audience = Audience(alive(bench))

    assert {queue: [hook.id for hook in audience.of(queue)] for queue in ("a", "b", "c", "acme::a")} == {
        "a": ["one", "all"],
        "b": ["one", "all"],
        "c": ["all"],
        "acme::a": ["theirs"],
    }


def test_what_has_run_out_or_never_was_cannot_be_renewed(bench: Workbench) -> None:
    subscribe(bench)
    bench.advance(10_000)

    for hook_id in (ID, "other"):
        result = bench.do(RenewReadyHook(hook_id=hook_id, lifetime=20_000))
        assert isinstance(result, Refusal)
        assert result.kind == Refusal.NOT_FOUND
    assert alive(bench) == []


def test_a_subscription_of_another_namespace_does_not_exist(bench: Workbench) -> None:
    subscribe(bench, namespace="a")

    result = bench.do(RenewReadyHook(hook_id=ID, lifetime=20_000, namespace="b"))
    assert isinstance(result, Refusal)
    assert isinstance(bench.do(RenewReadyHook(hook_id=ID, lifetime=20_000, namespace="a")), ReadyHookLives)


def test_a_sweep_forgets_what_has_run_out(bench: Workbench) -> None:
    subscribe(bench)
    subscribe(bench, "longer", lifetime=20_000)
    bench.advance(10_000)
    bench.do(Sweep())

    assert bench.machine.has_new_hooks
    assert bench.rows("SELECT id FROM ready_hook") == [("longer",)]
    bench.do(Sweep())
    assert not bench.machine.has_new_hooks


def test_an_id_is_taken_as_long_as_its_subscription_lives(bench: Workbench) -> None:
    subscribe(bench)

    refusal = subscribe(bench, url="http://elsewhere/")
    assert isinstance(refusal, Refusal)
    assert refusal.kind == Refusal.CONFLICT
    bench.advance(10_000)
    assert isinstance(subscribe(bench, url="http://elsewhere/"), ReadyHookLives)


def test_there_is_a_limit(bench: Workbench) -> None:
    subscribe(bench, "first")
    columns = "namespace, url, queues, mode, group_id, min_interval, expires_at, created_at"
    bench.rows(
        f"""
        WITH RECURSIVE n (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
        INSERT INTO ready_hook (id, {columns}) SELECT n, {columns} FROM n, ready_hook
        """,
        MOST_HOOKS,
    )

    refusal = subscribe(bench)
    assert isinstance(refusal, Refusal)
    assert "limit" in refusal.message
    bench.advance(10_000)
    assert isinstance(subscribe(bench), ReadyHookLives)
