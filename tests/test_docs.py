"""What the documents say is so."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from rookery.cli.server import command as server_command
from rookery.http.gate import API_ROUTES
from rookery.model.job import STATES

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_the_readmes_example_without_a_server_runs(tmp_path: Path) -> None:
    example = next(block for block in python_blocks("README.md") if "Machine(" in block)
    run = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert (run.returncode, run.stdout) == (0, "{'to': 'a@example.com'}\n"), run.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_guide_to_the_web_ui_shows_every_picture_there_is() -> None:
    guide = (ROOT / "docs/web-ui.md").read_text()
    assert [picture.name for picture in sorted(ROOT.glob("docs/ui/*.png")) if f"(ui/{picture.name})" not in guide] == []


def test_the_architecture_names_only_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = re.findall(r"`((?:engine|store|node|http|log|cli|model|client|testing|queuectl)/[\w./]*)`", text)
    assert named
    assert [name for name in named if not (ROOT / "src/rookery" / name).exists()] == []


def test_the_architecture_knows_every_rule() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rules = {path.name for path in (ROOT / "src/rookery/engine").glob("*.py")} - {"__init__.py"}
    assert {rule for rule in rules if rule not in text} == set()


def test_every_state_is_in_the_state_diagram() -> None:
    text = (ROOT / "docs/state-machine.md").read_text()
    assert [state for state in STATES if f"`{state}`" not in text or f" {state}" not in text] == []


def test_every_flag_of_the_server_says_what_it_does() -> None:
    options = [option for option in server_command.params if isinstance(option, click.Option) and not option.hidden]
    assert [option.name for option in options if not option.help] == []


def test_every_route_and_every_field_of_a_request_is_described() -> None:
    assert [route.path for route in API_ROUTES if not route.summary or not route.tag] == []
    undescribed = [
        f"{route.request.__name__}.{name}"
        for route in API_ROUTES
        if route.request is not None
        for name, hint in route.request.__annotations__.items()
        if "__metadata__" not in dir(hint)
    ]
    assert undescribed == []
