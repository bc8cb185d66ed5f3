"""A shell completes names of queues, if the server says them at once."""

import os
import subprocess
import sys

from tests.cli.conftest import clean_environment
from tests.conftest import Api, ServerProcess

PROGRAM = "from rookery.cli import main; main(prog_name='rookery')"


def completed(words: str, url: str, **variables: str) -> list[str]:
    """What a shell offers for the last of these words."""
    env = clean_environment(
        _ROOKERY_COMPLETE="bash_complete",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split(" ")) - 1),
        ROOKERY_URL=url,
        **variables,
    )
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env, timeout=30)
    assert run.stderr == ""
    return [line.partition(",")[2] for line in run.stdout.splitlines()]


def test_names_of_queues_are_completed(server: ServerProcess, api: Api) -> None:
    for name in ("emails", "emails.bulk", "reports"):
        api.enqueue(name)

    assert completed("rookery pause em", server.url) == ["emails", "emails.bulk"]
    assert completed("rookery search --queue rep", server.url) == ["reports"]
    assert completed("rookery drain", "http://127.0.0.1:9") == ["drain"]
    assert completed(f"rookery pause --server {server.url} rep", "http://127.0.0.1:9") == ["reports"]
    assert completed("rookery pause em", "http://127.0.0.1:9") == []
    assert completed("rookery search --state dead,ca", server.url) == ["dead,cancelled"]
    assert os.environ.get("_ROOKERY_COMPLETE") is None
