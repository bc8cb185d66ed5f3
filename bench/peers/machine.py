"""The machine that the figures are of."""

import os
import platform
import re
import statistics
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """What somebody who compares figures would ask first."""

    processor: str
    cores: int
    memory_gib: float
    system: str
    file_system: str
    fsync_ms: float
    load: float

    def described(self) -> str:
        return (
            f"{self.cores} cores ({self.processor}), {self.memory_gib:.0f} GiB of memory, {self.system}, "
            f"{self.file_system}, an fsync of 4 KiB takes {self.fsync_ms:.2f} ms (median); "
            f"load before the run {self.load:.1f}"
        )


def look(place: Path) -> Machine:
    """Look at this machine, and at the disk that a directory is on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(
        processor=processor_in(Path("/proc/cpuinfo").read_text()) or platform.machine(),
        cores=os.cpu_count() or 1,
        memory_gib=memory / 2**30,
        system=f"{platform.system()} {platform.release()}",
        file_system=file_system_in(Path("/proc/self/mounts").read_text(), place.resolve()),
        fsync_ms=_fsync_ms(place, 200),
        load=os.getloadavg()[0],
    )


def processor_in(cpuinfo: str) -> str:
    """The model of the first processor, as the kernel tells it; empty if it does not."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def file_system_in(mounts: str, place: Path) -> str:
    """The kind of file system that a directory is on, by the kernel's list of mounts: the last of the deepest."""
    kinds = {Path(fields[1]): fields[2] for fields in map(str.split, mounts.splitlines())}
    inside = [mount for mount in kinds if place.is_relative_to(mount)]
    return kinds[max(inside, key=lambda mount: len(mount.parts))]


def _fsync_ms(place: Path, times: int) -> float:
    taken = []
    probe = place / "fsync-probe"
    with probe.open("wb", buffering=0) as file:
        for _ in range(times):
            file.write(bytes(4096))
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - started)
    probe.unlink()
    return statistics.median(taken) * 1000
