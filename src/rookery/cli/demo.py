"""What the demo jobs are about: believable payloads, errors and log lines, by queue. Nothing here talks to a server."""

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

FATES: Final = (
    "completed",
    "pending",
    "dead",
    "completed",
    "scheduled",
    "active",
    "completed",
    "pending",
    "retrying",
    "completed",
    "held",
    "pending",
    "completed",
    "dead",
    "active",
    "completed",
    "pending",
    "cancelled",
    "completed",
    "retrying",
    "pending",
    "completed",
    "dead",
)
"""What becomes of the jobs, over and over. A prime number of them, so that every queue sees every fate."""

PEOPLE: Final = ("ada", "grace", "alan", "edsger", "barbara", "ken", "margaret", "linus")
MODELS: Final = (("small-1", "acme", 0.0004), ("large-2", "acme", 0.006), ("open-70b", "local", 0.0))


class DemoQueue(NamedTuple):
    """A queue, what its jobs carry, and what goes wrong with them."""

    name: str
    payload: Callable[[Random], dict[str, Any]]
    errors: tuple[tuple[str, str], ...]
    lines: tuple[tuple[str, str], ...]
    has_usage: bool = False


def _trace(file: str, line: int, call: str, error: str) -> str:
    return f'Traceback (most recent call last):\n  File "{file}", line {line}, in {call}\n{error}'


def _errors(*items: tuple[str, str, int, str]) -> tuple[tuple[str, str], ...]:
    return tuple((error, _trace(file, line, call, error)) for error, file, line, call in items)


QUEUES: Final = (
    DemoQueue(
        "demo.emails",
        lambda random: {
            "to": f"{random.choice(PEOPLE)}@example.com",
            "template": random.choice(["welcome", "receipt", "reset-password", "digest"]),
        },
        _errors(
            ("SMTPRecipientsRefused: 550 5.1.1 mailbox does not exist", "mail/send.py", 88, "deliver"),
            ("ConnectionRefusedError: [Errno 111] smtp.example.com:587", "mail/send.py", 41, "connect"),
        ),
        (("info", "rendered the template"), ("info", "connected to smtp.example.com"), ("warning", "greylisted")),
    ),
    DemoQueue(
        "demo.images",
        lambda random: {"key": f"uploads/{random.randrange(1000, 9999)}.jpg", "width": random.choice([320, 640, 1280])},
        _errors(
            ("UnidentifiedImageError: cannot identify image file", "media/resize.py", 27, "open_image"),
            ("MemoryError: image of 24000x18000 pixels", "media/resize.py", 52, "resize"),
        ),
        (("info", "downloaded 2.4 MB"), ("debug", "resized with lanczos"), ("info", "stored 3 sizes")),
    ),
    DemoQueue(
        "demo.payments",
        lambda random: {
            "invoice": f"INV-{random.randrange(10_000, 99_999)}",
            "amount": random.randrange(500, 90_000) / 100,
            "currency": random.choice(["EUR", "USD", "CHF"]),
        },
        _errors(
            ("CardDeclined: insufficient funds", "billing/charge.py", 63, "charge"),
            ("TimeoutError: the gateway did not answer in 30 s", "billing/gateway.py", 19, "post"),
        ),
        (("info", "asked the gateway"), ("warning", "the gateway is slow: 4.1 s"), ("info", "charged")),
    ),
    DemoQueue(
        "demo.reports",
        lambda random: {"report": random.choice(["revenue", "churn", "signups"]), "month": random.randrange(1, 13)},
        _errors(("OperationalError: canceling statement due to statement timeout", "reports/query.py", 140, "run")),
        (("info", "querying 3 tables"), ("info", "wrote 12,480 rows"), ("info", "uploaded the spreadsheet")),
    ),
    DemoQueue(
        "demo.summaries",
        lambda random: {"document": f"doc-{random.randrange(100, 999)}", "language": random.choice(["en", "de", "fr"])},
        _errors(
            ("RateLimitError: 429 from the model's provider", "ai/client.py", 71, "complete"),
            ("ValueError: the answer is not JSON", "ai/parse.py", 12, "parse"),
        ),
        (
            ("info", "sent 3,120 tokens"),
            ("warning", "the answer was cut off, asking again"),
            ("info", "summary stored"),
        ),
        has_usage=True,
    ),
)
PAUSED: Final = "demo.reports"
BATCHED: Final = "demo.images"
CHAIN: Final = ("demo.images", "demo.reports", "demo.emails")
SCHEDULE: Final = {"name": "demo-nightly-report", "queue": PAUSED, "cron": "0 3 * * *", "timezone": "Europe/Berlin"}
WORKERS: Final = (("demo-web-1.4211", "web-1"), ("demo-web-2.3390", "web-2"), ("demo-gpu-1.871", "gpu-1"))
HOLDS: Final = (
    "amount above the limit, needs a second pair of eyes",
    "customer asked to wait",
    "check the address first",
)


def usage(random: Random) -> dict[str, Any]:
    """What a language model has cost."""
    model, provider, price = random.choice(MODELS)
    tokens = random.randrange(800, 6000)
    return {
        "input_tokens": tokens,
        "output_tokens": tokens // 5,
        "cache_read_tokens": tokens // 2,
        "cache_creation_tokens": tokens // 8,
        "model": model,
        "provider": provider,
        "cost_usd": round(tokens / 1000 * price, 6),
    }
