"""The examples of the guide run as they stand."""

import re
from pathlib import Path

import pytest

from tests.testing.test_plugin import IS_INSTALLED

GUIDE = Path(__file__).parents[2] / "docs/testing.md"


def test_the_examples_of_the_guide_pass(pytester: pytest.Pytester) -> None:
    files = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    for name, text in files:
        (pytester.path / name).write_text(text)
    plugin = () if IS_INSTALLED else ("-p", "rookery.testing.plugin")

    result = pytester.runpytest(*plugin, "-p", "no:cacheprovider", "-W", "error", "--strict-markers")

    tests = [name for name, _ in files if name.startswith("test_")]
    assert len(tests) == 5
    result.assert_outcomes(passed=sum(text.count("def test_") for _, text in files))


def test_the_guide_shows_the_message_as_it_is(pytester: pytest.Pytester) -> None:
    shop = re.search(r"# shop.py\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert shop is not None
    (pytester.path / "shop.py").write_text(shop[1])
    (pytester.path / "test_message.py").write_text(
        "import shop\n\ndef test(rookery_fake):\n    shop.sign_up('ann')\n"
        "    rookery_fake.assert_enqueued(shop.send_email, to='bob@example.com', priority='high')\n"
    )
    plugin = () if IS_INSTALLED else ("-p", "rookery.testing.plugin")
    shown = re.search(r"```\n(AssertionError: no job.*?)\n```", GUIDE.read_text(), re.DOTALL)
    assert shown is not None

    result = pytester.runpytest(*plugin, "-p", "no:cacheprovider")

    said = "\n".join(
        line.removeprefix("E").removeprefix("       ") for line in result.outlines if line.startswith("E ")
    )
    assert re.sub(r"for \d{4}\S+Z", "for <time>", said) == re.sub(r"for \d{4}\S+Z", "for <time>", shown[1])
