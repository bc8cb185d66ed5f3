"""Why a job is not running."""

from functools import partial

from rookery.http.call import Answer, Call, Route, json_answer
from rookery.http.errors import not_found
from rookery.store.reasons import WhyView
from rookery.store.why import explain, queue_of


async def why(call: Call) -> Answer:
    """Everything that keeps a job from running, the binding reason first."""
    job_id, node = call.params["job_id"], call.node
    queue = queue_of(node.reader, job_id)
    last_asked = None if queue is None else node.last_asked(queue)
    found = await node.reads.run(
        partial(explain, job_id=job_id, now=node.clock.now(), last_asked=last_asked, namespace=call.namespace)
    )
    if found is None:
        raise not_found(f"job {job_id} not found")
    return json_answer(found)


ROUTES = [
    Route(
        method="GET",
        path="/api/v1/jobs/{job_id}/why",
        handler=why,
        summary="Why a job is not running: all reasons, the binding one first",
        answers={200: WhyView},
        tag="Jobs",
    ),
]
