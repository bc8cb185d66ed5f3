"""What a store keeps beside jobs: settings, counts, and workers with a process."""

from rookery.engine.ops import AddToTally, Claim, Count, Done, RegisterWorker, RemoveWorker, SaveSetting
from tests.unit.workbench import Workbench


def rows(bench: Workbench, sql: str) -> list[tuple[object, ...]]:
    return bench.machine.connection.execute(sql).fetchall()


def test_a_setting_is_set_changed_and_taken_back(bench: Workbench) -> None:
    bench.do(SaveSetting(key="a", value="1"))
    bench.do(SaveSetting(key="a", value="2"))
    assert rows(bench, "SELECT * FROM setting") == [("a", "2")]

    assert bench.do(SaveSetting(key="a", value=None)) == Done("unset")
    assert rows(bench, "SELECT * FROM setting") == []


def test_counts_add_up_by_name_and_label(bench: Workbench) -> None:
    bench.do(AddToTally(counts=[Count("runs", "ok", 1), Count("runs", "bad", 1), Count("runs", "ok", 2)]))
    bench.do(AddToTally(counts=[Count("runs", "bad", 0.5)]))

    assert rows(bench, "SELECT * FROM tally ORDER BY label") == [("runs", "bad", 1.5), ("runs", "ok", 3.0)]


def test_a_worker_with_a_process_is_registered_anew_and_removed(bench: Workbench) -> None:
    bench.do(Claim(queues=("a",), worker_id="w"))
    started = bench.now
    bench.advance(10)
    bench.do(RegisterWorker(worker_id="w", pid=7, pid_started="x", queues=("b",)))
    assert rows(bench, "SELECT id, pid, pid_started, queues, started_at FROM worker") == [
        ("w", 7, "x", '["b"]', started + 10),
    ]

    bench.advance(2000)
    bench.do(Claim(queues=("b",), worker_id="w"))
    assert rows(bench, "SELECT pid, last_heartbeat - started_at FROM worker") == [(7, 2000)]
    bench.do(RemoveWorker(worker_id="w"))
    bench.do(RemoveWorker(worker_id="w"))
    assert rows(bench, "SELECT * FROM worker") == []
