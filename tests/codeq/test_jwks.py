"""Tokens that an identity service has signed."""

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from rookery.http.codeq.auth import Caller, Guard
from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.settings import read_settings
from tests.codeq.conftest import StartCodeq, assert_error
from tests.codeq.identity import ISSUER, IdentityService, rsa_key, sign

WORKER = {"sub": "w1", "aud": "codeq-worker", "eventTypes": ["a"], "scope": "codeq:claim codeq:nack"}


@pytest.fixture
def identity() -> Iterator[IdentityService]:
    with IdentityService() as service:
        yield service


def variables(identity: IdentityService, **more: str) -> dict[str, str]:
    return {
        "IDENTITY_JWKS_URL": identity.url,
        "IDENTITY_ISSUER": ISSUER,
        "IDENTITY_AUDIENCE": "codeq",
        "WORKER_JWKS_URL": identity.url,
        "WORKER_ISSUER": ISSUER,
        **more,
    }


def admit(identity: IdentityService, who: str, *tokens: str, **more: str) -> list[Caller | str]:
    """What becomes of callers with these tokens, one after the other: who they are, or why it is 401."""
    settings = read_settings({f"CODEQ_{name}": value for name, value in variables(identity, **more).items()})

    async def come() -> list[Caller | str]:
        guard = Guard(settings, is_open=False)
        outcomes: list[Caller | str] = []
        for token in tokens:
            try:
                outcomes.append(await guard.admit(who, {b"authorization": f"Bearer {token}".encode()}))
            except CodeqError as error:
                outcomes.append(error.text if error.status == 401 else f"{error.status} {error.text}")
        return outcomes

    return asyncio.run(come())


def admit_one(identity: IdentityService, who: str, token: str, **more: str) -> Caller:
    caller = admit(identity, who, token, **more)[0]
    assert isinstance(caller, Caller), caller
    return caller


def test_a_signed_token_says_who_a_worker_is_and_what_it_may(identity: IdentityService) -> None:
    caller = admit_one(identity, "worker", sign(WORKER | {"workerGroup": "g"}))
    assert (caller.subject, caller.event_types, caller.worker_group) == ("w1", ("a",), "g")
    assert caller.scopes == {"codeq:claim", "codeq:nack"}


def test_the_audience_may_be_one_of_several(identity: IdentityService) -> None:
    assert admit_one(identity, "worker", sign(WORKER | {"aud": ["other", "codeq-worker"]})).subject == "w1"


def test_a_signed_token_makes_a_producer_and_an_admin(identity: IdentityService) -> None:
    assert not admit_one(identity, "producer", sign({"aud": "codeq"})).is_admin
    assert admit_one(identity, "admin", sign({"aud": "codeq", "role": "Admin"})).is_admin
    assert admit_one(identity, "admin", sign({"aud": "codeq", "scope": "x codeq:admin"})).is_admin
    assert admit(identity, "admin", sign({"aud": "codeq"})) == ["unauthorized. Admin only"]


def test_the_sides_are_told_apart_by_their_audience(identity: IdentityService) -> None:
    assert isinstance(admit(identity, "worker", sign(WORKER | {"aud": "codeq"}))[0], str)
    assert isinstance(admit(identity, "producer", sign(WORKER))[0], str)
    assert admit_one(identity, "either", sign(WORKER)).subject == "w1"
    assert admit_one(identity, "either", sign({"aud": "codeq", "sub": "p"})).subject == "p"
    assert admit(identity, "either", sign({"aud": "neither"})) == ["invalid token"]


@pytest.mark.parametrize(
    ("claims", "text"),
    [
        ({"eventTypes": []}, "missing eventTypes"),
        ({"eventTypes": "a"}, "missing eventTypes"),
        ({"scope": " "}, "missing scope"),
        ({"sub": ""}, "missing sub"),
    ],
)
def test_a_worker_needs_its_claims(identity: IdentityService, claims: dict[str, Any], text: str) -> None:
    assert admit(identity, "worker", sign(WORKER | claims)) == [text]


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": -120},
        {"exp": None},
        {"iss": "https://elsewhere.test"},
        {"aud": "codeq-workers"},
        {"aud": None},
        {"nbf": 600},
    ],
    ids=["expired", "no end", "other issuer", "other audience", "no audience", "not yet"],
)
def test_a_token_that_is_not_for_us_or_not_for_now_is_refused(
    identity: IdentityService, claims: dict[str, Any]
) -> None:
    """Times are seconds from now."""
    times = {name: int(time.time()) + value for name, value in claims.items() if isinstance(value, int)}
    whole = {name: value for name, value in (WORKER | {"iss": ISSUER} | claims | times).items() if value is not None}
    if claims.get("exp", 0) is None:
        token = jwt.encode(whole, rsa_key("k1"), algorithm="RS256", headers={"kid": "k1"})
    else:
        token = sign(whole)
    outcome = admit(identity, "worker", token)[0]
    assert isinstance(outcome, str)
    assert outcome.startswith("invalid token")


def test_clocks_may_differ_a_little(identity: IdentityService) -> None:
    just_over = sign(WORKER | {"exp": int(time.time()) - 30})
    assert admit_one(identity, "worker", just_over).subject == "w1"
    assert isinstance(admit(identity, "worker", just_over, ALLOWED_CLOCK_SKEW_SECONDS="5")[0], str)


def test_only_the_one_algorithm_counts(identity: IdentityService) -> None:
    claims = {"iss": ISSUER, "exp": int(time.time()) + 600, **WORKER}
    unsigned = jwt.encode(claims, None, algorithm="none", headers={"kid": "k1"})
    by_a_secret = jwt.encode(claims, identity.jwks().decode() * 2, algorithm="HS256", headers={"kid": "k1"})
    by_another = jwt.encode(claims, rsa_key("k1"), algorithm="RS512", headers={"kid": "k1"})
    outcomes = admit(identity, "worker", unsigned, by_a_secret, by_another, "no.jwt", "x", "a.b.c")
    assert all(isinstance(outcome, str) for outcome in outcomes), outcomes


def test_a_token_signed_by_another_key_under_a_known_name_is_refused(identity: IdentityService) -> None:
    assert admit(identity, "worker", sign(WORKER, kid="k1", key="k2")) == [
        "invalid token: Signature verification failed"
    ]


def test_keys_are_fetched_once_for_many_tokens(identity: IdentityService) -> None:
    outcomes = admit(identity, "worker", *[sign(WORKER)] * 20)
    assert all(isinstance(outcome, Caller) for outcome in outcomes)
    assert identity.fetches == 1


def test_callers_who_come_at_once_wait_for_the_same_keys(identity: IdentityService) -> None:
    settings = read_settings({f"CODEQ_{name}": value for name, value in variables(identity).items()})
    headers = {b"authorization": f"Bearer {sign(WORKER)}".encode()}

    async def come() -> list[Caller]:
        guard = Guard(settings, is_open=False)
        return await asyncio.gather(*(guard.admit("worker", headers) for _ in range(10)))

    assert {caller.subject for caller in asyncio.run(come())} == {"w1"}
    assert identity.fetches == 1


def test_a_new_key_is_found_but_made_up_ones_do_not_make_us_ask_for_ever(identity: IdentityService) -> None:
    settings = read_settings({f"CODEQ_{name}": value for name, value in variables(identity).items()})

    async def come() -> None:
        guard = Guard(settings, is_open=False)

        async def comes_in(token: str) -> bool:
            try:
                await guard.admit("worker", {b"authorization": f"Bearer {token}".encode()})
            except CodeqError:
                return False
            return True

        assert await comes_in(sign(WORKER))
        assert not await comes_in(sign(WORKER, kid="k2"))
        identity.kids = ["k2"]
        assert await comes_in(sign(WORKER, kid="k2"))
        assert not await comes_in(sign(WORKER, kid="k1"))
        for number in range(20):
            assert not await comes_in(sign(WORKER, kid=f"made-up-{number}", key="k1"))
        assert await comes_in(sign(WORKER, kid="k2"))

    asyncio.run(come())
    assert identity.fetches == 5


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"keys": 1}', b'{"keys": [{"kty": "RSA", "kid": "k1"}, {"kty": "EC"}]}']
)
def test_an_identity_service_that_publishes_nothing_useful_lets_nobody_in(
    identity: IdentityService, body: bytes
) -> None:
    identity.body = body
    assert isinstance(admit(identity, "worker", sign(WORKER))[0], str)


def test_an_identity_service_that_is_away_lets_nobody_in_and_breaks_nothing() -> None:
    with IdentityService() as service:
        pass
    assert admit(service, "worker", sign(WORKER)) == ["the keys that tokens are signed with cannot be fetched"]


def test_a_server_takes_signed_tokens(identity: IdentityService, start_codeq: StartCodeq) -> None:
    codeq = start_codeq({"IDENTITY_SERVICE_URL": identity.url, "IDENTITY_AUDIENCE": "codeq"})
    good = {"iss": identity.url, "aud": ["codeq"]}
    assert codeq.like(sign(good | {"role": "ADMIN"})).get("/admin/queues").status_code == 200
    assert_error(codeq.like(sign(good)).get("/admin/queues"), 401, "unauthorized. Admin only")
    assert codeq.like(sign(good)).get("/admin/queues", headers={"X-Role": "ADMIN"}).status_code == 200
    assert_error(codeq.like(sign({"aud": "codeq", "role": "ADMIN"})).get("/admin/queues"), 401)
    assert identity.fetches == 1


def test_an_identity_service_that_never_answers_is_not_waited_for(
    identity: IdentityService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rookery.http.codeq.jwks.FETCH_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        outcome = admit(identity, "worker", sign(WORKER), WORKER_JWKS_URL=url)
    assert outcome == ["the keys that tokens are signed with cannot be fetched"]


def test_the_last_keys_are_good_for_a_while_when_there_are_no_newer_ones(
    identity: IdentityService, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = read_settings({f"CODEQ_{name}": value for name, value in variables(identity).items()})
    headers = {b"authorization": f"Bearer {sign(WORKER)}".encode()}

    async def come() -> None:
        guard = Guard(settings, is_open=False)
        await guard.admit("worker", headers)
        identity.body = b"out of order"
        monkeypatch.setattr("rookery.http.codeq.jwks.FRESH", -1)
        assert (await guard.admit("worker", headers)).subject == "w1"
        monkeypatch.setattr("rookery.http.codeq.jwks.LAST", -1)
        with pytest.raises(CodeqError, match="cannot be fetched"):
            await guard.admit("worker", headers)

    asyncio.run(come())
    assert identity.fetches == 3
