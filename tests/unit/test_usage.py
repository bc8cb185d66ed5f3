"""What attempts have cost is kept, report by report."""

from rookery.engine.ops import Ack, Beat, Completion, Delete, Heartbeat, Usage
from tests.unit.workbench import Workbench

REPORT = Usage(input_tokens=10, output_tokens=20, model="m", provider="p", cost_usd=0.5)


def reports(bench: Workbench) -> list[tuple[object, ...]]:
    return bench.rows("SELECT job_id, queue, attempt, phase, input_tokens, output_tokens, model, cost_usd FROM usage")


def test_every_report_of_a_worker_is_a_row(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take()
    bench.do(Heartbeat(items=[Beat(job_id, usage=REPORT)]))
    bench.do(Ack(items=[Completion(job_id, usage=REPORT)]))

    row = ("q", 1, "heartbeat", 10, 20, "m", 0.5)
    assert reports(bench) == [(job_id, *row), (job_id, "q", 1, "ack", *row[3:])]


def test_a_report_that_says_nothing_is_dropped(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take()
    bench.do(Ack(items=[Completion(job_id, usage=Usage())]))

    assert reports(bench) == []


def test_a_refused_ack_reports_nothing(bench: Workbench) -> None:
    job_id = bench.add()
    bench.do(Ack(items=[Completion(job_id, usage=REPORT)]))

    assert reports(bench) == []


def test_reports_outlive_their_job(bench: Workbench) -> None:
    job_id = bench.add()
    bench.take()
    bench.do(Ack(items=[Completion(job_id, usage=REPORT)]))
    bench.do(Delete(job_id=job_id))

    assert len(reports(bench)) == 1
