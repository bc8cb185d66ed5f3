"""Which failed attempts say the same."""

import pytest

from rookery.store.failures import pattern_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("timeout after 30s", "timeout after 45.5s"),
        ("at 0x7f3a", "at 0xBEEF"),
        ("no job_01HX7Y2K3MN4P5Q6R7S8T9V0WX here", "no job_01HX7Y2K3MN4P5Q6R7S8T9V0WZ here"),
        ("id 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "id 9f2504e0-4f89-11d3-9a0c-0305e82c3302"),
        ("connect 10.0.0.1:5432 refused", "connect 10.0.0.27:5433 refused"),
        ("KeyError: 'a'\n  at line 3", "KeyError: 'a'\n  somewhere else"),
        ("  spaces  ", "spaces"),
    ],
)
def test_errors_that_differ_in_numbers_only_are_of_one_kind(one: str, other: str) -> None:
    assert pattern_of(one) == pattern_of(other)


@pytest.mark.parametrize(("one", "other"), [("KeyError: 'a'", "KeyError: 'b'"), ("timeout", "Timeout")])
def test_errors_that_differ_in_words_are_not(one: str, other: str) -> None:
    assert pattern_of(one) != pattern_of(other)
