"""The stream: one WebSocket over which a client enqueues, acks, fails, releases, sends heartbeats, and is handed jobs.

Frames become operations in `http/exchange.py`; the connection itself is `http/websocket.py`.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable
from typing import Final, NoReturn

from rookery.engine.ops import CHUNK, Ack, Claim, ClaimedJob, Fail, Heartbeat, Release, Return
from rookery.http.call import Call, Route
from rookery.http.errors import RATE_LIMITED, ApiError, api_error, internal_error, invalid
from rookery.http.exchange import Exchange, parts_of
from rookery.http.fetch import MOST_JOBS, FetchBatchAnswer, claim, jobs_json
from rookery.http.frames import ClientFrame, Form, Frame, FrameFault, WantRequest, read_frame
from rookery.http.openapi import ErrorAnswer
from rookery.node.batcher import Overloaded

logger = logging.getLogger(__name__)

MOST_STRIKES: Final = 10
"""So many frames in a row that cannot be taken close the stream."""
MOST_UNHEARD: Final = 8192
"""Of so many pushed jobs a client may leave open whether they have arrived."""
MOST_HEARD: Final = 10_000
"""Of so many jobs that a client has, it is known that they were pushed here; the oldest are forgotten first."""
POLICY_VIOLATION: Final = 1008


class WorkStream:
    """What one open stream has in progress, and which jobs its client has in hand."""

    def __init__(
        self, call: Call, form: Form, send: Callable[[bytes], None], close: Callable[[int, str], None]
    ) -> None:
        self.load = 0
        self._call = call
        self._node = call.node
        self._streams = call.node.measures.streams
        self._form = form
        self._send = send
        self._close = close
        self._want = call.node.want(self._push)
        self._strikes = 0
        self._in_progress = 0
        self._unheard: dict[str, int] = {}
        self._heard: dict[str, int] = {}
        self._superseded: dict[int, None] = {}
        self._late = 0
        self._held_back: list[ClaimedJob] = []
        self._on_end: Callable[[], None] | None = None
        self._puts_back = 0
        self._is_ended = False
        self._frames = 0
        self._withheld = 0
        self._silence: asyncio.TimerHandle | None = None

    # --- frames

    def receive(self, data: bytes) -> None:
        """Take a frame; it is answered now or when all it asks for is durable."""
        self._streams.frames += 1
        self._frames += 1
        if self._withheld:
            self._want.give_back(self._withheld)
            self._withheld = 0
        try:
            frame = read_frame(self._form.read(data))
        except FrameFault as fault:
            self._refuse(fault.id, fault.error)
            return
        try:
            self._begin(frame, len(data))
        except Exception as error:
            self._hear_of_all(frame)
            told = api_error(error)
            if told is None:
                logger.exception("a frame failed")
                told = internal_error()
            self._refuse(frame.id, told)

    def refuse(self, error: ApiError) -> None:
        """What came is no frame."""
        self._streams.frames += 1
        self._refuse(None, error)

    def _begin(self, frame: Frame, size: int) -> None:
        """Check a frame and have it done. What can be refused is refused before anything is done."""
        streams = self._streams
        if streams.frames_in_flight >= self._call.settings.stream_max_inflight:
            raise Overloaded(random.randint(2, 8))
        self._call.charge(frame.items)
        want = None if frame.want is None else self._check_want(frame.want)
        exchange = Exchange(frame, parts_of(self._call, frame), size, self._answer, self._be_late)
        self._in_progress += 1
        streams.frames_in_flight += 1
        self.load += size
        try:
            exchange.submit(self._node)
        except BaseException:
            self._forget(exchange)
            raise
        self._strikes = 0
        if frame.got:
            self._hear(frame.got)
        room = self._settle(exchange)
        if want is not None and not self._is_ended:
            self._want.set(*want)
            streams.idle_wants += self._want.is_idle
        elif room:
            exchange.room = room
            self._want.give_back(room)

    def _check_want(self, request: WantRequest) -> tuple[Claim | None, int]:
        count = 1 if request.count is None else min(request.count, MOST_JOBS)
        if count < 0:
            raise invalid(f"want.count must be between 0 and {MOST_JOBS}, not {count}")
        if count == 0:
            return None, 0
        if len(self._unheard) > MOST_UNHEARD:
            raise invalid(f"want: of {len(self._unheard)} jobs that were pushed it is not known whether they arrived")
        try:
            return claim(self._call, request, 1), count
        except ApiError as error:
            raise ApiError(error.status, error.code, f"want: {error.message}") from None

    def _answer(self, exchange: Exchange) -> None:
        self._forget(exchange)
        if exchange.fault is not None:
            self._unsettle(exchange)
        self._send(self._form.write(exchange.json()))
        if exchange.is_late:
            self._late -= 1
            self._push_held_back()
        self._end_if_idle()

    def _be_late(self) -> None:
        """An answer takes longer than the jobs its frame has made room for: they must not overtake it."""
        self._late += 1

    def _forget(self, exchange: Exchange) -> None:
        self._in_progress -= 1
        self._streams.frames_in_flight -= 1
        self.load -= exchange.size

    def _refuse(self, id: int | None, error: ApiError) -> None:
        """Say that nothing was done. Whoever goes on saying what cannot be taken is not listened to any longer."""
        if error.code == "OVERLOADED":
            self._streams.overloads += 1
        elif error.code == RATE_LIMITED:
            self._node.measures.traffic.of(ROUTE.method, ROUTE.path).throttled += 1
        self._send(self._form.write(error.body(id=id)))
        self._strikes = self._strikes + 1 if 400 <= error.status < 500 and error.status != 429 else 0
        if self._strikes >= MOST_STRIKES:
            self._close(POLICY_VIOLATION, f"{MOST_STRIKES} frames in a row could not be taken: {error.message}")

    # --- jobs

    def _push(self, jobs: list[ClaimedJob]) -> None:
        """Jobs were claimed for the client."""
        for job in jobs:
            job_id = job.job_id
            old = self._unheard.pop(job_id, None) or self._heard.pop(job_id, None)
            if old is not None:
                self._superseded[old] = None
                if len(self._superseded) > MOST_HEARD:
                    del self._superseded[next(iter(self._superseded))]
            self._unheard[job_id] = job.lease
        if self._silence is None:
            self._watch_for_silence(jobs[0].lease_length / 1000)
        if self._late:
            self._held_back += jobs
        else:
            self._send(self._form.write(jobs_json(self._call.namespace, jobs)))

    def _watch_for_silence(self, lease: float) -> None:
        look = asyncio.get_running_loop().call_later
        self._silence = look(2 * lease, self._withhold_if_silent, lease, self._frames)

    def _withhold_if_silent(self, lease: float, frames: int) -> None:
        """A client that has not said a word for two leases gets no more jobs to lose until it does."""
        self._silence = None
        if self._unheard and self._frames == frames:
            self._withheld = max(0, self._want.credit)
            self._want.give_back(-self._withheld)
        elif self._unheard:
            self._watch_for_silence(lease)

    def _push_held_back(self) -> None:
        if self._held_back and not self._late:
            jobs, self._held_back = self._held_back, []
            self._send(self._form.write(jobs_json(self._call.namespace, jobs)))

    def _hear(self, job_ids: Iterable[str]) -> None:
        """The client has these jobs: should it go, they stay its own until their leases end."""
        for job_id in job_ids:
            lease = self._unheard.pop(job_id, None)
            if lease is not None:
                self._heard[job_id] = lease
        while len(self._heard) > MOST_HEARD:
            del self._heard[next(iter(self._heard))]

    def _hear_of_all(self, frame: Frame) -> None:
        """Whatever becomes of a frame: the client has the jobs that it names."""
        self._hear(frame.got or ())
        self._hear(frame.beats or ())
        for part in (frame.ack, frame.fail, frame.release):
            self._hear([item.job_id for item in part or () if item.job_id is not None])

    def _settle(self, exchange: Exchange) -> int:
        """The client comes to an end with jobs: there is room for so many again."""
        room = 0
        for part in exchange.parts:
            op = part.op
            if isinstance(op, Heartbeat):
                self._hear([beat.job_id for beat in op.items])
            elif isinstance(op, Ack | Fail | Release):
                for item in op.items:
                    job_id, held = item.job_id, self._unheard
                    lease = held.get(job_id)
                    if lease is None:
                        held = self._heard
                        lease = held.get(job_id)
                    if lease is not None and (item.lease is None or item.lease == lease):
                        del held[job_id]
                        exchange.settled.append((job_id, lease))
                    elif item.lease in self._superseded:
                        del self._superseded[item.lease]
                        room += 1
        return room + len(exchange.settled)

    def _unsettle(self, exchange: Exchange) -> None:
        """Nothing came of a frame: the client still has the jobs."""
        self._heard.update(exchange.settled)
        self._want.give_back(-exchange.room)

    # --- the connection

    def hold_up(self) -> None:
        """The client does not read what it has been sent: push nothing more."""
        self._want.hold_up()

    def go_on(self) -> None:
        """The client reads again."""
        self._want.go_on()

    def end(self, on_end: Callable[[], None] | None = None) -> None:
        """The stream is over: put back what may not have arrived. Tell when that is done and all is answered."""
        self._on_end = on_end
        if not self._is_ended:
            self._is_ended = True
            self._want.close()
            if self._silence is not None:
                self._silence.cancel()
            items = [Return(job_id, lease, reason="the stream was closed") for job_id, lease in self._unheard.items()]
            self._unheard.clear()
            self._held_back.clear()
            for start in range(0, len(items), CHUNK):
                self._puts_back += 1
                chunk = items[start : start + CHUNK]
                self._node.send_more(Release(items=chunk, namespace=self._call.namespace), self._was_put_back)
        self._end_if_idle()

    def _was_put_back(self, _: object) -> None:
        self._puts_back -= 1
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._on_end is not None and not self._in_progress and not self._puts_back:
            on_end, self._on_end = self._on_end, None
            on_end()


async def not_upgraded(call: Call) -> NoReturn:
    """What is not a WebSocket has no business here."""
    raise ApiError(426, "UPGRADE_REQUIRED", "this is a WebSocket: connect to it with a client for that, see /docs")


_DESCRIPTION: Final = """
Upgrades to a WebSocket, with the same credentials and limits as every other call. Subprotocols: `rookery.json` (text
frames, also if none is asked for) and `rookery.msgpack` (binary frames that say the same).

Each frame of the client (`ClientFrame`) has an `id` and is answered by a frame with that `id`, once all it asks for is
durable: `{"id", "enqueued"?, "acked"?, "failed"?, "released"?, "heartbeat"?}`, lists in the order of the request, each
item what HTTP would answer plus its `job_id`, or `{"job_id", "error", "code"}`. A frame that is refused as a whole is
answered by `{"id", "error", "code"}`, with `retry_after_ms` for `OVERLOADED` and `RATE_LIMITED`: nothing was done.

After `want`, jobs come as `{"jobs": [...]}` without an `id`, never more than the credit.
"""

ROUTE: Final = Route(
    method="GET",
    path="/api/v1/stream",
    handler=not_upgraded,
    summary="Do everything over one WebSocket: enqueue, work, and be handed jobs",
    description=_DESCRIPTION.strip(),
    answers={101: None, 426: ErrorAnswer},
    frames=(ClientFrame, FetchBatchAnswer),
    tag="Working",
)
ROUTES: Final = [ROUTE]
