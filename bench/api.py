"""The server from outside: single enqueues, whole lives in batches, latency, and many open polls."""

import asyncio
import json
import re
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.client import Connection
from bench.filled import QUEUE
from bench.server import Running

CONNECTIONS = 64
BATCH = 100
LIFE_CONNECTIONS = 4
PAYLOAD = {"to": "someone@example.com", "template": "welcome", "n": 42}

_WRK_SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '%s'
done = function(summary)
  local errors = summary.errors
  io.write("errors ", errors.status + errors.connect + errors.read + errors.timeout, "\\n")
end
"""


def single_enqueues(server: Running, seconds: float) -> float:
    """Requests a second of `wrk` with 64 connections."""
    return _requests(server, "/enqueue", {"queue": "bench", "payload": PAYLOAD}, seconds)


def single_fetches(server: Running, seconds: float) -> float:
    """The same, each request a fetch of a job that is there."""
    return _requests(server, "/fetch", {"queues": [QUEUE], "worker_id": "w", "lease_duration": 3600}, seconds)


def _requests(server: Running, path: str, body: dict[str, Any], seconds: float) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_WRK_SCRIPT % json.dumps(body))
        script.flush()
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:.0f}", "-s", script.name]
        output = subprocess.check_output([*command, f"http://127.0.0.1:{server.port}/api/v1{path}"], text=True)
    if "errors 0" not in output:
        raise RuntimeError(output)
    return float(re.findall(r"Requests/sec:\s+([\d.]+)", output)[0])


async def lives(server: Running, jobs: int) -> float:
    """Jobs a second: enqueue/batch, fetch/batch, ack/batch of 100 from one process."""
    connections = [await Connection.open(server.port) for _ in range(LIFE_CONNECTIONS)]
    rounds = jobs // BATCH // LIFE_CONNECTIONS
    started = time.perf_counter()
    await asyncio.gather(*(_live(connection, rounds) for connection in connections))
    elapsed = time.perf_counter() - started
    for connection in connections:
        connection.close()
    return rounds * BATCH * LIFE_CONNECTIONS / elapsed


async def _live(connection: Connection, rounds: int) -> None:
    batch = {"jobs": [{"queue": QUEUE, "payload": PAYLOAD}] * BATCH}
    for _ in range(rounds):
        status, _ = await connection.post("/enqueue/batch", batch)
        assert status == 201, status
        done = 0
        while done < BATCH:
            status, fetched = await connection.post(
                "/fetch/batch", {"queues": [QUEUE], "worker_id": "w", "count": BATCH, "timeout": 5}
            )
            assert status == 200, status
            acks = [{"job_id": job["job_id"], "lease_token": job["lease_token"]} for job in fetched["jobs"]]
            if acks:
                status, answer = await connection.post("/ack/batch", {"acks": acks})
                assert (status, answer["acked"]) == (200, len(acks)), answer
            done += BATCH


async def wake_latency(server: Running, samples: int) -> float:
    """Milliseconds from sending an enqueue to the answer of a fetch that waited for it; the median."""
    producer, worker = await Connection.open(server.port), await Connection.open(server.port)
    delays = []
    for number in range(samples):
        queue = f"wake{number}"
        waiting = asyncio.create_task(worker.post("/fetch", {"queues": [queue], "timeout": 10}))
        await asyncio.sleep(0.02)
        started = time.perf_counter()
        enqueued = asyncio.create_task(producer.post("/enqueue", {"queue": queue}))
        status, job = await waiting
        delays.append(time.perf_counter() - started)
        assert status == 200
        await enqueued
        await worker.post(f"/ack/{job['job_id']}", {})
    return statistics.median(delays) * 1000


async def schedule_delay(server: Running, samples: int) -> tuple[float, float]:
    """Milliseconds from a job's scheduled time to the answer of a fetch that waited for it: 9 of 10, and the worst."""
    producer, worker = await Connection.open(server.port), await Connection.open(server.port)
    delays = []
    for number in range(samples):
        queue = f"scheduled{number}"
        due = datetime.now(UTC) + timedelta(milliseconds=150)
        await producer.post("/enqueue", {"queue": queue, "scheduled_at": due.isoformat()})
        status, _ = await worker.post("/fetch", {"queues": [queue], "timeout": 10})
        assert status == 200
        delays.append((datetime.now(UTC) - due).total_seconds() * 1000)
    return statistics.quantiles(delays, n=10)[-1], max(delays)


class PollsReport:
    """What 2,000 open polls and a steady stream of jobs did to the server."""

    errors = 0
    done = 0
    memory_early = 0.0
    memory_late = 0.0


async def many_polls(server: Running, polls: int, rate: int, seconds: float) -> PollsReport:
    """Keep polls open while jobs come at a steady rate."""
    report = PollsReport()
    stop = asyncio.Event()
    workers = [asyncio.create_task(_poll(server, report, stop, number)) for number in range(polls)]
    await asyncio.sleep(3)
    producer = await Connection.open(server.port)
    begun = time.perf_counter()
    for number in range(int(rate * seconds)):
        status, _ = await producer.post("/enqueue", {"queue": "polled", "payload": PAYLOAD})
        report.errors += status != 201
        if number == int(rate * seconds / 4):
            report.memory_early = server.memory_mb()
        await asyncio.sleep(max(0.0, begun + (number + 1) / rate - time.perf_counter()))
    await asyncio.sleep(1)
    report.memory_late = server.memory_mb()
    stop.set()
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    return report


async def _poll(server: Running, report: PollsReport, stop: asyncio.Event, number: int) -> None:
    connection = await Connection.open(server.port)
    while not stop.is_set():
        status, job = await connection.post("/fetch", {"queues": ["polled"], "worker_id": f"w{number}", "timeout": 30})
        if status == 200:
            status, _ = await connection.post(f"/ack/{job['job_id']}", {"lease_token": job["lease_token"]})
            report.done += status == 200
        if status not in (200, 204):
            report.errors += 1


def new_directory(parent: Path, name: str) -> Path:
    """An empty data directory."""
    directory = parent / name
    directory.mkdir()
    return directory
