"""Arguments into payloads and back, without a server."""

from typing import Any

from rookery.client.signatures import Signature


def test_what_goes_to_the_keywords_is_in_the_payload_under_its_own_name() -> None:
    def function(a: int, more: int = 0, **rest: Any) -> None: ...

    signature = Signature(function, "function")

    assert signature.payload((1,), {"x": 2}) == {"a": 1, "x": 2}
    assert signature.payload((1, 5), {"rest": 3}) == {"a": 1, "more": 5, "rest": 3}
    assert signature.payload((1,), {}) == {"a": 1}
    assert signature.keywords(b'{"a": 1, "more": 5, "rest": 3}') == {"a": 1, "more": 5, "rest": 3}
