"""The header `traceparent`."""

import pytest

from rookery.model.traces import read_traceparent

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-01"),
        (f"00-{TRACE}-{PARENT}-00", f"00-{TRACE}-{PARENT}-00"),
        (f" 00-{TRACE}-{PARENT}-01 ", f"00-{TRACE}-{PARENT}-01"),
        (f"cc-{TRACE}-{PARENT}-03-what-the-future-brings", f"00-{TRACE}-{PARENT}-01"),
        (f"cc-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-01"),
    ],
)
def test_a_context_is_read(given: str, read: str) -> None:
    assert read_traceparent(given.encode()) == read


@pytest.mark.parametrize(
    "given",
    [
        "",
        "garbage",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"cc-{TRACE}-{PARENT}-01.more",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE[:-1]}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-1",
        f"00-{TRACE}-{PARENT}",
        f'00-{TRACE}-{PARENT}-01"',
    ],
)
def test_what_is_no_context_is_ignored(given: str) -> None:
    assert read_traceparent(given.encode()) is None
