"""`rookery bulk`."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.api.expectations import job_in_state
from tests.cli.conftest import Do, Run, assert_failed, said
from tests.conftest import Api, ServerProcess

NO_IDS = "Error: no job IDs provided (pipe from search or use --filter)\n"


def affected(run: Any) -> int:
    """How many jobs a command says it has changed."""
    match = re.fullmatch(r"Affected: (\d+) jobs \(\d+ms\)\n", said(run))
    assert match, run.stdout
    return int(match[1])


def states(api: Api, ids: list[str]) -> list[str]:
    return [job["state"] for job in api.post("/jobs/bulk-get", {"job_ids": ids}).json()["jobs"]]


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        (["retry"], "dead", "pending"),
        (["delete"], "dead", None),
        (["cancel"], "pending", "cancelled"),
        (["requeue"], "dead", "pending"),
        (["hold"], "pending", "held"),
        (["approve"], "held", "pending"),
        (["reject"], "held", "dead"),
    ],
    ids=str,
)
def test_each_action(do: Do, api: Api, queue: str, action: list[str], before: str, after: str | None) -> None:
    ids = [job_in_state(api, queue, before) for _ in range(2)]

    assert affected(do("bulk", *action, "--", *ids)) == 2
    assert states(api, ids) == ([] if after is None else [after] * 2)


def test_actions_with_an_argument_take_it_in_two_ways(ask: Run, do: Do, api: Api, queue: str) -> None:
    ids = [api.enqueue(queue) for _ in range(2)]

    assert affected(ask("bulk", "move", f"{queue}.2", "--", *ids)) == 2
    assert affected(do("bulk", "move", "--to", f"{queue}.3", "--", *ids)) == 2
    assert affected(do("bulk", "change_priority", "high", "--", *ids)) == 2
    assert [(api.job(id)["queue"], api.job(id)["priority"]) for id in ids] == [(f"{queue}.3", 1)] * 2
    assert affected(do("bulk", "change_priority", "--priority=critical", "--", *ids)) == 2
    assert [api.job(id)["priority"] for id in ids] == [0, 0]


def test_json_is_the_servers_answer(do: Do, api: Api, queue: str) -> None:
    ids = [job_in_state(api, queue, "dead"), api.enqueue(queue), "job_unknown"]

    answer = json.loads(said(do("bulk", "retry", "-o", "json", "--", *ids)))

    assert answer == {"affected": 1, "errors": 0, "skipped": 2, "duration_ms": answer["duration_ms"]}


def test_what_is_skipped_is_told_on_stderr(do: Do, api: Api, queue: str) -> None:
    run = do("bulk", "retry", "--", api.enqueue(queue), "job_unknown")

    assert affected(run) == 0
    assert run.stderr.startswith("Skipped: 2 ")


def test_the_filter_comes_first_then_the_arguments_then_stdin(do: Do, api: Api, queue: str) -> None:
    by_filter, by_argument, by_stdin = (api.enqueue(f"{queue}.{number}") for number in range(3))
    filter = json.dumps({"queue": f"{queue}.0"})

    assert affected(do("bulk", "hold", "--filter", filter, "--", by_argument, input=by_stdin)) == 1
    assert states(api, [by_filter, by_argument, by_stdin]) == ["held", "pending", "pending"]
    assert affected(do("bulk", "hold", "--", by_argument, input=by_stdin)) == 1
    assert states(api, [by_filter, by_argument, by_stdin]) == ["held", "held", "pending"]
    assert affected(do("bulk", "hold", input=by_stdin)) == 1
    assert affected(do("bulk", "approve", "--", input=by_stdin)) == 1


def test_the_same_id_counts_once(do: Do, api: Api, queue: str) -> None:
    id = api.enqueue(queue)

    answer = json.loads(said(do("bulk", "delete", "-o", "json", input=f"{id}\n{id}  again\n{id}\n")))
    assert (answer["affected"], answer["skipped"]) == (1, 0)


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["bulk"], ["ACTION"], 2),
        (["bulk", "explode"], ["explode"], 2),
        (["bulk", "retry", "job_x"], ["behind --"], 2),
        (["bulk", "move"], ["--to"], 2),
        (["bulk", "move", "a", "--to", "b"], ["--to"], 2),
        (["bulk", "move", " "], ["blank"], 2),
        (["bulk", "move", "a", "b"], ["b"], 2),
        (["bulk", "retry", "--to", "b"], ["--to"], 2),
        (["bulk", "change_priority"], ["--priority"], 2),
        (["bulk", "change_priority", "huge"], ["huge"], 2),
        (["bulk", "change_priority", "--priority", "huge"], ["huge"], 2),
        (["bulk", "delete", "--priority", "high"], ["--priority"], 2),
        (["bulk", "delete", "--", ""], ["blank"], 2),
        (["bulk", "delete", "--filter", "{bad"], ["--filter is not valid JSON"], 1),
        (["bulk", "delete", "--filter", "[]"], ["--filter must be a JSON object"], 1),
        (["bulk", "delete", "--filter", '{"quene": "q"}'], ["quene"], 1),
        (["bulk", "delete", "--filter", '{"state": "asleep"}'], ["asleep"], 1),
        (["bulk", "move", "x" * 256, "--", "job_x"], ["move_to_queue"], 1),
    ],
)
def test_bad_input_changes_nothing(do: Do, arguments: list[str], words: list[str], code: int) -> None:
    assert_failed(do(*arguments), *words, code=code)


@pytest.mark.parametrize("text", ["", "\n\n", "ID  QUEUE\n", "[]", '{"jobs": []}', "No held jobs\n"])
def test_without_ids_nothing_is_sent(do: Do, text: str) -> None:
    for form in ("table", "json"):
        run = do("bulk", "delete", "-o", form, "--server", "http://127.0.0.1:9", input=text)
        assert (run.exit_code, run.stdout, run.stderr) == (1, "", NO_IDS)


def test_without_ids_a_process_ends_the_same_way(rookery: Run) -> None:
    run = rookery("bulk", "retry", input="", env={"ROOKERY_URL": "http://127.0.0.1:9"})
    assert (run.returncode, run.stdout, run.stderr) == (1, "", NO_IDS)
    assert_failed(rookery("bulk", "retry", input='[{"id": "job_1"}, {"i'), "stdin is not valid JSON")


# --- in the background


def started(text: str) -> tuple[str, int]:
    match = re.fullmatch(r"Bulk operation (bulk_\w{26}) started \((\d+) jobs\)", text)
    assert match, text
    return match[1], int(match[2])


def test_in_the_background_it_is_followed_to_its_end(ask: Run, do: Do, api: Api, queue: str) -> None:
    ids = [api.enqueue(queue) for _ in range(3)]

    run = ask("bulk", "hold", "--async", "--", *ids, "job_unknown")
    first, last = said(run).splitlines()
    assert started(first)[1] == 4
    assert (last, run.stderr) == ("Affected: 3 of 4 jobs", "Not changed: 1\n  job_unknown: not found\n")
    answer = json.loads(said(do("bulk", "approve", "--async", "-o", "json", "--", *ids)))
    assert (answer["id"][:5], answer["status"], answer["affected"], answer["total"]) == ("bulk_", "completed", 3, 3)
    assert answer == api.get(f"/bulk/{answer['id']}").json()


def test_as_json_what_could_not_be_changed_is_in_the_answer_only(do: Do, api: Api, queue: str) -> None:
    held = job_in_state(api, queue, "held")

    run = do("bulk", "hold", "--async", "-o", "json", "--", held)
    assert json.loads(said(run))["failures"] == [{"job_id": held, "error": "cannot hold it: it is held"}]
    assert run.stderr == ""


@pytest.mark.parametrize("flag", ["--wait=false", "--no-wait"])
def test_it_can_be_left_to_itself(do: Do, api: Api, queue: str, flag: str) -> None:
    ids = [api.enqueue(queue) for _ in range(2)]

    bulk_id, total = started(said(do("bulk", "hold", "--async", flag, "--", *ids)).strip())
    assert total == 2
    assert api.get(f"/bulk/{bulk_id}").status_code == 200
    answer = json.loads(said(do("bulk", "hold", "--async=true", flag, "-o", "json", "--", *ids)))
    assert (answer["status"], answer["estimated_total"]) == ("processing", 2)


def test_more_than_ten_thousand_go_in_one_request(shell: Run, api: Api, queue: str) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue}] * 10_001})

    run = shell(f"rookery search --queue {queue} | rookery bulk delete")

    first, last = said(run).splitlines()
    assert started(first)[1] == 10_001
    assert last == "Affected: 10001 of 10001 jobs"
    assert api.post("/jobs/search", {"queue": queue}).json()["total"] == 0


def test_it_is_followed_across_a_restart_of_the_server(start_server: Callable[..., ServerProcess]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = start_server("--bind", f"127.0.0.1:{port}", "--rate-limit-enabled=false")
    api = Api(server)
    for _ in range(3):
        api.post("/enqueue/batch", {"jobs": [{"queue": "q", "payload": {"n": 1}}] * 20_000})
    command = [sys.executable, "-m", "rookery", "bulk", "delete", "--filter", '{"queue": "q"}', "--server", server.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bulk:
        assert bulk.stdout is not None
        assert started(bulk.stdout.readline().strip())[1] == 60_000
        server.kill()
        server.start()
        rest, errors = bulk.communicate(timeout=60)
    assert (bulk.returncode, errors) == (0, "")
    assert rest == "Affected: 60000 of 60000 jobs\n"


def test_ctrl_c_leaves_it_to_itself_and_says_so(told: Callable[..., str]) -> None:
    url = told(progress=None)
    command = [sys.executable, "-m", "rookery", "bulk", "delete", "--filter", "{}", "--server", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bulk:
        assert bulk.stdout is not None
        bulk.stdout.readline()
        bulk.send_signal(signal.SIGINT)
        _, errors = bulk.communicate(timeout=30)
    assert bulk.returncode == 130
    assert "Bulk operation bulk_1 goes on in the background" in errors
    assert "Traceback" not in errors


# --- what a server may say that ours says seldom


@pytest.fixture
def told() -> Iterator[Callable[..., str]]:
    """Starts a server that tells of one bulk operation what a test wants: its progress, then record after record."""
    servers: list[ThreadingHTTPServer] = []
    over = threading.Event()

    def start(*records: dict[str, Any] | int, progress: bytes | None = b"") -> str:
        left = list(records)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.answer(202, {"bulk_operation_id": "bulk_1", "status": "processing", "estimated_total": 4})

            def do_GET(self) -> None:
                if not self.path.endswith("/progress"):
                    record = left.pop(0)
                    if isinstance(record, int):
                        self.answer(record, {"error": "not now", "code": "UNHEALTHY"})
                    else:
                        self.answer(200, {"id": "bulk_1", "total": 4, "processed": 2, "affected": 1, **record})
                    return
                self.send_response(200)
                self.send_header("content-length", "1000")
                self.end_headers()
                if progress is None:
                    over.wait(30)
                else:
                    self.wfile.write(progress)

            def answer(self, status: int, body: dict[str, Any]) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    over.set()
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_failed_operation_is_an_error(do: Do, told: Callable[..., str]) -> None:
    failed = {"status": "failed", "error": "cancelled"}

    run = do("bulk", "delete", "--filter", "{}", "--server", told(failed))
    assert (run.exit_code, run.stdout) == (1, "Bulk operation bulk_1 started (4 jobs)\n")
    assert run.stderr == "Error: the bulk operation failed after 2 jobs: cancelled\n"
    run = do("bulk", "delete", "--filter", "{}", "-o", "json", "--server", told(failed))
    assert (run.exit_code, json.loads(run.stdout)["status"]) == (1, "failed")


@pytest.mark.parametrize(("status", "code"), [("completed", 0), ("failed", 1)])
def test_what_could_not_be_changed_is_listed_on_stderr(
    do: Do, told: Callable[..., str], status: str, code: int
) -> None:
    failures = [{"job_id": "job_1", "error": "it is dead"}, {"job_id": "job\x1b[2J", "error": "not\nfound"}]
    record = {"status": status, "processed": 9, "affected": 4, "failures": failures}

    run = do("bulk", "delete", "--filter", "{}", "--server", told(record))
    assert run.exit_code == code
    expected = "Not changed: 5\n  job_1: it is dead\n  job\\x1b[2J: not found\n  and 3 more\n"
    assert run.stderr.removesuffix("Error: the bulk operation failed after 9 jobs: no reason was given\n") == expected


def test_when_the_progress_breaks_off_the_records_are_asked_for(do: Do, told: Callable[..., str]) -> None:
    event = b'event: bulk.async.progress\ndata: {"status":"running","total":4,"processed":1,"affected":1}\n\n: x\n\nda'

    url = told({"status": "running"}, 503, 429, {"status": "completed", "affected": 3}, progress=event)
    run = do("bulk", "delete", "--filter", "{}", "--server", url)
    assert (said(run).splitlines()[-1], run.stderr) == ("Affected: 3 of 4 jobs", "")


def test_an_operation_that_the_server_does_not_know_any_more_is_an_error(do: Do, told: Callable[..., str]) -> None:
    run = do("bulk", "delete", "--filter", "{}", "--server", told(404))
    assert (run.exit_code, run.stderr) == (1, "Error: not now\n")
