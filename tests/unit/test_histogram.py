"""How values are spread."""

import pytest

from rookery.model.histogram import Histogram


def filled(*values: float) -> Histogram:
    histogram = Histogram((0.00005, 0.5, 1, 10))
    for value in values:
        histogram.add(value)
    return histogram


def test_a_value_that_equals_a_bound_belongs_to_it() -> None:
    assert filled(0.5, 0.50001, 1, 11).counts == [0, 1, 2, 0, 1]


def test_counts_add_up_and_bounds_are_written_out() -> None:
    histogram = filled(0.00001, 0.5, 1, 2, 100)

    assert histogram.cumulative() == [("0.00005", 1), ("0.5", 2), ("1", 3), ("10", 4), ("+Inf", 5)]
    assert histogram.count == 5
    assert histogram.sum == pytest.approx(103.50001)


def test_a_value_may_be_counted_several_times_at_once() -> None:
    histogram = filled()
    histogram.add(2, 3)

    assert (histogram.count, histogram.sum) == (3, 6)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ((), 0.5, 10),
        ((0.7, 0.8), 0.5, 0.75),
        ((0.7, 0.8, 5, 5), 0.9, 1 + 9 * 0.8),
        ((100,), 0.99, 10),
    ],
)
def test_a_quantile_lies_inside_its_bucket(values: tuple[float, ...], share: float, expected: float) -> None:
    assert filled(*values).quantile(share) == pytest.approx(expected)
