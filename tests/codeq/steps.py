"""What producers and workers do, as one call each."""

from typing import Any

from tests.codeq.conftest import Codeq

Record = dict[str, Any]


def create(producer: Codeq, command: str, payload: Any = None, **fields: Any) -> Record:
    """Add a task."""
    answer = producer.post("/tasks", {"command": command, "payload": {} if payload is None else payload, **fields})
    assert answer.status_code == 202, answer.text
    task: Record = answer.json()
    return task


def claim(worker: Codeq, *commands: str, **fields: Any) -> Record | None:
    """Lease a task, if there is one."""
    answer = worker.post("/tasks/claim", {"commands": list(commands), **fields})
    assert answer.status_code in (200, 204), answer.text
    assert answer.status_code == 200 or answer.content == b""
    return answer.json() if answer.status_code == 200 else None


def take(worker: Codeq, *commands: str, wait: int = 10, **fields: Any) -> Record:
    """Lease a task that is there or comes soon."""
    task = claim(worker, *commands, waitSeconds=wait, **fields)
    assert task is not None
    return task


def task(codeq: Codeq, task_id: str) -> Record:
    """A task as it is now."""
    answer = codeq.get(f"/tasks/{task_id}")
    assert answer.status_code == 200, answer.text
    found: Record = answer.json()
    return found


def complete(worker: Codeq, task_id: str, result: Any = None, **fields: Any) -> Record:
    """Submit a result."""
    answer = worker.post(
        f"/tasks/{task_id}/result", {"status": "COMPLETED", "result": {} if result is None else result, **fields}
    )
    assert answer.status_code == 200, answer.text
    submitted: Record = answer.json()
    return submitted


def nack(worker: Codeq, task_id: str, **fields: Any) -> Record:
    """Give up."""
    answer = worker.post(f"/tasks/{task_id}/nack", fields)
    assert answer.status_code == 200, answer.text
    outcome: Record = answer.json()
    return outcome
