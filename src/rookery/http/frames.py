"""What a client says in one frame of a stream, and how it is read: at once, or item by item where one is bad."""

import json
from collections.abc import Callable
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec

from rookery.http.call import decode, says
from rookery.http.errors import ApiError, invalid, unparsable
from rookery.http.fetch import ClaimRequest
from rookery.http.produce import EnqueueRequest
from rookery.http.values import Raw
from rookery.http.work import AckBatchItem, BeatRequest, FailRequest, ReleaseRequest

T = TypeVar("T")


class FailItem(FailRequest):
    """One of the attempts that have failed."""

    job_id: Annotated[str, says("Required")] = ""


class ReleaseItem(ReleaseRequest):
    """One of the jobs that are handed back."""

    job_id: Annotated[str, says("Required")] = ""


class WantRequest(ClaimRequest):
    """Standing credit: the server pushes jobs as they become claimable, never more than this."""

    count: Annotated[
        int | None,
        says(
            "How many jobs may be pushed from now on, 1 by default, 512 at the most; each ack, fail or release of a "
            "pushed job gives one back; 0 = no more"
        ),
    ] = None


class ClientFrame(msgspec.Struct):
    """Anything a worker or a producer has to say; each item stands alone."""

    id: Annotated[int | None, says("Required. Any integer; the answer to the frame has the same")] = None
    enqueue: Annotated[list[EnqueueRequest] | None, says("Jobs to add, as in `/enqueue`")] = None
    ack: Annotated[list[AckBatchItem] | None, says("Jobs that are done, as in `/ack/batch`; at most 512")] = None
    fail: Annotated[list[FailItem] | None, says("Attempts that failed, as in `/fail`, with `job_id`; at most 512")] = (
        None
    )
    release: Annotated[
        list[ReleaseItem] | None, says("Jobs handed back, as in `/release`, with `job_id`; at most 512")
    ] = None
    heartbeat: Annotated[Raw, says("Jobs still worked on: the body of `/heartbeat`, or only its map of ids")] = (
        msgspec.field(default_factory=Raw)
    )
    want: Annotated[WantRequest | None, says("Which jobs to push, and how many, until a new `want`")] = None
    got: Annotated[list[str] | None, says("Ids of pushed jobs that have arrived")] = None


class BadItem(msgspec.Struct, frozen=True):
    """An item that cannot be read, in its place."""

    job_id: str | None
    error: ApiError


class Frame(msgspec.Struct):
    """A frame that has been read; lists that it does not have are None."""

    id: int
    enqueue: list[EnqueueRequest | BadItem] | None
    ack: list[AckBatchItem | BadItem] | None
    fail: list[FailItem | BadItem] | None
    release: list[ReleaseItem | BadItem] | None
    beats: dict[str, BeatRequest | BadItem | None] | None
    want: WantRequest | None
    got: list[str] | None
    is_patchy: bool = False
    """Whether there may be bad items in it."""

    @property
    def items(self) -> int:
        """How many items it has."""
        return sum(len(part) for part in (self.enqueue, self.ack, self.fail, self.release, self.beats) if part)


class FrameFault(Exception):
    """A frame that cannot be taken at all; without an id if it has none that can be read."""

    def __init__(self, id: int | None, error: ApiError) -> None:
        super().__init__(error.message)
        self.id = id
        self.error = error


class _RawFrame(msgspec.Struct):
    id: Raw = msgspec.field(default_factory=Raw)
    enqueue: Raw = msgspec.field(default_factory=Raw)
    ack: Raw = msgspec.field(default_factory=Raw)
    fail: Raw = msgspec.field(default_factory=Raw)
    release: Raw = msgspec.field(default_factory=Raw)
    heartbeat: Raw = msgspec.field(default_factory=Raw)
    want: Raw = msgspec.field(default_factory=Raw)
    got: Raw = msgspec.field(default_factory=Raw)


class _Named(msgspec.Struct):
    job_id: Any = None


_frame_decoder = msgspec.json.Decoder(ClientFrame)
_raw_frame_decoder = msgspec.json.Decoder(_RawFrame)
_items_decoder = msgspec.json.Decoder(list[Raw] | None)
_id_decoder = msgspec.json.Decoder(int)
_map_decoder = msgspec.json.Decoder(dict[str, Raw] | None)
_want_decoder = msgspec.json.Decoder(WantRequest | None)
_got_decoder = msgspec.json.Decoder(list[str] | None)
_named_decoder = msgspec.json.Decoder(_Named)


class _Items(Generic[T]):
    """Reads a list of items, each for itself."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)

    def read(self, id: int, field: str, raw: Raw) -> list[T | BadItem] | None:
        """The items, with the bad ones in their places."""
        items = _part(id, field, raw, _items_decoder)
        return None if items is None else [self.read_one(item) for item in items]

    def read_one(self, raw: Raw) -> T | BadItem:
        """One item, or what is wrong with it."""
        try:
            return decode(self._decoder, raw)
        except ApiError as error:
            return BadItem(_job_id_in(raw), error)


_enqueues = _Items(EnqueueRequest)
_acks = _Items(AckBatchItem)
_fails = _Items(FailItem)
_releases = _Items(ReleaseItem)
_beats: _Items[BeatRequest | None] = _Items(BeatRequest | None)  # type: ignore[arg-type]


def read_frame(data: bytes) -> Frame:
    """A frame from its JSON, or a FrameFault."""
    try:
        said = _frame_decoder.decode(data)
    except msgspec.ValidationError:
        return _read_item_by_item(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameFault(None, unparsable(f"the frame is not valid JSON: {error}")) from None
    if said.id is None:
        raise _no_id()
    beats = _read_beats(said.id, said.heartbeat) if said.heartbeat else None
    return Frame(said.id, said.enqueue, said.ack, said.fail, said.release, beats, said.want, said.got)  # type: ignore[arg-type]


def _read_item_by_item(data: bytes) -> Frame:
    """The same for a frame of which some part is of the wrong kind: find out which, and keep the others."""
    try:
        raw = decode(_raw_frame_decoder, data)
    except ApiError as error:
        raise FrameFault(None, error) from None
    try:
        id = _id_decoder.decode(raw.id)
    except msgspec.DecodeError:
        raise _no_id() from None
    return Frame(
        id,
        _enqueues.read(id, "enqueue", raw.enqueue),
        _acks.read(id, "ack", raw.ack),
        _fails.read(id, "fail", raw.fail),
        _releases.read(id, "release", raw.release),
        _read_beats(id, raw.heartbeat),
        _part(id, "want", raw.want, _want_decoder),
        _part(id, "got", raw.got, _got_decoder),
        is_patchy=True,
    )


def _read_beats(id: int, raw: Raw) -> dict[str, BeatRequest | BadItem | None] | None:
    """The jobs of a heartbeat, which may be named as in HTTP, under `jobs`, or right away."""
    beats = _part(id, "heartbeat", raw, _map_decoder)
    if beats is not None and "jobs" in beats:
        beats = _part(id, "heartbeat.jobs", beats["jobs"], _map_decoder) or {}
    return None if beats is None else {job_id: _beats.read_one(beat) for job_id, beat in beats.items()}


def _part(id: int, field: str, raw: Raw, decoder: "msgspec.json.Decoder[T]") -> T | None:
    """A part of a frame; one that is not there is None."""
    if not raw:
        return None
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FrameFault(id, unparsable(f"invalid request: {field}: {error}")) from None


def _no_id() -> FrameFault:
    return FrameFault(None, invalid("id is required and must be an integer"))


def _job_id_in(raw: Raw) -> str | None:
    try:
        job_id = _named_decoder.decode(raw).job_id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return job_id if isinstance(job_id, str) else None


# --- the two ways in which frames are written


class Form(msgspec.Struct, frozen=True):
    """How frames go over the wire; inside they are always JSON."""

    is_text: bool
    read: Callable[[bytes], bytes]
    write: Callable[[bytes], bytes]


def _same(data: bytes) -> bytes:
    return data


def _read_msgpack(data: bytes) -> bytes:
    """MessagePack as JSON; binary becomes base64 text, as JSON has nothing for it."""
    try:
        return msgspec.json.encode(msgspec.msgpack.decode(data))
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
        raise FrameFault(None, unparsable(f"the frame is not valid MessagePack: {error}")) from None


def _write_msgpack(data: bytes) -> bytes:
    try:
        return msgspec.msgpack.encode(msgspec.json.decode(data))
    except (msgspec.DecodeError, OverflowError):
        return msgspec.msgpack.encode(json.loads(data, parse_int=_number))


def _number(digits: str) -> int | float:
    """A whole number; one that MessagePack cannot hold as a floating one, which is what most readers of JSON do."""
    number = int(digits) if len(digits) <= 20 else float(digits)
    return number if -(1 << 63) <= number < 1 << 64 else float(number)


JSON_FORM: Final = Form(True, _same, _same)
FORMS: Final = {"rookery.json": JSON_FORM, "rookery.msgpack": Form(False, _read_msgpack, _write_msgpack)}
"""By the name of the subprotocol."""
