"""Who calls the codeQ API, and what they may: producers, workers and admins, each known by a token.

A side without a provider of tokens is open while the native API is open too, and shut otherwise.
"""

import hmac
from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec

from rookery.http.codeq.errors import CodeqError
from rookery.http.codeq.jwks import JwksTokens
from rookery.http.codeq.names import namespace_for
from rookery.http.codeq.settings import CodeqSettings, JwksProvider, Provider, StaticProvider
from rookery.http.codeq.tokens import BadToken, Claims
from rookery.model.names import DEFAULT_NAMESPACE

ALL: Final = "*"
ADMIN_SCOPE: Final = "codeq:admin"
WORKER_SCOPES: Final = frozenset(
    f"codeq:{name}" for name in ("claim", "heartbeat", "abandon", "nack", "result", "subscribe")
)
ANONYMOUS: Final = "anonymous"
UNKNOWN: Final = "unknown token"
_TENANT_CLAIMS: Final = ("tenantId", "tenant_id", "organizationId", "organization_id")

Headers = Mapping[bytes, bytes]


class Caller(msgspec.Struct, frozen=True):
    """Somebody who was let in."""

    subject: str
    event_types: tuple[str, ...] = ()
    """Commands as the token spells them; `*` stands for all."""
    scopes: frozenset[str] = frozenset()
    tenant: str | None = None
    """None while there are no tenants."""
    namespace: str = DEFAULT_NAMESPACE
    worker_group: str | None = None
    is_admin: bool = False
    bearer: str = ""

    def may_handle(self, command: str) -> bool:
        """Whether the caller may have tasks of a command, spelled like this."""
        return ALL in self.event_types or command in self.event_types


class Tokens(Protocol):
    """Knows the tokens of one side."""

    async def check(self, token: str) -> Claims:
        """What a token says; raises BadToken."""


class StaticTokens:
    """Tokens that are known by their text."""

    def __init__(self, provider: StaticProvider) -> None:
        self._tokens = [
            (one.token.encode(), Claims(one.subject, one.event_types, frozenset(one.scopes), one.raw))
            for one in provider.tokens
        ]

    async def check(self, token: str) -> Claims:
        """Compare with all of them, so that the time it takes says nothing."""
        given, found = token.encode(), None
        for text, claims in self._tokens:
            if hmac.compare_digest(text, given):
                found = claims
        if found is None:
            raise BadToken(UNKNOWN)
        return found


class Guard:
    """Lets callers in."""

    def __init__(self, settings: CodeqSettings, *, is_open: bool) -> None:
        self._settings = settings
        self._is_open = is_open
        self._producers = _tokens(settings.producer, settings)
        self._workers = _tokens(settings.worker, settings)
        self._doors = {
            "producer": self._producer,
            "worker": self._worker,
            "either": self._either,
            "admin": self._admin,
            "anyone": self._anyone,
        }

    async def admit(self, who: str, headers: Headers) -> Caller:
        """The caller, if it is one of those that may call; raises CodeqError."""
        return await self._doors[who](headers)

    async def _producer(self, headers: Headers) -> Caller:
        if self._producers is None:
            return await self._unguarded(headers, self._workers, "producer")
        token = _bearer(headers)
        try:
            return self._known_producer(await self._producers.check(token), token, headers)
        except BadToken as fault:
            raise CodeqError(401, await _refusal(fault, headers, self._workers, "producer")) from None

    async def _anyone(self, _: Headers) -> Caller:
        """Whoever it is, it may do nothing by being who it is."""
        return Caller(ANONYMOUS)

    async def _admin(self, headers: Headers) -> Caller:
        caller = await self._producer(headers)
        if not caller.is_admin:
            raise CodeqError(401, "unauthorized. Admin only")
        return caller

    async def _worker(self, headers: Headers) -> Caller:
        try:
            return await self._worker_by_token(headers)
        except CodeqError:
            caller = await self._producer_as_worker(headers)
            if caller is None:
                raise
            return caller

    async def _worker_by_token(self, headers: Headers) -> Caller:
        if self._workers is None:
            return await self._unguarded(headers, self._producers, "worker")
        token = _bearer(headers)
        try:
            return self._known_worker(await self._workers.check(token), token)
        except BadToken as fault:
            raise CodeqError(401, await _refusal(fault, headers, self._producers, "worker")) from None

    async def _producer_as_worker(self, headers: Headers) -> Caller | None:
        """Whoever has a producer's token where a worker's is asked for, if that will do."""
        if self._producers is None or not self._settings.allow_producer_as_worker:
            return None
        try:
            caller = await self._producer(headers)
        except CodeqError:
            return None
        if not caller.subject:
            return None
        return msgspec.structs.replace(caller, event_types=(ALL,), scopes=caller.scopes | WORKER_SCOPES)

    async def _either(self, headers: Headers) -> Caller:
        """A worker's token, or else a producer's."""
        is_unguarded = self._is_open and (self._workers is None or self._producers is None)
        try:
            token = _bearer(headers)
        except CodeqError:
            if is_unguarded:
                return self._stranger(headers)
            raise
        for tokens, known in ((self._workers, self._known_worker), (self._producers, self._known_producer)):
            if tokens is not None:
                try:
                    return known(await tokens.check(token), token, headers)
                except BadToken:
                    continue
        if is_unguarded:
            return self._stranger(headers)
        raise CodeqError(401, "invalid token")

    async def _unguarded(self, headers: Headers, others: Tokens | None, side: str) -> Caller:
        """A side that nobody provides tokens for: it is for strangers, not for those of the other side."""
        if self._is_open and not (others is not None and await _is_known(others, headers)):
            return self._stranger(headers)
        _bearer(headers)
        raise CodeqError(401, f"{side} validator not configured")

    # --- callers

    def _stranger(self, headers: Headers) -> Caller:
        try:
            token = _bearer(headers)
        except CodeqError:
            token = ""
        claims = Claims(token or ANONYMOUS, (ALL,), WORKER_SCOPES | {ADMIN_SCOPE})
        return self._caller(claims, token, is_admin=True)

    def _known_producer(self, claims: Claims, token: str, headers: Headers) -> Caller:
        role = claims.others.get("role")
        is_admin = ADMIN_SCOPE in claims.scopes or (isinstance(role, str) and role.upper() == "ADMIN")
        if self._settings.is_dev and headers.get(b"x-role", b"").strip().upper() == b"ADMIN":
            is_admin = True
        return self._caller(claims, token, is_admin)

    def _known_worker(self, claims: Claims, token: str, _: Headers | None = None) -> Caller:
        if not claims.subject:
            raise BadToken("missing sub")
        if not claims.event_types:
            raise BadToken("missing eventTypes")
        if not claims.scopes:
            raise BadToken("missing scope")
        return self._caller(claims, token, is_admin=False)

    def _caller(self, claims: Claims, token: str, is_admin: bool) -> Caller:
        tenant = _tenant(claims) if self._settings.tenancy_enabled else None
        return Caller(
            subject=claims.subject,
            event_types=claims.event_types,
            scopes=claims.scopes,
            tenant=tenant,
            namespace=DEFAULT_NAMESPACE if tenant is None else namespace_for(tenant),
            worker_group=_text(claims.others.get("workerGroup")) or None,
            is_admin=is_admin,
            bearer=token,
        )


def _tokens(provider: Provider, settings: CodeqSettings) -> Tokens | None:
    if isinstance(provider, StaticProvider):
        return StaticTokens(provider)
    if isinstance(provider, JwksProvider):
        return JwksTokens(provider, settings.allowed_clock_skew_seconds)
    return None


def _bearer(headers: Headers) -> str:
    header = headers.get(b"authorization", b"").strip()
    if not header:
        raise CodeqError(401, "missing Authorization header")
    scheme, _, token = header.decode(errors="replace").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise CodeqError(401, "invalid Authorization format")
    return token.strip()


async def _is_known(tokens: Tokens, headers: Headers) -> bool:
    try:
        await tokens.check(_bearer(headers))
    except (BadToken, CodeqError):
        return False
    return True


async def _refusal(fault: BadToken, headers: Headers, others: Tokens | None, side: str) -> str:
    """What is wrong with a token; of one that belongs to the other side, whose is wanted."""
    if str(fault) == UNKNOWN and others is not None and await _is_known(others, headers):
        return f"{UNKNOWN}: a {side}'s is needed here"
    return str(fault)


def _tenant(claims: Claims) -> str:
    """The first of the claims that name one, else whoever it is."""
    for name in _TENANT_CLAIMS:
        tenant = _text(claims.others.get(name))
        if tenant:
            return tenant
    if not claims.subject:
        raise BadToken("missing tenant")
    return claims.subject


def _text(claim: Any) -> str:
    return claim.strip() if isinstance(claim, str) else ""
