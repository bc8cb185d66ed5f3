"""Whole lives of jobs, by the load of `rookery bench`."""

import uvloop

from bench.server import Running
from rookery.cli.load.figures import Phase
from rookery.cli.load.lane import Patience
from rookery.cli.load.phases import run_load
from rookery.cli.load.settings import Settings
from rookery.cli.remote import Remote

BATCH = 64
CONCURRENCY = 10


def lives(server: Running, protocol: str, jobs: int) -> float:
    """Jobs a second: enqueued, claimed and ended at the same time, in batches of 64, from one process."""
    url = f"http://127.0.0.1:{server.port}"
    settings = Settings(
        server=url,
        protocol=protocol,
        jobs=jobs,
        concurrency=CONCURRENCY,
        workers=1,
        worker_queues=False,
        queue=f"lives.{protocol}",
        enqueue_batch_size=BATCH,
        fetch_batch_size=BATCH,
        ack_batch_size=BATCH,
        work_duration=0,
        combined=True,
        repeats=1,
        repeat_pause=0,
    )
    phases: list[Phase] = []
    uvloop.run(run_load(settings, Remote(url, None, None), Patience(), lambda *told: phases.append(told[3])))
    return phases[0].jobs / phases[0].seconds
