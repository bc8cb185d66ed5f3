"""`rookery backup`: copy the store of a server, running or not, into a file."""

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Final

import apsw
import click

from rookery.cli.files import shown_size, sync_directory
from rookery.cli.flags import SwitchCommand, client_flags
from rookery.cli.progress import BYTES, Progress
from rookery.cli.remote import Remote
from rookery.cli.tables import counted
from rookery.node.data_dir import STORE
from rookery.store.connections import open_reader
from rookery.store.migrations import UnusableStore
from rookery.store.snapshot import copy_store, count_jobs, open_copy

LONGEST_SILENCE: Final = 3600.0
"""Seconds: the server copies its store before it sends the first byte of it."""


@click.command("backup", cls=SwitchCommand)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Copy from this data directory instead of from --server, whether a server runs there or not.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@client_flags
@click.pass_context
def command(
    ctx: click.Context, /, file: Path, data_dir: Path | None, force: bool, remote: Remote, is_json: bool
) -> None:
    """Copy everything that a server holds into FILE, while it goes on working.

    FILE is there when it is whole, and not before. `rookery restore` puts it into a data directory again.
    """
    if data_dir is not None and ctx.get_parameter_source("server") is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError("--server and --data-dir exclude each other", ctx)
    if file.exists() and not force:
        raise click.ClickException(f"{file} exists already (--force overwrites it)")
    partial = file.with_name(f"{file.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        if data_dir is None:
            _download(remote, partial)
        else:
            _copy(data_dir, partial)
        with closing(open_copy(partial)) as copy:
            jobs, size = count_jobs(copy), partial.stat().st_size
        partial.replace(file)
        sync_directory(file.absolute().parent)
    except UnusableStore as error:
        raise click.ClickException(f"what came is no backup: {error}") from None
    except (apsw.Error, OSError) as error:
        raise click.ClickException(f"cannot back up to {file}: {error}") from None
    finally:
        if partial.exists():
            partial.unlink()
    if is_json:
        click.echo(json.dumps({"file": str(file), "jobs": jobs, "bytes": size}, indent=2))
    else:
        click.echo(f"Backed up {counted(jobs, 'job')} to {file} ({shown_size(size)})")


def _download(remote: Remote, target: Path) -> None:
    """Write what the server sends; less than it has announced is an error."""
    with (
        target.open("xb") as file,
        Progress("waiting for the server's copy", unit=BYTES) as bar,
        remote.stream("GET", "/admin/snapshot", silence=LONGEST_SILENCE) as answer,
    ):
        bar.rename("receiving")
        bar.update(0, int(answer.headers.get("content-length", 0)) or None)
        for part in answer.iter_raw():
            file.write(part)
            bar.advance(len(part))
        file.flush()
        os.fsync(file.fileno())


def _copy(data_dir: Path, target: Path) -> None:
    store = data_dir / STORE
    if not store.is_file():
        raise click.ClickException(f"there is no store in {data_dir}")
    with closing(open_reader(store)) as source, Progress("copying", unit=BYTES) as bar:
        page = int(source.pragma("page_size"))
        copy_store(source, target, lambda done, total: bar.update(done * page, total * page))
