"""A bulk does to many jobs what the same operations do one by one."""

from typing import Any

from hypothesis import given, settings

from rookery.engine import Batch, Machine
from rookery.engine.bulk import ACTIONS
from rookery.engine.ops import AnyOperation, Bulk, BulkDone, ChangePriority, Done, JobOperation, Move
from tests.conftest import START
from tests.unit.test_determinism import bulks, dump, operations

LATER = START + 1000


def one_by_one(bulk: Bulk) -> list[Any]:
    """The operations on single jobs that a bulk stands for."""
    kind = ACTIONS[bulk.action]
    arguments: dict[type[JobOperation], dict[str, Any]] = {
        Move: {"queue": bulk.queue},
        ChangePriority: {"rank": bulk.rank},
    }
    return [kind(job_id=job_id, **arguments.get(kind, {})) for job_id in dict.fromkeys(bulk.job_ids)]


@settings(deadline=None, max_examples=150)
@given(operations(), bulks())
def test_a_bulk_does_what_single_operations_do(before: list[AnyOperation], bulk: Bulk) -> None:
    singles = one_by_one(bulk)
    with Machine() as together, Machine() as alone:
        for machine in (together, alone):
            machine.apply(Batch(START, before, entropy=7))

        [done] = together.apply(Batch(LATER, [bulk], entropy=9))
        results = alone.apply(Batch(LATER, singles, entropy=9))

        affected = sum(isinstance(result, Done) for result in results)
        assert done == BulkDone(affected, len(singles) - affected)
        assert dump(together) == dump(alone)
