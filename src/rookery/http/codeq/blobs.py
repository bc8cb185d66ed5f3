"""Where the contents of artifacts are kept: a directory of this machine, or a bucket. Everything here blocks.

A blob is known by its task and its name. Names are relative paths that were checked; no symbolic link is followed below
the directory.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG
from typing import Any, Final, Protocol
from urllib.parse import quote

from rookery.http.codeq.settings import S3Bucket

FOLDER: Final = "results"
_DELETED_AT_ONCE: Final = 1000


class BlobsDown(Exception):
    """Contents cannot be stored or read now."""


class Blobs(Protocol):
    """A place for contents."""

    def write(self, task_id: str, name: str, content: bytes) -> None:
        """Keep a content; raises BlobsDown."""

    def read(self, task_id: str, name: str) -> bytes | None:
        """A content, if it is there; raises BlobsDown."""

    def remove(self, task_id: str, names: list[str]) -> None:
        """Forget some contents of a task."""

    def remove_all(self, task_id: str) -> None:
        """Forget all contents of a task."""


class LocalBlobs:
    """A directory: `results/<task>/<name>`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, task_id: str, name: str, content: bytes) -> None:
        """Whole or not at all: under another name first."""
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            *folders, last = _path(task_id, name)
            with self._folder(folders, create=True) as folder:
                _write_file(folder, last, content)
        except OSError as error:
            raise BlobsDown(str(error)) from error

    def read(self, task_id: str, name: str) -> bytes | None:
        """A content, if it is a file."""
        *folders, last = _path(task_id, name)
        try:
            with self._folder(folders) as folder:
                file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
                with os.fdopen(file, "rb") as content:
                    return content.read() if S_ISREG(os.fstat(file).st_mode) else None
        except OSError:
            return None

    def remove(self, task_id: str, names: list[str]) -> None:
        """Forget some contents, and folders that are empty then."""
        for name in names:
            *folders, last = _path(task_id, name)
            with suppress(OSError), self._folder(folders) as folder:
                os.unlink(last, dir_fd=folder)
            while len(folders) > 1:
                with suppress(OSError), self._folder(folders[:-1]) as folder:
                    os.rmdir(folders[-1], dir_fd=folder)
                folders.pop()

    def remove_all(self, task_id: str) -> None:
        """Forget the task's folder."""
        with suppress(OSError), self._folder([FOLDER]) as folder:
            shutil.rmtree(_segment(task_id), ignore_errors=True, dir_fd=folder)

    @contextmanager
    def _folder(self, folders: list[str], *, create: bool = False) -> Iterator[int]:
        """A folder below the root, opened step by step so that nothing leads out of it."""
        current = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in folders:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=current)
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=current)
                os.close(current)
                current = inner
            yield current
        finally:
            os.close(current)


def _path(task_id: str, name: str) -> list[str]:
    return [FOLDER, _segment(task_id), *name.split("/")]


def _segment(task_id: str) -> str:
    """A task's id as the name of a folder."""
    segment = quote(task_id, safe="")
    if segment.strip(".") == "":
        raise BlobsDown(f"task {task_id!r} can have no folder")
    return segment


def _write_file(folder: int, name: str, content: bytes) -> None:
    draft = f".{token_hex(8)}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(file)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
    os.fsync(folder)


class S3Blobs:
    """A bucket of an S3-compatible service: `<prefix>results/<task>/<name>`."""

    def __init__(self, bucket: S3Bucket) -> None:
        boto3, self._errors = import_module("boto3"), import_module("botocore.exceptions")
        config = import_module("botocore.config").Config(
            s3={"addressing_style": "path"} if bucket.endpoint else {}, retries={"mode": "standard", "max_attempts": 3}
        )
        self._bucket = bucket.name
        self._prefix = bucket.prefix
        self._client: Any = boto3.session.Session().client(
            "s3", endpoint_url=bucket.endpoint, region_name=bucket.region, config=config
        )

    def write(self, task_id: str, name: str, content: bytes) -> None:
        """Put an object."""
        with self._faults():
            self._client.put_object(Bucket=self._bucket, Key=self._key(task_id, name), Body=content)

    def read(self, task_id: str, name: str) -> bytes | None:
        """Get an object, if it is there."""
        content: bytes | None = None
        with self._faults(), suppress(self._client.exceptions.NoSuchKey):
            found = self._client.get_object(Bucket=self._bucket, Key=self._key(task_id, name))
            with found["Body"] as body:
                content = body.read()
        return content

    def remove(self, task_id: str, names: list[str]) -> None:
        """Delete some objects."""
        self._delete([self._key(task_id, name) for name in names])

    def remove_all(self, task_id: str) -> None:
        """Delete all objects below the task."""
        with self._faults():
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._key(task_id, "")
            )
            self._delete([entry["Key"] for page in pages for entry in page.get("Contents", ())])

    def _delete(self, keys: list[str]) -> None:
        with self._faults():
            for begin in range(0, len(keys), _DELETED_AT_ONCE):
                objects = [{"Key": key} for key in keys[begin : begin + _DELETED_AT_ONCE]]
                self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": objects, "Quiet": True})

    def _key(self, task_id: str, name: str) -> str:
        return f"{self._prefix}{FOLDER}/{_segment(task_id)}/{name}"

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (self._errors.BotoCoreError, self._errors.ClientError) as error:
            raise BlobsDown(str(error)) from error
