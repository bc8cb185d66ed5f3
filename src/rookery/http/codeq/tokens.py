"""What a token says about whoever has it."""

from collections.abc import Mapping
from typing import Any

import msgspec


class BadToken(Exception):
    """The token is not one of those that are accepted."""


class Claims(msgspec.Struct, frozen=True):
    """Who it is, what they may handle and do, and whatever else the token says."""

    subject: str
    event_types: tuple[str, ...] = ()
    scopes: frozenset[str] = frozenset()
    others: Mapping[str, Any] = {}
