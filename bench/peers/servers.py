"""The servers that the systems keep their jobs in: each started anew for every measurement, on a free port of loopback
and an empty directory, and ended by its process id. Servers that run already are left alone."""

import os
import pwd
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.server import process, rookery


@contextmanager
def _redis(place: Path, appendfsync: str) -> Iterator[str]:
    flags = ["--bind", "127.0.0.1", "--dir", str(place), "--appendonly", "yes", "--appendfsync", appendfsync]
    with process(["redis-server", *flags], "--port", "{port}") as running:
        yield f"redis://127.0.0.1:{running.port}/0"


@contextmanager
def _beanstalkd(place: Path, *flags: str) -> Iterator[str]:
    command = ["beanstalkd", "-l", "127.0.0.1", "-b", str(place), *flags]
    with process(command, "-p", "{port}") as running:
        yield f"beanstalk://127.0.0.1:{running.port}"


@contextmanager
def _postgresql(place: Path) -> Iterator[str]:
    """A cluster as `initdb` makes it, copied from one that is made once. PostgreSQL does not run as root."""
    user = "postgres" if os.getuid() == 0 else None
    template = place.parent / "postgresql"
    if not template.exists():
        template.mkdir()
        if user is not None:
            shutil.chown(template, user, pwd.getpwnam(user).pw_gid)
        command = [_postgresql_program("initdb"), "--username=postgres", "--auth=trust", f"--pgdata={template}"]
        subprocess.run(command, check=True, capture_output=True, user=user, group=user, cwd="/")
    place.rmdir()
    subprocess.run(["cp", "--archive", str(template), str(place)], check=True)
    command = [_postgresql_program("postgres"), "-D", str(place), "-k", str(place), "-h", "127.0.0.1"]
    with process(command, "-p", "{port}", user) as running:
        ready = [_postgresql_program("pg_isready"), "--quiet", "--host=127.0.0.1", f"--port={running.port}"]
        while subprocess.run(ready).returncode != 0:
            time.sleep(0.05)
        yield f"postgresql://postgres@127.0.0.1:{running.port}/postgres"


@contextmanager
def _rookery(place: Path) -> Iterator[str]:
    with rookery(place) as running:
        yield f"http://127.0.0.1:{running.port}"


def _postgresql_program(name: str) -> str:
    """Debian keeps the programs of PostgreSQL off the path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return str(found[-1]) if found else shutil.which(name) or name


@dataclass(frozen=True)
class Server:
    """A server program with its settings, and what those mean for a job that was taken in."""

    name: str
    syncs: str
    """When what it has taken in is on the disk, in a few words."""
    start: Callable[[Path], AbstractContextManager[str]]
    program: Callable[[], str]
    package: str
    command: str
    survives: str
    is_on_disk: bool
    """Whether the answer to an enqueue waits until the job is on the disk."""

    def is_installed(self) -> bool:
        return shutil.which(self.program()) is not None

    def version(self) -> str:
        """Its name and version, as the program tells it."""
        flag = "-v" if self.package == "beanstalkd" else "--version"
        told = subprocess.run([self.program(), flag], capture_output=True, text=True, check=True).stdout
        found = re.search(r"\d+(\.\d+)+", told)
        return f"{self.name} {found[0] if found else told.strip()}"


REDIS = Server(
    name="Redis",
    syncs="fsync every second",
    start=partial(_redis, appendfsync="everysec"),
    program=lambda: "redis-server",
    package="redis-server",
    command="redis-server --bind 127.0.0.1 --port PORT --dir DIR --appendonly yes --appendfsync everysec",
    survives="a crash of Redis; a power cut takes up to about one second of jobs",
    is_on_disk=False,
)
REDIS_ALWAYS = Server(
    name="Redis",
    syncs="fsync always",
    start=partial(_redis, appendfsync="always"),
    program=lambda: "redis-server",
    package="redis-server",
    command="redis-server --bind 127.0.0.1 --port PORT --dir DIR --appendonly yes --appendfsync always",
    survives="a power cut",
    is_on_disk=True,
)
POSTGRESQL = Server(
    name="PostgreSQL",
    syncs="fsync always",
    start=_postgresql,
    program=partial(_postgresql_program, "postgres"),
    package="postgresql",
    command="initdb --username=postgres --auth=trust --pgdata=DIR; postgres -D DIR -k DIR -h 127.0.0.1 -p PORT",
    survives="a power cut (`synchronous_commit=on`, `fsync=on`)",
    is_on_disk=True,
)
BEANSTALKD = Server(
    name="beanstalkd",
    syncs="fsync every 50 ms",
    start=_beanstalkd,
    program=lambda: "beanstalkd",
    package="beanstalkd",
    command="beanstalkd -l 127.0.0.1 -p PORT -b DIR",
    survives="a crash of beanstalkd; a power cut takes up to about 50 ms of jobs",
    is_on_disk=False,
)
BEANSTALKD_ALWAYS = Server(
    name="beanstalkd",
    syncs="fsync always",
    start=lambda place: _beanstalkd(place, "-f0"),
    program=lambda: "beanstalkd",
    package="beanstalkd",
    command="beanstalkd -l 127.0.0.1 -p PORT -b DIR -f0",
    survives="a power cut",
    is_on_disk=True,
)
ROOKERY = Server(
    name="SQLite in the server",
    syncs="fsync always",
    start=_rookery,
    program=lambda: "rookery",
    package="",
    command="rookery server --data-dir DIR --bind 127.0.0.1:PORT --rate-limit-enabled=false",
    survives="a power cut (durability full)",
    is_on_disk=True,
)
