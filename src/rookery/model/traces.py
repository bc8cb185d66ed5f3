"""Trace context as the W3C writes it: the header `traceparent`."""

import re
from typing import Final

_PARENT: Final = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


def read_traceparent(header: bytes) -> str | None:
    """The context in the form of version 00; None for whatever is no context, which is to be ignored."""
    match = _PARENT.fullmatch(header.strip())
    if match is None:
        return None
    version, trace, parent, flags, rest = match.groups()
    if version == b"ff" or (version == b"00" and rest is not None):
        return None
    if not trace.strip(b"0") or not parent.strip(b"0"):
        return None
    known_flags = flags.decode() if version == b"00" else f"{int(flags, 16) & 1:02x}"
    return f"00-{trace.decode()}-{parent.decode()}-{known_flags}"
