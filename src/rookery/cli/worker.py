"""`rookery worker`: run the jobs of a Python app, or shell commands, until told to stop."""

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any, Final, Literal

import click
import msgspec
import uvloop

from rookery.cli.flags import ADDRESS, DURATION, LOG_LEVELS, PlainCommand
from rookery.cli.supervisor import STATUS_FD, Supervisor, telling_parent, worker_command
from rookery.cli.worker_check import check
from rookery.client.functions.app import App
from rookery.client.functions.logs import LOG_FORMAT
from rookery.client.worker.health import answering_probes
from rookery.client.worker.lines import CannotStart
from rookery.client.worker.loading import NoSuchApp, load_app
from rookery.client.worker.worker import LAST_MOMENT, Worker

logger = logging.getLogger("rookery.worker")

_EPILOG: Final = """
Exit codes: 0 stopped, every job ended; 1 it cannot start (no such app, a job that cannot be run, no access, or --check
found something); 2 wrong usage; 3 stopped, but some jobs did not end within --shutdown-timeout and were handed back;
130 or 143 a second SIGINT or SIGTERM ended it at once.
"""


class WorkerSettings(msgspec.Struct):
    """What the command was told."""

    app_name: str | None
    shell: bool
    queues: list[str] | None
    concurrency: int
    processes: int
    server: str | None
    api_key: str | None
    namespace: str | None
    transport: Literal["auto", "stream", "http"]
    lease: int
    shutdown_timeout: int
    health_bind: tuple[str, int] | None
    worker_id: str | None
    reload: bool
    check: bool
    log_jobs: bool

    def arguments(self) -> list[str]:
        """The same for one of several workers. Keys go by the environment, where others cannot see them."""
        for name, value in (("URL", self.server), ("API_KEY", self.api_key), ("NAMESPACE", self.namespace)):
            if value is not None:
                os.environ[f"ROOKERY_{name}"] = value
        arguments = ["--shell" if self.app_name is None else self.app_name]
        arguments += ["--concurrency", str(self.concurrency), "--transport", self.transport]
        arguments += ["--lease", f"{self.lease}ms", "--shutdown-timeout", f"{self.shutdown_timeout}ms"]
        if self.queues is not None:
            arguments += ["--queues", ",".join(self.queues)]
        if self.log_jobs:
            arguments.append("--log-jobs")
        return arguments


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """A list with commas."""
    names = [name.strip() for name in (value or "").split(",") if name.strip()]
    if value is not None and not names:
        raise click.BadParameter("there is no name in it", ctx, param)
    return names or None


@click.command("worker", cls=PlainCommand, epilog=_EPILOG)
@click.argument("app_name", metavar="[MODULE:APP]", required=False)
@click.option(
    "--shell",
    is_flag=True,
    help="Instead of an app's jobs, run the shell commands that are in --queues. Whoever can enqueue there can then do "
    "on this machine whatever this user can.",
)
@click.option(
    "--queues",
    callback=_names,
    envvar="ROOKERY_QUEUES",
    show_envvar=True,
    help="Only these, with commas.  [default: all of the app's]",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1, 10_000),
    default=10,
    show_default=True,
    envvar="ROOKERY_CONCURRENCY",
    show_envvar=True,
    help="Jobs at a time, in each process.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="How many workers to run; one that dies is replaced.",
)
@click.option(
    "--server",
    envvar=["ROOKERY_URL", "CORVO_URL"],
    show_envvar=True,
    help="Base URL of the server.  [default: the app's]",
)
@click.option(
    "--api-key",
    envvar=["ROOKERY_API_KEY", "CORVO_API_KEY"],
    show_envvar=True,
    help="A key, or the admin password.  [default: the app's]",
)
@click.option(
    "--namespace",
    envvar=["ROOKERY_NAMESPACE", "CORVO_NAMESPACE"],
    show_envvar=True,
    help="The namespace to work in.  [default: the app's]",
)
@click.option(
    "--transport",
    type=click.Choice(["auto", "stream", "http"]),
    default="auto",
    show_default=True,
    help="auto: the stream if the server has it, else long polls over HTTP.",
)
@click.option(
    "--lease",
    type=DURATION,
    default="60s",
    show_default=True,
    help="How long the server waits for a sign of life of a job.",
)
@click.option(
    "--shutdown-timeout",
    type=DURATION,
    default="30s",
    show_default=True,
    help="How long running jobs have to end after SIGTERM or Ctrl-C.",
)
@click.option("--health-bind", type=ADDRESS, help="Answer GET /healthz and /readyz there, for probes.")
@click.option(
    "--worker-id",
    help="Names the worker at the server; of several each has a number.  [default: host, process id and a random part]",
)
@click.option("--reload", is_flag=True, help="Start again when a .py file below the current directory changes.")
@click.option("--check", is_flag=True, help="Only load the app, list its jobs, and see that the server answers.")
@click.option("--log-level", type=LOG_LEVELS, default=None, help="What goes to stderr.")
@click.option("--log-jobs", is_flag=True, help="Also every job that completes, and the traceback of one that fails.")
@click.pass_obj
def command(obj: dict[str, Any], /, app_name: str | None, **options: Any) -> None:
    """Run the jobs of the app MODULE:APP (or of `app` in MODULE) until SIGTERM or Ctrl-C.

    It then takes no more jobs, lets those that run end, and hands back the rest without burning an attempt.
    A second signal ends it at once.

    With --shell there is no app: the payload of each job says what the shell is to run, as `queuectl --server` adds
    them.

    \b
    rookery worker shop:app --concurrency 20
    rookery worker --shell --queues shell.default,shell.reports --concurrency 4
    """
    _check_usage(app_name, **options)
    log_level = options.pop("log_level") or obj["log_level"]
    _set_up_logging(log_level, options["log_jobs"])
    try:
        sys.exit(_do(WorkerSettings(app_name, **options), log_level))
    except NoSuchApp as error:
        click.echo(error.backtrace, err=True, nl=False)
        raise click.ClickException(str(error)) from None
    except CannotStart as error:
        raise click.ClickException(str(error)) from None


def _check_usage(app_name: str | None, shell: bool, queues: list[str] | None, **options: Any) -> None:
    """Say what does not go together."""
    if not shell:
        if app_name is None:
            raise click.UsageError("Missing argument 'MODULE:APP' (or --shell with --queues).")
        return
    if app_name is not None:
        raise click.UsageError("--shell runs commands and no app: leave MODULE:APP out.")
    if queues is None:
        raise click.UsageError(
            "--shell needs --queues: it runs the commands of the queues that you name, and no others."
        )
    for name in ("check", "reload"):
        if options[name]:
            raise click.UsageError(f"--{name} is about the code of an app: with --shell there is none.")


def _do(settings: WorkerSettings, log_level: str) -> int:
    """Check, look after workers, or be one; the exit code."""
    if settings.shell and STATUS_FD not in os.environ:
        # One warning is enough for several processes.
        click.echo(
            f"Warning: this worker runs every command that is put into {', '.join(settings.queues or [])}. "
            "Whoever can enqueue there can do on this machine whatever this user can.",
            err=True,
        )
    if settings.check:
        return 0 if check(load(settings)) else 1
    if settings.processes > 1 or settings.reload:
        command = worker_command([*settings.arguments(), "--log-level", log_level])
        return asyncio.run(_supervise(command, settings))
    return uvloop.run(_run(settings))


async def _supervise(command: list[str], settings: WorkerSettings) -> int:
    supervisor = Supervisor(
        command,
        settings.processes,
        reload=settings.reload,
        health=settings.health_bind,
        worker_id=settings.worker_id,
    )
    return await supervisor.run()


def load(settings: WorkerSettings) -> Worker:
    """The worker that the settings describe. What the command was told goes before what the app says."""
    app = _shell_app(settings) if settings.app_name is None else load_app(settings.app_name)
    app.url = settings.server or app.url
    app.api_key = settings.api_key or app.api_key
    app.namespace = settings.namespace or app.namespace
    worker = Worker(
        app,
        queues=settings.queues,
        concurrency=settings.concurrency,
        shutdown_timeout=settings.shutdown_timeout / 1000,
        lease_duration=settings.lease / 1000,
        transport=settings.transport,
        worker_id=settings.worker_id,
    )
    worker.check()
    return worker


def _shell_app(settings: WorkerSettings) -> App:
    """An app that runs the commands of these queues."""
    from rookery.queuectl.remote.shelljobs import ShellJobs

    jobs = ShellJobs(None, None, None, concurrency=settings.concurrency)
    for queue in settings.queues or ():
        jobs.serve(queue)
    return jobs.app


async def _run(settings: WorkerSettings) -> int:
    worker = load(settings)
    _stop_on_signals(worker)
    checks = {
        "/healthz": lambda: None,
        "/readyz": lambda: None if worker.is_ready else "stopping" if worker.is_stopping else "not connected",
    }
    _tune_interpreter()
    try:
        async with (
            answering_probes(settings.health_bind, checks) as bound,
            telling_parent(lambda: worker.is_ready, worker.stop),
        ):
            if bound is not None:
                logger.info("probes are answered on http://%s:%d", *bound)
            code = await worker.run()
    except OSError as error:
        raise CannotStart(str(error)) from None
    logger.info("stopped")
    return code


def _stop_on_signals(worker: Worker) -> None:
    """The first signal asks the worker to stop. After the second it has a moment, then the process ends whatever runs.

    Plain handlers, not the loop's: they are called even while a job blocks the loop.
    """
    loop = asyncio.get_running_loop()
    is_stopping = False

    def hear(number: int, _: object) -> None:
        nonlocal is_stopping
        if is_stopping:
            threading.Thread(target=_end_soon, args=[number], daemon=True).start()
        is_stopping = True
        with suppress(RuntimeError):  # The loop has ended already.
            loop.call_soon_threadsafe(worker.stop, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, hear)


def _end_soon(number: int) -> None:
    """End the process without waiting for threads, lifespans or jobs."""
    time.sleep(LAST_MOMENT)
    os._exit(128 + number)


def _tune_interpreter() -> None:
    """Jobs make hardly any cycles that the worker's own things are part of: look for cycles seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def _set_up_logging(level: str, log_jobs: bool) -> None:
    logging.basicConfig(stream=sys.stderr, level={"warn": logging.WARNING}.get(level, level.upper()), format=LOG_FORMAT)
    logging.getLogger("websockets").setLevel(max(logging.INFO, logging.getLogger().level))
    if log_jobs:
        logger.setLevel(logging.DEBUG)
