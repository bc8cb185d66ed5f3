"""What becomes of a job, by what its handler returns or raises and by what the payload is."""

import pytest

from tests.conftest import Api
from tests.worker.conftest import Jobs

pytestmark = pytest.mark.usefixtures("sample_worker")

LETTER = {"to": [{"name": "Ada", "born": "1815-12-10"}]}


def test_a_payload_becomes_the_types_of_the_signature(jobs: Jobs) -> None:
    job = jobs.run("typed", {"letter": LETTER, "at": "2026-01-01T00:00:00Z"})

    assert job["result"] == {"year": 1815, "copies": 1, "kind": "datetime"}


def test_models_that_validate_themselves_are_read_and_written_by_their_own_rules(jobs: Jobs) -> None:
    assert jobs.run("modelled", {"model": {"size": 2}})["result"] == {"size": 4}
    job = jobs.run("modelled", {"model": {"size": "x"}})
    assert job["state"] == "dead"
    assert "size must be a whole number" in job["errors"][0]["error"]
    assert "`model`" in job["errors"][0]["error"]


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({}, "missing required field `letter`"),
        ({"letter": {"to": [{"name": "Ada", "born": "tomorrow"}]}}, "at `letter.to[0].born`"),
        ({"letter": {**LETTER, "copies": "two"}}, "at `letter.copies`"),
        ({"letter": LETTER, "colour": "red"}, "unknown field `colour`"),
        ([1], "Expected `object`, got `array`"),
    ],
)
def test_a_payload_that_does_not_fit_is_dead_at_once_with_the_fields_name(
    jobs: Jobs, payload: object, said: str
) -> None:
    job = jobs.run("typed", payload, max_retries=3)

    assert (job["state"], job["attempt"], len(job["errors"])) == ("dead", 1, 1)
    assert said in job["errors"][0]["error"]
    assert job["errors"][0]["error"].startswith("InvalidPayload: typed: ")


def test_a_function_may_have_bad_payloads_retried_all_the_same(jobs: Jobs) -> None:
    job = jobs.run("patient_with_payloads", {"n": "x"}, max_retries=3, retry_backoff="none")

    assert (job["state"], len(job["errors"])) == ("dead", 3)


def test_what_chains_add_to_a_payload_does_no_harm(jobs: Jobs) -> None:
    assert jobs.run("add", {"a": 1, "previous_job_id": "x", "previous_result": {"y": 1}})["result"] == 11


def test_what_a_function_does_not_name_goes_to_its_keywords(jobs: Jobs) -> None:
    job = jobs.run("with_rest", {"a": 1, "b": 2, "previous_job_id": "x"})

    assert job["result"] == {"a": 1, "rest": {"b": 2, "previous_job_id": "x"}}


@pytest.mark.parametrize(("queue", "result"), [("snoozes", "attempt 1"), ("raises_snooze", "woken")])
def test_a_snooze_burns_no_attempt(jobs: Jobs, api: Api, queue: str, result: str) -> None:
    job = jobs.run(queue)

    assert (job["result"], job["attempt"], job["errors"]) == (result, 1, [])
    assert "released" in api.events_of(job["id"])


def test_a_cancel_ends_the_job_as_cancelled(jobs: Jobs) -> None:
    job = jobs.run("cancels", max_retries=3)

    assert (job["state"], job["attempt"]) == ("cancelled", 1)
    assert "the order was withdrawn" in str(job["errors"])


def test_a_retry_says_when_and_why(jobs: Jobs) -> None:
    job = jobs.run("retries", max_retries=2)

    assert (job["state"], job["result"], job["attempt"]) == ("completed", "second", 2)
    assert [error["error"] for error in job["errors"]] == ["not ready"]


def test_a_retry_on_the_last_attempt_is_the_end(jobs: Jobs) -> None:
    assert jobs.run("retries", max_retries=1)["state"] == "dead"


@pytest.mark.parametrize(
    ("kind", "state", "attempts"),
    [("connection", "completed", 3), ("pipe", "dead", 1), ("value", "dead", 1)],
)
def test_only_what_retry_on_names_is_retried_and_what_discard_on_names_never(
    jobs: Jobs, kind: str, state: str, attempts: int
) -> None:
    job = jobs.run("picky", {"kind": kind}, max_retries=5, retry_backoff="none")

    assert (job["state"], job["attempt"]) == (state, attempts)


def test_an_exception_is_kept_with_where_it_was_raised(jobs: Jobs) -> None:
    job = jobs.run("fails", max_retries=2, retry_backoff="none")

    assert (job["state"], job["attempt"]) == ("dead", 2)
    assert job["errors"][0]["error"] == "ValueError: always"
    assert 'raise ValueError("always")' in job["errors"][0]["backtrace"]
    assert "rookery/client" not in job["errors"][0]["backtrace"]


def test_a_result_that_is_no_json_fails_the_job(jobs: Jobs) -> None:
    job = jobs.run("unsayable", max_retries=1)

    assert job["state"] == "dead"
    assert "the result cannot be written as JSON" in job["errors"][0]["error"]
