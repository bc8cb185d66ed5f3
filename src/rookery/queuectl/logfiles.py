"""Log files of jobs: a name that is safe whatever the job is called, and the last lines of a long file."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9._-]")
_UPPER: Final = re.compile(r"(?<!%)(?<!%[0-9A-F])[A-Z]")
_DEVICES: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
_LONGEST: Final = 200
_KEPT: Final = 100
_BLOCK: Final = 64 * 1024


def log_name(job_id: str, *, case_matters: bool = True) -> str:
    """The file name of a job's log: its id with `.log` behind it, and what no file should be called percent-encoded.

    No two ids have one name, unless `case_matters` is said where the file system sees no difference.
    """
    name = _UNSAFE.sub(_encoded, job_id.encode()).decode()
    if name.startswith(".") or _DEVICES.match(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if not case_matters:
        name = _UPPER.sub(lambda letter: f"%{ord(letter[0]):02X}", name)
    if len(name) > _LONGEST:
        from hashlib import sha256

        name = f"{name[:_KEPT]}~{sha256(job_id.encode()).hexdigest()}"
    return f"{name}.log"


def _encoded(match: re.Match[bytes]) -> bytes:
    return b"%%%02X" % match[0][0]


def read_tail(path: Path, lines: int | None = None) -> Iterator[bytes]:
    """A file in blocks, from its beginning or only its last lines."""
    with path.open("rb") as file:
        file.seek(0 if lines is None else _beginning_of_tail(file, lines))
        while block := file.read(_BLOCK):
            yield block


def _beginning_of_tail(file: BinaryIO, lines: int) -> int:
    """Where the last lines begin, looked for from the end; a line end at the very end of the file begins no line."""
    end = position = file.seek(0, os.SEEK_END)
    wanted = lines
    while position > 0 and wanted >= 0:
        start = max(0, position - _BLOCK)
        file.seek(start)
        block = file.read(position - start)
        at = len(block)
        while (at := block.rfind(b"\n", 0, at)) >= 0:
            if start + at == end - 1:
                continue
            wanted -= 1
            if wanted == 0:
                return start + at + 1
        position = start
    return 0 if lines else end
