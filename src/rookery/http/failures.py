"""What is said of calls that went wrong, whichever face they came to."""

import logging

from rookery.http.call import Scope
from rookery.http.errors import ApiError, api_error, internal_error
from rookery.http.rate_limit import retry_after_seconds

logger = logging.getLogger(__name__)

Headers = tuple[tuple[bytes, bytes], ...]


def explain(error: BaseException, scope: Scope) -> tuple[ApiError, Headers]:
    """The error as callers may know it, and the headers that go with it; what nobody has foreseen is logged."""
    told = api_error(error)
    if told is None:
        logger.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
        told = internal_error()
    headers: Headers = ()
    if told.status == 429:
        headers = ((b"retry-after", retry_after_seconds(told)),)
    elif told.status == 413:
        headers = ((b"connection", b"close"),)
    elif told.status == 426:
        headers = ((b"upgrade", b"websocket"), (b"connection", b"upgrade"))
    return told, headers
