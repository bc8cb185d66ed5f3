"""Arguments into payloads and back, without a server."""

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from rookery import Depends
from rookery.client.functions.signatures import InvalidPayload, Signature


def test_what_goes_to_the_keywords_is_in_the_payload_under_its_own_name() -> None:
    def function(a: int, more: int = 0, **rest: Any) -> None: ...

    signature = Signature(function, "function")

    assert signature.payload((1,), {"x": 2}) == {"a": 1, "x": 2}
    assert signature.payload((1, 5), {"rest": 3}) == {"a": 1, "more": 5, "rest": 3}
    assert signature.payload((1,), {}) == {"a": 1}
    assert signature.keywords(b'{"a": 1, "more": 5, "rest": 3}') == {"a": 1, "more": 5, "rest": 3}


def test_what_is_added_to_a_payload_does_not_change_how_the_rest_is_read() -> None:
    def step(a: dict[int, str], b: Decimal, c: msgspec.Raw) -> None: ...

    def takes_all(a: dict[int, str], b: Decimal, c: msgspec.Raw, **rest: Any) -> None: ...

    text = b'{"a": {"1": "x"}, "b": 1.10000000000000000000000001, "c": [1,  2], "previous_result": 1}'
    read = {"a": {1: "x"}, "b": Decimal("1.10000000000000000000000001"), "c": msgspec.Raw(b"[1,  2]")}

    assert Signature(step, "step").keywords(text) == read
    assert Signature(takes_all, "takes_all").keywords(text) == {**read, "previous_result": 1}


def test_a_payload_cannot_give_what_is_injected() -> None:
    def function(a: int, db: str = Depends(lambda: "made"), **rest: Any) -> None: ...

    with pytest.raises(InvalidPayload, match="unknown field `db`"):
        Signature(function, "function").keywords(b'{"a": 1, "db": "mine", "x": 2}')


@pytest.mark.parametrize("number", [b"1e999", b"9" * 5000])
def test_a_number_that_python_cannot_read_is_a_payload_that_does_not_fit(number: bytes) -> None:
    def named(a: Any) -> None: ...

    def unnamed(**rest: Any) -> None: ...

    for function in (named, unnamed):
        with pytest.raises(InvalidPayload, match="out of range - at `a`"):
            Signature(function, "function").keywords(b'{"a":' + number + b"}")
