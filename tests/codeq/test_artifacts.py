"""Artifacts of results: links, contents that are kept and served, names that lead nowhere else."""

import asyncio
import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config

from rookery.engine.ops import Cancel, Claim, Enqueue, NewJob
from rookery.http.call import Answer
from rookery.http.codeq.blobs import LocalBlobs
from rookery.http.codeq.face import CodeqFace
from rookery.http.codeq.settings import CodeqSettings
from rookery.http.settings import HttpSettings
from rookery.http.visit import Visit
from rookery.node.node import Node, NodeSettings
from tests.codeq.conftest import Codeq, StartCodeq, assert_error, codeq_variables
from tests.codeq.steps import Record, complete, create, take, task
from tests.conftest import ServerProcess, wait_for

CONTENT = bytes(range(256)) * 3


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "artifacts"


@pytest.fixture(scope="module")
def codeq(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Codeq]:
    """One server for all tests that need no other."""
    with codeq_variables({"LOCAL_ARTIFACTS_DIR": str(folder)}):
        server = ServerProcess(tmp_path_factory.mktemp("artifacts") / "data")
    yield Codeq(server)
    server.kill()


def start(codeq: Codeq) -> str:
    """A task that is worked on; its id."""
    task_id: str = create(codeq, "c")["id"]
    assert take(codeq, "c")["id"] == task_id
    return task_id


def submit(codeq: Codeq, task_id: str, *artifacts: Any) -> httpx.Response:
    body = {"status": "COMPLETED", "result": {}, "artifacts": list(artifacts)}
    return codeq.post(f"/tasks/{task_id}/result", body)


def files_of(folder: Path, task_id: str) -> dict[str, bytes]:
    """What is kept of a task, by name."""
    place = folder / "results" / task_id
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def kept(codeq: Codeq, *artifacts: Any) -> tuple[str, list[Record]]:
    """Finish a task with artifacts; its id, and how they are shown."""
    task_id = start(codeq)
    submitted = complete(codeq, task_id, artifacts=list(artifacts))
    assert codeq.get(f"/tasks/{task_id}/result").json()["result"] == submitted
    return task_id, submitted.get("artifacts", [])


# --- what becomes of them


def test_contents_are_kept_and_served_to_whoever_has_the_url(codeq: Codeq, folder: Path) -> None:
    task_id, (artifact,) = kept(
        codeq, {"name": "out/ä b.bin", "contentBase64": encoded(CONTENT), "contentType": "image/png"}
    )

    assert artifact.keys() == {"name", "url"}
    assert artifact["name"] == "out/ä b.bin"
    assert files_of(folder, task_id) == {"out/ä b.bin": CONTENT}
    answer = httpx.get(artifact["url"])
    assert (answer.status_code, answer.content) == (200, CONTENT)
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_of_two_results_of_one_task_in_a_batch_the_first_is_taken_however_long_its_contents_take(codeq: Codeq) -> None:
    task_id = start(codeq)
    content = {"name": "large", "contentBase64": encoded(CONTENT * 2000)}
    first = {"taskId": task_id, "status": "COMPLETED", "result": {"n": 1}, "artifacts": [content]}
    second = {"taskId": task_id, "status": "COMPLETED", "result": {"n": 2}}

    results = codeq.post("/tasks/batch/results", {"results": [first, second]}).json()["results"]

    assert results[0]["result"]["result"] == {"n": 1}
    assert results[1] == {"taskId": task_id, "error": "not-in-progress"}


def test_links_are_passed_on_what_is_neither_is_dropped_and_the_order_stays(codeq: Codeq, folder: Path) -> None:
    task_id, artifacts = kept(
        codeq,
        {"name": "last", "contentBase64": encoded(b"z")},
        {"name": "neither"},
        {"name": "empty", "url": "", "contentBase64": ""},
        {"name": "link", "url": "s3://elsewhere/x y", "contentBase64": encoded(b"ignored")},
        {"name": "first", "contentBase64": encoded(b"a")},
    )

    assert [artifact["name"] for artifact in artifacts] == ["last", "link", "first"]
    assert artifacts[1]["url"] == "s3://elsewhere/x y"
    assert files_of(folder, task_id) == {"last": b"z", "first": b"a"}


def test_nothing_is_shown_where_there_are_no_artifacts(codeq: Codeq) -> None:
    task_id = start(codeq)

    assert "artifacts" not in complete(codeq, task_id, artifacts=[{"name": "neither"}])


def test_failed_results_and_batches_have_artifacts_too(codeq: Codeq, folder: Path) -> None:
    failed, batched = start(codeq), start(codeq)
    artifact = {"name": "log.txt", "contentBase64": encoded(b"why")}

    answer = codeq.post(f"/tasks/{failed}/result", {"status": "FAILED", "error": "no", "artifacts": [artifact]})
    assert httpx.get(answer.json()["artifacts"][0]["url"]).content == b"why"
    many = codeq.post(
        "/tasks/batch/results",
        {"results": [{"taskId": batched, "status": "COMPLETED", "result": {}, "artifacts": [artifact]}]},
    )
    assert httpx.get(many.json()["results"][0]["result"]["artifacts"][0]["url"]).content == b"why"
    assert files_of(folder, failed) == files_of(folder, batched) == {"log.txt": b"why"}


@pytest.mark.parametrize("text", ["aGVsbG8=", "aGVsbG8", "aGVs\r\nbG8="])
def test_padding_may_be_missing_and_lines_may_be_broken(codeq: Codeq, text: str) -> None:
    _, (artifact,) = kept(codeq, {"name": "a", "contentBase64": text})

    assert httpx.get(artifact["url"]).content == b"hello"


def test_a_type_that_is_none_is_any(codeq: Codeq) -> None:
    for given in (None, "", "text", "text/html\r\nx: y", "text/html\r\n;x: y", "ü/x"):
        _, (artifact,) = kept(codeq, {"name": "a", "contentBase64": encoded(b"x"), "contentType": given})
        assert httpx.get(artifact["url"]).headers["content-type"] == "application/octet-stream"


def test_a_url_is_good_only_with_its_key_and_for_its_artifact(codeq: Codeq) -> None:
    _, (one, other) = kept(codeq, *({"name": name, "contentBase64": encoded(b"x")} for name in ("one", "other")))
    url, key = one["url"].split("?")

    for wrong in (
        *(url, f"{url}?key=", f"{url}?key=nonsense", f"{other['url'].split('?')[0]}?{key}"),
        *(one["url"].replace("/one", "/..%2Fone"), f"{url}%2F..%2Fother?{key}", f"{url}%00?{key}"),
    ):
        assert_error(httpx.get(wrong), 404, "not found")


def test_an_operator_may_say_under_which_address_artifacts_are_served(start_codeq: StartCodeq, tmp_path: Path) -> None:
    codeq = start_codeq({"LOCAL_ARTIFACTS_DIR": str(tmp_path / "kept"), "PUBLIC_URL": "https://jobs.example.org/x/"})

    task_id, (artifact,) = kept(codeq, {"name": "a", "contentBase64": encoded(b"x")})

    assert artifact["url"].startswith(f"https://jobs.example.org/x/v1/codeq/artifacts/{task_id}/a?key=")


# --- what is refused


BAD_NAMES = [
    *("..", "../x", "a/../../x", "a/..", "/etc/passwd", "//x", ".", "./x", "a//b", "a/", "a\0b", "a\nb"),
    *("a\\..\\b", "\\\\host\\x", "C:\\x", "x" * 256, "/".join(["x" * 200] * 5)),
]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("kind", ["content", "link"])
def test_a_name_that_leads_elsewhere_is_refused(codeq: Codeq, folder: Path, name: str, kind: str) -> None:
    task_id = start(codeq)
    fields = {"contentBase64": encoded(b"x")} if kind == "content" else {"url": "http://x/"}

    answer = submit(codeq, task_id, {"name": "fine", "contentBase64": encoded(b"x")}, {"name": name, **fields})

    assert_error(answer, 400)
    assert answer.json()["error"].startswith("invalid artifact name")
    assert task(codeq, task_id)["status"] == "IN_PROGRESS"
    assert files_of(folder, task_id) == {}


@pytest.mark.parametrize("name", [None, "", " "])
def test_a_name_is_required(codeq: Codeq, name: str | None) -> None:
    assert_error(submit(codeq, start(codeq), {"name": name, "url": "http://x/"}), 400, "artifact name is required")


@pytest.mark.parametrize("text", ["a", "aGVsbG8*", "aGVs bG8=", "aGVs=bG8", "aGVsbG8-_w", "ä"])
def test_bad_base64_is_refused_by_the_name_of_the_artifact(codeq: Codeq, folder: Path, text: str) -> None:
    task_id = start(codeq)

    answer = submit(
        codeq, task_id, {"name": "fine", "contentBase64": encoded(b"x")}, {"name": "bad.bin", "contentBase64": text}
    )

    assert_error(answer, 400, 'invalid base64 content of artifact "bad.bin"')
    assert task(codeq, task_id)["status"] == "IN_PROGRESS"
    assert files_of(folder, task_id) == {}


@pytest.mark.parametrize("names", [("a", "a"), ("a", "a/b"), ("a/b/c", "a")])
def test_two_contents_cannot_be_in_one_place(codeq: Codeq, folder: Path, names: tuple[str, str]) -> None:
    task_id = start(codeq)

    answer = submit(codeq, task_id, *({"name": name, "contentBase64": encoded(b"x")} for name in names))

    assert_error(answer, 400)
    assert files_of(folder, task_id) == {}
    assert task(codeq, task_id)["status"] == "IN_PROGRESS"


def test_who_does_not_hold_a_task_writes_nothing(codeq: Codeq, folder: Path) -> None:
    task_id = start(codeq)
    evil = {"name": "a", "contentBase64": encoded(b"evil")}

    assert_error(submit(codeq.like("another"), task_id, evil), 403, "not-owner")
    assert_error(submit(codeq, "nowhere", evil), 404, "task not found")
    assert files_of(folder, task_id) == {}
    complete(codeq, task_id, artifacts=[{"name": "a", "contentBase64": encoded(b"good")}])
    assert_error(submit(codeq, task_id, evil), 409, "not-in-progress")
    assert files_of(folder, task_id) == {"a": b"good"}


def test_a_link_in_the_folder_is_not_followed(codeq: Codeq, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    task_id = start(codeq)
    (folder / "results").mkdir(parents=True, exist_ok=True)
    (folder / "results" / task_id).symlink_to(outside)

    answer = submit(codeq, task_id, {"name": "x", "contentBase64": encoded(b"x")})

    assert_error(answer, 503, "artifacts cannot be stored")
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert task(codeq, task_id)["status"] == "IN_PROGRESS"
    (folder / "results" / task_id).unlink()
    url = complete(codeq, task_id, artifacts=[{"name": "x", "contentBase64": encoded(b"x")}])["artifacts"][0]["url"]
    (folder / "results" / task_id / "x").unlink()
    (folder / "results" / task_id / "x").symlink_to(outside / "secret")
    assert_error(httpx.get(url), 404, "not found")


def test_what_cannot_be_written_keeps_the_task_as_it_is(codeq: Codeq, folder: Path) -> None:
    task_id = start(codeq)
    (folder / "results").mkdir(parents=True, exist_ok=True)
    (folder / "results" / task_id).write_text("in the way")
    contents = [{"name": name, "contentBase64": encoded(b"x")} for name in ("x", "y")]

    assert_error(submit(codeq, task_id, *contents), 503, "artifacts cannot be stored")
    assert task(codeq, task_id)["status"] == "IN_PROGRESS"
    (folder / "results" / task_id).unlink()
    assert submit(codeq, task_id, *contents).status_code == 200


class Meddler(LocalBlobs):
    """Keeps contents, but only after somebody has done something to their task."""

    def __init__(self, root: Path, meddle: Callable[[str], None]) -> None:
        super().__init__(root)
        self._meddle = meddle

    def write(self, task_id: str, name: str, content: bytes) -> None:
        super().write(task_id, name, content)
        self._meddle(task_id)


def test_contents_are_gone_again_if_the_task_was_lost_while_they_were_written(tmp_path: Path) -> None:
    folder = tmp_path / "kept"

    async def lose_task() -> Answer:
        node = Node(NodeSettings(tmp_path / "data"))
        node.start()
        loop = asyncio.get_running_loop()

        def cancel(task_id: str) -> None:
            asyncio.run_coroutine_threadsafe(_submit(node, Cancel(job_id=task_id)), loop).result(10)

        face = CodeqFace(node, HttpSettings(), CodeqSettings(local_artifacts_dir=folder))
        face._artifacts._blobs = Meddler(folder, cancel)
        try:
            await node.submit(Enqueue(jobs=[NewJob(queue="c", id="t")]))
            await node.submit(Claim(queues=("c",), worker_id="anonymous"))
            body = {"status": "COMPLETED", "result": {}, "artifacts": [{"name": "a/b", "contentBase64": "aGVsbG8="}]}
            return await _ask(face, "/v1/codeq/tasks/t/result", body)
        finally:
            await node.stop()

    answer = asyncio.run(lose_task())

    assert (answer.status, json.loads(answer.body)) == (409, {"error": "not-in-progress"})
    assert list((folder / "results").iterdir()) == []


async def _submit(node: Node, op: Cancel) -> Any:
    return await node.submit(op)


async def _ask(face: CodeqFace, path: str, body: Any) -> Answer:
    messages = [{"type": "http.request", "body": json.dumps(body).encode()}]

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else await asyncio.Event().wait() or {}

    scope = {"method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": []}
    traffic = face._node.measures.traffic
    return await face.answer(scope, receive, Visit(traffic, traffic.of_others("POST"), 0.0))


# --- how long they stay


def test_artifacts_outlive_the_server_and_go_with_their_task(start_codeq: StartCodeq, tmp_path: Path) -> None:
    place = {"LOCAL_ARTIFACTS_DIR": str(tmp_path / "kept")}
    codeq = start_codeq(place)
    task_id, (artifact,) = kept(codeq, {"name": "a/b/c", "contentBase64": encoded(CONTENT)})
    codeq.server.kill()
    with codeq_variables(place):
        codeq.server.start()
    url = re.sub(r"^http://[^/]+", codeq.server.url, artifact["url"])
    assert httpx.get(url).content == CONTENT

    assert codeq.post("/admin/tasks/cleanup", {"before": "2999-01-01T00:00:00Z"}).json()["deleted"] == 1

    assert_error(httpx.get(url), 404, "not found")
    assert not (tmp_path / "kept" / "results" / task_id).exists()


# --- in a bucket


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Callable[[], dict[str, bytes]]]:
    """A bucket of a real service on loopback; called, its objects."""
    log = tmp_path / "moto.log"
    with log.open("wb") as out:
        service = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", "0"], stdout=out, stderr=out)
    try:
        match = wait_for(lambda: re.search(r"Running on (http://127\.\S+)", log.read_text()), timeout=60, alive=service)
        client = boto3.client(
            "s3",
            endpoint_url=match[1],
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            config=Config(s3={"addressing_style": "path"}),
        )
        client.create_bucket(Bucket="artifacts")

        def objects() -> dict[str, bytes]:
            listed = client.list_objects_v2(Bucket="artifacts").get("Contents", [])
            return {
                entry["Key"]: client.get_object(Bucket="artifacts", Key=entry["Key"])["Body"].read() for entry in listed
            }

        objects.endpoint = match[1]  # type: ignore[attr-defined]
        yield objects
        client.close()
    finally:
        service.kill()
        service.wait(45)


def test_contents_can_be_kept_in_a_bucket(
    bucket: Any, start_codeq: StartCodeq, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    codeq = start_codeq(
        {
            "ARTIFACTS_S3_BUCKET": "artifacts",
            "ARTIFACTS_S3_ENDPOINT": bucket.endpoint,
            "ARTIFACTS_S3_PREFIX": "/team/",
            "ARTIFACTS_S3_REGION": "us-east-1",
            "LOCAL_ARTIFACTS_DIR": str(tmp_path / "kept"),
        }
    )
    task_id, artifacts = kept(codeq, *({"name": f"n/{n}", "contentBase64": encoded(CONTENT)} for n in range(7)))
    other_id, _ = kept(codeq, {"name": "x", "contentBase64": encoded(b"other")})

    assert bucket() == {
        **{f"team/results/{task_id}/n/{n}": CONTENT for n in range(7)},
        f"team/results/{other_id}/x": b"other",
    }
    assert [httpx.get(artifact["url"]).content for artifact in artifacts] == [CONTENT] * 7
    assert not (tmp_path / "kept").exists()

    held = start(codeq)
    assert_error(submit(codeq.like("another"), held, {"name": "x", "contentBase64": encoded(b"x")}), 403, "not-owner")
    assert codeq.post("/admin/tasks/cleanup", {"before": "2999-01-01T00:00:00Z", "limit": 1}).json()["deleted"] == 1
    assert bucket() == {f"team/results/{other_id}/x": b"other"}


def test_a_bucket_that_is_not_there_keeps_the_task_as_it_is(
    bucket: Any, start_codeq: StartCodeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    codeq = start_codeq({"ARTIFACTS_S3_BUCKET": "nowhere", "ARTIFACTS_S3_ENDPOINT": bucket.endpoint})
    task_id = start(codeq)

    assert_error(
        submit(codeq, task_id, {"name": "x", "contentBase64": encoded(b"x")}), 503, "artifacts cannot be stored"
    )
    assert task(codeq, task_id)["status"] == "IN_PROGRESS"
