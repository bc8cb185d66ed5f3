"""Help comes at once, mistakes are met with a hint, and shells can complete."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.cli import COMMANDS, main
from tests.cli.conftest import Run

NAMES = [name for entries in COMMANDS.values() for name in entries]
HEAVY = [
    "apsw",
    "asyncio",
    "certifi",
    "cronsim",
    "httptools",
    "httpx",
    "json",
    "msgspec",
    "prometheus_client",
    "rich",
    "ssl",
    "starlette",
    "textual",
    "urllib.request",
    "uvicorn",
    "uvloop",
    "watchfiles",
    "websockets",
]


def loaded_by(*arguments: str, env: dict[str, str] | None = None) -> set[str]:
    """The modules that a run of the command has loaded by its end."""
    program = (
        "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        f"sys.argv = ['rookery', *{list(arguments)}]; from rookery.cli import main; main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, env={**os.environ, **(env or {})}
    )
    assert run.returncode == 0, run.stderr
    return set(run.stderr.split())


def test_help_loads_nothing_that_only_commands_need() -> None:
    assert loaded_by("--help") & set(HEAVY) == set()


def test_completing_a_command_loads_no_command() -> None:
    asked = {"_ROOKERY_COMPLETE": "bash_complete", "COMP_WORDS": "rookery ", "COMP_CWORD": "1"}

    loaded = loaded_by(env=asked)

    assert loaded & set(HEAVY) == set()
    assert {name for name in loaded if name.startswith("rookery.cli.")} == {"rookery.cli.flags"}


def test_help_names_every_command_with_a_line_about_it(rookery: Run) -> None:
    run = rookery("--help")
    assert (run.returncode, run.stderr) == (0, "")
    for entries in COMMANDS.values():
        for name, entry in entries.items():
            assert any(line.split()[:1] == [name] and entry.text[:20] in line for line in run.stdout.splitlines())


def test_without_a_command_there_is_help(rookery: Run) -> None:
    run = rookery()
    assert run.returncode == 2
    assert "Usage:" in run.stdout + run.stderr


@pytest.mark.parametrize(("typed", "meant"), [("serch", "search"), ("enque", "enqueue"), ("tpo", "top")])
def test_a_mistyped_command_is_met_with_the_nearest_one(rookery: Run, typed: str, meant: str) -> None:
    run = rookery(typed)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"No such command '{typed}'. Did you mean '{meant}'?" in run.stderr


def test_what_is_near_to_nothing_gets_no_hint(rookery: Run) -> None:
    run = rookery("xylophone")
    assert (run.returncode, run.stdout) == (2, "")
    assert "Did you mean" not in run.stderr


@pytest.fixture
def command_on_path(tmp_path: Path) -> dict[str, str]:
    """An environment in which `rookery` is a command."""
    script = tmp_path / "bin" / "rookery"
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nimport sys\nsys.argv[0] = 'rookery'\nfrom rookery.cli import main\nmain()\n"
    )
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{script.parent}:{os.environ['PATH']}"}


def complete_in_bash(env: dict[str, str], *words: str) -> list[str]:
    """What bash offers behind these words, the last of which is not finished."""
    program = f"""
        eval "$(rookery completion bash)"
        COMP_WORDS=({shlex.join(words)})
        COMP_CWORD={len(words) - 1}
        $(complete -p rookery | sed 's/.*-F \\([^ ]*\\) .*/\\1/') rookery
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    run = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=60, env=env)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout.split()


def test_bash_completes_commands(command_on_path: dict[str, str]) -> None:
    assert complete_in_bash(command_on_path, "rookery", "") == NAMES
    assert complete_in_bash(command_on_path, "rookery", "back") == ["backup"]


def test_bash_completes_flags_and_their_values(command_on_path: dict[str, str]) -> None:
    assert complete_in_bash(command_on_path, "rookery", "--log") == ["--log-level"]
    assert complete_in_bash(command_on_path, "rookery", "version", "--output-") == ["--output-json"]
    assert complete_in_bash(command_on_path, "rookery", "version", "--output", "j") == ["json"]
    assert complete_in_bash(command_on_path, "rookery", "completion", "f") == ["fish"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_the_script(command_on_path: dict[str, str]) -> None:
    program = 'autoload -U compinit && compinit -u && eval "$(rookery completion zsh)" && print $_comps[rookery]'
    run = subprocess.run(["zsh", "-fc", program], capture_output=True, text=True, timeout=60, env=command_on_path)
    assert run.stdout.strip() == "_rookery_completion", run.stderr


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes_commands(command_on_path: dict[str, str]) -> None:
    program = "rookery completion fish | source; complete -C 'rookery back'"
    run = subprocess.run(["fish", "-c", program], capture_output=True, text=True, timeout=60, env=command_on_path)
    assert run.stdout.startswith("backup"), run.stderr


@pytest.mark.parametrize(("kind", "words"), [("zsh", "rookery back"), ("fish", "rookery back")])
def test_every_shell_is_answered(rookery: Run, kind: str, words: str) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": "1" if kind == "zsh" else "back"}
    script = rookery("completion", kind).stdout
    assert "_ROOKERY_COMPLETE" in script
    assert f"{kind}_complete" in script

    program = "import sys; sys.argv = ['rookery']; from rookery.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "_ROOKERY_COMPLETE": f"{kind}_complete", **asked},
    )
    assert "backup" in run.stdout
    assert COMMANDS["Look after"]["backup"].text in run.stdout


def test_the_shell_is_told_by_the_environment(rookery: Run) -> None:
    told = rookery("completion", env={"SHELL": "/usr/bin/fish"})
    assert told.stdout == rookery("completion", "fish").stdout
    untold = rookery("completion", env={"SHELL": "/bin/unknown"})
    assert (untold.returncode, untold.stdout) == (2, "")
    assert "bash, zsh, fish" in untold.stderr


def test_the_completed_names_are_those_of_the_commands() -> None:
    assert list(main.list_commands(None)) == NAMES
