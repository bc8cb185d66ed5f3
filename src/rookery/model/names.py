"""Names that callers choose: queues, namespaces, job ids."""

import re
from typing import Final

DEFAULT_NAMESPACE: Final = "default"
NAMESPACE_MARK: Final = "::"
LONGEST_QUEUE_NAME: Final = 255

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_JOB_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


def queue_name_fault(name: str) -> str | None:
    """What is wrong with a queue's name, or None."""
    if not name.strip():
        return "is required"
    if len(name.encode()) > LONGEST_QUEUE_NAME:
        return f"is longer than {LONGEST_QUEUE_NAME} bytes"
    if _CONTROL.search(name):
        return "has a control character"
    return None


def is_job_id(text: str) -> bool:
    """Whether a caller may give a job this id; one that means something else in a path is no id."""
    return _JOB_ID.fullmatch(text) is not None and text not in ("batch", ".", "..")


def is_namespace(text: str) -> bool:
    """Whether this can be the name of a namespace."""
    return _NAMESPACE.fullmatch(text) is not None


def stored_name(namespace: str, queue: str) -> str:
    """A queue's one name inside: with its namespace in front unless that is the default one."""
    return queue if namespace == DEFAULT_NAMESPACE else f"{namespace}{NAMESPACE_MARK}{queue}"


def shown_name(namespace: str, stored: str) -> str:
    """A queue's name as a caller of that namespace knows it."""
    return stored if namespace == DEFAULT_NAMESPACE else stored.removeprefix(namespace + NAMESPACE_MARK)


def namespace_of(stored: str) -> str:
    """The namespace a stored queue name belongs to."""
    space, mark, _ = stored.partition(NAMESPACE_MARK)
    return space if mark else DEFAULT_NAMESPACE


def may_see(namespace: str, owner: str) -> bool:
    """Whether a caller of a namespace may see what belongs to another."""
    return namespace in (DEFAULT_NAMESPACE, owner)


def is_visible(namespace: str, stored: str) -> bool:
    """Whether a caller of that namespace may see the queue."""
    return namespace == DEFAULT_NAMESPACE or stored.startswith(namespace + NAMESPACE_MARK)
