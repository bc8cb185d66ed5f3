"""Who does the jobs of a test: finds the function for each, runs it, and tells the engine how it went."""

from collections.abc import Iterator, Sequence
from functools import partial
from http import HTTPStatus
from threading import Lock
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from rookery.client.functions.app import App, all_apps
from rookery.client.functions.claimed import ClaimedJob
from rookery.client.functions.current import CurrentJob
from rookery.client.functions.functions import JobFunction
from rookery.client.functions.logs import capturing
from rookery.client.functions.outcomes import Cancelled, Done, Failed, Snoozed, Steering
from rookery.client.transport.addresses import from_environment
from rookery.client.worker.outbox import Message, message_of
from rookery.client.worker.polling import VERBS, ClaimedJobs
from rookery.http.call import Answer
from rookery.model.job import DEAD
from rookery.model.names import DEFAULT_NAMESPACE
from rookery.testing.api import Added, MemoryApi
from rookery.testing.drained import Tally
from rookery.testing.expectations import name_of
from rookery.testing.running import Hands, Reports

WORKER: Final = "rookery.testing"
LEASE: Final = 86_400
"""Seconds. By the engine's clock a job takes no time, unless it moves that clock itself."""
MOST_FETCHED: Final = 512
MOST_RUNS: Final = 10_000
"""More than so many jobs in one go are taken for a job that enqueues itself for ever."""

NOT_TOLD: Final = Answer(HTTPStatus.CONFLICT)
"""Instead of the engine's answer: it has taken the job away itself."""
_WORDS: Final[dict[type, str]] = {
    Done: "completed",
    Snoozed: "snoozed",
    Cancelled: "cancelled",
}

AnyFunction = JobFunction[..., Any]


_read_fetched: Final = msgspec.json.Decoder(ClaimedJobs).decode


class Task(NamedTuple):
    """A job that was claimed, and who takes it."""

    namespace: str
    function: AnyFunction
    job: ClaimedJob


class Attempt(NamedTuple):
    """What a job that has failed has raised, and the jobs that were added because it ended."""

    error: BaseException | None
    followers: list[Added]


class Crew:
    """A worker for all the apps of the process, that works only when it is told to."""

    def __init__(self, api: MemoryApi, given: Sequence[App]) -> None:
        self.api = api
        self.used: dict[App, None] = dict.fromkeys(given)
        """The apps that the test has given or used: they go before others that happen to be there."""
        self._claiming = Lock()
        self.failures: list[str] = []
        """What went wrong, in words."""

    # --- who takes what

    def function_of(self, namespace: str, queue: str) -> AnyFunction | None:
        """The function that takes the jobs of a queue."""
        return next((f for f in self._functions(namespace) if f.queue == queue), None)

    def _apps(self) -> list[App]:
        others = [app for app in reversed(all_apps()) if app not in self.used]
        return [*self.used, *others]

    def _functions(self, namespace: str) -> Iterator[AnyFunction]:
        for app in self._apps():
            if namespace_of(app) == namespace:
                yield from app.functions.values()

    # --- claiming

    def next_task(self) -> Task | None:
        """Claim the next job that is ready and that a function takes."""
        for namespace in dict.fromkeys(map(namespace_of, self._apps())):
            queues = list(dict.fromkeys(function.queue for function in self._functions(namespace)))
            with self._claiming:
                jobs = self._fetch(namespace, queues, 1) if queues else []
            if jobs:
                return self._task(namespace, jobs[0])
        return None

    def task_for(self, namespace: str, queue: str, job_id: str) -> Task | None:
        """Claim this job, if it is ready and a function takes it; others that were ahead of it are put back."""
        if self.function_of(namespace, queue) is None:
            return None
        with self._claiming:
            for count in (1, MOST_FETCHED):
                wanted = None
                for job in self._fetch(namespace, [queue], count):
                    if job.job_id == job_id:
                        wanted = job
                    else:
                        self._post(namespace, f"release/{_quoted(job.job_id)}", {"lease_token": job.lease_token})
                if wanted is not None:
                    return self._task(namespace, wanted)
        return None

    def _fetch(self, namespace: str, queues: list[str], count: int) -> list[ClaimedJob]:
        want = {"queues": queues, "count": count, "worker_id": WORKER, "lease_duration": LEASE}
        return _read_fetched(self._send(namespace, "fetch/batch", want)[0].body).jobs

    def _task(self, namespace: str, job: ClaimedJob) -> Task:
        function = self.function_of(namespace, job.queue)
        assert function is not None
        return Task(namespace, function, job)

    # --- doing it

    async def do(self, task: Task, hands: Hands, tally: Tally) -> Attempt:
        """Run a job and tell the engine of its outcome."""
        tally.begun += 1
        if tally.begun > MOST_RUNS:
            raise RuntimeError(f"{MOST_RUNS} jobs were run and there are still more: does a job enqueue itself?")
        namespace, function, claim = task
        await hands.enter(function.app)
        raised: list[BaseException] = []
        job = CurrentJob(claim, Reports(partial(self._post, namespace)), function.app.state, function.log_level)
        with capturing():
            outcome = await hands.run(function, job, raised.append)
        error = raised[0] if raised and not isinstance(raised[0], Steering) else None
        message = message_of(outcome, claim.job_id, claim.lease_token)
        answer, followers = (NOT_TOLD, []) if message is None else self._send(namespace, _path(message), message)
        if answer.status != HTTPStatus.OK:
            tally.add("cancelled")
            return Attempt(None, followers)
        if not isinstance(outcome, Failed):
            tally.add(_WORDS[type(outcome)])
            return Attempt(None, followers)
        is_dead = msgspec.json.decode(answer.body)["status"] == DEAD
        tally.add(*(["failed", "dead"] if is_dead else ["failed"]), error=error)
        self.failures.append(_story(task, outcome))
        return Attempt(error, followers)

    def _post(self, namespace: str, path: str, record: Any) -> dict[str, Any]:
        answer: dict[str, Any] = msgspec.json.decode(self._send(namespace, path, record)[0].body)
        return answer

    def _send(self, namespace: str, path: str, record: Any) -> tuple[Answer, list[Added]]:
        headers = {"x-rookery-namespace": namespace}
        return self.api.exchange("POST", f"/api/v1/{path}", headers, msgspec.json.encode(record))


def namespace_of(app: App) -> str:
    """The namespace that an app works in."""
    return from_environment(app.namespace, "NAMESPACE") or DEFAULT_NAMESPACE


def _story(task: Task, outcome: Failed) -> str:
    where = f"{name_of(task.function)} [{task.job.job_id}], attempt {task.job.attempt}"
    return f"{where}: {outcome.error}\n{outcome.backtrace or ''}".rstrip()


def _path(message: Message) -> str:
    return f"{VERBS[type(message)]}/{_quoted(message.job_id)}"


def _quoted(job_id: str) -> str:
    return quote(job_id, safe="")
