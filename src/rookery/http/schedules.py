"""Schedules: make them, look at them, change, pause, resume, run and delete them."""

from itertools import islice
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, UnsetType

from rookery.engine.ops import DeleteSchedule, NextRun, Refusal, RunScheduleNow, SavedSchedule, SaveSchedule
from rookery.engine.schedules import DEFAULT_ZONE
from rookery.http.call import Answer, Call, Handler, Parameter, Route, json_answer, says
from rookery.http.errors import invalid, not_found, refused
from rookery.http.produce import EnqueueAnswer, EnqueueRequest, enqueue_answer, new_job
from rookery.http.values import Raw
from rookery.http.work import Status
from rookery.model.instants import format_instant
from rookery.model.names import queue_name_fault, shown_name
from rookery.node.cron import BadCron, BadTimezone, next_run, read_cron
from rookery.store.schedules import Schedule, read_schedule, read_schedules

SHOWN_RUNS: Final = 5
MOST_TRIES: Final = 10
_OVERLAPS: Final = ("allow", "skip")
_MISSED: Final = ("once", "skip", "all")


class ScheduleRequest(msgspec.Struct):
    """A schedule to make."""

    name: Annotated[str | None, says("Required. Up to 255 bytes; no other schedule may have it")] = None
    queue: Annotated[str | None, says("Required. Where the jobs go")] = None
    cron: Annotated[
        str | None,
        says(
            "Required. Five fields: minute, hour, day of month, month, day of week; `* , - /` and names; or `@hourly`, "
            "`@daily`, `@weekly`, `@monthly`, `@yearly`. If both days are restricted, either will do"
        ),
    ] = None
    timezone: Annotated[str | None, says("By whose clocks: a name like `Europe/Paris`, `UTC` by default")] = None
    payload: Annotated[Raw, says("Of each job: any JSON value, `{}` by default")] = msgspec.field(default_factory=Raw)
    unique_key: Annotated[
        str | UnsetType | None,
        says("Of each job, for an hour; while a job of the queue holds it, no other is added"),
    ] = UNSET
    max_retries: Annotated[int | None, says("Of each job: attempts in all, 3 by default")] = None
    enabled: Annotated[bool | None, says("`false` makes it wait until it is resumed")] = None
    overlap: Annotated[
        str | None, says("While the job of the last run has not ended: `allow` another (default) or `skip` the slot")
    ] = None
    missed: Annotated[
        str | None,
        says("Slots that came while no server ran: `once` for all (default), `skip` them, or `all`, at most 100"),
    ] = None


class ScheduleChanges(ScheduleRequest):
    """What to change of a schedule; what is absent stays as it is."""


class ScheduleView(msgspec.Struct):
    """A schedule, and when it runs."""

    id: str
    name: str
    queue: str
    cron: str
    timezone: str
    payload: Raw
    unique_key: str | None
    max_retries: int
    enabled: bool
    overlap: str
    missed: str
    last_run: str | None
    next_run: str | None
    next_runs: list[str]
    created_at: str


class CronView(msgspec.Struct):
    """When a cron line comes next."""

    cron: str
    timezone: str
    next_runs: list[str]


_decoder = msgspec.json.Decoder(ScheduleRequest)


def schedule_view(schedule: Schedule, namespace: str) -> ScheduleView:
    """A schedule as a caller of that namespace sees it."""
    return ScheduleView(
        id=schedule.id,
        name=schedule.name,
        queue=shown_name(namespace, schedule.queue),
        cron=schedule.cron,
        timezone=schedule.timezone,
        payload=Raw(schedule.payload.encode()),
        unique_key=schedule.unique_key,
        max_retries=schedule.max_retries,
        enabled=schedule.enabled,
        overlap=schedule.overlap,
        missed=schedule.missed,
        last_run=None if schedule.last_run is None else format_instant(schedule.last_run),
        next_run=None if schedule.next_run is None else format_instant(schedule.next_run),
        next_runs=_next_runs(schedule),
        created_at=format_instant(schedule.created_at),
    )


def _next_runs(schedule: Schedule) -> list[str]:
    """When it runs next, and after that; never, while it is paused or if this machine does not know its zone."""
    if schedule.next_run is None:
        return []
    try:
        slots = read_cron(schedule.cron, schedule.timezone).after(schedule.next_run)
    except (BadCron, BadTimezone):
        return []
    return [format_instant(at) for at in (schedule.next_run, *islice(slots, SHOWN_RUNS - 1))]


def _stored(call: Call, schedule_id: str) -> Schedule:
    schedule = read_schedule(call.node.reader, schedule_id, call.namespace)
    if schedule is None:
        raise not_found(f"schedule {schedule_id} not found")
    return schedule


def _show(call: Call, schedule_id: str, status: int = 200) -> Answer:
    return json_answer(schedule_view(_stored(call, schedule_id), call.namespace), status)


async def list_schedules(call: Call) -> Answer:
    """All schedules, by name."""
    namespace = call.namespace
    views = await call.node.reads.run(
        lambda db: [schedule_view(schedule, namespace) for schedule in read_schedules(db, namespace)]
    )
    return json_answer(views)


async def get_schedule(call: Call) -> Answer:
    """One schedule."""
    return _show(call, call.params["schedule_id"])


async def create(call: Call) -> Answer:
    """Make a schedule."""
    saved = await _save(call, None, await call.parse(_decoder))
    return _show(call, saved.schedule_id, 201)


async def change(call: Call) -> Answer:
    """Change what is given."""
    request = await call.parse(_decoder)
    saved = await _save(call, call.params["schedule_id"], request)
    return _show(call, saved.schedule_id)


def _switch(enabled: bool) -> Handler:
    """A handler that lets a schedule run, or makes it wait."""

    async def handler(call: Call) -> Answer:
        saved = await _save(call, call.params["schedule_id"], ScheduleRequest(enabled=enabled))
        return _show(call, saved.schedule_id)

    return handler


async def _save(call: Call, schedule_id: str | None, request: ScheduleRequest) -> SavedSchedule:
    """Save what is given. When it next runs is computed here; if somebody changes its times meanwhile, once more."""
    tries = 0
    while True:
        saved: SavedSchedule | Refusal = await call.node.submit(save_operation(call, schedule_id, request))
        if isinstance(saved, SavedSchedule):
            return saved
        tries += 1
        if saved.kind != Refusal.STALE or tries == MOST_TRIES:
            raise refused(saved, "VALIDATION_ERROR")


def save_operation(call: Call, schedule_id: str | None, request: ScheduleRequest) -> SaveSchedule:
    """Check a request and say it in the engine's words."""
    before = None if schedule_id is None else _stored(call, schedule_id)
    for field in ("name", "queue", "cron"):
        if before is None and getattr(request, field) is None:
            raise invalid(f"{field} is required")
    if request.name is not None and (fault := queue_name_fault(request.name)) is not None:
        raise invalid(f"name {fault}")
    _check_choice(request.overlap, _OVERLAPS, "overlap")
    _check_choice(request.missed, _MISSED, "missed")
    job = new_job(
        call,
        EnqueueRequest(
            queue=shown_name(call.namespace, before.queue) if request.queue is None and before else request.queue or "",
            payload=request.payload,
            max_retries=request.max_retries,
        ),
    )
    return SaveSchedule(
        schedule_id=schedule_id,
        name=request.name,
        queue=None if request.queue is None else job.queue,
        cron=request.cron,
        timezone=request.timezone,
        payload=job.payload if request.payload else None,
        unique_key=None if isinstance(request.unique_key, UnsetType) else request.unique_key or "",
        max_retries=None if request.max_retries is None else job.max_retries,
        enabled=request.enabled,
        overlap=request.overlap,
        missed=request.missed,
        next=_next_run(call, before, request),
        namespace=call.namespace,
    )


def _check_choice(value: str | None, choices: tuple[str, ...], field: str) -> None:
    if value is not None and value not in choices:
        raise invalid(f"{field} must be one of {', '.join(choices)}, not {value[:64]!r}")


def _next_run(call: Call, before: Schedule | None, request: ScheduleRequest) -> NextRun:
    """When the schedule, as it will be, next comes."""
    cron, timezone = request.cron, request.timezone
    if cron is None:
        cron = "" if before is None else before.cron
    if timezone is None:
        timezone = DEFAULT_ZONE if before is None else before.timezone
    if not cron.strip():
        raise invalid("cron is required")
    try:
        return NextRun(cron, timezone, next_run(cron, timezone, call.node.clock.now()))
    except BadCron as error:
        raise invalid(f"cron: {error}") from None
    except BadTimezone as error:
        raise invalid(f"timezone: {error}") from None


async def show_next_runs(call: Call) -> Answer:
    """When a line would come, before there is a schedule with it."""
    query = call.query()
    request = ScheduleRequest(cron=query.get("cron"), timezone=query.get("timezone"))
    first = _next_run(call, None, request)
    slots = islice(read_cron(first.cron, first.timezone).after(first.at), SHOWN_RUNS - 1)
    return json_answer(CronView(first.cron, first.timezone, [format_instant(at) for at in (first.at, *slots)]))


async def run(call: Call) -> Answer:
    """Enqueue one job now."""
    enqueued = await call.node.submit(RunScheduleNow(schedule_id=call.params["schedule_id"], namespace=call.namespace))
    if isinstance(enqueued, Refusal):
        raise refused(enqueued, "VALIDATION_ERROR")
    return enqueue_answer(enqueued.jobs[0])


async def delete(call: Call) -> Answer:
    """Forget it."""
    done = await call.node.submit(DeleteSchedule(schedule_id=call.params["schedule_id"], namespace=call.namespace))
    if isinstance(done, Refusal):
        raise refused(done, "VALIDATION_ERROR")
    return json_answer(Status(done.status))


_ALL: Final = "/api/v1/schedules"
_ONE: Final = "/api/v1/schedules/{schedule_id}"
_TAG: Final = "Schedules"

ROUTES = [
    Route(
        method="GET",
        path=_ALL,
        handler=list_schedules,
        summary="All schedules",
        answers={200: list[ScheduleView]},
        tag=_TAG,
    ),
    Route(
        method="POST",
        path=_ALL,
        handler=create,
        summary="Enqueue a job again and again",
        request=ScheduleRequest,
        answers={201: ScheduleView},
        tag=_TAG,
    ),
    Route(
        method="GET",
        path=_ONE,
        handler=get_schedule,
        summary="One schedule, and when it runs next",
        answers={200: ScheduleView},
        tag=_TAG,
    ),
    Route(
        method="PUT",
        path=_ONE,
        handler=change,
        summary="Change what is given",
        request=ScheduleChanges,
        answers={200: ScheduleView},
        tag=_TAG,
    ),
    Route(
        method="DELETE",
        path=_ONE,
        handler=delete,
        summary="Forget a schedule; its jobs stay",
        answers={200: Status},
        tag=_TAG,
    ),
    Route(
        method="POST",
        path=f"{_ONE}/pause",
        handler=_switch(False),
        summary="No runs until it is resumed",
        answers={200: ScheduleView},
        tag=_TAG,
    ),
    Route(
        method="POST",
        path=f"{_ONE}/resume",
        handler=_switch(True),
        summary="Runs again, from the next slot on",
        answers={200: ScheduleView},
        tag=_TAG,
    ),
    Route(
        method="POST",
        path=f"{_ONE}/run",
        handler=run,
        summary="Enqueue one job now, beside the slots",
        answers={201: EnqueueAnswer, 200: EnqueueAnswer},
        tag=_TAG,
    ),
    Route(
        method="GET",
        path="/api/v1/cron/next",
        handler=show_next_runs,
        summary="When a cron line comes next, without making a schedule; 400 says what is wrong with it",
        answers={200: CronView},
        parameters=(
            Parameter("cron", "Required. The line, or a name like `@daily`"),
            Parameter("timezone", "By whose clocks, `UTC` by default"),
        ),
        tag=_TAG,
    ),
]
