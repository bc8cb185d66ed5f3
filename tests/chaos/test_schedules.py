"""Kill the server around a slot: it is run once, before the kill or after it."""

import random
import time
from collections.abc import Callable

import apsw

from tests.conftest import Api, ServerProcess, wait_for


def test_a_slot_is_run_once_whenever_the_server_is_killed(
    start_server: Callable[..., ServerProcess], is_long: bool
) -> None:
    server = start_server("--rate-limit-enabled=false")
    api = Api(server)
    made = api.post("/schedules", {"name": "s", "queue": "q", "cron": "0 0 1 1 *"}).json()
    chance = random.Random(7)
    rounds = 40 if is_long else 5
    for number in range(1, rounds + 1):
        db = apsw.Connection(str(server.data_dir / "rookery.db"))
        db.set_busy_timeout(10_000)
        db.execute("UPDATE schedule SET next_run = ?", (int(time.time() * 1000),))
        db.close()
        time.sleep(chance.uniform(0, 1.1))
        server.kill()
        server.start()
        wait_for(lambda: api.get(f"/schedules/{made['id']}").json()["next_run"] == made["next_run"])
        assert api.get("/queues/q").json()["enqueued"] == number
