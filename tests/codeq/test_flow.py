"""One whole story of producers and workers with tokens, as the contract tells it."""

import json
from pathlib import Path
from uuid import UUID

import httpx

from tests.codeq.conftest import StartCodeq, assert_error
from tests.codeq.steps import claim, complete, create, nack, take, task
from tests.conftest import wait_for

WORKER_SCOPES = ["codeq:claim", "codeq:heartbeat", "codeq:abandon", "codeq:nack", "codeq:result"]
VARIABLES = {
    "PRODUCER_AUTH_PROVIDER": "static",
    "PRODUCER_AUTH_CONFIG": json.dumps(["shop", {"token": "boss", "subject": "boss", "raw": {"role": "admin"}}]),
    "WORKER_AUTH_PROVIDER": "static",
    "WORKER_AUTH_CONFIG": json.dumps(
        [
            {"token": "ann", "subject": "ann", "eventTypes": ["RENDER_VIDEO", "Thumbnail"], "scopes": WORKER_SCOPES},
            {"token": "bob", "subject": "bob", "eventTypes": ["*"], "scopes": WORKER_SCOPES},
        ]
    ),
    "BACKOFF_POLICY": "fixed",
    "BACKOFF_BASE_SECONDS": "1",
}


def test_tasks_live_from_their_creation_to_their_cleanup(start_codeq: StartCodeq, tmp_path: Path) -> None:
    variables = {**VARIABLES, "LOCAL_ARTIFACTS_DIR": str(tmp_path / "artifacts")}
    codeq = start_codeq(variables)
    shop, boss, ann, bob = (codeq.like(token) for token in ("shop", "boss", "ann", "bob"))

    # A producer asks for three things, one of them twice.
    render = create(shop, "RENDER_VIDEO", {"video": 1}, priority=1, maxAttempts=2, idempotencyKey="order-1")
    assert UUID(render["id"]).version == 4
    assert create(shop, "RENDER_VIDEO", {"video": 1}, idempotencyKey="order-1") == render
    urgent = create(shop, "render_video", {"video": 2}, priority=5)
    later = create(shop, "Thumbnail", {"of": 2}, delaySeconds=1)
    assert boss.stats("Render_Video") == {
        "command": "Render_Video",
        "ready": 2,
        "delayed": 0,
        "inProgress": 0,
        "dlq": 0,
    }
    assert boss.stats("thumbnail")["delayed"] == 1

    # Nobody does what is another's to do.
    assert_error(ann.post("/tasks", {"command": "x", "payload": 1}), 401)
    assert shop.post("/tasks/claim", {}).status_code == 401
    assert_error(ann.post("/tasks/claim", {"commands": ["render_video"]}), 403, "event type not allowed")
    assert_error(shop.get("/admin/queues/thumbnail"), 401, "unauthorized. Admin only")

    # The urgent one goes first; its worker keeps it, and finishes it with an artifact.
    first = take(ann)
    assert (first["id"], first["command"], first["workerId"]) == (urgent["id"], "render_video", "ann")
    assert ann.post(f"/tasks/{first['id']}/heartbeat", {"extendSeconds": 60}).json() == {"ok": True}
    assert_error(bob.post(f"/tasks/{first['id']}/heartbeat", {}), 403, "not-owner")
    result = complete(ann, first["id"], {"frames": 24}, artifacts=[{"name": "a.txt", "contentBase64": "aGVsbG8="}])
    assert httpx.get(result["artifacts"][0]["url"]).text == "hello"
    answer = shop.get(f"/tasks/{first['id']}/result").json()
    assert (answer["task"]["status"], answer["result"]) == ("COMPLETED", result)

    # The other fails with one worker, is abandoned, comes again to another, and is lost: that was too often.
    assert take(ann, "RENDER_VIDEO")["attempts"] == 1
    assert nack(ann, render["id"], reason="disk full") == {"status": "requeued", "delaySeconds": 1}
    assert claim(ann, "RENDER_VIDEO") is None
    again = take(bob, "RENDER_VIDEO", leaseSeconds=1)
    assert (again["id"], again["attempts"]) == (render["id"], 2)
    wait_for(lambda: task(shop, render["id"])["status"] == "FAILED")
    assert task(shop, render["id"])["error"] == "LEASE_EXPIRED"
    assert_error(
        bob.post(f"/tasks/{render['id']}/result", {"status": "COMPLETED", "result": {}}), 409, "not-in-progress"
    )
    assert_error(shop.get(f"/tasks/{render['id']}/result"), 404, "result not found")
    assert boss.stats("render_video")["dlq"] == 1

    # The delayed one has come meanwhile, or does so now; it cannot be done, and that is its result.
    assert take(bob)["id"] == later["id"]
    failed = bob.post(f"/tasks/{later['id']}/result", {"status": "FAILED", "error": "no such video"})
    assert failed.json()["status"] == "FAILED"
    assert boss.stats("thumbnail") == {"command": "thumbnail", "ready": 0, "delayed": 0, "inProgress": 0, "dlq": 0}

    # All of it survives the server, until somebody cleans up.
    seen = [task(shop, one["id"]) for one in (render, urgent, later)]
    codeq.server.kill()
    codeq = start_codeq(variables)
    shop, boss = codeq.like("shop"), codeq.like("boss")
    assert [task(shop, one["id"]) for one in (render, urgent, later)] == seen
    assert boss.post("/admin/tasks/cleanup").json()["deleted"] == 0
    assert boss.post("/admin/tasks/cleanup", {"before": "2999-01-01T00:00:00Z"}).json()["deleted"] == 3
    assert_error(shop.get(f"/tasks/{render['id']}"), 404, "not found")
