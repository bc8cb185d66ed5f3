"""Whom a URL is sent to."""

import re
from typing import Final

_ORIGIN: Final = re.compile(r"[^/]*//[^/?#]*")


def origin_of(url: str) -> str:
    """Scheme, host and port: what goes to one of these goes together, whatever else the URL says."""
    found = _ORIGIN.match(url)
    return (url if found is None else found[0]).lower()
