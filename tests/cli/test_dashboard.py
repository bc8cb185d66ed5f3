"""The screen of `rookery top`: how it looks, and what its keys do, against a real server."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from rookery.cli.dashboard.app import Dashboard
from rookery.cli.dashboard.popups import KEYS
from tests.api.expectations import bury_job, finish_job
from tests.cli.screens import Screen, assert_looks_as_before, prepare, watch
from tests.conftest import Api, ServerProcess

StartServer = Callable[..., ServerProcess]
KEEP = ("--retention", "876000h", "--rate-limit-enabled=false")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Api:
    """A server whose jobs are always the same. Tests may look, no more."""
    server = ServerProcess(tmp_path_factory.mktemp("prepared") / "data", *KEEP)
    prepare(Api(server))
    yield Api(server)
    server.kill()


@pytest.fixture
def fresh(start_server: StartServer) -> Api:
    return Api(start_server(*KEEP))


# --- how it looks


@pytest.mark.parametrize(
    "size", [(80, 24), (160, 50), (124, 30), (60, 16), (40, 10)], ids=lambda size: f"{size[0]}x{size[1]}"
)
def test_it_looks_right_at_every_size(prepared: Api, size: tuple[int, int]) -> None:
    async def visit(screen: Screen) -> None:
        text = await screen.see("MemoryError" if size[1] > 24 else "emails", "pending")
        assert_looks_as_before(f"top-{size[0]}x{size[1]}", text)

    watch(prepared, visit, size)


def test_it_follows_the_size_of_the_terminal(prepared: Api) -> None:
    async def visit(screen: Screen) -> None:
        await screen.see("MemoryError", "paused")
        await screen.resize(80, 24)
        for _ in range(100):  # The panels find their new places one after the other.
            with suppress(AssertionError):
                assert_looks_as_before("top-80x24", await screen.see("emails", gone=("paused",)))
                return
            await asyncio.sleep(0.02)
        assert_looks_as_before("top-80x24", await screen.see("emails", gone=("paused",)))

    watch(prepared, visit, (160, 50))


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        ("job", ["tab", "tab", "enter"], ["Payload", '"to": "ada"']),
        ("queue", ["j", "j", "j", "enter"], ["since it was created"]),
        ("question", ["j", "p"], ["Pause emails?"]),
        ("help", ["question_mark"], ["these keys"]),
        ("filter", ["slash", *"smtp"], ["2 of 3"]),
        ("no-match", ["slash", *"xyzzy", "enter"], ["None of 5"]),
        ("sorted", ["s"], ["by pending"]),
    ],
)
def test_what_opens_looks_right(prepared: Api, name: str, keys: list[str], words: list[str]) -> None:
    async def visit(screen: Screen) -> None:
        await screen.see("emails")
        await screen.press(*keys)
        assert_looks_as_before(f"top-{name}", await screen.see(*words))

    watch(prepared, visit, (100, 30))


def test_a_worker_is_shown_with_its_queues(prepared: Api) -> None:
    async def visit(screen: Screen) -> None:
        await screen.see("worker-1")
        await screen.press("tab", "enter")
        text = await screen.see("started", "host      web-1")
        assert "│ jobs      1/10" in text
        assert "draining: takes" not in text
        assert "│   emails" in text
        assert "│   images" in text
        await screen.press("escape", "j", "enter")
        text = await screen.see("host      web-2", "draining: takes no more jobs")
        assert "│ jobs      1/5" in text

    watch(prepared, visit)


def test_an_empty_server_teaches_the_first_job(fresh: Api) -> None:
    async def visit(screen: Screen) -> None:
        text = await screen.see("rookery enqueue")
        assert f"rookery seed demo --server {fresh.server.url}" in text
        assert_looks_as_before("top-empty", text)

    watch(fresh, visit)


def test_no_escape_sequence_of_a_job_reaches_the_terminal(prepared: Api) -> None:
    async def visit(screen: Screen) -> None:
        assert "\x1b" not in await screen.see("MemoryError")
        await screen.press("tab", "tab", "G", "enter")
        assert "\x1b" not in await screen.see("Payload")

    watch(prepared, visit, (160, 50))


def test_thousands_of_queues_are_walked_through(fresh: Api) -> None:
    for start in range(0, 3000, 1000):
        jobs = [{"queue": f"q{number:04}"} for number in range(start, start + 1000)]
        assert fresh.post("/enqueue/batch", {"jobs": jobs}).status_code == 201

    async def visit(screen: Screen) -> None:
        await screen.see("q0000", "3,000")
        await screen.press("G")
        await screen.see("q2999", gone=("q0000",))
        await screen.press("slash", *"q1234", "enter")
        await screen.see("q1234", "1 of 3,000")
        await screen.press("escape", "home", "pagedown")
        await screen.see("3,000", gone=("1 of",))

    watch(fresh, visit)


def test_the_bars_tell_of_this_minute(fresh: Api) -> None:
    finish_job(fresh, "q")
    bury_job(fresh, "q")

    async def visit(screen: Screen) -> None:
        text = await screen.see("enqueued", "█")
        lines = {line.split()[0]: line for line in text.splitlines() if "/min" in line}
        assert [line.count("█") for line in lines.values()] == [1, 1, 1]

    watch(fresh, visit)


# --- keys


def test_arrows_and_letters_move_the_cursor_and_tab_goes_on(prepared: Api) -> None:
    async def visit(screen: Screen) -> None:
        await screen.see("emails")
        chosen = []
        for key in ("down", "j", "up", "k", "end", "home"):
            await screen.press(key)
            chosen.append(screen.app.query_one("#queues").chosen["name"])
        assert chosen[0] == chosen[2] == "emails"
        assert chosen[1] == "größe-数"
        assert chosen[3] == chosen[5] == "a.queue.with.a.very.long.name.that.no.column.can.show.as.a.whole"
        assert chosen[4] == "reports"
        focused = []
        for _ in range(3):
            await screen.press("tab")
            focused.append(screen.app.focused.id)
        assert focused == ["workers", "failures", "queues"]

    watch(prepared, visit)


def test_the_cursor_stays_on_its_queue_when_others_come(fresh: Api) -> None:
    fresh.enqueue("m")

    async def visit(screen: Screen) -> None:
        await screen.see("1 pending")
        fresh.enqueue("a")
        fresh.enqueue("z")
        await screen.see("3 pending")
        assert screen.app.query_one("#queues").chosen["name"] == "m"

    watch(fresh, visit)


def test_p_pauses_a_queue_after_a_question_and_resumes_it_without(fresh: Api) -> None:
    fresh.enqueue("a/b c")

    def is_paused() -> bool:
        return fresh.get("/queues").json()[0]["paused"]

    async def visit(screen: Screen) -> None:
        await screen.see("a/b c")
        await screen.press("p")
        await screen.see("Pause a/b c?")
        await screen.press("n")
        await screen.see(gone=("Pause a/b c?",))
        assert not is_paused()
        await screen.press("p")
        await screen.see("Pause a/b c?")
        await screen.press("y")
        await screen.see("a/b c is paused.", "‖ a/b c")
        assert is_paused()
        await screen.press("p")
        await screen.see("a/b c is resumed.", gone=("‖",))
        assert not is_paused()

    watch(fresh, visit)


def test_r_runs_a_dead_job_again(fresh: Api) -> None:
    job_id = bury_job(fresh, "q")

    async def visit(screen: Screen) -> None:
        await screen.see("boom")
        await screen.press("tab", "tab", "r")
        await screen.see(f"{job_id} runs again.", "No job is dead")

    watch(fresh, visit)
    assert fresh.job(job_id)["state"] == "pending"


def test_r_in_the_details_of_a_job_runs_it_again(fresh: Api) -> None:
    job_id = bury_job(fresh, "q")

    async def visit(screen: Screen) -> None:
        await screen.see("boom")
        await screen.press("tab", "tab", "enter")
        await screen.see("Payload")
        await screen.press("r")
        await screen.see("runs again.", gone=("Payload",))

    watch(fresh, visit)
    assert fresh.job(job_id)["state"] == "pending"


def test_what_the_server_refuses_is_said(prepared: Api) -> None:
    async def visit(screen: Screen) -> None:
        await screen.see("retrying")
        await screen.press("tab", "tab", "j", "r")
        await screen.see("cannot retry job job-031: it is retrying")

    watch(prepared, visit)


def test_keys_that_have_nothing_to_work_on_say_so(fresh: Api) -> None:
    async def visit(screen: Screen) -> None:
        await screen.see("no queues yet")
        await screen.press("p")
        await screen.see("There is no queue to pause.")
        await screen.press("r")
        await screen.see("There is no failed job to run again.")
        await screen.press("enter", "s", "G", "k")

    watch(fresh, visit)


def test_a_job_that_is_gone_by_now_is_said_to_be(fresh: Api) -> None:
    job_id = bury_job(fresh, "q")

    async def visit(screen: Screen) -> None:
        await screen.see("boom")
        assert fresh.delete(f"/jobs/{job_id}").status_code == 200
        await screen.press("tab", "tab", "enter")
        await screen.see("not found")

    watch(fresh, visit, interval=60)


@pytest.mark.parametrize(("key", "code"), [("q", 0), ("ctrl+c", 130), ("ctrl+q", 0)])
def test_it_is_left_by_key(prepared: Api, key: str, code: int) -> None:
    async def visit(screen: Screen) -> None:
        await screen.see("emails")
        await screen.press(key)

    assert watch(prepared, visit) == code


def test_ctrl_c_leaves_also_while_something_is_open(prepared: Api) -> None:
    async def visit(screen: Screen) -> None:
        await screen.see("emails")
        await screen.press("slash", "q", "question_mark")
        await screen.see(gone=("job-030",))
        await screen.press("ctrl+c")

    assert watch(prepared, visit) == 130


def test_every_key_of_the_help_is_bound() -> None:
    bound = {key for binding in Dashboard.BINDINGS for key in binding.key.split(",")}
    for keys, _ in KEYS:
        for key in keys.split():
            name = {"/": "slash", "?": "question_mark", "pgup": "pageup", "pgdn": "pagedown"}.get(key, key)
            assert name in bound | {"↑", "↓", "j", "k", "g", "G", "pageup", "pagedown", "tab", "enter"}


# --- when the server is away


def test_a_server_that_goes_away_is_said_to_and_comes_back(start_server: StartServer, unused_port: int) -> None:
    server = start_server(*KEEP, "--bind", f"127.0.0.1:{unused_port}")
    api = Api(server)
    api.enqueue("q")

    async def visit(screen: Screen) -> None:
        await screen.see("1 pending")
        server.kill()
        await screen.see("cannot talk to", "As it was at", "1 pending")
        await screen.press("question_mark")
        await screen.see("these keys")
        await screen.press("escape", "p")
        await screen.see("Pause q?")
        await screen.press("y")
        await screen.see("cannot talk to")
        server.start()
        api.enqueue("q")
        await screen.see("2 pending", gone=("cannot talk to",))

    watch(api, visit)


def test_a_server_that_was_never_there_is_waited_for(start_server: StartServer, unused_port: int) -> None:
    server = start_server(*KEEP, "--bind", f"127.0.0.1:{unused_port}")
    server.kill()

    async def visit(screen: Screen) -> None:
        await screen.see("cannot talk to", "Waiting for the server", gone=("As it was",))
        server.start()
        await screen.see("no queues yet", gone=("cannot talk to",))

    watch(Api(server), visit)


def test_a_wrong_password_is_said(start_server: StartServer) -> None:
    api = Api(start_server("--admin-password", "secret"))

    async def visit(screen: Screen) -> None:
        await screen.see("missing API key")

    watch(api, visit)
