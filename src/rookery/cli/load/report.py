"""How a run is shown, saved, and set beside another one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from rookery.cli.load.figures import Figures, Phase, average_us, figures_of
from rookery.cli.load.settings import MATRIX, Settings
from rookery.cli.tables import Table

_NAMES: Final = ("PROTOCOL  ", "PHASE    ")
_FIGURES: Final = tuple(f"{name:>8}" for name in ("OPS/S", "AVG", "P50", "P90", "P99", "MIN", "MAX"))
_COMPARED: Final = {
    "ops/s": "ops_per_sec",
    "p50": "p50_us",
    "p90": "p90_us",
    "p99": "p99_us",
}
_OF_NO_CONSEQUENCE: Final = ("server", "repeats", "repeat_pause")
"""Settings in which two runs may differ and still be compared."""


class SavedPhases(msgspec.Struct, omit_defaults=True):
    """The phases of one protocol; those that were not run are left out."""

    enqueue: Figures | None = None
    lifecycle: Figures | None = None
    combined: Figures | None = None

    def each(self) -> dict[str, Figures]:
        """Those that were run, by name."""
        return {name: phase for name in self.__struct_fields__ if (phase := getattr(self, name)) is not None}


class SavedRun(msgspec.Struct, omit_defaults=True):
    """A run as it is saved: its phases, or of a matrix those of each protocol."""

    timestamp: str
    config: Settings
    enqueue: Figures | None = None
    lifecycle: Figures | None = None
    combined: Figures | None = None
    results: dict[str, SavedPhases] = {}

    def protocols(self) -> dict[str, SavedPhases]:
        """The phases of each protocol."""
        return self.results or {self.config.protocol: SavedPhases(self.enqueue, self.lifecycle, self.combined)}


class Report:
    """Hears of each phase as it ends, shows it, and puts all together in the end."""

    def __init__(self, settings: Settings, *, is_shown: bool) -> None:
        self._settings = settings
        self._is_shown = is_shown
        self._phases: dict[tuple[str, str], list[Phase]] = {}
        repeats = ("REPEAT",) if settings.repeats > 1 else ()
        self._table = Table(*_NAMES, *repeats, *_FIGURES)

    def tell(self, protocol: str, name: str, repeat: int, phase: Phase) -> None:
        """A phase has ended."""
        phases = self._phases.setdefault((protocol, name), [])
        phases.append(phase)
        if self._is_shown:
            is_one_of_many = self._settings.repeats > 1
            self._show(protocol, name, [phase], [str(repeat)] if is_one_of_many else [])

    def finish(self, timestamp: str) -> SavedRun:
        """All phases have ended."""
        if self._is_shown and self._settings.repeats > 1:
            for (protocol, name), phases in self._phases.items():
                self._show(protocol, name, phases, ["all"])
        results: dict[str, SavedPhases] = {}
        for (protocol, name), phases in self._phases.items():
            setattr(results.setdefault(protocol, SavedPhases()), name, figures_of(phases))
        run = SavedRun(timestamp, self._settings)
        if self._settings.protocol == MATRIX:
            run.results = results
        else:
            for name, figures in results[self._settings.protocol].each().items():
                setattr(run, name, figures)
        return run

    def _show(self, protocol: str, name: str, phases: Sequence[Phase], repeat: list[str]) -> None:
        figures = figures_of(phases)
        latencies = (
            average_us(phases),
            figures.p50_us,
            figures.p90_us,
            figures.p99_us,
            figures.min_us,
            figures.max_us,
        )
        shown = (f"{figures.ops_per_sec:,.0f}", *map(shown_latency, latencies))
        self._table.show([(protocol, name, *repeat, *(f"{figure:>8}" for figure in shown))])


def shown_latency(microseconds: float) -> str:
    """`850us`, `12.3ms`, `1.23s`."""
    if microseconds < 1000:
        return f"{microseconds:.0f}us"
    if microseconds < 1_000_000:
        return f"{microseconds / 1000:.1f}ms"
    return f"{microseconds / 1_000_000:.2f}s"


def as_json(run: SavedRun) -> str:
    """The run as one JSON document."""
    return msgspec.json.format(msgspec.json.encode(run), indent=2).decode()


def read_run(path: Path) -> SavedRun:
    """A run that was saved."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=SavedRun)
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{path} is not a saved run: {error}") from None


def compare_runs(run: SavedRun, saved: SavedRun, path: Path, *, to_stderr: bool) -> None:
    """Print each figure as a multiple of the saved one."""

    def say(text: str) -> None:
        click.echo(text, err=to_stderr)

    say(f"\nAgainst {path} of {saved.timestamp}, as multiples of its figures:")
    others = saved.protocols()
    lines = []
    for protocol, phases in run.protocols().items():
        for name, figures in phases.each().items():
            other = others.get(protocol, SavedPhases()).each().get(name)
            if other is None:
                lines.append(f"{protocol} {name}: not in the file")
                continue
            ratios = [
                f"{label} {_ratio(getattr(figures, field), getattr(other, field))}"
                for label, field in _COMPARED.items()
            ]
            lines.append(f"{protocol} {name}: {', '.join(ratios)}")
    say("\n".join(lines))
    differences = _differences(run.config, saved.config)
    if differences:
        say(f"Other settings then: {', '.join(differences)}")


def _ratio(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.2f}x" if theirs else "-"


def _differences(ours: Settings, theirs: Settings) -> list[str]:
    then: dict[str, Any] = msgspec.structs.asdict(theirs)
    return [
        f"{name} {then[name]}"
        for name, value in msgspec.structs.asdict(ours).items()
        if then[name] != value and name not in _OF_NO_CONSEQUENCE
    ]
