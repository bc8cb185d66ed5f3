"""What can go wrong with a call of the codeQ API: a status and a text."""

from typing import Any

import msgspec


class CodeqError(Exception):
    """An answer with status 400 or above; what is worth more than its text stands beside it."""

    def __init__(self, status: int, text: str, **extra: Any) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.extra = extra

    def body(self) -> bytes:
        """The error as JSON."""
        return msgspec.json.encode({"error": self.text, **self.extra})
