"""Subscriptions of workers: who may make one, what it says, how long it lives."""

import json
import time
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from rookery.node.data_dir import STORE
from rookery.store.connections import open_reader
from tests.codeq.conftest import Codeq, StartCodeq, assert_error

URL = "http://127.0.0.1:9/ready"
SCOPES = ["codeq:subscribe"]
WORKERS = [
    {"token": "plain", "subject": "w1", "scopes": SCOPES, "eventTypes": ["Render", "mail"]},
    {"token": "grouped", "subject": "w2", "scopes": SCOPES, "eventTypes": ["*"], "raw": {"workerGroup": "g1"}},
    {"token": "claimer", "subject": "w3", "scopes": ["codeq:claim"], "eventTypes": ["*"]},
]
STATIC = {
    "PRODUCER_AUTH_PROVIDER": "static",
    "PRODUCER_AUTH_CONFIG": '"maker"',
    "WORKER_AUTH_PROVIDER": "static",
    "WORKER_AUTH_CONFIG": json.dumps(WORKERS),
}


def subscribe(codeq: Codeq, **fields: Any) -> Any:
    return codeq.post("/workers/subscriptions", {"callbackUrl": URL, **fields})


def stored(codeq: Codeq, subscription_id: str) -> dict[str, Any]:
    """What the store has of a subscription: there is no way to read one."""
    db = open_reader(codeq.server.data_dir / STORE)
    try:
        cursor = db.execute("SELECT * FROM ready_hook WHERE id = ?", (subscription_id,))
        names = [column[0] for column in cursor.get_description()]
        return dict(zip(names, cursor.fetchone(), strict=True))
    finally:
        db.close()


def lifetime(answer: Any) -> float:
    """Seconds from the answer to the end of what it speaks of."""
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"subscriptionId", "expiresAt"}
    ends = datetime.fromisoformat(answer.json()["expiresAt"])
    return ends.timestamp() - time.time()


def test_a_subscription_has_an_id_and_an_end(open_codeq: Codeq) -> None:
    answer = subscribe(open_codeq, eventTypes=["Render"])

    assert 290 < lifetime(answer) <= 301
    assert UUID(answer.json()["subscriptionId"]).version == 4
    kept = stored(open_codeq, answer.json()["subscriptionId"])
    assert (kept["url"], json.loads(kept["queues"])) == (URL, {"render": "Render"})
    assert (kept["mode"], kept["group_id"], kept["min_interval"]) == ("fanout", None, 5000)


@pytest.mark.parametrize(("ttl", "seconds"), [(60, 60), (0, 300), (-5, 300), (None, 300), (10**30, 366 * 86_400)])
def test_it_lives_as_long_as_it_wants(open_codeq: Codeq, ttl: int | None, seconds: int) -> None:
    assert seconds - 10 < lifetime(subscribe(open_codeq, ttlSeconds=ttl)) <= seconds + 1


@pytest.mark.parametrize(("given", "kept"), [(7, 7000), (0, 5000), (-1, 5000), (None, 5000)])
def test_notifications_keep_a_distance(open_codeq: Codeq, given: int | None, kept: int) -> None:
    answer = subscribe(open_codeq, minIntervalSeconds=given)
    assert stored(open_codeq, answer.json()["subscriptionId"])["min_interval"] == kept


@pytest.mark.parametrize("body", [None, {}, {"ttlSeconds": 30}])
def test_renewing_counts_from_now(open_codeq: Codeq, body: dict[str, int] | None) -> None:
    subscription = subscribe(open_codeq, ttlSeconds=10).json()["subscriptionId"]

    answer = open_codeq.post(f"/workers/subscriptions/{subscription}/heartbeat", body)

    assert answer.json()["subscriptionId"] == subscription
    seconds = 30 if body else 300
    assert seconds - 10 < lifetime(answer) <= seconds + 1


def test_what_there_is_not_cannot_be_renewed(open_codeq: Codeq) -> None:
    missing = open_codeq.post("/workers/subscriptions/2f1c6d5e-0000-4000-8000-000000000001/heartbeat", {})
    assert_error(missing, 404, "not-found")


def test_a_renewal_that_cannot_be_read_is_refused(open_codeq: Codeq) -> None:
    subscription = subscribe(open_codeq).json()["subscriptionId"]
    path = f"/workers/subscriptions/{subscription}/heartbeat"
    assert_error(open_codeq.post(path, content=b"{"), 400, "invalid body")
    assert_error(open_codeq.post(path, {"ttlSeconds": "soon"}), 400, "invalid body")


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "there",
        "/ready",
        "ftp://there/x",
        "http://",
        "http:///x",
        "http://a b/",
        "https://:80/",
        "http://x:y/",
    ],
)
def test_a_callback_url_is_absolute_and_has_a_host(open_codeq: Codeq, url: str | None) -> None:
    assert_error(subscribe(open_codeq, callbackUrl=url), 400, "invalid callback url")


def test_where_a_url_leads_does_not_matter_yet(open_codeq: Codeq) -> None:
    assert subscribe(open_codeq, callbackUrl="http://169.254.169.254/latest").status_code == 200


@pytest.mark.parametrize("mode", ["broadcast", "FANOUT", "all"])
def test_there_are_three_modes(open_codeq: Codeq, mode: str) -> None:
    assert_error(subscribe(open_codeq, deliveryMode=mode), 400, "invalid deliveryMode")
    for known in ("fanout", "group", "hash"):
        assert subscribe(open_codeq, deliveryMode=known, groupId="g").status_code == 200


def test_a_group_has_a_name(open_codeq: Codeq) -> None:
    assert_error(subscribe(open_codeq, deliveryMode="group"), 400, "groupId is required")
    assert_error(subscribe(open_codeq, deliveryMode="group", groupId=" "), 400, "groupId is required")


@pytest.mark.parametrize("body", [b"", b"nothing", b"[]", b'{"callbackUrl":7}', b'{"eventTypes":"Render"}'])
def test_what_cannot_be_read_is_refused(open_codeq: Codeq, body: bytes) -> None:
    assert_error(open_codeq.post("/workers/subscriptions", content=body), 400, "invalid body")


def test_keys_that_nobody_knows_are_ignored(open_codeq: Codeq) -> None:
    assert subscribe(open_codeq, colour="red").status_code == 200


def test_a_token_says_what_its_worker_may_hear_of(start_codeq: StartCodeq) -> None:
    codeq = start_codeq(STATIC)
    plain, grouped = codeq.like("plain"), codeq.like("grouped")

    own = subscribe(plain).json()["subscriptionId"]
    assert json.loads(stored(codeq, own)["queues"]) == {"render": "Render", "mail": "mail"}
    everything = subscribe(grouped).json()["subscriptionId"]
    assert json.loads(stored(codeq, everything)["queues"]) == {"*": "*"}
    assert subscribe(plain, eventTypes=["mail"]).status_code == 200
    for foreign in (["mail", "other"], ["render"], ["*"]):
        assert_error(subscribe(plain, eventTypes=foreign), 403, "event type not allowed")

    kept = stored(codeq, everything)
    assert (kept["mode"], kept["group_id"]) == ("group", "g1")
    assert stored(codeq, subscribe(grouped, groupId="g1").json()["subscriptionId"])["group_id"] == "g1"
    assert stored(codeq, subscribe(grouped, deliveryMode="fanout").json()["subscriptionId"])["mode"] == "fanout"
    assert_error(subscribe(grouped, groupId="g2"), 403)

    assert_error(subscribe(codeq.like("claimer")), 403, "missing scope")
    assert_error(codeq.like("claimer").post(f"/workers/subscriptions/{own}/heartbeat", {}), 403, "missing scope")
    assert subscribe(codeq.like("maker")).status_code == 401
    assert_error(subscribe(codeq.like(None)), 401, "missing Authorization header")


def test_a_subscription_of_another_tenant_does_not_exist(start_codeq: StartCodeq) -> None:
    codeq = start_codeq({"TENANCY_ENABLED": "true"})
    subscription = subscribe(codeq.like("ann")).json()["subscriptionId"]

    path = f"/workers/subscriptions/{subscription}/heartbeat"
    assert_error(codeq.like("bob").post(path, {}), 404, "not-found")
    assert codeq.like("ann").post(path, {}).status_code == 200


def test_subscriptions_are_still_there_after_a_restart(start_codeq: StartCodeq) -> None:
    codeq = start_codeq()
    subscription = subscribe(codeq).json()["subscriptionId"]
    codeq.server.kill()
    codeq.server.start()

    assert codeq.post(f"/workers/subscriptions/{subscription}/heartbeat").status_code == 200
