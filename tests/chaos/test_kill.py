"""A server that is killed again and again at random moments loses nothing that it has acknowledged."""

import random
import threading
from collections.abc import Callable
from typing import Any

import apsw
import httpx

from tests.conftest import NO_TLS, ServerProcess, wait_for

SHORT_ROUNDS = 20
LONG_ROUNDS = 300
QUEUE = "chaos"


class Acknowledged:
    """What the server has said yes to, over all rounds."""

    def __init__(self) -> None:
        self.enqueued: set[str] = set()
        self.acked: set[str] = set()
        self.failed: set[tuple[str, int]] = set()

    @property
    def count(self) -> int:
        return len(self.enqueued) + len(self.acked) + len(self.failed)


class Load:
    """Producers and workers that go on until the server is gone."""

    def __init__(self, url: str, said: Acknowledged) -> None:
        self._url = url
        self._said = said
        self._stop = threading.Event()
        loops = [self._enqueue_one, self._enqueue_many, self._work, self._work, self._work_in_batches]
        self._threads = [threading.Thread(target=self._repeat, args=(loop,)) for loop in loops]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, step: Callable[[httpx.Client], None]) -> None:
        with httpx.Client(base_url=f"{self._url}/api/v1", timeout=10, verify=NO_TLS) as http:
            while not self._stop.is_set():
                try:
                    step(http)
                except httpx.HTTPError:
                    return

    def _enqueue_one(self, http: httpx.Client) -> None:
        answer = http.post("/enqueue", json={"queue": QUEUE, "retry_backoff": "none", "max_retries": 50})
        assert answer.status_code == 201, answer.text
        self._said.enqueued.add(answer.json()["job_id"])

    def _enqueue_many(self, http: httpx.Client) -> None:
        jobs = [{"queue": QUEUE, "retry_backoff": "none", "max_retries": 50}] * 7
        answer = http.post("/enqueue/batch", json={"jobs": jobs, "batch": {}})
        assert answer.status_code == 201, answer.text
        self._said.enqueued.update(answer.json()["job_ids"])

    def _work(self, http: httpx.Client) -> None:
        answer = http.post("/fetch", json={"queues": [QUEUE], "timeout": 1, "lease_duration": 1})
        if answer.status_code != 200:
            return
        job = answer.json()
        body: dict[str, Any] = {"lease_token": job["lease_token"]}
        if random.random() < 0.3:
            answer = http.post(f"/fail/{job['job_id']}", json={**body, "error": "no luck"})
            if answer.status_code == 200:
                self._said.failed.add((job["job_id"], job["attempt"]))
        else:
            answer = http.post(f"/ack/{job['job_id']}", json=body)
            if answer.status_code == 200:
                self._said.acked.add(job["job_id"])
        assert answer.status_code in (200, 409), answer.text

    def _work_in_batches(self, http: httpx.Client) -> None:
        answer = http.post("/fetch/batch", json={"queues": [QUEUE], "timeout": 1, "lease_duration": 60, "count": 5})
        jobs = answer.json()["jobs"]
        if not jobs:
            return
        acks = [{"job_id": job["job_id"], "lease_token": job["lease_token"]} for job in jobs]
        answer = http.post("/ack/batch", json={"acks": acks})
        if answer.status_code == 200 and answer.json()["acked"] == len(acks):
            self._said.acked.update(job["job_id"] for job in jobs)


def test_a_killed_server_loses_no_acknowledged_write(start_server: Callable[..., ServerProcess], is_long: bool) -> None:
    server = start_server("--rate-limit-enabled=false")
    said = Acknowledged()
    for round_number in range(LONG_ROUNDS if is_long else SHORT_ROUNDS):
        if round_number:
            server.start()
        load = Load(server.url, said)
        load.start()
        before = said.count
        wait_for(lambda before=before: said.count > before + 20)
        load._stop.wait(random.uniform(0, 0.5))
        server.kill()
        load.stop()
        store = apsw.Connection(str(server.data_dir / "rookery.db"))
        assert store.pragma("integrity_check") == "ok"
        check_nothing_is_lost(store, said)
        store.close()
    assert said.enqueued
    assert said.acked
    assert said.failed


def check_nothing_is_lost(store: apsw.Connection, said: Acknowledged) -> None:
    states: dict[Any, Any] = dict(store.execute("SELECT id, state FROM job"))
    errors = set(store.execute("SELECT job.id, error.attempt FROM error JOIN job ON job.seq = error.job"))
    assert said.enqueued <= states.keys()
    assert {job_id for job_id in said.acked if states[job_id] != "completed"} == set()
    assert said.failed <= errors
    counted: dict[Any, Any] = dict(store.execute("SELECT state, count(*) FROM job GROUP BY state"))
    columns = ("pending", "active", "completed", "dead", "retrying")
    kept = store.execute(f"SELECT {', '.join(columns)} FROM queue WHERE name = ?", (QUEUE,)).fetchone()
    assert kept is None or dict(zip(columns, kept, strict=True)) == {name: counted.get(name, 0) for name in columns}
