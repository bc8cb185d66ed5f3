"""The systems that are compared: how each is run, what it keeps, and what becomes of a job when its worker dies.

In commands, BIN is the directory of the environment's programs and SERVER the address of the server.
"""

from dataclasses import dataclass

from bench.peers import servers
from bench.peers.servers import Server


@dataclass(frozen=True)
class System:
    """One row of the comparison."""

    key: str
    name: str
    server: Server
    environment: str
    """The file in requirements/, or `node`, or `rookery` for the project itself."""
    packages: tuple[str, ...]
    program: tuple[str, ...]
    worker: tuple[str, ...]
    runs: str
    """How the one worker process comes to ten jobs at a time, and what it keeps of a finished one."""
    after_kill: str
    """What becomes of a job whose worker was killed while it ran."""
    is_prepared: bool = False


ROOKERY = System(
    key="rookery",
    name="Rookery",
    server=servers.ROOKERY,
    environment="rookery",
    packages=("rookery", "apsw"),
    program=("run.py", "on_rookery"),
    worker=("BIN/rookery", "worker", "on_rookery:app", "--concurrency", "10", "--transport", "stream"),
    runs="coroutines; finished jobs are kept with their timeline and result",
    after_kill="runs again when its lease ends (60 s)",
)

_CELERY = System(
    key="celery",
    name="Celery",
    server=servers.REDIS,
    environment="celery",
    packages=("celery", "kombu", "redis"),
    program=("run.py", "on_celery"),
    worker=(
        "BIN/celery", "-A", "on_celery", "worker", "--pool", "threads", "--concurrency", "10", "--loglevel", "ERROR",
    ),
    runs="threads (`--pool threads`; in a short trial gevent came out level, solo slower); "
    "no results (`task_ignore_result`)",
    after_kill="is lost: by default a job is acknowledged before it runs (`acks_late` changes that)",
)  # fmt: skip

_RQ = System(
    key="rq",
    name="RQ",
    server=servers.REDIS,
    environment="rq",
    packages=("rq", "redis"),
    program=("run.py", "on_rq"),
    worker=("BIN/rq", "worker", "--url", "SERVER", "--quiet"),
    runs="one job at a time, each in a forked process: RQ has no concurrency inside a worker; job and result are kept "
    "for 500 s",
    after_kill="is listed as failed after a while; runs again only if retries were asked for",
)

SYSTEMS = (
    ROOKERY,
    _CELERY,
    _RQ,
    System(
        key="rq-simple",
        name="RQ, SimpleWorker",
        server=servers.REDIS,
        environment=_RQ.environment,
        packages=_RQ.packages,
        program=_RQ.program,
        worker=(*_RQ.worker, "--worker-class", "rq.SimpleWorker"),
        runs="one job at a time, no fork; job and result are kept for 500 s",
        after_kill=_RQ.after_kill,
    ),
    System(
        key="dramatiq",
        name="Dramatiq",
        server=servers.REDIS,
        environment="dramatiq",
        packages=("dramatiq", "redis"),
        program=("run.py", "on_dramatiq"),
        worker=("BIN/dramatiq", "--processes", "1", "--threads", "10", "on_dramatiq"),
        runs="threads; no results",
        after_kill="runs again once the worker has been silent for a minute",
    ),
    System(
        key="huey",
        name="Huey",
        server=servers.REDIS,
        environment="huey",
        packages=("huey", "redis"),
        program=("run.py", "on_huey"),
        worker=("BIN/huey_consumer", "on_huey.huey", "--workers", "10", "--worker-type", "thread", "--quiet"),
        runs="threads; no results, since the job returns none",
        after_kill="is lost: a job is taken off the queue before it runs",
    ),
    System(
        key="saq",
        name="SAQ",
        server=servers.REDIS,
        environment="saq",
        packages=("saq", "redis"),
        program=("run.py", "on_saq"),
        worker=("BIN/saq", "on_saq.settings", "--quiet"),
        runs="coroutines (`concurrency` 10); the finished job is kept for ten minutes",
        after_kill="is aborted by a sweep after its timeout (10 s); runs again only if `retries` is above 1",
    ),
    System(
        key="bullmq",
        name="BullMQ",
        server=servers.REDIS,
        environment="node",
        packages=("bullmq", "ioredis"),
        program=("on_bullmq.mjs",),
        worker=("BIN/node", "on_bullmq.mjs", "work"),
        runs="promises (`concurrency` 10); the last 1,000 finished jobs are kept",
        after_kill="runs again when its lock (30 s) is found to have ended",
    ),
    System(
        key="bullmq-always",
        name="BullMQ",
        server=servers.REDIS_ALWAYS,
        environment="node",
        packages=("bullmq", "ioredis"),
        program=("on_bullmq.mjs",),
        worker=("BIN/node", "on_bullmq.mjs", "work"),
        runs="the same",
        after_kill="the same",
    ),
    System(
        key="procrastinate",
        name="Procrastinate",
        server=servers.POSTGRESQL,
        environment="procrastinate",
        packages=("procrastinate", "psycopg"),
        program=("run.py", "on_procrastinate"),
        worker=("BIN/procrastinate", "--app", "on_procrastinate.app", "worker", "--concurrency", "10"),
        runs="coroutines; rows of finished jobs are kept",
        after_kill="stays as it is until a task that you write looks for stalled jobs",
        is_prepared=True,
    ),
    System(
        key="pg-boss",
        name="pg-boss",
        server=servers.POSTGRESQL,
        environment="node",
        packages=("pg-boss", "pg"),
        program=("on_pgboss.mjs",),
        worker=("BIN/node", "on_pgboss.mjs", "work"),
        runs="ten jobs taken and completed together (`batchSize` 10, `burstWhenBatchFull`); rows of finished jobs are "
        "kept",
        after_kill="runs again when it expires (15 minutes)",
        is_prepared=True,
    ),
    System(
        key="beanstalkd",
        name="beanstalkd",
        server=servers.BEANSTALKD,
        environment="beanstalkd",
        packages=("greenstalk",),
        program=("run.py", "on_beanstalkd"),
        worker=("BIN/python", "run.py", "on_beanstalkd", "work"),
        runs="threads with a connection each (greenstalk); a finished job is deleted",
        after_kill="runs again at once, since its connection has closed",
    ),
    System(
        key="beanstalkd-always",
        name="beanstalkd",
        server=servers.BEANSTALKD_ALWAYS,
        environment="beanstalkd",
        packages=("greenstalk",),
        program=("run.py", "on_beanstalkd"),
        worker=("BIN/python", "run.py", "on_beanstalkd", "work"),
        runs="the same",
        after_kill="the same",
    ),
)
