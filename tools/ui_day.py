"""A believable day of a company's job server, for the pictures of the web UI.

It is lived through in memory by the engine itself, with time as data, and then written to a store.
"""

import heapq
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from rookery.cli.demo import QUEUES, DemoQueue, usage
from rookery.engine.ops import Delivery, RecordDeliveries, SaveWebhook, TellWebhooks
from rookery.node.data_dir import STORE
from rookery.testing.api import MemoryApi
from rookery.testing.node import MemoryNode

MINUTE: Final = 60_000
DAY: Final = 1_440
LONG_QUEUE: Final = (
    "warehouse.sync.eu-central-1.customer-data-platform.nightly-full-reconciliation-of-orders-and-returns.v2"
)
LONG_ERROR: Final = (
    "psycopg.errors.SerializationFailure: could not serialize access due to concurrent update while reconciling "
    "orders 88412039 to 88431207 of warehouse eu-central-1; the transaction was retried 5 times over 41.2 s and then "
    "given up, see https://runbooks.acme.example/warehouse/reconciliation#serialization-failures for what to do next"
)
DEEP: Final = {
    "order": {
        "id": 9007199254740993123,
        "total": 184467440737095516.15,
        "customer": {"id": "cus_9s6XKzkNRiz8i3", "tags": ["vip", "eu"], "address": {"city": "Zürich", "zip": "8004"}},
        "lines": [
            {"sku": "RK-1001", "quantity": 3, "price": {"amount": 1290, "currency": "CHF"}, "gift": None},
            {"sku": "RK-2040", "quantity": 1, "price": {"amount": 24900, "currency": "CHF"}, "gift": {"note": "🎂"}},
        ],
    },
    "callback": "https://api.acme.example/v2/orders/9007199254740993123/fulfilments?idempotency_key=01J9Z8Q7M2",
    "dry_run": False,
}
BROKEN_HOOK: Final = "wh_pager"

Body = dict[str, Any]


class Trade(NamedTuple):
    """How a queue is used: jobs a minute at noon, seconds that one takes, the share that fails, who works on it, and
    how many jobs at a time."""

    queue: DemoQueue
    per_minute: float
    seconds: float
    failing: float
    worker: tuple[str, str]
    slots: int

    @property
    def name(self) -> str:
        """Of the queue."""
        return self.queue.name.removeprefix("demo.")


EMAILS: Final = Trade(QUEUES[0], 6.0, 0.8, 0.02, ("mailer-1.4211", "web-1"), 10)
IMAGES: Final = Trade(QUEUES[1], 3.5, 4.5, 0.01, ("media-2.3390", "web-2"), 4)
PAYMENTS: Final = Trade(QUEUES[2], 1.6, 2.2, 0.06, ("billing-1.1187", "web-1"), 4)
REPORTS: Final = Trade(QUEUES[3], 0.2, 38.0, 0.03, ("reports-1.902", "batch-1"), 2)
SUMMARIES: Final = Trade(QUEUES[4], 1.1, 9.0, 0.05, ("gpu-a100-1.871", "gpu-1"), 3)
TRADES: Final = (EMAILS, IMAGES, PAYMENTS, REPORTS, SUMMARIES)
SILENT: Final = ("media-1.2207", "web-3")


class Story(NamedTuple):
    """Jobs of the day that have a picture of their own."""

    dead: str
    running: str
    held: str
    held_back: str
    chained: str
    dependent: str
    scheduled: str
    paused: str
    unserved: str
    long: str


class Day:
    """Everything that happens, in its order."""

    def __init__(self, end: int) -> None:
        self._end = end
        self._start = end - DAY * MINUTE
        self._node = MemoryNode(self._start)
        self._api = MemoryApi(self._node)
        self._random = Random(7)
        self._agenda: list[tuple[int, int, Callable[[], object]]] = []
        self._order = count()
        self._told: dict[str, str] = {}
        """Jobs that are part of the story, by their part."""

    def live(self, data_dir: Path) -> Story:
        """Live through it and write it down."""
        self._add_schedules()
        self._add_webhooks()
        for trade in TRADES:
            self._announce(trade, slots=trade.slots)
            self._plan(trade)
        self._plan_troubles()
        for minute in range(0, DAY, 20):
            self._at(self._start + minute * MINUTE, self._tell)
        while self._agenda:
            at, _, happen = heapq.heappop(self._agenda)
            self._pass_to(at)
            happen()
        self._pass_to(self._end)
        self._begin(EMAILS)
        self._tell()
        self._announce(SUMMARIES, draining=True)
        story = self._story()
        self._node.reader.execute("VACUUM INTO ?", (str(data_dir / STORE),))
        self._node.close()
        return story

    # --- time

    def _at(self, when: float, happen: Callable[[], object]) -> None:
        if when < self._end:
            heapq.heappush(self._agenda, (int(when), next(self._order), happen))

    def _pass_to(self, when: int) -> None:
        self._node.now = when
        self._node.settle()

    def _ago(self, minutes: float) -> int:
        return self._end - int(minutes * MINUTE)

    def _call(self, path: str, body: Body | None = None, method: str = "POST") -> Any:
        answer, _ = self._api.exchange(method, f"/api/v1{path}", body=json.dumps(body or {}).encode())
        assert answer.status < 300, answer.body
        return json.loads(answer.body)

    # --- the usual work

    def _announce(self, trade: Trade, **said: Any) -> None:
        """Its worker says something of itself."""
        worker_id, hostname = trade.worker
        self._call(f"/workers/{worker_id}", {"hostname": hostname, "queues": [trade.name], **said})

    def _plan(self, trade: Trade) -> None:
        """Jobs come by day more than by night, and never quite evenly."""
        for minute in range(DAY):
            at = self._start + minute * MINUTE
            hour = at / 3_600_000 % 24
            wanted = trade.per_minute * (0.65 - 0.45 * math.cos((hour - 3) / 12 * math.pi) + 0.2 * math.sin(minute / 9))
            for _ in range(int(max(0.0, wanted) + self._random.random())):
                self._at(at + self._random.randrange(MINUTE), lambda: self._arrive(trade))
            # Workers look again and again, and so find what schedules have added.
            if minute % 5 == 0:
                self._at(at + 30_000, lambda: self._work(trade))

    def _arrive(self, trade: Trade) -> None:
        self._enqueue(trade)
        self._at(self._node.now + self._random.expovariate(1 / 700), lambda: self._work(trade))

    def _enqueue(self, trade: Trade, **fields: Any) -> str:
        tags = {"tenant": self._random.choice(("acme", "globex", "initech", "hooli"))}
        priority = self._random.choices(("normal", "high", "critical"), (8, 2, 1))[0]
        job = {"queue": trade.name, "payload": trade.queue.payload(self._random), "tags": tags, "priority": priority}
        return str(self._call("/enqueue", {**job, "retry_base_delay": "20s", **fields})["job_id"])

    def _fetch(self, *queues: str, worker: tuple[str, str], count: int = 1) -> list[Body]:
        worker_id, hostname = worker
        who = {"worker_id": worker_id, "hostname": hostname, "lease_duration": 3600}
        jobs: list[Body] = self._call("/fetch/batch", {"queues": queues, "count": count, **who})["jobs"]
        return jobs

    def _hang(self, trade: Trade, worker: tuple[str, str], count: int) -> None:
        """Jobs that take very long."""
        for _ in range(count):
            self._enqueue(trade, priority="critical")
        self._fetch(trade.name, worker=worker, count=count)

    def _throttle(self) -> None:
        self._call("/queues/summaries/throttle", {"rate": 40, "period": "1h"})

    def _reconcile(self) -> None:
        """One job of which everything is long."""
        job = {"queue": LONG_QUEUE, "payload": DEEP, "max_retries": 1, "tags": {"warehouse": "eu-central-1" * 5}}
        job_id = self._call("/enqueue", job)["job_id"]
        (fetched,) = self._fetch(LONG_QUEUE, worker=("warehouse-reconciler-eu-central-1a-7f9c6d5b48-xk2lp", "k8s-17"))
        failure = {"lease_token": fetched["lease_token"], "error": LONG_ERROR}
        self._at(self._node.now + 41_200, lambda: self._call(f"/fail/{job_id}", failure))

    def _import(self) -> None:
        self._call("/enqueue", {"queue": "legacy.import", "payload": {"file": f"export-{self._node.now}.csv"}})

    def _work(self, trade: Trade) -> None:
        for job in self._fetch(trade.name, worker=trade.worker):
            takes = 1000 * trade.seconds * self._random.lognormvariate(0, 0.4)
            self._at(self._node.now + takes, lambda job=job: self._end_one(trade, job))  # type: ignore[misc]

    def _end_one(self, trade: Trade, job: Body) -> None:
        # The mail server and the payment gateway had their bad minutes, one of them lately.
        bad = {"emails": (33, 24), "payments": (400, 340)}.get(trade.name, (0, 0))
        is_bad = self._ago(bad[0]) < self._node.now < self._ago(bad[1])
        lease = {"lease_token": job["lease_token"]}
        if self._random.random() < (0.6 if is_bad else trade.failing):
            self._log(job, trade)
            error, backtrace = trade.queue.errors[-1 if is_bad else 0]
            failed = self._call(f"/fail/{job['job_id']}", {**lease, "error": error, "backtrace": backtrace})
            if failed["next_attempt_at"]:
                due = datetime.fromisoformat(failed["next_attempt_at"]).timestamp() * 1000
                self._at(due + 500, lambda: self._work(trade))
        else:
            spent = {"usage": usage(self._random)} if trade.queue.has_usage else {}
            self._call(f"/ack/{job['job_id']}", {**lease, "result": {"ok": True}, **spent})

    def _log(self, job: Body, trade: Trade) -> None:
        lines = [{"level": level, "message": message} for level, message in trade.queue.lines[:2]]
        self._call(f"/jobs/{job['job_id']}/logs", {"lease_token": job["lease_token"], "lines": lines})

    # --- beside jobs

    def _add_schedules(self) -> None:
        for name, queue, cron, zone, more in (
            ("nightly-revenue-report", "reports", "0 3 * * *", "Europe/Berlin", {}),
            ("digest-emails", "emails", "*/15 8-18 * * 1-5", "America/New_York", {"overlap": "skip"}),
            ("thumbnails-cleanup", "images", "30 */4 * * *", "UTC", {}),
            ("month-end-invoices-for-all-tenants-in-asia", "payments", "0 0 1 * *", "Asia/Tokyo", {}),
            ("weekly-churn", "reports", "0 7 * * 1", "Europe/Paris", {"enabled": False}),
        ):
            self._call("/schedules", {"name": name, "queue": queue, "cron": cron, "timezone": zone, **more})

    def _add_webhooks(self) -> None:
        for hook in (
            SaveWebhook(webhook_id="wh_chat", url="https://chat.acme.example/hooks/jobs", events=["dead"], secret="s"),
            SaveWebhook(
                webhook_id=BROKEN_HOOK,
                url="https://pager.acme.example/v2/enqueue?service=payments-and-billing-production-eu",
                events=["dead", "expired"],
                queues=["payments", "emails"],
            ),
            SaveWebhook(webhook_id="wh_audit", url="https://audit.acme.example/rookery", enabled=False),
        ):
            self._node.apply(hook)

    def _tell(self) -> None:
        """What happened is told to webhooks; one of them does not answer."""
        while self._node.apply(TellWebhooks()).more:
            pass
        waiting: list[Any] = self._node.reader.execute("SELECT id, target, body FROM outbox ORDER BY id").fetchall()
        for outbox_id, target, body in waiting:
            event = json.loads(body)
            is_broken = target == BROKEN_HOOK
            for _ in range(3 if is_broken else 1):
                came_of_it = Delivery(
                    webhook_id=target,
                    outbox_id=outbox_id,
                    event_seq=event["seq"],
                    event_type=event["type"],
                    status_code=503 if is_broken else 200,
                    duration_ms=self._random.uniform(80, 900),
                    error="the answer was 503 Service Unavailable" if is_broken else None,
                    answer="upstream connect error" if is_broken else "ok",
                )
                self._node.apply(RecordDeliveries(items=[came_of_it]))

    # --- what is out of the ordinary

    def _plan_troubles(self) -> None:
        """Of the last two hours."""
        for minutes, happen in (
            (70, lambda: self._call("/queues/reports/pause")),
            (54, self._split),
            (52, self._throttle),
            (47, lambda: self._hang(IMAGES, SILENT, 1)),
            (31, lambda: self._hold("amount above the limit, needs a second pair of eyes")),
            (22, lambda: self._call(f"/jobs/{self._enqueue(IMAGES, scheduled_at=self._in(60))}/cancel")),
            (18, self._link),
            (17, lambda: self._hold("customer asked to wait until the dispute about two invoices is settled")),
            (14, lambda: self._call(f"/jobs/{self._enqueue(REPORTS)}/cancel")),
            (12, self._reconcile),
            (9, self._postpone),
            (5, lambda: self._hold("check the address first")),
            (4, lambda: self._call("/queues/payments/concurrency", {"max": 4})),
            (3.9, lambda: self._hang(PAYMENTS, PAYMENTS.worker, 4)),
            (1.5, lambda: self._begin(SUMMARIES)),
        ):
            self._at(self._ago(minutes), happen)
        for minute in range(42):
            self._at(self._ago(minute + 0.5), self._import)

    def _split(self) -> None:
        parts = [{"queue": "summaries", "payload": {"document": f"book/{n}", "language": "en"}} for n in range(12)]
        self._call("/enqueue/batch", {"jobs": parts, "batch": {"callback_queue": "emails"}})

    def _link(self) -> None:
        """Jobs that wait for others, behind the pause."""
        steps = [{"queue": "reports"}, {"queue": "summaries", "payload": {"language": "de"}}, {"queue": "emails"}]
        self._told["chained"] = self._enqueue(REPORTS, chain={"steps": steps}, priority="critical")
        needed = [self._enqueue(REPORTS), self._told["chained"]]
        self._told["dependent"] = self._enqueue(EMAILS, depends_on=needed, payload={"to": "ada@example.com"})

    def _postpone(self) -> None:
        for minutes in (35, 90, 300, 1500, 4300):
            self._told["scheduled"] = self._enqueue(EMAILS, scheduled_at=self._in(minutes))

    def _hold(self, reason: str) -> None:
        self._told["held"] = self._enqueue(PAYMENTS, scheduled_at=self._in(1))
        self._call(f"/jobs/{self._told['held']}/hold", {"reason": reason})

    def _begin(self, trade: Trade) -> None:
        """Some jobs of a queue are being done, and tell how far they are."""
        if trade is SUMMARIES:
            self._call("/queues/summaries/throttle", method="DELETE")
        for _ in range(3):
            self._enqueue(trade, priority="critical")
        for number, job in enumerate(self._fetch(trade.name, worker=trade.worker, count=3)):
            self._log(job, trade)
            progress = {"current": 17 + 21 * number, "total": 90, "message": trade.queue.lines[1][1]}
            self._call("/heartbeat", {"jobs": {job["job_id"]: {"progress": progress}}})
        if trade is SUMMARIES:
            self._told["running"] = job["job_id"]
            self._throttle()

    def _story(self) -> Story:
        return Story(
            **self._told,
            dead=self._some("dead", "payments"),
            held_back=self._some("pending", "payments"),
            paused=self._some("pending", "reports"),
            unserved=self._some("pending", "legacy.import"),
            long=self._some("dead", LONG_QUEUE),
        )

    def _in(self, minutes: int) -> str:
        return (datetime.fromtimestamp(self._node.now / 1000, UTC) + timedelta(minutes=minutes)).isoformat()

    def _some(self, state: str, queue: str) -> str:
        found = self._call("/jobs/search", {"state": [state], "queue": queue, "limit": 1})["jobs"]
        return str(found[0]["id"])


def live_a_day(data_dir: Path) -> Story:
    """A store whose last day is over now."""
    return Day(int(datetime.now(UTC).timestamp() * 1000)).live(data_dir)
