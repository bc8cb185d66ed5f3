"""How the HTTP face behaves."""

import msgspec

from rookery.http.codeq.settings import CodeqSettings


class HttpSettings(msgspec.Struct, frozen=True):
    """Limits and switches of the HTTP face."""

    max_payload_size: int = 262_144
    admin_password: str | None = None
    rate_limit_enabled: bool = True
    read_rps: float = 2000
    read_burst: int = 4000
    write_rps: float = 1000
    write_burst: int = 2000
    docs_enabled: bool = True
    metrics_prefix: str = "rookery"
    stream_keepalive: float = 15.0
    """Seconds after which a silent stream of events says that it is still there."""
    stream_stall_timeout: float = 30.0
    """Seconds after which somebody who does not read a stream is dropped."""
    stream_max_inflight: int = 2048
    """Frames of all WebSocket streams that may be in progress."""
    stream_max_open: int = 4096
    stream_max_fps: int = 500
    """Frames a second that one stream may send before it is slowed down."""
    is_local: bool = False
    """Whether only the host itself can reach the server."""
    codeq: CodeqSettings | None = None
    """How the codeQ API behaves, if it is served."""

    @property
    def is_open(self) -> bool:
        """Whether there is no credential that callers could be asked for."""
        return self.admin_password is None
