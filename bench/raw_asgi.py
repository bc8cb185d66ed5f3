"""The yardstick for the HTTP face: an ASGI app that only reads and parses the same JSON."""

import msgspec

_decoder = msgspec.json.Decoder()


async def app(scope, receive, send):  # type: ignore[no-untyped-def]
    message = await receive()
    body = message["body"]
    while message.get("more_body"):
        message = await receive()
        body += message["body"]
    _decoder.decode(body)
    await send(
        {
            "type": "http.response.start",
            "status": 201,
            "headers": [(b"content-type", b"application/json"), (b"content-length", b"2")],
        }
    )
    await send({"type": "http.response.body", "body": b"{}"})
