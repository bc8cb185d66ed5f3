"""Installs what is measured: servers by apt-get, Python packages into a virtual environment each, Node packages into a
directory. All but the servers lies in the cache directory and is kept for the next run. Nothing of it touches
the project's own environment."""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.peers.servers import Server

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
_POLICY = Path("/usr/sbin/policy-rc.d")


class NotInstalled(Exception):
    """Something cannot be had on this machine; the message says what and why."""


def install_server(server: Server) -> None:
    """Have the server's program, by apt-get if it is missing."""
    if not server.package or server.is_installed():
        return
    _apt_install(server.package)
    if not server.is_installed():
        raise NotInstalled(f"{server.package} was installed, but {server.program()} is not there")


def _apt_install(package: str) -> None:
    if shutil.which("apt-get") is None:
        raise NotInstalled(f"{package} is missing, and there is no apt-get to install it")
    if os.getuid() != 0:
        raise NotInstalled(f"{package} is missing: apt-get install {package} (this run is not root's)")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with without_services(_POLICY):
        command = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", package]
        if subprocess.run(command, env=environment, capture_output=True).returncode != 0:
            subprocess.run(["apt-get", "update", "--quiet"], env=environment, capture_output=True)
            run(command, environment)


@contextmanager
def without_services(policy: Path) -> Iterator[None]:
    """Debian asks this program whether a package may start its service on being installed: it may not."""
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def install_python(name: str, cache: Path) -> Path:
    """The directory of programs of a virtual environment with what requirements/NAME.txt asks for."""
    wanted = (HERE / "requirements" / f"{name}.txt").read_text()
    environment = cache / "python" / name
    stamp = environment / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(environment, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(environment)])
        run([str(environment / "bin/pip"), "install", "--quiet", "-r", str(HERE / "requirements" / f"{name}.txt")])
        stamp.write_text(wanted)
    return environment / "bin"


def install_node(cache: Path) -> Path:
    """A directory with what package.json asks for, the programs, and a Node that is new enough."""
    directory = cache / "node"
    wanted = (HERE / "package.json").read_text()
    stamp = directory / "installed.json"
    if not stamp.exists() or stamp.read_text() != wanted:
        if shutil.which("npm") is None:
            _apt_install("npm")
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        shutil.copy(HERE / "package.json", directory)
        flags = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--loglevel=error"]
        run(["npm", "install", *flags, "--prefix", str(directory)])
        stamp.write_text(wanted)
    for program in PROGRAMS.glob("*.mjs"):
        shutil.copy(program, directory)
    return directory


def node_program(directory: Path) -> str:
    """The Node that was installed beside the packages, or the machine's own."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "none")
    installed = directory / "node_modules" / f"node-linux-{machine}" / "bin" / "node"
    return str(installed) if installed.exists() else "node"


def python_versions(programs: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """The installed versions of packages, as their environment tells them."""
    code = (
        "import json, sys; from importlib.metadata import version; "
        "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    )
    told: dict[str, str] = json.loads(run([str(programs / "python"), "-c", code, *packages]))
    return told


def node_versions(directory: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """The same for Node packages, with the version of Node."""
    versions = {
        name: str(json.loads((directory / "node_modules" / name / "package.json").read_text())["version"])
        for name in packages
    }
    return {**versions, "Node": run([node_program(directory), "--version"]).strip().removeprefix("v")}


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """What a command prints; what it complains of, when it fails."""
    finished = subprocess.run(command, env=environment, capture_output=True, text=True)
    if finished.returncode != 0:
        lines = (finished.stderr or finished.stdout).strip().splitlines()
        raise NotInstalled(f"{Path(command[0]).name} {command[1]} failed: {' / '.join(lines[-3:])}")
    return finished.stdout
