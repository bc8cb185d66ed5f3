"""Tokens that an identity service has signed: by RS256 and nothing else, with keys that it publishes."""

import asyncio
import logging
import time
from typing import Any, Final

import msgspec

from rookery.http.codeq.settings import JwksProvider
from rookery.http.codeq.tokens import BadToken, Claims
from rookery.node.buckets import Buckets
from rookery.node.courier import Courier

logger = logging.getLogger(__name__)

ALGORITHM: Final = "RS256"
FRESH: Final = 300.0
"""Seconds for which keys are not asked for again, unless a token names another."""
LAST: Final = 3600.0
"""Seconds for which keys are used while newer ones cannot be had."""
FETCH_TIMEOUT: Final = 5.0
_FETCHES_A_SECOND: Final = 0.1
_FETCHES_AT_ONCE: Final = 5
_HEADERS: Final = {"Accept": "application/json", "Connection": "close"}


class JwksTokens:
    """Tokens that are known by their signature."""

    def __init__(self, provider: JwksProvider, clock_skew: int) -> None:
        import jwt

        self._jwt = jwt
        self._keys = PublishedKeys(provider.url)
        self._issuer = provider.issuer
        self._audience = provider.audience
        self._clock_skew = clock_skew

    async def check(self, token: str) -> Claims:
        """What a token says; raises BadToken."""
        try:
            head = self._jwt.get_unverified_header(token)
        except (self._jwt.PyJWTError, ValueError):
            raise BadToken("invalid token: it is not a JWT") from None
        if head.get("alg") != ALGORITHM:
            raise BadToken(f"invalid token: it is not signed by {ALGORITHM}")
        key = await self._keys.find(head.get("kid") or "")
        try:
            said = self._jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                audience=self._audience,
                issuer=self._issuer,
                leeway=self._clock_skew,
                options={"require": ["exp"], "verify_aud": self._audience is not None},
            )
        except (self._jwt.PyJWTError, ValueError) as fault:
            raise BadToken(f"invalid token: {fault}") from None
        return Claims(str(said.get("sub") or ""), _texts(said.get("eventTypes")), _scopes(said.get("scope")), said)


class PublishedKeys:
    """The RSA keys at a URL, by their ids. They are fetched when they are needed, a bounded number of times."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._keys: dict[str, Any] = {}
        self._fetched_at = float("-inf")
        self._fetch: asyncio.Task[None] | None = None
        self._fetches = Buckets(_FETCHES_A_SECOND, _FETCHES_AT_ONCE)

    async def find(self, kid: str) -> Any:
        """The key of that id; raises BadToken."""
        if kid not in self._usable(FRESH):
            await self._fetch_anew()
        keys = self._usable(LAST)
        if not keys:
            raise BadToken("the keys that tokens are signed with cannot be fetched")
        if kid not in keys:
            raise BadToken("invalid token: it is signed with an unknown key")
        return keys[kid]

    def _usable(self, age: float) -> dict[str, Any]:
        return self._keys if time.monotonic() - self._fetched_at <= age else {}

    async def _fetch_anew(self) -> None:
        """Everybody who needs keys waits for the same fetch; how often there is one does not depend on callers."""
        if self._fetch is None or self._fetch.done():
            if self._fetches.take(b""):
                return
            self._fetch = asyncio.create_task(self._load())
        await asyncio.shield(self._fetch)

    async def _load(self) -> None:
        courier = Courier(may_reach_loopback=True)
        try:
            reply = await courier.get(self._url, _HEADERS, FETCH_TIMEOUT)
        finally:
            await courier.close()
        try:
            if reply.error is not None:
                raise ValueError(reply.error)
            self._keys = _read_keys(reply.answer or "")
            self._fetched_at = time.monotonic()
        except (ValueError, msgspec.MsgspecError) as fault:
            logger.warning("codeQ: no keys from %s: %s", self._url, fault)


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


def _read_keys(text: str) -> dict[str, Any]:
    """The keys that signatures can be checked with; others are passed over."""
    import jwt

    keys: dict[str, Any] = {}
    for entry in msgspec.json.decode(text, type=_KeySet).keys:
        if entry.get("kty") == "RSA" and entry.get("use", "sig") == "sig" and entry.get("alg", ALGORITHM) == ALGORITHM:
            try:
                keys[str(entry.get("kid") or "")] = jwt.PyJWK(entry, ALGORITHM).key
            except (jwt.PyJWTError, ValueError) as fault:
                logger.warning("codeQ: the key %.60r cannot be used: %s", entry.get("kid"), fault)
    return keys


def _texts(claim: Any) -> tuple[str, ...]:
    return tuple(one for one in claim if isinstance(one, str) and one.strip()) if isinstance(claim, list) else ()


def _scopes(claim: Any) -> frozenset[str]:
    return frozenset(claim.split() if isinstance(claim, str) else _texts(claim))
