"""Server-sent events, out of the bytes that come."""

from typing import NamedTuple


class Frame(NamedTuple):
    """One event of a stream."""

    number: int | None
    event: str
    data: bytes


class FrameReader:
    """Is fed with bytes and gives back the events that have become whole. Signs of life are none."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Frame]:
        """More has come."""
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        return [frame for block in blocks if (frame := _read(block)) is not None]


def _read(block: bytes) -> Frame | None:
    number: int | None = None
    event, data = "message", list[bytes]()
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"id" and value.isdigit():
            number = int(value)
        elif field == b"event":
            event = value.decode()
        elif field == b"data":
            data.append(value)
    return Frame(number, event, b"\n".join(data)) if data else None
