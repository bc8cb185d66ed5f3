"""The reference of all commands is what they say of themselves."""

from rookery.cli import COMMANDS
from rookery.cli.reference import reference
from tests.test_docs import ROOT


def test_the_reference_is_up_to_date() -> None:
    assert (ROOT / "docs/cli.md").read_text() == reference(), "make docs writes it anew"


def test_the_reference_has_every_command() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    names = [name for entries in COMMANDS.values() for name in entries]
    assert [name for name in names if f"### rookery {name}\n" not in text] == []
