"""Reading one HTTP/1.1 answer out of the bytes that come. Knows nothing of sockets."""

from typing import Final

import httptools

from rookery.client.errors import ServerUnreachable

LARGEST_HEAD: Final = 64 << 10
SWITCHING: Final = 101


class AnswerReader:
    """Is fed with bytes until `is_whole`, or told that there are no more. Raises ServerUnreachable at a bad answer."""

    __slots__ = ("_fed", "_headers", "_parser", "has_head", "is_fit", "is_whole", "parts", "status")

    def __init__(self) -> None:
        self.status = 0
        self.parts: list[bytes] = []
        """What has come of the body; whoever takes it out leaves the list empty."""
        self.has_head = False
        self.is_whole = False
        self.is_fit = False
        """Whether the connection can be used again after this answer."""
        self._fed = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """More has come."""
        self._fed += len(data)
        parser = self._parser
        if parser is None:
            self.is_fit = False
            return
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self.is_whole:
                raise ServerUnreachable(f"what came is not an answer of HTTP: {error}", was_sent=True) from None
            self.is_fit = False
        if self.status == SWITCHING:
            raise ServerUnreachable("the server wants to talk another protocol", was_sent=True)
        if self.is_whole:
            # The parser knows us and we know it: without this only the garbage collector would part us.
            self._parser = None
        elif not self.has_head and self._fed > LARGEST_HEAD:
            raise ServerUnreachable(f"the head of the answer is over {LARGEST_HEAD} bytes", was_sent=True)

    def end(self) -> None:
        """The connection was closed: that is the end of an answer which has not said how long it is."""
        self._parser = None
        self.is_fit = False
        if self.is_whole:
            return
        if not self.has_head or self.headers().keys() & {"content-length", "transfer-encoding"}:
            what = "in the middle of the answer" if self._fed else "without an answer"
            raise ServerUnreachable(f"the connection was closed {what}", was_sent=True)
        self.is_whole = True

    @property
    def has_heard(self) -> bool:
        """Whether anything has come."""
        return self._fed > 0

    def headers(self) -> dict[str, str]:
        """The headers, their names in lower case."""
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._headers}

    # --- called by the parser

    def on_message_begin(self) -> None:
        """An answer begins; nobody has asked for a second one."""
        if self.is_whole:
            self.is_fit = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        if not self.has_head:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head of an answer; one that only says to go on is not the answer."""
        assert self._parser is not None
        if self.has_head:
            return
        status = self._parser.get_status_code()
        if status < 200 and status != SWITCHING:
            self._headers.clear()
            return
        self.status = status
        self.has_head = True

    def on_body(self, body: bytes) -> None:
        """More of the body."""
        if not self.is_whole:
            self.parts.append(body)

    def on_message_complete(self) -> None:
        """The answer is whole, unless it was only told to go on."""
        if self.has_head and not self.is_whole:
            assert self._parser is not None
            self.is_whole = True
            self.is_fit = self._parser.should_keep_alive()
