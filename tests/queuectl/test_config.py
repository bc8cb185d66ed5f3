"""`queuectl config`: the settings of a home."""

import pytest

from tests.queuectl.desk import Desk

DEFAULTS = {
    "max_retries": "3",
    "backoff_base": "2",
    "shutdown": "false",
    "poll_interval": "1.0",
    "job_timeout": "",
    "kill_grace": "5",
}


def test_all_settings_have_defaults(desk: Desk) -> None:
    assert dict(line.split("=") for line in desk.ok("config", "get").splitlines()) == DEFAULTS
    assert desk.json("config", "get") == {
        "max_retries": 3,
        "backoff_base": 2,
        "shutdown": False,
        "poll_interval": 1.0,
        "job_timeout": None,
        "kill_grace": 5,
    }


@pytest.mark.parametrize(
    ("key", "value", "kept"),
    [
        ("max_retries", "0", "0"),
        ("max-retries", "12", "12"),
        ("backoff_base", "1.5", "1.5"),
        ("backoff-base", "0", "0"),
        ("shutdown", "TRUE", "true"),
        ("poll_interval", "0.05", "0.05"),
        ("job_timeout", "30", "30"),
        ("kill_grace", "0", "0"),
    ],
)
def test_a_setting_is_kept_under_its_one_name(desk: Desk, key: str, value: str, kept: str) -> None:
    name = key.replace("-", "_")

    assert desk.ok("config", "set", key, value) == f"set {name}={kept}\n"
    assert desk.ok("config", "get", key) == desk.ok("config", "get", name) == f"{kept}\n"
    assert list(desk.json("config", "get")) == list(DEFAULTS)


def test_the_time_limit_can_be_taken_away_again(desk: Desk) -> None:
    desk.ok("config", "set", "job_timeout", "5")
    desk.ok("config", "set", "job_timeout", "")

    assert desk.json("config", "get", "job_timeout") == {"job_timeout": None}


BAD = [
    *(("max_retries", value) for value in ("-1", "1.5", "many", "", "1e3", "99999999999999999999", "1_0")),
    *(("backoff_base", value) for value in ("-0.1", "nan", "inf", "1e999", "", "two")),
    *(("shutdown", value) for value in ("yes", "1", "")),
    *(("poll_interval", value) for value in ("0", "-1", "", "nan")),
    *(("job_timeout", value) for value in ("0", "-5", "never")),
    *(("kill_grace", value) for value in ("-1", "")),
    ("colour", "red"),
]


def test_bad_values_and_unknown_keys_are_refused_and_nothing_changes(desk: Desk) -> None:
    before = desk.ok("config", "get")
    running = [(key, desk.start("config", "set", key, value)) for key, value in BAD]
    for key, process in running:
        printed, complaint = process.communicate(timeout=60)
        assert (process.returncode, printed) == (2, "")
        assert key in complaint
    desk.refused("config", "set", "max_retries", code=2)

    assert "colour" in desk.refused("config", "get", "colour", code=1)
    assert desk.ok("config", "get") == before


def test_two_homes_share_nothing(desk: Desk) -> None:
    other = Desk(desk.home.path.with_name("other"))
    desk.ok("config", "set", "max_retries", "9")
    desk.add(id="x")

    assert other.ok("config", "get", "max_retries") == "3\n"
    assert other.json("list") == []
    other.add(id="x")
    assert len(desk.json("list")) == 1
