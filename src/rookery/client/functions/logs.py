"""What handlers say through `logging`, kept in the logs of their jobs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rookery.client.functions.current import _current

CaptureLogs = bool | int | str
"""All records, none, or those from a level on."""

LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"
OFF: Final = logging.CRITICAL + 1


def capture_level(capture: CaptureLogs) -> int:
    """From which level on records are kept. Raises ValueError for a level nobody knows."""
    if capture is True:
        return logging.NOTSET
    if capture is False:
        return OFF
    if isinstance(capture, int):
        return capture
    level = logging.getLevelNamesMapping().get({"WARN": "WARNING"}.get(capture.upper(), capture.upper()))
    if level is None:
        raise ValueError(f"capture_logs: there is no level {capture!r}")
    return level


class JobLogHandler(logging.Handler):
    """Takes the records that are made for a job to its log; all others pass by."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record if it belongs to a job that wants it."""
        job = _current.get(None)
        if job is None or record.levelno < job.log_level or record.name.startswith("rookery."):
            return
        try:
            job.log(self.format(record), record.levelname.lower())
        except Exception:
            self.handleError(record)


@contextmanager
def capturing() -> Iterator[None]:
    """While it lasts, records of jobs are kept."""
    handler = JobLogHandler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
