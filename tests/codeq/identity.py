"""A small identity service on loopback: it signs tokens and publishes its keys."""

import json
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

ISSUER = "https://identity.test"


@cache
def rsa_key(name: str) -> rsa.RSAPrivateKey:
    """A key; the same for the same name, as making one takes a while."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class IdentityService:
    """Publishes the keys it is told to; `with` stops it in the end."""

    def __init__(self, *kids: str) -> None:
        self.kids = list(kids) or ["k1"]
        self.fetches = 0
        self.body: bytes | None = None
        """Something else to answer with."""
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service.fetches += 1
                body = service.jwks() if service.body is None else service.body
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def __enter__(self) -> "IdentityService":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def jwks(self) -> bytes:
        keys = []
        for kid in self.kids:
            key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key(kid).public_key()))
            keys.append(key | {"kid": kid, "use": "sig", "alg": "RS256"})
        return json.dumps({"keys": keys}).encode()


def sign(claims: dict[str, Any], *, kid: str = "k1", key: str | None = None) -> str:
    """A token that is good for an hour unless the claims say otherwise."""
    now = int(time.time())
    return jwt.encode(
        {"iss": ISSUER, "iat": now, "exp": now + 3600, "sub": "somebody"} | claims,
        rsa_key(key or kid),
        algorithm="RS256",
        headers={"kid": kid},
    )
