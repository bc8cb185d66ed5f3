"""Restoring a backup document: every job is checked before the first is written, then they come back in chunks."""

import asyncio
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Final

import msgspec

from rookery.engine.ops import OldJob, Refusal, Restored, RestoreJobs
from rookery.http.backup import too_many
from rookery.http.call import Answer, Call, Parameter, Route, json_answer
from rookery.http.documents import Plan, RestoreRequest, read_document, unpacked
from rookery.http.errors import refused
from rookery.node.backups import TooManyAtOnce

LARGEST_DOCUMENT: Final = 1 << 30
JOBS_AT_ONCE: Final = 100
BYTES_AT_ONCE: Final = 1 << 20
"""A chunk of jobs ends at whichever comes first; it is written in one go, while everybody else waits."""


class RestoreAnswer(msgspec.Struct):
    """How many jobs came back, and how many were there already."""

    status: str
    restored_jobs: int
    skipped_jobs: int
    namespace: str


async def restore(call: Call) -> Answer:
    """Bring back what a document holds: settings first, then the jobs."""
    caller = call.namespace
    try:
        with call.node.backups.restoring():
            # The body has no name here, so that it is gone before the jobs are written.
            plan = await asyncio.to_thread(read_document, call, await call.body(LARGEST_DOCUMENT, is_patient=True))
            return await _carry_out(call, plan, caller)
    except TooManyAtOnce as error:
        raise too_many(error) from None


async def _carry_out(call: Call, plan: Plan, caller: str) -> Answer:
    answer, refusal = RestoreAnswer("ok", 0, 0, plan.namespace), None
    async for result in call.node.apply_in_turn(chain(plan.settings, _chunks(plan.jobs, caller))):
        if isinstance(result, Restored):
            answer.restored_jobs += result.restored
            answer.skipped_jobs += result.skipped
        elif isinstance(result, Refusal):
            refusal = refusal or result
    if refusal is not None:
        raise refused(refusal, "VALIDATION_ERROR")
    return json_answer(answer)


def _chunks(jobs: deque[bytes], caller: str) -> Iterator[RestoreJobs]:
    """The jobs, few enough at a time that nobody waits long for them to be written; they are gone once they are out."""
    while jobs:
        chunk: list[OldJob] = []
        size = 0
        while jobs and len(chunk) < JOBS_AT_ONCE and size < BYTES_AT_ONCE:
            size += len(jobs[0])
            chunk.append(unpacked(jobs.popleft()))
        yield RestoreJobs(jobs=chunk, namespace=caller)


ROUTES = [
    Route(
        method="POST",
        path="/api/v1/admin/restore",
        handler=restore,
        summary="Bring back what a backup document holds",
        request=RestoreRequest,
        answers={200: RestoreAnswer},
        parameters=(Parameter("namespace", "Where to, instead of where the document says"),),
        tag="Backup",
    ),
]
