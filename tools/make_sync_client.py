"""Makes `client.py` from `async_client.py`: the same without `async` and `await`, on the blocking transport.

Run it after every change of `async_client.py`; with `--check` it only says whether that was forgotten.
"""

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).parent.parent / "src/rookery/client"
SOURCE, TARGET = CLIENT / "async_client.py", CLIENT / "client.py"

HEAD = '''"""`Client`: everything that a Rookery server can be asked for. May be used by many threads at a time.

Made from `async_client.py` by `tools/make_sync_client.py`: change that one.
"""
'''

REPLACEMENTS = (
    (r"import asyncio\n", "import time\n"),
    (r"\baclosing\b", "closing"),
    (r"asyncio\.sleep", "time.sleep"),
    (r"\bmonotonic\(", "time.monotonic("),
    (r"from time import monotonic\n", ""),
    (r"rookery\.client\.transport\.nonblocking", "rookery.client.transport.blocking"),
    (r"\bAsyncGenerator\[([^]]+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"\bAsync(Client|HttpTransport|Transport|StreamedResponse|Iterator)\b", r"\1"),
    (r"A Rookery server, in an event loop\.", "A Rookery server. Threads may share it."),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\basync (def|with|for) ", r"\1 "),
    (r"\(await ([\w.]+\([^()]*\))\)", r"\1"),
    (r"\bawait ", ""),
)


def make() -> str:
    """The text of `client.py`."""
    text = SOURCE.read_text().split('"""\n', 1)[1]
    for pattern, replacement in REPLACEMENTS:
        text = re.sub(pattern, replacement, text)
    fixed = _ruff(HEAD + text, "check", "--fix", "--unsafe-fixes", "--quiet", "--select", "I,UP028")
    return _ruff(fixed, "format")


def _ruff(text: str, *arguments: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    command = [ruff if ruff.exists() else "ruff", *arguments, "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_text() == make() else f"{TARGET} is out of date: run tools/make_sync_client.py")
    TARGET.write_text(make())
