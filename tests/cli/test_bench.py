"""`rookery bench`: what it measures, what it says, and that nothing is left of it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.conftest import Api, ServerProcess, wait_for

FIGURES = {"ops_per_sec", "p50_us", "p90_us", "p99_us", "min_us", "max_us", "stddev_us", "completed"}
CONFIG = {
    "server",
    "protocol",
    "jobs",
    "concurrency",
    "workers",
    "worker_queues",
    "queue",
    "enqueue_batch_size",
    "fetch_batch_size",
    "ack_batch_size",
    "work_duration",
    "combined",
    "repeats",
    "repeat_pause",
}


def counts_of(server: ServerProcess, queue: str) -> dict[str, Any]:
    """The counts of a queue."""
    return next(each for each in server.http.get("/api/v1/queues").json() if each["name"] == queue)


@pytest.mark.parametrize("protocol", ["http", "http-batch", "stream"])
def test_every_job_is_enqueued_and_lives_to_its_end(
    rookery: Run, server: ServerProcess, queue: str, protocol: str
) -> None:
    flags = ("--jobs", 150, "--queue", queue, "--concurrency", 3, "--enqueue-batch-size", 20)
    done = rookery("bench", "--server", server.url, "--protocol", protocol, *flags, "--output", "json")

    assert (done.returncode, done.stderr) == (0, "")
    run = json.loads(done.stdout)
    assert set(run) == {"timestamp", "config", "enqueue", "lifecycle"}
    assert set(run["config"]) == CONFIG
    assert set(run["enqueue"]) == set(run["lifecycle"]) == FIGURES
    assert run["enqueue"]["completed"] == run["lifecycle"]["completed"] == 150
    for phase in (run["enqueue"], run["lifecycle"]):
        assert phase["ops_per_sec"] > 0
        assert 0 < phase["min_us"] <= phase["p50_us"] <= phase["p90_us"] <= phase["p99_us"] <= phase["max_us"]
    counts = counts_of(server, queue)
    assert (counts["completed"], counts["pending"], counts["active"], counts["enqueued"]) == (150, 0, 0, 150)


@pytest.mark.parametrize("protocol", ["http", "http-batch", "stream"])
def test_combined_measures_whole_lives(rookery: Run, server: ServerProcess, queue: str, protocol: str) -> None:
    flags = ("--jobs", 130, "--queue", queue, "--combined", "--ack-batch-size", 7, "-o", "json")
    done = rookery("bench", "--server", server.url, "--protocol", protocol, *flags)

    assert (done.returncode, done.stderr) == (0, "")
    run = json.loads(done.stdout)
    assert set(run) == {"timestamp", "config", "combined"}
    assert set(run["combined"]) == FIGURES
    assert run["combined"]["completed"] == 130
    assert counts_of(server, queue)["completed"] == 130


def test_the_matrix_measures_all_protocols(rookery: Run, server: ServerProcess, queue: str) -> None:
    flags = ("--jobs", 60, "--queue", queue, "--repeats", 2, "--repeat-pause", "10ms", "--output-json")
    done = rookery("bench", "--server", server.url, "--protocol", "matrix", *flags)

    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert set(run) == {"timestamp", "config", "results"}
    assert list(run["results"]) == ["http", "http-batch", "stream"]
    for phases in run["results"].values():
        assert {name: phase["completed"] for name, phase in phases.items()} == {"enqueue": 120, "lifecycle": 120}
    assert counts_of(server, queue)["completed"] == 360


def test_the_settings_and_a_line_for_each_phase_are_printed(rookery: Run, server: ServerProcess, queue: str) -> None:
    done = rookery("bench", "--server", server.url, "--protocol", "rpc", "--jobs", 70, "--queue", queue)

    assert (done.returncode, done.stderr) == (0, "")
    settings, _, table = done.stdout.partition("\n\n")
    assert dict(line.split(maxsplit=1) for line in settings.splitlines()) == {
        "server": server.url,
        "protocol": "stream",
        "jobs": "70",
        "concurrency": "10",
        "workers": "1",
        "queue": queue,
        "batches": "enqueue 64, fetch 64, ack 64",
        "work": "0 ms",
        "repeats": "1",
    }
    header, *rows = [line.split() for line in table.splitlines()]
    assert header == ["PROTOCOL", "PHASE", "OPS/S", "AVG", "P50", "P90", "P99", "MIN", "MAX"]
    assert [row[:2] for row in rows] == [["stream", "enqueue"], ["stream", "lifecycle"]]
    assert all(len(row) == len(header) for row in rows)


def test_repeats_are_shown_one_by_one_and_together(rookery: Run, server: ServerProcess, queue: str) -> None:
    done = rookery("bench", "--server", server.url, "--jobs", 20, "--queue", queue, "--combined", "--repeats", 2)

    rows = [line.split()[:3] for line in done.stdout.partition("\n\n")[2].splitlines()]
    assert rows == [
        ["PROTOCOL", "PHASE", "REPEAT"],
        ["stream", "combined", "1"],
        ["stream", "combined", "2"],
        ["stream", "combined", "all"],
    ]


@pytest.mark.parametrize("protocol", ["http-batch", "stream"])
def test_each_worker_may_have_a_queue_of_its_own(
    rookery: Run, server: ServerProcess, queue: str, protocol: str
) -> None:
    flags = ("--jobs", 100, "--queue", queue, "--workers", 3, "--worker-queues", "--concurrency", 2)
    done = rookery("bench", "--server", server.url, "--protocol", protocol, *flags)

    assert done.returncode == 0, done.stderr
    completed = [counts_of(server, f"{queue}.{number}")["completed"] for number in (1, 2, 3)]
    assert completed == [34, 33, 33]
    workers = {worker["id"] for worker in server.http.get("/api/v1/workers").json()}
    assert {"bench-1", "bench-2", "bench-3"} <= workers


def test_work_takes_its_time(rookery: Run, server: ServerProcess, queue: str) -> None:
    flags = ("--jobs", 4, "--queue", queue, "--work-duration", "50ms", "-o", "json")
    for protocol in ("http", "http-batch", "stream"):
        done = rookery("bench", "--server", server.url, "--protocol", protocol, *flags)
        assert json.loads(done.stdout)["lifecycle"]["min_us"] >= 50_000


def test_a_preset_sets_what_was_not_given(rookery: Run, server: ServerProcess, queue: str) -> None:
    flags = ("--preset", "cluster", "--jobs", 50, "--queue", queue, "-o", "json")
    done = rookery("bench", "--server", server.url, *flags)

    config = json.loads(done.stdout)["config"]
    assert (config["jobs"], config["concurrency"], config["workers"], config["worker_queues"]) == (50, 50, 5, True)


def test_a_run_is_saved_and_compared_with(rookery: Run, server: ServerProcess, queue: str, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    flags = ("bench", "--server", server.url, "--jobs", 40, "--queue", queue)
    saved = rookery(*flags, "--save", file, "-o", "json")
    assert json.loads(file.read_text()) == json.loads(saved.stdout)

    run = json.loads(file.read_text())
    run["lifecycle"] |= {"ops_per_sec": 1.0, "p50_us": 1e12}
    file.write_text(json.dumps(run))
    compared = rookery(*flags, "--compare", file, "--concurrency", 2)

    assert (compared.returncode, compared.stderr) == (0, "")
    told = compared.stdout.partition(f"Against {file} of {run['timestamp']}")[2].splitlines()
    assert told[1].startswith("stream enqueue: ops/s ")
    lifecycle = dict(part.rsplit(" ", 1) for part in told[2].removeprefix("stream lifecycle: ").split(", "))
    assert list(lifecycle) == ["ops/s", "p50", "p90", "p99"]
    assert float(lifecycle["ops/s"].removesuffix("x")) > 10
    assert lifecycle["p50"] == "0.00x"
    assert told[3] == "Other settings then: concurrency 10"

    as_json = rookery(*flags, "--compare", file, "-o", "json")
    assert set(json.loads(as_json.stdout)) == {"timestamp", "config", "enqueue", "lifecycle"}
    assert "stream lifecycle: ops/s" in as_json.stderr


def test_a_file_that_is_no_saved_run_is_refused_before_anything_runs(
    rookery: Run, server: ServerProcess, queue: str, tmp_path: Path
) -> None:
    file = tmp_path / "file.json"
    file.write_text('{"timestamp": 1}')
    done = rookery("bench", "--server", server.url, "--queue", queue, "--compare", file)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{file} is not a saved run" in done.stderr

    nowhere = tmp_path / "nowhere" / "file.json"
    done = rookery("bench", "--server", server.url, "--queue", queue, "--save", nowhere)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"cannot write {nowhere}" in done.stderr


@pytest.mark.parametrize("protocol", ["http", "http-batch", "stream"])
def test_limits_of_a_server_are_obeyed_and_counted(
    rookery: Run, start_server: Callable[..., ServerProcess], protocol: str
) -> None:
    server = start_server("--rate-limit-write-rps=50", "--rate-limit-write-burst=20")
    flags = ("--jobs", 60, "--concurrency", 2, "--enqueue-batch-size", 20, "--fetch-batch-size", 20)
    done = rookery("bench", "--server", server.url, "--protocol", protocol, *flags)

    assert (done.returncode, done.stderr) == (0, "")
    assert len([line for line in done.stdout.splitlines() if line.startswith("The server answered 429 ")]) == 1
    assert counts_of(server, "bench.q")["completed"] == 60


def test_jobs_of_others_are_not_touched(rookery: Run, api: Api, queue: str) -> None:
    api.enqueue(queue)
    done = rookery("bench", "--server", api.server.url, "--queue", queue)

    assert (done.returncode, done.stdout) == (1, "")
    assert f"queue {queue} has 1 jobs that are not finished" in done.stderr
    assert counts_of(api.server, queue)["pending"] == 1


class Unwell(BaseHTTPRequestHandler):
    """A server that is up and not well."""

    def do_GET(self) -> None:
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def unwell() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Unwell)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_server_that_is_not_healthy_is_not_measured(rookery: Run, unwell: str) -> None:
    done = rookery("bench", "--server", unwell)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: the server is not healthy: it answers 503 to /healthz\n"


def test_a_server_that_is_not_there_is_said_to_be_so(rookery: Run) -> None:
    done = rookery("bench", env={"ROOKERY_URL": "http://127.0.0.1:9"})
    assert (done.returncode, done.stdout) == (1, "")
    assert "127.0.0.1:9" in done.stderr


@pytest.mark.parametrize("flag", [("--jobs", "0"), ("--ack-batch-size", "513"), ("--protocol", "pigeon")])
def test_settings_that_cannot_be_are_refused(rookery: Run, flag: tuple[str, str]) -> None:
    done = rookery("bench", *flag)
    assert (done.returncode, done.stdout) == (2, "")
    assert flag[0] in done.stderr


def test_a_server_of_its_own_is_started_and_gone_in_the_end(rookery: Run, tmp_path: Path) -> None:
    done = rookery("bench", "--jobs", 30, env={"TMPDIR": str(tmp_path), "ROOKERY_ADMIN_PASSWORD": "secret"})

    assert (done.returncode, done.stderr) == (0, "")
    assert "started for this, durability full, no rate limits" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert servers_in(tmp_path) == []


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_nothing_is_left_when_it_is_interrupted(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    command = [sys.executable, "-m", "rookery", "bench", "--jobs", "1000000", "--protocol", "http"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ROOKERY_", "CORVO_"))}
    with tempfile.TemporaryFile() as log:
        bench = subprocess.Popen(command, stdout=log, stderr=log, env={**environment, "TMPDIR": str(tmp_path)})
        try:
            wait_for(lambda: any(path.stat().st_size > 1 << 20 for path in tmp_path.glob("*/data/*-wal")), alive=bench)
            assert len(servers_in(tmp_path)) == 1
            bench.send_signal(sent)
            assert bench.wait(45) == code
        finally:
            bench.kill()
            bench.wait()
        log.seek(0)
        assert b"Traceback" not in log.read()
    assert list(tmp_path.iterdir()) == []
    assert servers_in(tmp_path) == []


def servers_in(directory: Path) -> list[str]:
    """The processes that were started with something in a directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
        except OSError:
            continue
        if str(directory).encode() in command:
            found.append(command.decode())
    return found
