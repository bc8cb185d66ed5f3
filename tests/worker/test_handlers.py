"""Handlers of every kind, run by a real worker against a real server, over the stream and by long polls."""

from pathlib import Path

import pytest

from tests.conftest import Api, wait_for
from tests.worker.conftest import Jobs, WorkerProcess, ended

pytestmark = pytest.mark.usefixtures("sample_worker")


def test_an_async_function_runs_and_its_result_is_kept(jobs: Jobs) -> None:
    job = jobs.run("add", {"a": 1})

    assert (job["state"], job["result"]) == ("completed", 11)


def test_async_runs_on_the_loop_def_in_a_thread_and_process_in_a_process(
    jobs: Jobs, sample_worker: WorkerProcess
) -> None:
    pid = sample_worker.process.pid

    assert jobs.run("where_async")["result"] == {"thread": True, "pid": pid}
    assert jobs.run("where_thread")["result"] == {"thread": False, "pid": pid}
    assert jobs.run("where_process")["result"]["pid"] != pid


def test_a_process_knows_its_job_and_enters_the_lifespan_itself(jobs: Jobs) -> None:
    job = jobs.run("where_process")

    assert job["result"]["id"] == job["id"]
    assert job["result"]["entered_by"] == job["result"]["pid"]


def test_an_async_function_may_run_in_a_process_too(jobs: Jobs, sample_worker: WorkerProcess) -> None:
    job = jobs.run("where_async_process")

    assert job["result"]["id"] == job["id"]
    assert job["result"]["pid"] != sample_worker.process.pid


def test_processes_are_kept_for_the_next_job(jobs: Jobs) -> None:
    assert jobs.run("where_process")["result"]["pid"] == jobs.run("where_process")["result"]["pid"]


def test_current_job_tells_all_about_the_job(jobs: Jobs) -> None:
    fields = {"tags": {"team": "a"}, "checkpoint": {"page": 3}, "max_retries": 7, "priority": "high"}

    job = jobs.run("about", {"x": 1}, **fields)

    assert job["result"] == {
        "id": job["id"],
        "queue": "about",
        "attempt": 1,
        "max_retries": 7,
        "payload": {"x": 1},
        "tags": {"team": "a"},
        "checkpoint": {"page": 3},
        "priority": 1,
        "state": "a pool",
        "cancelled": False,
    }


def test_context_variables_of_one_job_are_not_seen_by_another(jobs: Jobs) -> None:
    assert [jobs.run("context_leaks")["result"] for _ in range(3)] == ["clean"] * 3


def test_middleware_wraps_the_run_and_may_change_the_result(jobs: Jobs) -> None:
    job = jobs.run("layered")

    assert job["result"] == {"inner": "core", "seen": job["id"]}


def test_dependencies_are_made_once_per_job_nested_and_cleaned_up(jobs: Jobs) -> None:
    jobs.run("injection_log")
    assert jobs.run("injected_async", {"a": 1})["result"] == {"a": 1, "unit": 1, "pool": "pool of injected_async"}

    assert jobs.run("injection_log")["result"] == [
        "pool opened",
        "connection of pool of injected_async in thread True",
        "connection closed",
        "pool closed",
    ]


def test_plain_dependencies_of_a_plain_function_are_made_in_its_thread(jobs: Jobs) -> None:
    jobs.run("injection_log")
    assert jobs.run("injected_thread", {"a": 1})["result"]["unit"] == 1

    assert "connection of pool of injected_thread in thread False" in jobs.run("injection_log")["result"]


def test_a_dependency_is_no_part_of_the_payload(jobs: Jobs) -> None:
    job = jobs.run("injected_async", {"a": 1, "unit": 5})

    assert job["state"] == "dead"
    assert "unknown field `unit`" in job["errors"][0]["error"]


def test_progress_and_checkpoint_reach_the_server_before_the_outcome(jobs: Jobs, api: Api) -> None:
    job = jobs.run("reports")

    assert (job["state"], job["progress"], job["checkpoint"]) == ("completed", {"done": 2}, {"page": 1})
    events = api.events_of(job["id"])
    assert events.index("progress") < events.index("completed")


def test_a_checkpoint_saved_by_a_failing_attempt_is_there_for_the_next(jobs: Jobs) -> None:
    assert jobs.run("goes_on")["result"] == {"page": 7}


def test_a_process_reports_too(jobs: Jobs) -> None:
    job = jobs.run("process_reports")

    assert (job["progress"], job["checkpoint"]) == ("half", [1, 2])


def test_an_async_function_that_takes_too_long_is_cancelled(jobs: Jobs) -> None:
    job = jobs.run("slow_async", max_retries=1)

    assert job["state"] == "dead"
    assert job["errors"][0]["error"] == "JobTimeout: the job ran longer than its timeout of 0.05 s"


def test_a_thread_that_takes_too_long_is_abandoned_and_the_attempt_failed(jobs: Jobs, api: Api) -> None:
    job = jobs.run("slow_thread", max_retries=1)

    assert job["state"] == "dead"
    assert "JobTimeout" in job["errors"][0]["error"]
    assert jobs.run("where_thread")["state"] == "completed"


def test_a_process_that_takes_too_long_is_killed_and_replaced(jobs: Jobs) -> None:
    job = jobs.run("slow_process", max_retries=2, retry_backoff="none")

    assert job["state"] == "completed"
    assert job["errors"][0]["error"] == "JobTimeout: the job ran longer than its timeout of 3 s"
    killed = int(jobs.logs(job["id"])[0]["message"])
    assert job["result"] != killed
    wait_for(lambda: not Path(f"/proc/{killed}").exists())


def test_a_functions_own_timeout_error_is_an_ordinary_error(jobs: Jobs) -> None:
    assert jobs.run("slow_own_timeout", max_retries=1)["errors"][0]["error"] == "TimeoutError: mine"


def test_a_process_that_dies_fails_its_job(jobs: Jobs) -> None:
    job = jobs.run("dies", max_retries=1)

    assert job["state"] == "dead"
    assert "ended with code 7" in job["errors"][0]["error"]
    assert jobs.run("where_process")["state"] == "completed"


def test_a_handler_that_exits_fails_its_job_and_not_the_worker(jobs: Jobs, sample_worker: WorkerProcess) -> None:
    job = jobs.run("exits", max_retries=1)

    assert (job["state"], job["errors"][0]["error"]) == ("dead", "SystemExit: 3")
    assert sample_worker.process.poll() is None


def test_a_job_can_enqueue_others(jobs: Jobs, api: Api) -> None:
    for queue in ("enqueues", "enqueues_sync"):
        child = ended(api, jobs.run(queue)["result"])
        assert child["result"] == 3
        assert child["tags"]["marked"] is True


def test_logging_of_a_job_goes_to_its_log_and_only_its_own(jobs: Jobs, api: Api) -> None:
    ids = [api.enqueue("talks_async", {"times": 3}) for _ in range(5)]

    for job_id in ids:
        ended(api, job_id)
        lines = [(line["level"], line["message"], line["attempt"]) for line in jobs.logs(job_id)]
        assert lines == [("warning", f"async {n}", 1) for n in range(3)] + [("debug", "own words", 1)]


def test_logging_can_be_kept_from_a_level_on_or_not_at_all(jobs: Jobs) -> None:
    assert [line["message"] for line in jobs.logs(jobs.run("talks_thread")["id"])] == ["but this"]
    assert [line["message"] for line in jobs.logs(jobs.run("talks_process")["id"])] == ["from a process"]
    assert jobs.logs(jobs.run("quiet")["id"]) == []


def test_a_report_that_the_server_refuses_does_not_hold_up_the_outcome(jobs: Jobs) -> None:
    job = jobs.run("reports_too_much")

    assert (job["state"], job["progress"]) == ("completed", None)
