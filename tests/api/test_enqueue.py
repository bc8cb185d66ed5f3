"""Adding one job."""

from typing import Any

import pytest

from tests.api.expectations import FAR_FUTURE, assert_refused, claim, seconds_from_now
from tests.conftest import Api


def test_a_new_job_is_answered_with_its_id_and_state(api: Api, queue: str) -> None:
    answer = api.post("/enqueue", {"queue": queue})
    assert answer.status_code == 201
    assert answer.json() == {"job_id": answer.json()["job_id"], "status": "pending", "unique_existing": False}
    assert api.events_of(answer.json()["job_id"]) == ["enqueued"]


@pytest.mark.parametrize(
    ("field", "given", "shown"),
    [
        ("payload", {"a": [1]}, {"payload": {"a": [1]}}),
        ("max_retries", 7, {"max_retries": 7}),
        ("max_retries", 0, {"max_retries": 0}),
        ("retry_backoff", "none", {"retry_backoff": "none"}),
        ("retry_backoff", "fixed", {"retry_backoff": "fixed"}),
        ("retry_backoff", "linear", {"retry_backoff": "linear"}),
        ("retry_backoff", "exponential", {"retry_backoff": "exponential"}),
        ("retry_backoff", "", {"retry_backoff": "exponential"}),
        ("retry_base_delay", "90s", {"retry_base_delay_ms": 90_000, "retry_base_delay": "1m30s"}),
        ("retry_base_delay", "", {"retry_base_delay_ms": 5_000, "retry_base_delay": "5s"}),
        ("retry_max_delay", "1h", {"retry_max_delay_ms": 3_600_000, "retry_max_delay": "1h"}),
        ("retry_max_delay", "0s", {"retry_max_delay_ms": 0}),
        ("retry_max_delay", "", {"retry_max_delay_ms": 600_000, "retry_max_delay": "10m"}),
        ("tags", {"env": "prod", "n": 3, "ok": True}, {"tags": {"env": "prod", "n": 3, "ok": True}}),
        ("tags", {}, {"tags": {}}),
        ("checkpoint", {"page": 1}, {"checkpoint": {"page": 1}}),
        ("checkpoint", None, {"checkpoint": None}),
        ("agent", {}, {"agent": {"max_iterations": 0, "max_cost_usd": 0, "iteration_timeout": "", "iteration": 1}}),
        ("agent", {"max_iterations": -1, "max_cost_usd": -2}, {"agent": {"max_iterations": 0, "max_cost_usd": 0}}),
        ("parent_id", "job_of_nobody", {"parent_id": "job_of_nobody"}),
        ("chain_id", "chn_mine", {"chain_id": "chn_mine"}),
        ("chain_step", 4, {"chain_step": 4}),
        ("chain_config", {"steps": [], "x": 1}, {"chain_config": {"steps": [], "x": 1}}),
        ("batch_id", "batch_of_nobody", {"batch_id": None}),
        ("expire_after", "1h0m0s", {"expire_after": "1h0m0s"}),
        ("expire_after", "", {"expire_after": None, "expire_at": None}),
        ("scheduled_at", FAR_FUTURE, {"state": "scheduled"}),
    ],
)
def test_a_field_is_kept_with_the_job(api: Api, queue: str, field: str, given: Any, shown: dict[str, Any]) -> None:
    job = api.job(api.enqueue(queue, **{field: given}))
    for name, value in shown.items():
        kept = {key: job[name][key] for key in value} if name == "agent" else job[name]
        assert kept == value


def test_an_expiry_is_counted_from_now(api: Api, queue: str) -> None:
    job = api.job(api.enqueue(queue, expire_after="10m"))
    assert 590 < seconds_from_now(job["expire_at"]) <= 601


def test_null_means_the_default_of_every_optional_field(api: Api, queue: str) -> None:
    fields = (
        "priority unique_key unique_period max_retries retry_backoff retry_base_delay retry_max_delay scheduled_at "
        "expire_after tags checkpoint agent chain depends_on parent_id chain_id chain_step chain_config"
    )
    plain, nulls = api.enqueue(queue), api.enqueue(queue, **dict.fromkeys(fields.split()))
    plain_job, nulls_job = api.job(plain), api.job(nulls)
    for job in (plain_job, nulls_job):
        del job["id"], job["created_at"]
    assert plain_job == nulls_job


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queue", 1),
        ("queue", None),
        ("priority", []),
        ("priority", 1.5),
        ("unique_key", 1),
        ("unique_period", "1h"),
        ("max_retries", "3"),
        ("max_retries", 1.5),
        ("retry_backoff", 1),
        ("retry_base_delay", 5),
        ("retry_max_delay", 5),
        ("scheduled_at", 1),
        ("expire_after", 5),
        ("agent", "yes"),
        ("depends_on", "job_x"),
        ("depends_on", [1]),
        ("parent_id", 1),
        ("chain_id", 1),
        ("chain_step", "0"),
        ("chain_config", "text"),
        ("job_id", 1),
        ("unique_on_conflict", 1),
        ("max_lost_leases", "5"),
    ],
)
def test_a_field_of_the_wrong_type_cannot_be_parsed(api: Api, queue: str, field: str, value: Any) -> None:
    assert_refused(api.post("/enqueue", {"queue": queue, field: value}), 400, "PARSE_ERROR", field)


@pytest.mark.parametrize("tags", ["text", [1], 1, True])
def test_tags_must_be_an_object(api: Api, queue: str, tags: Any) -> None:
    answer = api.post("/enqueue", {"queue": queue, "tags": tags})
    assert answer.status_code == 400
    assert "tags" in answer.json()["error"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("queue", ""),
        ("queue", "   "),
        ("max_retries", -1),
        ("max_retries", 2**70),
        ("max_lost_leases", -1),
        ("retry_backoff", "random"),
        ("retry_base_delay", "soon"),
        ("retry_max_delay", "-1s"),
        ("expire_after", "later"),
        ("unique_on_conflict", "explode"),
        ("chain_step", 2**70),
        ("unique_period", 2**70),
    ],
)
def test_a_field_outside_its_range_is_refused(api: Api, queue: str, field: str, value: Any) -> None:
    answer = api.post("/enqueue", {"queue": queue, "unique_key": "k", field: value})
    assert answer.status_code == 400
    assert answer.json()["code"] in ("VALIDATION_ERROR", "PARSE_ERROR")
    assert field in answer.json()["error"]
    assert api.get(f"/queues/{queue}").status_code == 404


def test_a_missing_queue_is_asked_for(api: Api) -> None:
    assert_refused(api.post("/enqueue", {"payload": 1}), 400, "VALIDATION_ERROR", "queue is required")


@pytest.mark.parametrize("action", ["pause", "drain"])
def test_a_paused_queue_takes_jobs(api: Api, queue: str, action: str) -> None:
    api.post(f"/queues/{queue}/{action}")
    assert api.post("/enqueue", {"queue": queue}).status_code == 201
    assert api.get(f"/queues/{queue}").json()["pending"] == 1


def test_the_first_checkpoint_is_handed_to_the_worker(api: Api, queue: str) -> None:
    api.enqueue(queue, checkpoint={"page": 9}, tags={"env": "prod"})
    job = claim(api, queue)
    assert job["checkpoint"] == {"page": 9}
    assert job["tags"] == {"env": "prod"}


def test_the_job_knows_its_unique_key_and_period(api: Api, queue: str) -> None:
    with_default = api.job(api.enqueue(queue, unique_key="a"))
    with_period = api.job(api.enqueue(queue, unique_key="b", unique_period=60))
    assert (with_default["unique_key"], with_default["unique_period"]) == ("a", 3600)
    assert (with_period["unique_key"], with_period["unique_period"]) == ("b", 60)


def test_a_chain_overrides_raw_links(api: Api, queue: str) -> None:
    chain = {"steps": [{"queue": queue}, {"queue": queue}]}
    job = api.job(api.enqueue(queue, chain=chain, chain_id="chn_mine", chain_step=7, chain_config={"x": 1}))
    assert job["chain_id"] != "chn_mine"
    assert job["chain_step"] == 0
    assert job["chain_config"]["steps"] == chain["steps"]
