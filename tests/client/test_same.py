"""Both clients are one: the same methods, all of the API, and what is written twice agrees."""

import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest

import rookery
from rookery import AsyncClient, Client, NewJob
from rookery.client.calls.find import Filters
from rookery.client.newjobs import EnqueueOptions, JobOptions
from rookery.client.transport.requests import Request, Response
from rookery.http.gate import API_ROUTES
from rookery.http.produce import EnqueueRequest
from rookery.http.schedules import ScheduleRequest
from rookery.http.search import SearchRequest
from rookery.http.webhooks import WebhookRequest
from rookery.http.work import AckRequest, BeatRequest, UsageReport

ROOT = Path(__file__).parent.parent.parent


def methods(kind: type) -> dict[str, Any]:
    return {
        name: method
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") or name == "__init__"
    }


def test_the_sync_client_is_made_from_the_async_one() -> None:
    command = [sys.executable, ROOT / "tools/make_sync_client.py", "--check"]
    check = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert check.returncode == 0, check.stderr


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    sync, asynchronous = methods(Client), methods(AsyncClient)
    assert sync.keys() == asynchronous.keys()
    for name, method in sync.items():
        ours, theirs = inspect.signature(method), inspect.signature(asynchronous[name])
        assert list(ours.parameters) == list(theirs.parameters), name
        for parameter in ours.parameters:
            if parameter != "transport":
                assert ours.parameters[parameter] == theirs.parameters[parameter], f"{name}({parameter})"


def test_every_method_says_what_it_does() -> None:
    for kind in (Client, AsyncClient):
        assert [name for name, method in methods(kind).items() if not method.__doc__ and name != "__init__"] == []


# --- all of the API

CALLS: dict[str, tuple[Any, ...]] = {
    "ack": ("job",),
    "ack_many": ([rookery.Ack(job="job")],),
    "add_logs": ("job", "line"),
    "announce_worker": ("worker",),
    "approve": ("job",),
    "backup": (),
    "batch": ("batch",),
    "bulk": ("retry",),
    "bulk_status": ("bulk",),
    "cancel": ("job",),
    "cancel_bulk": ("bulk",),
    "chain": (["a", "b"],),
    "clear": ("q",),
    "count": (),
    "create_schedule": ("n", "q", "@daily"),
    "create_webhook": ("http://x",),
    "dead": (),
    "delete": ("job",),
    "delete_queue": ("q",),
    "delete_schedule": ("s",),
    "delete_webhook": ("w",),
    "drain": ("q",),
    "enqueue": ("q",),
    "enqueue_many": ([NewJob("q")],),
    "event_page": (),
    "events": (),
    "fail": ("job", "error"),
    "fetch": ("q",),
    "fetch_many": ("q", 3),
    "find": ("text",),
    "follow_logs": ("job",),
    "get": ("job",),
    "get_many": (["job"],),
    "health": (),
    "heartbeat": ({"job": None},),
    "history": ("job",),
    "hold": ("job",),
    "info": (),
    "logs": ("job",),
    "metrics": (),
    "move": ("job", "q"),
    "pause": ("q",),
    "pause_schedule": ("s",),
    "progress": ("job", 1),
    "queue": ("q",),
    "queues": (),
    "rebuild_index": (),
    "reject": ("job",),
    "release": ("job",),
    "remove_throttle": ("q",),
    "restore": (b"{}",),
    "result": ("job",),
    "resume": ("q",),
    "resume_schedule": ("s",),
    "retry": ("job",),
    "run_schedule": ("s",),
    "runtime": (),
    "schedule": ("s",),
    "schedules": (),
    "search": (),
    "search_page": (),
    "set_concurrency": ("q", 3),
    "status": (),
    "test_webhook": ("w",),
    "throttle": ("q", 3, "1m"),
    "throughput": (),
    "update_schedule": ("s",),
    "update_webhook": ("w",),
    "usage": (),
    "wait": ("job",),
    "webhook": ("w",),
    "webhook_deliveries": ("w",),
    "webhooks": (),
    "why": ("job",),
    "workers": (),
}
OPTIONS = {"bulk": {"jobs": ["job"]}}
NOT_COVERED = {
    ("GET", "/api/v1/bulk/{bulk_id}/progress"): "bulk follows it while it waits",
    ("GET", "/api/v1/metrics"): "the same as /metrics",
    ("GET", "/api/v1/admin/snapshot"): "for `rookery backup`, which checks what it has copied",
    ("GET", "/api/v1/changes"): "for dashboards; events tells a program what it can act on",
    ("GET", "/api/v1/metrics/queues"): "for dashboards; metrics and queues have the figures",
    ("GET", "/api/v1/metrics/failures"): "for dashboards; search finds the jobs",
    ("GET", "/api/v1/dead/groups"): "for dashboards; search finds the jobs, also by error_matches",
    ("GET", "/api/v1/cron/next"): "for forms; a schedule that is made tells its next runs",
    ("GET", "/api/v1/stream"): "for workers; not a request that is answered",
    ("POST", "/api/v1/cluster/join"): "for nodes",
    ("POST", "/api/v1/webhooks/{id}"): "for those who cannot use a client; enqueue does it better",
}


class Stop(Exception):
    """The request was seen, that is enough."""


class Notebook:
    """A transport that writes down what it is asked to send."""

    def __init__(self) -> None:
        self.requests: list[Request[Any]] = []

    def send(self, request: Request[Any]) -> Response:
        self.requests.append(request)
        raise Stop

    def stream(self, request: Request[Any], silence: float) -> Response:
        return self.send(request)

    def close(self) -> None:
        """There is nothing to close."""


def test_every_method_is_tried_here() -> None:
    assert methods(Client).keys() - {"__init__", "close"} == CALLS.keys()


def test_every_route_of_the_api_has_a_method() -> None:
    notebook = Notebook()
    client = Client(transport=notebook)  # type: ignore[arg-type]
    for name, arguments in CALLS.items():
        with pytest.raises(Stop):
            next(getattr(client, name)(*arguments, **OPTIONS.get(name, {})))
    covered = set()
    for request in notebook.requests:
        routes = [route for route in API_ROUTES if route.method == request.method and matches(route.path, request.path)]
        exact = [route for route in routes if "{" not in route.path]
        assert routes, f"there is no {request.method} {request.path}"
        covered.add((request.method, (exact or routes)[0].path))
    everything = {(route.method, route.path) for route in API_ROUTES}
    assert everything - covered == everything & NOT_COVERED.keys()


def matches(pattern: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", pattern), path) is not None


# --- what is written twice


def test_options_are_the_fields_of_a_new_job() -> None:
    fields = typing.get_type_hints(NewJob)
    del fields["queue"], fields["payload"]
    assert typing.get_type_hints(JobOptions) == fields
    assert typing.get_type_hints(EnqueueOptions).keys() - fields.keys() == {"idempotency_key", "traceparent"}


def test_options_are_what_the_server_takes() -> None:
    assert {*NewJob.__struct_fields__} - {"delay"} == {*EnqueueRequest.__struct_fields__}
    paging = {"sort", "order", "limit", "cursor", "total_up_to"}
    assert {*Filters.__annotations__} | paging == {*SearchRequest.__struct_fields__}
    from rookery.client.calls.schedules import ScheduleChanges
    from rookery.client.calls.webhooks import WebhookChanges
    from rookery.client.calls.work import Ack, Beat, Usage

    assert {*ScheduleChanges.__annotations__} == {*ScheduleRequest.__struct_fields__}
    assert {*WebhookChanges.__annotations__} | {"id"} == {*WebhookRequest.__struct_fields__}
    assert {*Ack.__struct_fields__} - {"job"} == {*AckRequest.__struct_fields__}
    assert {*Beat.__struct_fields__} == {*BeatRequest.__struct_fields__}
    assert {*Usage.__struct_fields__} == {*UsageReport.__struct_fields__}


def test_records_have_what_the_server_tells() -> None:
    from rookery.client import records, reports
    from rookery.http import bulk, cluster, fetch, metrics, observe, schedules, search, webhooks, work
    from rookery.store import bulks, events, fulltext, joblogs, reasons, summaries, throughput, views, workers
    from rookery.store import webhooks as hooks

    pairs = [
        (records.FetchedJob, fetch.FetchedJob, set()),
        (records.Job, views.JobView, {"retry_base_delay_ms", "retry_max_delay_ms"}),
        (records.JobError, views.ErrorView, {"id", "job_id", "at"}),
        (records.JobSummary, summaries.JobSummary, set()),
        (records.Failed, work.FailAnswer, set()),
        (reports.Queue, views.QueueView, set()),
        (reports.WorkerInfo, workers.WorkerView, set()),
        (reports.BatchStatus, views.JobBatchView, set()),
        (reports.Schedule, schedules.ScheduleView, set()),
        (reports.Webhook, hooks.WebhookView, {"namespace", "behind"}),
        (reports.Delivery, hooks.DeliveryView, set()),
        (reports.Trial, webhooks.TrialAnswer, set()),
        (reports.Hit, fulltext.FullTextHit, set()),
        (reports.LogLine, joblogs.LogLineView, set()),
        (reports.LogPage, joblogs.LogPage, set()),
        (reports.Event, events.EventView, set()),
        (reports.BulkStatus, bulks.BulkView, set()),
        (reports.BulkFailure, bulks.BulkFailure, set()),
        (reports.BulkProgress, bulk.BulkEvent, {"type", "created_at_ns"}),
        (reports.Minute, throughput.MinuteView, set()),
        (reports.Page, search.SearchAnswer, {"duration_ms"}),
        (reports.Health, observe.Health, set()),
        (reports.Info, observe.Info, set()),
        (reports.Node, cluster.NodeStatus, set()),
        (reports.Why, reasons.WhyView, set()),
    ]
    assert metrics
    for ours, theirs, left_out in pairs:
        told = {field.encode_name for field in msgspec.structs.fields(theirs)}
        known = {field.encode_name for field in msgspec.structs.fields(ours)}
        assert (ours.__name__, told - known) == (ours.__name__, left_out)
        assert known <= told, ours.__name__
    codes = typing.get_args(reasons.Reason)
    told = {field.encode_name for reason in codes for field in msgspec.structs.fields(reason)} - {"dependencies"}
    assert told <= {field.encode_name for field in msgspec.structs.fields(reports.Reason)}


def test_the_package_offers_what_it_says() -> None:
    for name in rookery.__all__:
        assert getattr(rookery, name) is not None
    assert {*dir(rookery)} >= {*rookery.__all__}
    assert rookery._HOMES.keys() | {"__version__"} == {*rookery.__all__}
    with pytest.raises(AttributeError, match="module 'rookery' has no attribute 'Clinet'"):
        rookery.Clinet  # noqa: B018
