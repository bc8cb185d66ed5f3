"""What attempts have cost is kept, report by report."""

from rookery.engine.ops import CHUNK, Ack, Beat, Completion, Delete, Enqueue, Heartbeat, NewJob, Purge, Usage
from rookery.engine.retention import USAGE_KEPT
from rookery.store.usage import UsageTotals, summarize_usage
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


def report_many(bench: Workbench, count: int, usage: Usage = REPORT) -> None:
    bench.do(Enqueue(jobs=[NewJob(queue="q") for _ in range(count)]))
    bench.do(Ack(items=[Completion(job.job_id, job.lease, usage=usage) for job in bench.claim(count=count)]))


def test_reports_are_forgotten_after_the_retention_but_not_within_a_month(bench: Workbench) -> None:
    report_many(bench, 1)

    bench.advance(USAGE_KEPT)
    bench.do(Purge(before=bench.now - 1))
    assert len(reports(bench)) == 1
    bench.advance(1)
    bench.do(Purge(before=bench.now - 2 * USAGE_KEPT))
    assert len(reports(bench)) == 1
    bench.do(Purge(before=bench.now - 1))
    assert reports(bench) == []


def test_reports_are_forgotten_in_chunks(bench: Workbench) -> None:
    report_many(bench, CHUNK)
    report_many(bench, 1)
    bench.advance(USAGE_KEPT + 1)

    left = []
    while bench.do(Purge(before=bench.now - 1)).more:
        left.append(len(reports(bench)))
    assert left[0] == 1
    assert reports(bench) == []


def test_sums_may_be_beyond_64_bits(bench: Workbench) -> None:
    most = 10**15
    report_many(bench, 1, Usage(input_tokens=most, output_tokens=1))
    for _ in range(14):
        bench.rows(
            "INSERT INTO usage SELECT NULL, job_id, queue, attempt, phase, input_tokens, output_tokens, "
            "cache_creation_tokens, cache_read_tokens, model, provider, cost_usd, at FROM usage"
        )

    totals = summarize_usage(bench.machine._db, "1h", 0, bench.now, None).totals
    assert totals == UsageTotals(
        input_tokens=most << 14,
        output_tokens=1 << 14,
        cache_creation_tokens=0,
        cache_read_tokens=0,
        cost_usd=0,
        count=1 << 14,
    )
