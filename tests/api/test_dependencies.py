"""Jobs that wait for other jobs."""

import pytest

from tests.api.expectations import (
    LONG_AGO,
    assert_refused,
    bury_job,
    claim,
    finish_job,
    is_empty,
    start_job,
    wait_for_state,
)
from tests.conftest import Api


def test_a_job_waits_until_every_dependency_is_completed(api: Api, queue: str) -> None:
    first, second = api.enqueue(f"{queue}-a"), api.enqueue(f"{queue}-b")
    job_id = api.enqueue(queue, depends_on=[first, second])
    assert api.job(job_id)["state"] == "pending"
    for name, dependency in (("a", first), ("b", second)):
        assert is_empty(api, queue)
        claim(api, f"{queue}-{name}")
        api.post(f"/ack/{dependency}")
    assert claim(api, queue)["job_id"] == job_id


def test_a_waiting_job_does_not_stand_in_the_way_of_others(api: Api, queue: str) -> None:
    dependency = api.enqueue(f"{queue}-a")
    api.enqueue(queue, depends_on=[dependency], priority="critical")
    other = api.enqueue(queue)
    assert claim(api, queue)["job_id"] == other
    assert is_empty(api, queue)


def test_ids_are_trimmed_and_counted_once(api: Api, queue: str) -> None:
    dependency = api.enqueue(f"{queue}-a")
    job_id = api.enqueue(queue, depends_on=[f" {dependency} ", dependency, "", "  "])
    job = api.job(job_id)
    assert job["depends_on"] == [dependency]
    assert job["chain_config"]["depends_on"] == [dependency]


@pytest.mark.parametrize("ids", [[], ["", " "]])
def test_blank_ids_are_no_dependencies(api: Api, queue: str, ids: list[str]) -> None:
    job_id = api.enqueue(queue, depends_on=ids)
    assert claim(api, queue)["job_id"] == job_id


def test_a_dependency_that_does_not_exist_is_refused(api: Api, queue: str) -> None:
    existing = api.enqueue(f"{queue}-a")
    answer = api.post("/enqueue", {"queue": queue, "depends_on": [existing, "job_of_nobody"]})
    assert_refused(answer, 400, "VALIDATION_ERROR", "depends_on", "job_of_nobody")
    assert api.get(f"/queues/{queue}").status_code == 404


def test_a_completed_dependency_is_satisfied(api: Api, queue: str) -> None:
    job_id = api.enqueue(queue, depends_on=[finish_job(api, f"{queue}-a")])
    assert claim(api, queue)["job_id"] == job_id


@pytest.mark.parametrize("afterwards", ["retry", "delete"])
def test_a_dependency_that_has_been_completed_stays_satisfied(api: Api, queue: str, afterwards: str) -> None:
    dependency = start_job(api, f"{queue}-a")["job_id"]
    job_id = api.enqueue(queue, depends_on=[dependency])
    api.post(f"/ack/{dependency}")
    if afterwards == "retry":
        assert api.post(f"/jobs/{dependency}/retry").status_code == 200
    else:
        assert api.delete(f"/jobs/{dependency}").status_code == 200
    assert claim(api, queue)["job_id"] == job_id


@pytest.mark.parametrize("ending", ["dead", "cancelled"])
def test_a_dead_or_cancelled_dependency_blocks_until_it_completes(api: Api, queue: str, ending: str) -> None:
    dependency = api.enqueue(f"{queue}-a", max_retries=1)
    job_id = api.enqueue(queue, depends_on=[dependency])
    if ending == "dead":
        claim(api, f"{queue}-a")
        api.post(f"/fail/{dependency}")
    else:
        api.post(f"/jobs/{dependency}/cancel")
    assert is_empty(api, queue)
    assert api.job(job_id)["state"] == "pending"
    api.post(f"/jobs/{dependency}/retry")
    assert is_empty(api, queue)
    claim(api, f"{queue}-a")
    api.post(f"/ack/{dependency}")
    assert claim(api, queue)["job_id"] == job_id


def test_a_job_may_depend_on_one_that_is_dead_already(api: Api, queue: str) -> None:
    dependency = bury_job(api, f"{queue}-a")
    api.enqueue(queue, depends_on=[dependency])
    assert is_empty(api, queue)


def test_dependencies_combine_with_a_time(api: Api, queue: str) -> None:
    dependency = start_job(api, f"{queue}-a")["job_id"]
    job_id = api.enqueue(queue, depends_on=[dependency], scheduled_at=LONG_AGO)
    wait_for_state(api, job_id, "pending")
    assert is_empty(api, queue)
    api.post(f"/ack/{dependency}")
    assert claim(api, queue)["job_id"] == job_id


def test_dependencies_combine_with_a_chain(api: Api, queue: str) -> None:
    dependency = start_job(api, f"{queue}-a")["job_id"]
    chain = {"steps": [{"queue": queue}, {"queue": f"{queue}-1"}]}
    job_id = api.enqueue(queue, depends_on=[dependency], chain=chain)
    assert is_empty(api, queue)
    api.post(f"/ack/{dependency}")
    assert claim(api, queue)["job_id"] == job_id
    api.post(f"/ack/{job_id}")
    assert claim(api, f"{queue}-1")["payload"] == {"previous_job_id": job_id}


def test_acks_by_the_batch_satisfy_dependencies(api: Api, queue: str) -> None:
    dependencies = [start_job(api, f"{queue}-a")["job_id"] for _ in range(3)]
    job_id = api.enqueue(queue, depends_on=dependencies)
    api.post("/ack/batch", {"acks": [{"job_id": dependency} for dependency in dependencies]})
    assert claim(api, queue)["job_id"] == job_id


def test_a_job_may_not_depend_on_itself(api: Api, queue: str) -> None:
    answer = api.post(
        "/enqueue", {"queue": queue, "job_id": f"{queue[:40]}-self", "depends_on": [f"{queue[:40]}-self"]}
    )
    assert_refused(answer, 400, "VALIDATION_ERROR", "depends_on")
