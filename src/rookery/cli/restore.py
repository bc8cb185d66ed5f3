"""`rookery restore`: put a copy of a store into a data directory, for a server to go on from."""

import json
import os
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import apsw
import click

from rookery.cli.files import shown_size, sync_directory
from rookery.cli.flags import SwitchCommand, output_flags
from rookery.cli.progress import BYTES, Progress
from rookery.cli.tables import counted
from rookery.node.data_dir import FULLTEXT, LEFTOVER, DataDirectory, DataDirectoryInUse
from rookery.store.migrations import UnusableStore, check_usable
from rookery.store.snapshot import check_whole, count_jobs, open_copy

STEP: Final = 1 << 20
"""Bytes that are copied at a time."""
_BESIDE: Final = ("-wal", "-shm", "-journal")
"""What SQLite may keep beside a store, by how the name ends."""


@click.command("restore", cls=SwitchCommand)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Where the server will have its data; created if missing.",
)
@click.option("--force", is_flag=True, help="Replace a store that is there; the old one is kept beside.")
@output_flags
def command(file: Path, data_dir: Path, force: bool, is_json: bool) -> None:
    """Put FILE, made by `rookery backup`, into a data directory. A server that is started there goes on from it."""
    try:
        _check_source(file)
        directory = DataDirectory(data_dir)
        try:
            jobs, kept = _put_in_place(file, directory.store, force)
        finally:
            directory.release()
    except UnusableStore as error:
        raise click.ClickException(f"cannot restore {file}: {error}") from None
    except DataDirectoryInUse as error:
        raise click.ClickException(f"{error}: stop it first") from None
    except (apsw.Error, OSError) as error:
        raise click.ClickException(f"cannot restore into {data_dir}: {error}") from None
    size = directory.store.stat().st_size
    if is_json:
        answer = {"data_dir": str(data_dir), "jobs": jobs, "bytes": size, "kept": str(kept) if kept else None}
        click.echo(json.dumps(answer, indent=2))
    else:
        click.echo(f"Restored {counted(jobs, 'job')} to {data_dir} ({shown_size(size)})")
        if kept is not None:
            click.echo(f"The store that was there is kept as {kept}", err=True)


def _check_source(file: Path) -> None:
    """Refuse what is no backup before anything is touched."""
    wal = file.with_name(f"{file.name}-wal")
    if wal.exists() and wal.stat().st_size:
        raise UnusableStore(
            f"it is the store of a server, and part of it is in {wal} (make a copy with rookery backup)"
        )
    with closing(open_copy(file)) as copy:
        count_jobs(copy)
        check_usable(copy)


def _put_in_place(file: Path, store: Path, force: bool) -> tuple[int, Path | None]:
    """Copy, check the copy, then change names: the old store is there until the new one is whole."""
    if store.exists() and not force:
        raise click.ClickException(
            f"there is a store in {store.parent} already (--force replaces it and keeps it beside)"
        )
    fresh = store.with_name(f"{store.name}{LEFTOVER}")
    try:
        with Progress("copying", file.stat().st_size, unit=BYTES) as bar:
            with file.open("rb") as source, fresh.open("xb") as target:
                while part := source.read(STEP):
                    target.write(part)
                    bar.advance(len(part))
                target.flush()
                os.fsync(target.fileno())
            bar.rename("checking")
            with closing(open_copy(fresh)) as copy:
                check_whole(copy)
                jobs = count_jobs(copy)
        kept = _set_aside(store) if store.exists() else None
        for name in (*(store.name + end for end in _BESIDE), FULLTEXT, *(FULLTEXT + end for end in _BESIDE)):
            store.with_name(name).unlink(missing_ok=True)
        fresh.replace(store)
        sync_directory(store.parent)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    return jobs, kept


def _set_aside(store: Path) -> Path:
    """Keep the old store, with what it has in its log, under a name that says when."""
    with suppress(apsw.Error), closing(apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READWRITE)) as old:
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    kept = store.with_name(f"{store.name}.before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    for end in _BESIDE:
        with suppress(FileNotFoundError):
            store.with_name(store.name + end).rename(kept.with_name(kept.name + end))
    # A second name for it: so there is a store at every moment, whatever happens.
    try:
        kept.hardlink_to(store)
    except OSError:
        store.rename(kept)
    return kept
