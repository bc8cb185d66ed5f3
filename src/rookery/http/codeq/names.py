"""From codeQ's names to ours: a command is a queue, a tenant is a namespace.

Commands that differ in more than case never share a queue, and none leads out of its tenant's namespace.
"""

import re
from base64 import b32hexencode
from functools import lru_cache
from hashlib import sha256
from typing import Final
from urllib.parse import unquote

from rookery.model.names import (
    DEFAULT_NAMESPACE,
    LONGEST_QUEUE_NAME,
    is_namespace,
    namespace_of,
    shown_name,
    stored_name,
)

_UNFIT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f%]|(?<=:):")
"""What is not legal in a queue's name, the escape itself, and what would make the mark of a namespace."""
_CUT: Final = "%~"
"""Stands in front of the digest of a command that is too long for a name; no escape looks like it."""
_DIGEST_LENGTH: Final = 64
_TENANT: Final = "cq-"
_LONG_TENANT: Final = "cqh-"
_LONGEST_NAMESPACE: Final = 63


@lru_cache(10_000)
def queue_of(namespace: str, command: str) -> str:
    """The stored name of the queue that a command's tasks wait in. Commands are not blank."""
    name = _UNFIT.sub(_escape, command.lower())
    if len(name.encode()) > LONGEST_QUEUE_NAME:
        name = _cut(name)
    return stored_name(namespace, name)


@lru_cache(10_000)
def command_of(namespace: str, stored: str) -> str | None:
    """The command, in lower case, whose tasks wait in a queue; None if the queue is no command's of that namespace.

    Of a command that is too long for a name only its beginning and a digest are known.
    """
    if namespace_of(stored) != namespace:
        return None
    name = shown_name(namespace, stored)
    if name[-_DIGEST_LENGTH - len(_CUT) :].startswith(_CUT):
        return name
    command = unquote(name, errors="replace")
    return command if command.strip() and queue_of(namespace, command) == stored else None


def namespace_for(tenant: str) -> str:
    """The namespace of a tenant: its own name if it can be one, else its text in other letters, or a digest of it."""
    if is_namespace(tenant) and tenant != DEFAULT_NAMESPACE and not tenant.startswith((_TENANT, _LONG_TENANT)):
        return tenant
    text = tenant.encode(errors="surrogatepass")
    spelled = _TENANT + _letters(text)
    return spelled if len(spelled) <= _LONGEST_NAMESPACE else _LONG_TENANT + _letters(sha256(text).digest())


def _escape(unfit: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in unfit[0].encode())


def _cut(name: str) -> str:
    """The beginning of a name that is too long, and a digest of it all."""
    begins = name.encode()[: LONGEST_QUEUE_NAME - len(_CUT) - _DIGEST_LENGTH].decode(errors="ignore")
    return begins + _CUT + sha256(name.encode()).hexdigest()


def _letters(data: bytes) -> str:
    return b32hexencode(data).decode().rstrip("=").lower()
