"""With tenants, each sees its own queues only; without, there is one for all."""

import json
from typing import Any

import pytest

from rookery.http.codeq.auth import Caller
from rookery.http.codeq.names import namespace_for
from tests.codeq.conftest import Codeq, StartCodeq
from tests.codeq.test_auth import admit, static
from tests.conftest import Api

ADMIN = {"role": "ADMIN"}
ON = {"TENANCY_ENABLED": "true"}


def tenant_of(raw: dict[str, Any], variables: dict[str, str] = ON) -> Caller:
    token = {"token": "t", "subject": "sub-1", "raw": raw}
    return admit("producer", "Bearer t", static(producer=token) | variables)


@pytest.mark.parametrize(
    ("raw", "tenant"),
    [
        ({"tenantId": "a", "tenant_id": "b", "organizationId": "c", "organization_id": "d"}, "a"),
        ({"tenantId": " ", "tenant_id": "b", "organizationId": "c", "organization_id": "d"}, "b"),
        ({"tenant_id": None, "organizationId": "c", "organization_id": "d"}, "c"),
        ({"organizationId": 7, "organization_id": "d"}, "d"),
        ({}, "sub-1"),
    ],
)
def test_the_tenant_is_the_first_claim_that_names_one_else_the_subject(raw: dict[str, Any], tenant: str) -> None:
    assert tenant_of(raw).tenant == tenant
    assert tenant_of(raw).namespace == tenant


def test_without_the_switch_there_is_one_tenant_for_all() -> None:
    caller = tenant_of({"tenantId": "a"}, {})
    assert (caller.tenant, caller.namespace) == (None, "default")


def test_a_tenant_that_calls_itself_default_does_not_see_everything() -> None:
    caller = tenant_of({"tenantId": "default"})
    assert caller.tenant == "default"
    assert caller.namespace != "default"


def test_strangers_are_tenants_by_their_token() -> None:
    assert admit("worker", "Bearer me", ON).tenant == "me"
    assert admit("worker", None, ON).tenant == "anonymous"


def test_tenants_see_their_own_queues_only(start_codeq: StartCodeq) -> None:
    tokens = [
        {"token": name, "subject": name, "raw": ADMIN | {"tenantId": tenant}}
        for name, tenant in (("a", "acme"), ("b", "Acme"), ("c", "acme"))
    ]
    codeq = start_codeq(ON | {"PRODUCER_AUTH_PROVIDER": "static", "PRODUCER_AUTH_CONFIG": json.dumps(tokens)})
    api = Api(codeq.server)
    for namespace in ("acme", namespace_for("Acme"), "default", "default"):
        api.post("/enqueue", {"queue": f"mail-{namespace}"}, headers={"X-Rookery-Namespace": namespace})
        api.post("/enqueue", {"queue": "mail"}, headers={"X-Rookery-Namespace": namespace})
    api.post("/enqueue", {"queue": "mail"}, headers={"X-Rookery-Namespace": "acme"})

    def commands(token: str) -> set[str]:
        return {key.split(":")[2] for key in codeq.like(token).get("/admin/queues").json()}

    def ready(token: str) -> int:
        return int(codeq.like(token).stats("MAIL")["ready"])

    assert (ready("a"), ready("b"), ready("c")) == (2, 1, 2)
    assert commands("a") == commands("c") == {"mail", "mail-acme"}
    assert commands("b") == {"mail", f"mail-{namespace_for('Acme')}"}
    assert codeq.like("a").stats("mail-default")["ready"] == 0


def test_a_tenant_cannot_name_another_ones_queue(start_codeq: StartCodeq) -> None:
    codeq = start_codeq(ON)
    api = Api(codeq.server)
    api.post("/enqueue", {"queue": "mail"}, headers={"X-Rookery-Namespace": "acme"})
    eve: Codeq = codeq.like("eve")
    for command in ("acme::mail", "::mail", "..%2Facme::mail", "acme%253A:mail"):
        assert eve.stats(command)["ready"] == 0
    assert codeq.like("acme").stats("mail")["ready"] == 1
