"""What handlers return to steer their jobs is checked where it is written."""

from collections.abc import Callable
from typing import Any

import pytest

from rookery import Cancel, Retry, Snooze


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda wrong: Cancel(wrong), "Cancel: reason must be text, not 5"),
        (lambda wrong: Snooze(1, wrong), "Snooze: reason must be text, not 5"),
        (lambda wrong: Snooze(1, reason=wrong), "Snooze: reason must be text, not 5"),
        (lambda wrong: Retry(error=wrong), "Retry: error must be text or an exception, not 5"),
    ],
)
def test_a_wrong_type_is_refused_by_name(make: Callable[[Any], Exception], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make(5)
