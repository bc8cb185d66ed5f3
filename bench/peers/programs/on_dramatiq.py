"""Dramatiq: its defaults, which store no results."""

import dramatiq
import stopwatch
from dramatiq.brokers.redis import RedisBroker

broker = RedisBroker(url=stopwatch.SERVER)
dramatiq.set_broker(broker)


@dramatiq.actor
def send(to: str, template: str, n: int) -> None:
    stopwatch.mark(n)


def enqueue(n: int) -> None:
    send.send(**stopwatch.payload(n))


def left() -> int:
    """Messages that wait, and those that a worker holds."""
    held = sum(broker.client.scard(key) for key in broker.client.scan_iter("dramatiq:__acks__.*"))
    return int(broker.client.llen("dramatiq:default")) + held
