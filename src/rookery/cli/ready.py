"""How a command that starts a server hears that it is ready."""

import re
from typing import Final

_READY: Final = re.compile(r" ready on (http://\S+)")


def ready_url(log: str) -> str | None:
    """The URL of the server, if it says in its log that it is ready."""
    ready = _READY.search(log)
    return ready[1] if ready else None
