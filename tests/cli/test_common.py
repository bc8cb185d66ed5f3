"""What all commands have in common: flags, streams, exit codes, and that each says what it is for."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module

import click
import pytest

from rookery.cli import COMMANDS
from rookery.cli.flags import COMMON_FLAGS
from tests.cli.conftest import Do, Run, assert_failed, clean_environment, said
from tests.conftest import Api, ServerProcess

ENTRIES = {name: entry for entries in COMMANDS.values() for name, entry in entries.items()}
WITHOUT_SERVER = {"server", "worker", "dev", "restore", "bench", "completion", "version"}


def load(name: str) -> click.Command:
    module, _, attribute = ENTRIES[name].place.partition(":")
    command: click.Command = getattr(import_module(f"rookery.cli.{module}"), attribute)
    return command


def with_below(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for below in command.commands.values():
            yield from with_below(below)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_command_says_what_it_and_each_of_its_options_does(name: str) -> None:
    assert ENTRIES[name].text.endswith(".")
    for command in with_below(load(name)):
        assert command.help
        options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
        assert [option.name for option in options if not option.help] == []
        run = click.testing.CliRunner().invoke(command, ["--help"])
        assert (run.exit_code, run.stdout.startswith("Usage: ")) == (0, True)


@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in WITHOUT_SERVER])
def test_every_command_that_talks_to_a_server_takes_the_common_flags(name: str) -> None:
    for command in with_below(load(name)):
        if isinstance(command, click.Group) and not command.invoke_without_command:
            continue
        assert set(COMMON_FLAGS) - {"help"} <= {option.name for option in command.params}


def test_the_version_is_the_same_by_command_and_by_flag(rookery: Run) -> None:
    line = said(rookery("version"))

    assert re.fullmatch(r"rookery \S+ \(commit: .+, built: .+\)\n", line)
    assert said(rookery("--version")) == line
    assert set(json.loads(said(rookery("version", "--output", "json")))) == {"version", "commit", "date"}


# --- where the server is, and who asks


def test_the_flag_beats_the_variable_and_the_variable_beats_its_older_name(server: ServerProcess, rookery: Run) -> None:
    nowhere = "http://127.0.0.1:9"
    ways = [
        (["queues"], {"CORVO_URL": server.url}),
        (["queues"], {"ROOKERY_URL": server.url, "CORVO_URL": nowhere}),
        (["queues"], {"ROOKERY_URL": "", "CORVO_URL": server.url}),
        (["queues", "--server", server.url], {"ROOKERY_URL": nowhere}),
        (["--server", server.url, "queues"], {"ROOKERY_URL": nowhere}),
        (["--server", nowhere, "queues", f"--server={server.url}/"], {}),
        (["queues", "--server", server.url.removeprefix("http://")], {}),
    ]
    for arguments, env in ways:
        assert said(rookery(*arguments, env=env)).startswith("QUEUE")
    assert_failed(rookery("queues", env={"ROOKERY_URL": nowhere, "CORVO_URL": server.url}), nowhere)


def test_a_namespace_and_a_key_are_sent(tmp_path: object, start_server: object, rookery: Run) -> None:
    server: ServerProcess = start_server("--admin-password", "secret")  # type: ignore[operator]
    env = {"ROOKERY_URL": server.url}

    assert_failed(rookery("queues", env=env), "Error: missing API key")
    assert_failed(rookery("queues", "--api-key", "wrong", env=env), "Error: invalid API key")
    said(rookery("pause", "q", "--api-key", "secret", "--namespace", "team", env=env))
    assert "team::q " in said(rookery("queues", env={**env, "ROOKERY_API_KEY": "secret"}))
    key_and_space = {**env, "CORVO_API_KEY": "secret", "CORVO_NAMESPACE": "team"}
    assert "\nq " in said(rookery("queues", env=key_and_space))
    assert_failed(rookery("queues", "--api-key", "sécret", env=env), "Error: invalid API key")


# --- flags


def test_flags_stand_before_or_after_arguments_and_switches_may_be_set(api: Api, do: Do, queue: str) -> None:
    assert said(do("hold", "--reason", "why", api.enqueue(queue)))
    assert said(do("hold", api.enqueue(queue), "--reason=why"))
    assert json.loads(said(do("pause", queue, "--output-json=true"))) == {"status": "paused"}
    assert said(do("pause", "--output-json=false", queue)) == f"Queue {queue} paused\n"
    assert said(do("pause", "--output-json", "--output-json=false", queue)) == f"Queue {queue} paused\n"
    for flags in (["-o", "json"], ["-ojson"], ["--output=json"], ["--output", "json"], ["--output-json"]):
        assert json.loads(said(do("pause", *flags, queue))) == {"status": "paused"}
        assert json.loads(said(do(*flags, "pause", queue))) == {"status": "paused"}
    assert said(do("-o", "json", "pause", "-o", "table", queue)) == f"Queue {queue} paused\n"
    assert_failed(do("pause", queue, "--output-json=maybe"), "--output-json", code=2)
    assert_failed(do("pause", queue, "-o", "yaml"), "yaml", code=2)


def test_a_flag_in_front_of_a_command_that_does_not_heed_it_is_an_error(do: Do) -> None:
    assert_failed(do("--server", "http://x", "version"), "version takes no --server", code=2)
    assert said(do("--output", "json", "schedules")).startswith("[")
    assert said(do("schedules", "--output", "json")).startswith("[")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["queues", "extra"],
        ["queues", "--nonsense"],
        ["inspect"],
        ["inspect", "a", "b"],
        ["inspect", " "],
        ["pause", ""],
        ["move", "job_x"],
        ["schedules", "nonsense"],
        ["cluster", "nonsense"],
        ["cache", "nonsense"],
        ["queues", "--log-level", "loud"],
        ["budget", "list"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_an_error_of_its_own_kind(do: Do, arguments: list[str]) -> None:
    run = do(*arguments)

    assert_failed(run, code=2)
    assert run.stderr.startswith("Usage: ")


# --- streams


def test_a_server_that_is_not_there_is_named(rookery: Run) -> None:
    said = "cannot talk to http://127.0.0.1:9: Connection refused (is it running? `rookery server` starts one)"
    assert_failed(rookery("queues", "--server", "http://127.0.0.1:9"), f"Error: {said}\n")
    assert_failed(rookery("queues", "--server", "ftp://x"), "ftp://x")
    assert_failed(rookery("queues", "--server", "http://[x"), "http://[x")


def test_a_refusal_is_told_in_the_servers_words(ask: Run) -> None:
    run = ask("inspect", "job_x")

    assert (run.returncode, run.stdout, run.stderr) == (1, "", "Error: job job_x not found\n")


def test_requests_are_shown_when_asked_for(ask: Run) -> None:
    for arguments in (["queues", "--log-level", "debug"], ["--log-level", "debug", "queues"]):
        run = ask(*arguments)
        assert "\n" not in run.stderr.strip()
        assert re.match(r"GET http\S+/api/v1/queues: 200 in [\d.]+ ms", run.stderr)
    assert ask("queues").stderr == ""


def test_somebody_who_stops_reading_is_no_reason_for_a_traceback(api: Api, shell: Run, queue: str) -> None:
    api.post("/enqueue/batch", {"jobs": [{"queue": queue, "payload": "x" * 200}] * 2000})

    for form in ("table", "json"):
        run = shell(f"set +o pipefail; rookery search --queue {queue} -o {form} | head -n 1")
        assert run.returncode == 0
        assert run.stdout.count("\n") == 1
        assert "Traceback" not in run.stderr
        assert "BrokenPipe" not in run.stderr


def test_a_narrow_encoding_of_the_terminal_is_no_reason_for_a_traceback(api: Api, ask: Run, queue: str) -> None:
    job_id = api.enqueue(f"{queue}.邮", "邮")

    run = ask("search", "--queue", f"{queue}.邮", env={"PYTHONIOENCODING": "latin-1"})
    assert f"{job_id}  {queue}.\\u90ae  pending" in said(run)
    assert '"邮"' in said(ask("inspect", job_id, env={"PYTHONIOENCODING": "latin-1"}))


def test_an_argument_that_is_no_text_is_refused(server: ServerProcess) -> None:
    command = [os.fsencode(part) for part in (sys.executable, "-m", "rookery", "pause")]
    run = subprocess.run(
        [*command, b"\xff"], capture_output=True, text=True, timeout=60, env=clean_environment(ROOKERY_URL=server.url)
    )
    assert_failed(run, "not valid UTF-8")


def test_ctrl_c_ends_a_command_as_it_ends_others(api: Api, server: ServerProcess, queue: str) -> None:
    api.enqueue(queue)
    assert api.fetch(queue)
    command = [sys.executable, "-m", "rookery", "drain", queue, "--server", server.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as drain:
        assert drain.stdout is not None
        assert drain.stdout.readline() == f"Queue {queue} draining\n"
        drain.send_signal(signal.SIGINT)
        _, errors = drain.communicate(timeout=30)
    assert (drain.returncode, errors.strip()) == (130, "")
