"""JSON as text: how values are kept."""

import msgspec

_encoder = msgspec.json.Encoder()


def json_text(value: object) -> str:
    """A value as compact JSON text."""
    return _encoder.encode(value).decode()
