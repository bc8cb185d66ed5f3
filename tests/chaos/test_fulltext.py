"""The full-text index of a server that is killed again and again never says anything wrong."""

import random
from collections.abc import Callable

from tests.api.test_fulltext import index_of, wait_until_indexed
from tests.chaos.test_kill import QUEUE, Acknowledged, Load
from tests.conftest import Api, ServerProcess, wait_for

SHORT_ROUNDS = 6
LONG_ROUNDS = 60


def test_a_killed_server_has_a_whole_index_when_it_runs_again(
    start_server: Callable[..., ServerProcess], is_long: bool
) -> None:
    server = start_server("--rate-limit-enabled=false")
    said = Acknowledged()
    for round_number in range(LONG_ROUNDS if is_long else SHORT_ROUNDS):
        if round_number:
            server.start()
        load = Load(server.url, said)
        load.start()
        load._stop.wait(random.uniform(0.3, 1.5))
        if round_number % 3 == 2:
            Api(server).post("/admin/rebuild-sqlite")
        server.kill()
        load.stop()
    server.start()
    wait_until_indexed(server)
    assert "making it anew" not in server.log.read_text()
    api = Api(server)

    def is_right() -> bool:
        counts = api.get(f"/queues/{QUEUE}").json()
        return all(
            len(ids) == counts[state]
            and all(api.job(job_id)["state"] == state for job_id in random.sample(ids, min(20, len(ids))))
            for state, ids in index_of(server).items()
        )

    # Leases go on running out, and the index hears of that a second later.
    wait_for(is_right)
    assert len(said.enqueued) > 100
