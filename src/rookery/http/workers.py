"""Workers: who they are, and what they say of themselves."""

from typing import Annotated, Final

import msgspec

from rookery.engine.ops import AnnounceWorker
from rookery.http.call import SMALL_BODY, Answer, Call, Route, json_answer, says
from rookery.http.errors import invalid
from rookery.http.fetch import queue_names
from rookery.store.workers import WorkerView, read_workers

LONGEST_NAME: Final = 512
MOST_SLOTS: Final = 1_000_000


class WorkerRequest(msgspec.Struct):
    """What a worker says of itself; what is absent stays as it is."""

    hostname: Annotated[str | None, says("Where it runs; up to 512 characters")] = None
    queues: Annotated[list[str] | None, says("The queues it takes jobs from; every fetch says so too")] = None
    slots: Annotated[int | None, says("How many jobs it runs at a time, 1 to 1,000,000")] = None
    draining: Annotated[
        bool | None,
        says(
            "Whether it takes no more jobs and finishes those it has. "
            "It ends by `false`, and by a fetch that comes more than a minute later"
        ),
    ] = None


class WorkerAnswer(msgspec.Struct):
    """Which worker it was."""

    status: str
    id: str


_decoder = msgspec.json.Decoder(WorkerRequest)


async def list_workers(call: Call) -> Answer:
    """Workers seen in the last day."""
    return await call.node.overviews.run(lambda db: json_answer(read_workers(db, call.namespace)))


async def announce(call: Call) -> Answer:
    """Register a worker, or refresh it, with what it says of itself."""
    request = await call.parse(_decoder, SMALL_BODY)
    op = _operation(call, request)
    await call.node.submit(op)
    return json_answer(WorkerAnswer("ok", op.worker_id))


def _operation(call: Call, request: WorkerRequest) -> AnnounceWorker:
    """Check a request and say it in the engine's words. A name means the same here as in a fetch."""
    worker_id = call.params["id"].strip()
    if not worker_id:
        raise invalid("id must not be blank")
    for field, value in (("id", worker_id), ("hostname", request.hostname or "")):
        if len(value) > LONGEST_NAME:
            raise invalid(f"{field} is longer than {LONGEST_NAME} characters")
    if request.slots is not None and not 1 <= request.slots <= MOST_SLOTS:
        raise invalid(f"slots must be between 1 and {MOST_SLOTS}, not {request.slots}")
    return AnnounceWorker(
        worker_id=worker_id,
        hostname=request.hostname or None,
        queues=None if request.queues is None else queue_names(call, request.queues),
        slots=request.slots,
        draining=request.draining,
        namespace=call.namespace,
    )


_PATH: Final = "/api/v1/workers"

ROUTES = [
    Route(
        method="GET",
        path=_PATH,
        handler=list_workers,
        summary="Workers seen in the last day",
        answers={200: list[WorkerView]},
        tag="Looking on",
    ),
    Route(
        method="POST",
        path=f"{_PATH}/{{id}}",
        handler=announce,
        summary="Say how many jobs a worker runs at a time, and whether it drains",
        description=(
            "For workers, of themselves, and nobody has to: a fetch registers its worker too, and keeps what was said "
            "here."
        ),
        request=WorkerRequest,
        answers={200: WorkerAnswer},
        tag="Working",
    ),
]
