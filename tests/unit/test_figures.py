"""Numbers, ages and bars as commands show them."""

import pytest

from rookery.cli.figures import BARS, one_line, shown_age, shown_number, spark, without_controls
from rookery.cli.progress import BYTES, shown_amount, shown_count, shown_time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0s"),
        (0.9, "0s"),
        (59, "59s"),
        (60, "1m"),
        (200, "3m20s"),
        (600, "10m"),
        (3599, "59m"),
        (3600, "1h"),
        (7500, "2h5m"),
        (86_400 * 2 + 3600 * 5, "2d5h"),
        (86_400 * 400, "400d"),
    ],
)
def test_an_age_has_at_most_two_units(seconds: float, text: str) -> None:
    assert shown_age(seconds) == text


@pytest.mark.parametrize(
    ("number", "width", "text"),
    [
        (0, 4, "0"),
        (999, 4, "999"),
        (1234, 5, "1,234"),
        (1234, 4, "1.2k"),
        (99_950, 5, "100k"),
        (123_456, 5, "123k"),
        (1_234_567, 9, "1,234,567"),
        (12_345_678, 9, "12.3M"),
        (9_999_999_999, 6, "10.0G"),
        (10**16, 6, "10000T"),
    ],
)
def test_a_number_fits_its_column(number: int, width: int, text: str) -> None:
    assert shown_number(number, width) == text
    assert len(text) <= width


def test_bars_grow_with_their_values_and_the_lowest_means_nothing() -> None:
    assert spark([0, 0]) == "▁▁"
    assert spark([]) == ""
    assert spark([0, 1, 100]) == "▁▂█"
    heights = [BARS.index(bar) for bar in spark(list(range(101)))]
    assert heights == sorted(heights)
    assert set(heights) == set(range(8))
    assert spark([5], peak=10) == "▅"


def test_text_of_others_cannot_steer_a_terminal() -> None:
    assert one_line("a\n b\tc\x1b[2Jd\x1b[31me\x9bf\u202eg") == "a b c [2Jde f g"
    assert without_controls("a\n\tb\x1b[2Jc\x1b[1;31md\x1b[0m") == "a\n    b\\x1b[2Jcd"


def test_progress_is_told_in_its_unit() -> None:
    assert shown_amount(1200, 5000, "jobs") == "1,200/5,000 jobs"
    assert shown_amount(1536, 2**20, BYTES) == "1.5 KiB of 1.0 MiB"
    assert shown_amount(7, None, "") == "7"
    assert shown_count(2**20, BYTES) == "1.0 MiB"
    assert shown_time(3723.9) == "1:02:03"
    assert shown_time(7) == "0:07"
