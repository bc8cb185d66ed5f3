"""Who is let in by which token, and what they are told otherwise."""

import asyncio
import json
from typing import Any

import pytest

from rookery.http.codeq.auth import WORKER_SCOPES, Caller, Guard
from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.settings import read_settings
from tests.codeq.conftest import Codeq, StartCodeq, assert_error, codeq_variables
from tests.conftest import ServerProcess

PRODUCERS = [
    "plain",
    {"token": "boss", "subject": "ada", "raw": {"role": "admin"}},
    {"token": "scoped", "subject": "bob", "scopes": ["codeq:admin"]},
]
WORKERS = [
    {
        "token": "w1",
        "subject": "worker-1",
        "scopes": ["codeq:claim", "codeq:result"],
        "eventTypes": ["Email", "sms"],
        "raw": {"workerGroup": "mailers"},
    },
    {"token": "all", "subject": "worker-2", "scopes": ["codeq:claim"], "eventTypes": ["*"]},
    {"token": "no-types", "scopes": ["codeq:claim"]},
    {"token": "no-scope", "eventTypes": ["*"]},
    "bare",
]


def static(**sides: Any) -> dict[str, str]:
    """Variables for tokens known by their text."""
    variables = {}
    for side, config in sides.items():
        variables[f"{side.upper()}_AUTH_PROVIDER"] = "static"
        variables[f"{side.upper()}_AUTH_CONFIG"] = json.dumps(config)
    return variables


BOTH = static(producer=PRODUCERS, worker=WORKERS)


def admit(
    who: str, authorization: str | None, variables: dict[str, str], *, is_open: bool = True, **headers: str
) -> Caller:
    settings = read_settings({f"CODEQ_{name}": value for name, value in variables.items()})
    sent = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    if authorization is not None:
        sent[b"authorization"] = authorization.encode()
    return asyncio.run(Guard(settings, is_open=is_open).admit(who, sent))


def refusal(*args: Any, **options: Any) -> tuple[int, str]:
    with pytest.raises(CodeqError) as raised:
        admit(*args, **options)
    return raised.value.status, raised.value.text


# --- no provider


@pytest.mark.parametrize("who", ["producer", "worker", "either", "admin"])
@pytest.mark.parametrize(
    ("authorization", "subject"),
    [
        (None, "anonymous"),
        ("Bearer me", "me"),
        ("bearer  me", "me"),
        ("Basic eA==", "anonymous"),
        ("Bearer", "anonymous"),
    ],
)
def test_without_a_provider_everybody_is_let_in_and_is_whoever_they_say(
    who: str, authorization: str | None, subject: str
) -> None:
    caller = admit(who, authorization, {})
    assert caller.subject == subject
    assert caller.may_handle("anything")
    assert caller.scopes >= WORKER_SCOPES
    assert caller.is_admin
    assert (caller.tenant, caller.namespace) == (None, "default")


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ("producer", "producer validator not configured"),
        ("admin", "producer validator not configured"),
        ("worker", "worker validator not configured"),
        ("either", "invalid token"),
    ],
)
def test_without_a_provider_nobody_is_let_in_once_there_are_native_credentials(who: str, text: str) -> None:
    assert refusal(who, "Bearer me", {}, is_open=False) == (401, text)
    assert refusal(who, None, {}, is_open=False) == (401, "missing Authorization header")


def test_the_admin_password_shuts_a_side_without_a_provider_and_opens_nothing(start_codeq: StartCodeq) -> None:
    codeq = start_codeq({}, "--admin-password=secret")
    assert_error(codeq.get("/admin/queues"), 401, "missing Authorization header")
    assert_error(codeq.like("secret").get("/admin/queues"), 401)
    assert_error(codeq.get("/admin/queues", headers={"X-API-Key": "secret"}), 401)
    assert_error(codeq.like("me").get("/admin/queues", headers={"X-Role": "ADMIN"}), 401)


def test_a_side_with_a_provider_does_not_mind_the_admin_password(start_codeq: StartCodeq) -> None:
    codeq = start_codeq(static(producer=PRODUCERS), "--admin-password=secret")
    assert codeq.like("boss").get("/admin/queues").status_code == 200


def test_while_one_side_has_a_provider_the_other_is_open_but_not_to_its_tokens() -> None:
    only_producers = static(producer=PRODUCERS)
    assert admit("worker", "Bearer w7", only_producers).subject == "w7"
    assert admit("worker", None, only_producers).subject == "anonymous"
    assert refusal("worker", "Bearer boss", only_producers)[0] == 401
    assert refusal("producer", "Bearer w7", only_producers)[0] == 401
    only_workers = static(worker=WORKERS)
    assert admit("producer", "Bearer me", only_workers).subject == "me"
    assert admit("admin", None, only_workers).is_admin
    assert refusal("admin", "Bearer w1", only_workers)[0] == 401
    assert admit("either", "Bearer w1", only_workers).subject == "worker-1"
    assert admit("either", "Bearer me", only_workers).subject == "me"


def test_the_other_side_is_shut_too_once_there_are_native_credentials() -> None:
    only_producers = static(producer=PRODUCERS)
    assert refusal("worker", "Bearer w7", only_producers, is_open=False) == (401, "worker validator not configured")
    assert refusal("either", "Bearer w7", only_producers, is_open=False) == (401, "invalid token")
    assert admit("either", "Bearer boss", only_producers, is_open=False).subject == "ada"


# --- tokens known by their text


@pytest.mark.parametrize("who", ["producer", "worker", "either", "admin"])
@pytest.mark.parametrize(
    ("authorization", "text"),
    [
        (None, "missing Authorization header"),
        ("", "missing Authorization header"),
        ("Basic eA==", "invalid Authorization format"),
        ("Bearer", "invalid Authorization format"),
        ("Bearer  ", "invalid Authorization format"),
        ("plain", "invalid Authorization format"),
    ],
)
def test_a_token_must_be_sent_as_a_bearer(who: str, authorization: str | None, text: str) -> None:
    assert refusal(who, authorization, BOTH) == (401, text)


def test_the_word_bearer_may_be_written_anyhow() -> None:
    assert admit("producer", "bEARER plain", BOTH).subject == "static"


def test_a_producer_is_not_a_worker_and_not_an_admin() -> None:
    caller = admit("producer", "Bearer plain", BOTH)
    assert (caller.subject, caller.is_admin, caller.may_handle("x"), caller.bearer) == ("static", False, False, "plain")
    assert refusal("worker", "Bearer plain", BOTH) == (401, "unknown token: a worker's is needed here")
    assert refusal("worker", "Bearer nobodys", BOTH) == (401, "unknown token")
    assert refusal("admin", "Bearer plain", BOTH) == (401, "unauthorized. Admin only")


@pytest.mark.parametrize(("token", "subject"), [("boss", "ada"), ("scoped", "bob")])
def test_a_producer_is_an_admin_by_role_or_by_scope(token: str, subject: str) -> None:
    assert admit("admin", f"Bearer {token}", BOTH).subject == subject


def test_in_dev_a_header_makes_any_producer_an_admin() -> None:
    assert admit("admin", "Bearer plain", BOTH, x_role="ADMIN").is_admin
    assert refusal("admin", "Bearer plain", BOTH, x_role="USER")[0] == 401
    assert refusal("admin", "Bearer w1", BOTH, x_role="ADMIN")[0] == 401
    assert refusal("admin", None, BOTH, x_role="ADMIN") == (401, "missing Authorization header")
    earnest = BOTH | {"ENV": "production", "WEBHOOK_HMAC_SECRET": "s"}
    assert refusal("admin", "Bearer plain", earnest, x_role="ADMIN") == (401, "unauthorized. Admin only")
    assert admit("admin", "Bearer boss", earnest).is_admin


def test_a_worker_may_handle_what_its_token_says_letter_by_letter() -> None:
    caller = admit("worker", "Bearer w1", BOTH)
    assert (caller.subject, caller.worker_group, caller.is_admin) == ("worker-1", "mailers", False)
    assert caller.scopes == {"codeq:claim", "codeq:result"}
    assert caller.may_handle("Email")
    assert not caller.may_handle("email")
    assert not caller.may_handle("*")
    assert admit("worker", "Bearer all", BOTH).may_handle("email")


@pytest.mark.parametrize(
    ("token", "text"),
    [("no-types", "missing eventTypes"), ("no-scope", "missing scope"), ("bare", "missing eventTypes")],
)
def test_a_worker_without_event_types_or_scopes_is_not_let_in(token: str, text: str) -> None:
    assert refusal("worker", f"Bearer {token}", BOTH) == (401, text)


@pytest.mark.parametrize("who", ["producer", "admin"])
def test_a_worker_is_no_producer(who: str) -> None:
    assert refusal(who, "Bearer w1", BOTH) == (401, "unknown token: a producer's is needed here")
    assert refusal(who, "Bearer nobodys", BOTH) == (401, "unknown token")


def test_either_is_a_worker_first_and_else_a_producer() -> None:
    shared = static(
        producer={"token": "same", "subject": "p"},
        worker={"token": "same", "subject": "w", "scopes": ["codeq:nack"], "eventTypes": ["a"]},
    )
    assert admit("either", "Bearer same", shared).subject == "w"
    assert admit("producer", "Bearer same", shared).subject == "p"
    assert admit("either", "Bearer boss", BOTH).subject == "ada"
    assert admit("either", "Bearer w1", BOTH).subject == "worker-1"
    assert refusal("either", "Bearer stranger", BOTH) == (401, "invalid token")


def test_a_producer_may_work_where_that_is_allowed() -> None:
    allowed = BOTH | {"ALLOW_PRODUCER_AS_WORKER": "true"}
    caller = admit("worker", "Bearer boss", allowed)
    assert (caller.subject, caller.event_types, caller.worker_group) == ("ada", ("*",), None)
    assert caller.scopes >= WORKER_SCOPES
    assert admit("worker", "Bearer w1", allowed).event_types == ("Email", "sms")
    assert refusal("worker", "Bearer stranger", allowed)[0] == 401
    alone = static(producer=PRODUCERS) | {"ALLOW_PRODUCER_AS_WORKER": "true"}
    assert admit("worker", "Bearer boss", alone).subject == "ada"
    assert admit("worker", "Bearer boss", alone, is_open=False).subject == "ada"


def test_tokens_may_have_any_letters() -> None:
    assert admit("producer", "Bearer tökén", static(producer="tökén")).subject == "static"
    assert refusal("producer", "Bearer tokén", static(producer="tökén"))[0] == 401


# --- at the door of a real server


@pytest.fixture(scope="module")
def static_codeq(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with codeq_variables(BOTH):
        server = ServerProcess(tmp_path_factory.mktemp("static") / "data")
    yield Codeq(server)
    server.kill()


@pytest.mark.parametrize(
    ("token", "status"), [("boss", 200), ("scoped", 200), ("plain", 401), ("w1", 401), ("stranger", 401), (None, 401)]
)
def test_only_admins_see_the_queues(static_codeq: Codeq, token: str | None, status: int) -> None:
    answer = static_codeq.like(token).get("/admin/queues")
    assert answer.status_code == status
    if status != 200:
        assert_error(answer, 401)


def test_the_admins_header_works_in_dev(static_codeq: Codeq) -> None:
    answer = static_codeq.like("plain").get("/admin/queues", headers={"X-Role": "admin"})
    assert answer.status_code == 200
    assert_error(static_codeq.get("/admin/queues", headers={"X-Role": "ADMIN"}), 401, "missing Authorization header")


def test_native_calls_are_not_asked_for_codeqs_tokens(static_codeq: Codeq) -> None:
    assert static_codeq.server.http.get("/api/v1/queues").status_code == 200
