"""The header that lets a caller find its request again: its own, or one that is made up."""

from collections.abc import Mapping
from secrets import token_hex

Header = tuple[bytes, bytes]


def request_id_header(headers: Mapping[bytes, bytes]) -> Header:
    """`X-Request-Id` as the caller gave it, or 16 random bytes."""
    return b"x-request-id", headers.get(b"x-request-id", b"").strip() or token_hex(16).encode()
