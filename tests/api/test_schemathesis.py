"""Generated calls after the API's own description: whatever comes, the server does not fail."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error

from tests.conftest import ServerProcess

NEVER_ENDING = "/api/v1/events"


def bounded(case: Any) -> Any:
    """The same call, without a long wait."""
    if "/fetch" in case.path and isinstance(case.body, dict):
        case.body["timeout"] = 0.01
    if case.path.endswith("/wait"):
        case.query = {"timeout": "0.01"}
    return case


def serves(context: Any, response: Any, case: Any) -> bool | None:
    """The server has not failed; that something takes a cluster (501) is an answer like any other."""
    return None if response.status_code == 501 else not_a_server_error(context, response, case)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_no_call_makes_the_server_fail(server: ServerProcess, mode: GenerationMode) -> None:
    failures: list[Exception] = []
    for found in schemathesis.openapi.from_url(f"{server.url}/openapi.json").get_all_operations():
        operation: Any = found.ok()
        if operation.path == NEVER_ENDING or (mode is GenerationMode.NEGATIVE and not operation.body):
            continue

        @settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def call(case: Any) -> None:
            bounded(case).call_and_validate(checks=[serves])

        try:
            call()
        except Unsatisfiable:
            continue
        except Exception as failure:
            failures.append(failure)
    if failures:
        raise ExceptionGroup("calls that made the server fail", failures)
    assert server.http.get("/healthz").status_code == 200
