"""What the variables mean, and what keeps a server from starting."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rookery.http.codeq.settings import (
    ELSEWHERE,
    BadSettings,
    CodeqSettings,
    JwksProvider,
    RateLimit,
    StaticProvider,
    StaticToken,
    read_settings,
)
from tests.codeq.conftest import codeq_variables

STATIC = {
    "PRODUCER_AUTH_PROVIDER": "static",
    "PRODUCER_AUTH_CONFIG": '"p"',
    "WORKER_AUTH_PROVIDER": "static",
    "WORKER_AUTH_CONFIG": '{"token":"w","eventTypes":["*"],"scopes":["codeq:claim"]}',
}


def read(**variables: str) -> CodeqSettings:
    return read_settings({f"CODEQ_{name}": value for name, value in variables.items()})


def faults(**variables: str) -> list[str]:
    with pytest.raises(BadSettings) as raised:
        read(**variables)
    return str(raised.value).splitlines()


def test_without_variables_everything_is_as_codeq_has_it() -> None:
    settings = read()
    assert (settings.env, str(settings.timezone)) == ("dev", "America/Sao_Paulo")
    assert (settings.default_lease_seconds, settings.max_attempts_default) == (300, 5)
    assert (settings.backoff_policy, settings.backoff_base_seconds, settings.backoff_max_seconds) == (
        "exp_full_jitter",
        5,
        900,
    )
    assert (settings.producer, settings.worker, settings.webhook_hmac_secret) == (None, None, "")
    assert (settings.allowed_clock_skew_seconds, settings.allow_producer_as_worker) == (60, False)
    assert settings.subscription_min_interval_seconds == 5
    assert (
        settings.result_webhook_max_attempts,
        settings.result_webhook_base_backoff_seconds,
        settings.result_webhook_max_backoff_seconds,
    ) == (5, 2, 60)
    assert settings.local_artifacts_dir.name == "codeq-artifacts"
    assert not settings.tenancy_enabled
    assert set(settings.rate_limits) == {"producer", "worker", "webhook", "admin"}
    assert not any(limit.is_on for limit in settings.rate_limits.values())
    assert settings == CodeqSettings()
    assert settings.remarks == ()


def test_variables_change_what_they_name() -> None:
    settings = read(
        ENV="Dev",
        TIMEZONE="Asia/Tokyo",
        DEFAULT_LEASE_SECONDS=" 7 ",
        BACKOFF_POLICY="linear",
        ALLOW_PRODUCER_AS_WORKER="TRUE",
        TENANCY_ENABLED="1",
        LOCAL_ARTIFACTS_DIR="/tmp/somewhere",
        RATE_LIMIT_PRODUCER_REQUESTS_PER_MINUTE="60",
        RATE_LIMIT_PRODUCER_BURST_SIZE="3",
        RATE_LIMIT_WORKER_BURST_SIZE="3",
        WEBHOOK_HMAC_SECRET="s",
    )
    assert settings.is_dev
    assert str(settings.timezone) == "Asia/Tokyo"
    assert (settings.default_lease_seconds, settings.backoff_policy) == (7, "linear")
    assert settings.allow_producer_as_worker
    assert settings.tenancy_enabled
    assert settings.local_artifacts_dir == Path("/tmp/somewhere")
    assert settings.rate_limits["producer"] == RateLimit(60, 3)
    assert settings.rate_limits["producer"].is_on
    assert not settings.rate_limits["worker"].is_on
    assert settings.webhook_hmac_secret == "s"


def test_names_without_the_prefix_mean_nothing() -> None:
    assert read_settings({"ENV": "production", "DEFAULT_LEASE_SECONDS": "7", "PORT": "1"}) == CodeqSettings()


def test_a_blank_variable_is_none() -> None:
    assert read(DEFAULT_LEASE_SECONDS="", TIMEZONE=" ", WORKER_JWKS_URL="", WORKER_AUTH_CONFIG=" ") == CodeqSettings()


def test_an_unknown_backoff_policy_is_the_default_one_and_worth_a_remark() -> None:
    settings = read(BACKOFF_POLICY="sometimes")
    assert settings.backoff_policy == "exp_full_jitter"
    assert "CODEQ_BACKOFF_POLICY" in settings.remarks[0]


def test_what_this_server_has_flags_for_is_worth_a_remark() -> None:
    remarks = read(**dict.fromkeys(ELSEWHERE, "1")).remarks
    assert [remark.split()[0] for remark in remarks] == [f"CODEQ_{name}" for name in ELSEWHERE]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEFAULT_LEASE_SECONDS", "0"),
        ("DEFAULT_LEASE_SECONDS", "-1"),
        ("MAX_ATTEMPTS_DEFAULT", "many"),
        ("BACKOFF_BASE_SECONDS", "1.5"),
        ("BACKOFF_MAX_SECONDS", "9" * 30),
        ("RATE_LIMIT_ADMIN_BURST_SIZE", "²"),
        ("TIMEZONE", "Mars/Olympus"),
        ("TIMEZONE", "../../etc/passwd"),
        ("ALLOW_PRODUCER_AS_WORKER", "perhaps"),
        ("TENANCY_ENABLED", "2"),
        ("IDENTITY_JWKS_URL", "ftp://x/y"),
        ("WORKER_JWKS_URL", "keys.json"),
        ("IDENTITY_SERVICE_URL", "http://"),
        ("IDENTITY_SERVICE_URL", "http://me:secret@host"),
        ("PRODUCER_AUTH_PROVIDER", "ldap"),
        ("WORKER_AUTH_CONFIG", '"w"'),
    ],
)
def test_a_value_that_cannot_be_is_named(name: str, value: str) -> None:
    (fault,) = faults(**{name: value})
    assert fault.startswith(f"CODEQ_{name}")


def test_all_faults_are_told_at_once() -> None:
    assert len(faults(DEFAULT_LEASE_SECONDS="x", TIMEZONE="x", WORKER_AUTH_PROVIDER="x")) == 3


# --- providers


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        ("t", (StaticToken("t"),)),
        ({"token": "t"}, (StaticToken("t", "static"),)),
        (
            {
                "token": "t",
                "subject": "s",
                "email": "e",
                "scopes": ["a"],
                "eventTypes": ["b"],
                "raw": {"role": "x"},
                "z": 1,
            },
            (StaticToken("t", "s", "e", ("a",), ("b",), {"role": "x"}),),
        ),
        (["t", {"token": "u", "subject": "s"}], (StaticToken("t"), StaticToken("u", "s"))),
    ],
)
def test_static_tokens_are_one_or_many_with_or_without_more(config: object, tokens: tuple[StaticToken, ...]) -> None:
    settings = read(PRODUCER_AUTH_PROVIDER="static", PRODUCER_AUTH_CONFIG=json.dumps(config))
    assert settings.producer == StaticProvider(tokens)


@pytest.mark.parametrize(
    "config",
    [
        "",
        "not json",
        "{}",
        "[]",
        '""',
        '"  "',
        '[""]',
        '["a", "a"]',
        "7",
        "null",
        '{"token": 7}',
        '{"token":"t","scopes":"a"}',
        '{"token":"t","subject":""}',
    ],
)
def test_static_tokens_that_are_none_are_refused(config: str) -> None:
    (fault,) = faults(WORKER_AUTH_PROVIDER="static", WORKER_AUTH_CONFIG=config)
    assert fault.startswith("CODEQ_WORKER_AUTH_CONFIG")


def test_a_fault_in_tokens_does_not_show_them() -> None:
    for config in ('{"token": "hush", "scopes": "hush"}', 'hush"', '["hush", "hush"]'):
        assert "hush" not in str(faults(WORKER_AUTH_PROVIDER="static", WORKER_AUTH_CONFIG=config))


def test_a_workers_token_that_no_worker_can_use_is_worth_a_remark() -> None:
    remark = read(**STATIC | {"WORKER_AUTH_CONFIG": '["w"]'}).remarks[0]
    assert "no eventTypes and no scopes" in remark


def test_that_one_side_is_open_is_worth_a_remark() -> None:
    (remark,) = read(PRODUCER_AUTH_PROVIDER="static", PRODUCER_AUTH_CONFIG='"t"').remarks
    assert remark.startswith("CODEQ_WORKER_AUTH_PROVIDER is not set: workers need no token")
    assert read(**STATIC).remarks == ()


def test_a_url_of_keys_makes_a_provider() -> None:
    settings = read(WORKER_JWKS_URL="http://127.0.0.1:9/k", WORKER_ISSUER="i", IDENTITY_JWKS_URL="https://id/k")
    assert settings.worker == JwksProvider("http://127.0.0.1:9/k", "i", "codeq-worker")
    assert settings.producer == JwksProvider("https://id/k", None, None)


def test_the_identity_services_url_is_enough_for_producers() -> None:
    settings = read(IDENTITY_SERVICE_URL="https://id.test/", IDENTITY_AUDIENCE="a")
    assert settings.producer == JwksProvider("https://id.test/v1/.well-known/jwks.json", "https://id.test", "a")
    settings = read(IDENTITY_SERVICE_URL="https://id.test", IDENTITY_JWKS_URL="https://k.test", IDENTITY_ISSUER="i")
    assert settings.producer == JwksProvider("https://k.test", "i", None)


def test_the_config_of_a_provider_of_keys_may_say_all_of_it() -> None:
    config = '{"jwksUrl": "https://k.test", "issuer": "i", "audience": "a"}'
    assert read(WORKER_AUTH_PROVIDER="jwks", WORKER_AUTH_CONFIG=config).worker == JwksProvider(
        "https://k.test", "i", "a"
    )
    (fault,) = faults(WORKER_AUTH_PROVIDER="jwks")
    assert fault.startswith("CODEQ_WORKER_JWKS_URL")


def test_static_goes_before_a_url_of_keys() -> None:
    assert read(
        PRODUCER_AUTH_PROVIDER="static", PRODUCER_AUTH_CONFIG='"t"', IDENTITY_JWKS_URL="https://k"
    ).producer == (StaticProvider((StaticToken("t"),)))


# --- outside dev


def test_outside_dev_nothing_that_keeps_strangers_out_may_be_missing() -> None:
    told = faults(ENV="production")
    names = [fault.split()[0].removeprefix("CODEQ_") for fault in told]
    assert names == ["IDENTITY_JWKS_URL", "WORKER_JWKS_URL", "WORKER_ISSUER", "WEBHOOK_HMAC_SECRET"]
    assert all("CODEQ_ENV=production" in fault for fault in told)
    (fault,) = faults(ENV="staging", **STATIC)
    assert fault.startswith("CODEQ_WEBHOOK_HMAC_SECRET")
    keys = {"IDENTITY_JWKS_URL": "https://k", "WORKER_JWKS_URL": "https://k", "WEBHOOK_HMAC_SECRET": "s"}
    (fault,) = faults(ENV="prod", **keys)
    assert fault.startswith("CODEQ_WORKER_ISSUER")
    assert not read(ENV="prod", WORKER_ISSUER="i", **keys).is_dev
    assert not read(ENV="prod", WEBHOOK_HMAC_SECRET="s", **STATIC).is_dev


class Asked(dict[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


def test_the_guide_has_every_variable_and_no_other() -> None:
    guide = (Path(__file__).parents[2] / "docs/codeq.md").read_text()
    asked = Asked()
    read_settings(asked)
    limits = {name for name in asked.names if name.startswith("CODEQ_RATE_LIMIT_")}
    tracing = {name for name in asked.names if name.startswith("CODEQ_TRACING_")}
    named = set(re.findall(r"CODEQ_[A-Z0-9_]*[A-Z0-9]", guide))
    assert named - {"CODEQ_RATE_LIMIT", "CODEQ_TRACING"} - limits == asked.names - limits - tracing


def run_server(tmp_path: Path, variables: dict[str, str], *flags: str) -> subprocess.CompletedProcess[str]:
    """A server that is not expected to run."""
    command = [sys.executable, "-m", "rookery", "server", "--bind", "127.0.0.1:0", "--data-dir", str(tmp_path / "d")]
    with codeq_variables(variables):
        return subprocess.run([*command, *flags], capture_output=True, text=True, timeout=30, env=dict(os.environ))


def test_a_server_with_a_bad_setting_does_not_start_and_names_it(tmp_path: Path) -> None:
    run = run_server(tmp_path, {"ENV": "production", "TIMEZONE": "Mars"})
    assert run.returncode == 1
    assert run.stdout == ""
    assert "Error: CODEQ_TIMEZONE: there is no time zone 'Mars'" in run.stderr
    assert "CODEQ_WEBHOOK_HMAC_SECRET is required with CODEQ_ENV=production" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "d").exists()
