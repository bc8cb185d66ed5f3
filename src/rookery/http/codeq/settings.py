"""How the codeQ face behaves, read from the environment when the server starts. With bad values it does not start."""

import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

PREFIX: Final = "CODEQ_"
DEV: Final = "dev"
RATE_LIMIT_SCOPES: Final = ("producer", "worker", "webhook", "admin")
DEFAULT_POLICY: Final = "exp_full_jitter"
POLICIES: Final = ("fixed", "linear", "exponential", "exp_equal_jitter", DEFAULT_POLICY)
LARGEST: Final = 10**9
ELSEWHERE: Final = {
    "PORT": "--bind decides",
    "LOG_LEVEL": "--log-level decides",
    "LOG_FORMAT": "the log is plain text",
    "REQUEUE_INSPECT_LIMIT": "leases end on time, without being looked for",
    "SUBSCRIPTION_CLEANUP_INTERVAL_SECONDS": "subscriptions that have run out are gone at once",
    "TRACING_ENABLED": "--otel-enabled decides",
    "TRACING_SERVICE_NAME": "OTEL_SERVICE_NAME decides",
    "TRACING_OTLP_ENDPOINT": "--otel-endpoint decides",
    "TRACING_OTLP_INSECURE": "--otel-endpoint decides",
    "TRACING_SAMPLE_RATIO": "OTEL_TRACES_SAMPLER decides",
}
"""What codeQ has a setting for and this server has one of its own."""


class BadSettings(Exception):
    """What the environment says cannot be; one line for each fault, naming its variable."""


class StaticToken(msgspec.Struct, frozen=True, rename="camel"):
    """A token that is known by its text, and what it says about whoever has it."""

    token: str
    subject: str = "static"
    email: str | None = None
    scopes: tuple[str, ...] = ()
    event_types: tuple[str, ...] = ()
    raw: dict[str, Any] = {}


class StaticProvider(msgspec.Struct, frozen=True):
    """Tokens that are known by their text."""

    tokens: tuple[StaticToken, ...]


class JwksProvider(msgspec.Struct, frozen=True):
    """Tokens that somebody else has signed, and where the keys for that are."""

    url: str
    issuer: str | None = None
    audience: str | None = None


class _JwksConfig(msgspec.Struct, frozen=True, rename="camel"):
    jwks_url: str | None = None
    issuer: str | None = None
    audience: str | None = None


Provider = StaticProvider | JwksProvider | None


class RateLimit(msgspec.Struct, frozen=True):
    """Requests of one caller: so many a minute, so many at once."""

    requests_per_minute: int = 0
    burst_size: int = 0

    @property
    def is_on(self) -> bool:
        """Whether there is a limit."""
        return self.requests_per_minute > 0 and self.burst_size > 0


class S3Bucket(msgspec.Struct, frozen=True):
    """Where artifacts are kept, if not in a directory. Credentials come from where boto3 looks for them."""

    name: str
    endpoint: str | None = None
    prefix: str = ""
    region: str | None = None


class CodeqSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, by codeQ's names."""

    env: str = DEV
    timezone: ZoneInfo = msgspec.field(default_factory=lambda: ZoneInfo("America/Sao_Paulo"))
    default_lease_seconds: int = 300
    max_attempts_default: int = 5
    backoff_policy: str = DEFAULT_POLICY
    backoff_base_seconds: int = 5
    backoff_max_seconds: int = 900
    producer: Provider = None
    worker: Provider = None
    allowed_clock_skew_seconds: int = 60
    allow_producer_as_worker: bool = False
    tenancy_enabled: bool = False
    webhook_hmac_secret: str = ""
    subscription_min_interval_seconds: int = 5
    result_webhook_max_attempts: int = 5
    result_webhook_base_backoff_seconds: int = 2
    result_webhook_max_backoff_seconds: int = 60
    local_artifacts_dir: Path = msgspec.field(default_factory=lambda: Path(tempfile.gettempdir()) / "codeq-artifacts")
    artifacts_bucket: S3Bucket | None = None
    public_url: str = ""
    rate_limits: dict[str, RateLimit] = msgspec.field(
        default_factory=lambda: {scope: RateLimit() for scope in RATE_LIMIT_SCOPES}
    )
    remarks: tuple[str, ...] = ()
    """What is worth a warning at the start."""

    @property
    def is_dev(self) -> bool:
        """Whether convenience comes before safety."""
        return self.env == DEV


def read_settings(environ: Mapping[str, str]) -> CodeqSettings:
    """The settings that an environment asks for; raises BadSettings with all that is wrong."""
    env = _Environment(environ)
    settings = CodeqSettings(
        env=env.text("ENV", DEV).lower(),
        timezone=env.timezone("TIMEZONE", "America/Sao_Paulo"),
        default_lease_seconds=env.number("DEFAULT_LEASE_SECONDS", 300),
        max_attempts_default=env.number("MAX_ATTEMPTS_DEFAULT", 5),
        backoff_policy=_backoff_policy(env),
        backoff_base_seconds=env.number("BACKOFF_BASE_SECONDS", 5, least=0),
        backoff_max_seconds=env.number("BACKOFF_MAX_SECONDS", 900),
        producer=_producer(env),
        worker=_worker(env),
        allowed_clock_skew_seconds=env.number("ALLOWED_CLOCK_SKEW_SECONDS", 60, least=0),
        allow_producer_as_worker=env.switch("ALLOW_PRODUCER_AS_WORKER"),
        tenancy_enabled=env.switch("TENANCY_ENABLED"),
        webhook_hmac_secret=env.text("WEBHOOK_HMAC_SECRET"),
        subscription_min_interval_seconds=env.number("SUBSCRIPTION_MIN_INTERVAL_SECONDS", 5),
        result_webhook_max_attempts=env.number("RESULT_WEBHOOK_MAX_ATTEMPTS", 5),
        result_webhook_base_backoff_seconds=env.number("RESULT_WEBHOOK_BASE_BACKOFF_SECONDS", 2),
        result_webhook_max_backoff_seconds=env.number("RESULT_WEBHOOK_MAX_BACKOFF_SECONDS", 60),
        local_artifacts_dir=Path(
            env.text("LOCAL_ARTIFACTS_DIR") or Path(tempfile.gettempdir()) / "codeq-artifacts"
        ).absolute(),
        artifacts_bucket=_bucket(env),
        public_url=env.url("PUBLIC_URL").rstrip("/"),
        rate_limits={scope: _rate_limit(env, scope) for scope in RATE_LIMIT_SCOPES},
    )
    if not settings.is_dev:
        env.faults += _missing_outside_dev(settings)
    if env.faults:
        raise BadSettings("\n".join(env.faults))
    if (settings.producer is None) != (settings.worker is None):
        side = "producer" if settings.producer is None else "worker"
        env.remarks.append(
            f"{PREFIX}{side.upper()}_AUTH_PROVIDER is not set: {side}s need no token unless there is an admin password"
        )
    env.remarks += [f"{PREFIX}{name} means nothing here: {why}" for name, why in ELSEWHERE.items() if env.text(name)]
    return msgspec.structs.replace(settings, remarks=tuple(env.remarks))


def _rate_limit(env: "_Environment", scope: str) -> RateLimit:
    name = f"RATE_LIMIT_{scope.upper()}"
    return RateLimit(
        env.number(f"{name}_REQUESTS_PER_MINUTE", 0, least=0), env.number(f"{name}_BURST_SIZE", 0, least=0)
    )


def _bucket(env: "_Environment") -> S3Bucket | None:
    name, others = env.text("ARTIFACTS_S3_BUCKET"), ("ENDPOINT", "PREFIX", "REGION")
    if not name:
        for other in others:
            if env.text(f"ARTIFACTS_S3_{other}"):
                env.fault(f"ARTIFACTS_S3_{other}", f"means nothing without {PREFIX}ARTIFACTS_S3_BUCKET")
        return None
    if find_spec("boto3") is None:
        env.fault("ARTIFACTS_S3_BUCKET", "needs boto3: install rookery[s3]")
    prefix = env.text("ARTIFACTS_S3_PREFIX").strip("/")
    return S3Bucket(
        name,
        env.url("ARTIFACTS_S3_ENDPOINT") or None,
        f"{prefix}/" if prefix else "",
        env.text("ARTIFACTS_S3_REGION") or None,
    )


def _backoff_policy(env: "_Environment") -> str:
    policy = env.text("BACKOFF_POLICY", DEFAULT_POLICY)
    if policy in POLICIES:
        return policy
    env.remarks.append(f"{PREFIX}BACKOFF_POLICY: there is no {policy!r}, {DEFAULT_POLICY} is used")
    return DEFAULT_POLICY


def _producer(env: "_Environment") -> Provider:
    service = env.url("IDENTITY_SERVICE_URL").rstrip("/")
    derived = f"{service}/v1/.well-known/jwks.json" if service else ""
    jwks = JwksProvider(
        env.url("IDENTITY_JWKS_URL") or derived,
        env.text("IDENTITY_ISSUER") or service or None,
        env.text("IDENTITY_AUDIENCE") or None,
    )
    return _provider(env, "PRODUCER", "IDENTITY_JWKS_URL", jwks)


def _worker(env: "_Environment") -> Provider:
    jwks = JwksProvider(
        env.url("WORKER_JWKS_URL"), env.text("WORKER_ISSUER") or None, env.text("WORKER_AUDIENCE", "codeq-worker")
    )
    provider = _provider(env, "WORKER", "WORKER_JWKS_URL", jwks)
    if isinstance(provider, StaticProvider):
        for token in provider.tokens:
            lacks = [name for name, has in (("eventTypes", token.event_types), ("scopes", token.scopes)) if not has]
            if lacks:
                env.remarks.append(
                    f"{PREFIX}WORKER_AUTH_CONFIG: the token of {token.subject!r} has no {' and no '.join(lacks)},"
                    " so no worker can use it"
                )
    return provider


def _provider(env: "_Environment", side: str, url_name: str, jwks: JwksProvider) -> Provider:
    name, config = f"{side}_AUTH_PROVIDER", f"{side}_AUTH_CONFIG"
    chosen = env.text(name).lower() or ("jwks" if jwks.url else "")
    if chosen == "static":
        return _static(env, config)
    if chosen == "jwks":
        given = env.json(config, _JwksConfig, "an object with jwksUrl, issuer and audience") or _JwksConfig()
        url = given.jwks_url or jwks.url
        if not url:
            env.fault(url_name, f"is required with {PREFIX}{name}=jwks")
        elif not _is_url(url):
            env.fault(config, "jwksUrl must be an http or https URL")
        return JwksProvider(url, given.issuer or jwks.issuer, given.audience or jwks.audience)
    if chosen:
        env.fault(name, f"must be static or jwks, not {chosen!r}")
    elif env.text(config):
        env.fault(config, f"means nothing without {PREFIX}{name}")
    return None


def _static(env: "_Environment", config: str) -> Provider:
    expected = "a token, an object with token, subject, scopes, eventTypes and raw, or an array of these"
    if not env.text(config):
        env.fault(config, f"is required with the provider static: {expected}")
    given = env.json(config, StaticToken | str | list[StaticToken | str], expected)
    if given is None:
        return None
    tokens = tuple(
        StaticToken(one.strip()) if isinstance(one, str) else msgspec.structs.replace(one, token=one.token.strip())
        for one in (given if isinstance(given, list) else [given])
    )
    if not tokens:
        env.fault(config, "has no token")
    if not all(one.token for one in tokens):
        env.fault(config, "has a blank token")
    if not all(one.subject.strip() for one in tokens):
        env.fault(config, "has a blank subject")
    if len({one.token for one in tokens}) < len(tokens):
        env.fault(config, "has the same token twice")
    return StaticProvider(tokens)


def _missing_outside_dev(settings: CodeqSettings) -> list[str]:
    """What may be left out while developing only."""
    missing = []
    if settings.producer is None:
        missing.append(("IDENTITY_JWKS_URL", "PRODUCER_AUTH_PROVIDER=static"))
    if settings.worker is None:
        missing.append(("WORKER_JWKS_URL", "WORKER_AUTH_PROVIDER=static"))
    if settings.worker is None or (isinstance(settings.worker, JwksProvider) and not settings.worker.issuer):
        missing.append(("WORKER_ISSUER", "WORKER_AUTH_PROVIDER=static"))
    if not settings.webhook_hmac_secret:
        missing.append(("WEBHOOK_HMAC_SECRET", ""))
    reason = f"is required with {PREFIX}ENV={settings.env}"
    return [f"{PREFIX}{name} {reason}" + (f" (or {PREFIX}{other})" if other else "") for name, other in missing]


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        is_address = bool(url.hostname) and url.port != 0 and "@" not in url.netloc
        return url.scheme in ("http", "https") and is_address and text.isascii()
    except ValueError:
        return False


class _Environment:
    """Reads values, and gathers what is wrong with them. A blank value is none."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.faults: list[str] = []
        self.remarks: list[str] = []

    def fault(self, name: str, what: str) -> None:
        self.faults.append(f"{PREFIX}{name}: {what}" if not what.startswith("is ") else f"{PREFIX}{name} {what}")

    def text(self, name: str, default: str = "") -> str:
        return self._environ.get(PREFIX + name, "").strip() or default

    def number(self, name: str, default: int, least: int = 1) -> int:
        text = self.text(name)
        if not text:
            return default
        if text.isascii() and text.isdigit() and least <= int(text[:20]) <= LARGEST:
            return int(text)
        self.fault(name, f"must be a whole number from {least} to {LARGEST}, not {text[:40]!r}")
        return default

    def switch(self, name: str) -> bool:
        text = self.text(name).lower()
        if text not in ("", "true", "1", "yes", "on", "false", "0", "no", "off"):
            self.fault(name, f"must be true or false, not {text[:40]!r}")
        return text in ("true", "1", "yes", "on")

    def url(self, name: str) -> str:
        text = self.text(name)
        if text and not _is_url(text):
            self.fault(name, f"must be an http or https URL, not {text[:200]!r}")
            return ""
        return text

    def timezone(self, name: str, default: str) -> ZoneInfo:
        text = self.text(name, default)
        try:
            return ZoneInfo(text)
        except (KeyError, ValueError, OSError):
            self.fault(name, f"there is no time zone {text[:60]!r}")
            return ZoneInfo(default)

    def json(self, name: str, shape: Any, expected: str) -> Any:
        """What a variable says in JSON. Its text may hold secrets, so that it is never shown."""
        text = self.text(name)
        if not text:
            return None
        try:
            return msgspec.json.decode(text, type=shape)
        except msgspec.ValidationError as error:
            self.fault(name, f"must be {expected}: {error}")
        except (msgspec.DecodeError, RecursionError):
            self.fault(name, "is not valid JSON; a single token is a JSON string, in double quotes")
        return None
