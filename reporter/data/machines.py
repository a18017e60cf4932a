"""The machine and the power mode of each run, from its system.json, as far as figures need them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reporter.data.frames import Frames, rows_of
from reporter.data.text import one_line, plain_or_none
from suite.bundle.layout import SYSTEM
from suite.bundle.log import run_window
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.metrics.core_clocks import core_clocks

HZ_PER_MHZ = 1e6
CPU, GPU, MEMORY = "cpu", "gpu", "memory"
BOARD_DIGITS = 6
SOFTWARE = ("kernel", "operating_system", "python")
MAX_MEMORY_BYTES = 2**60


@dataclass(frozen=True)
class Machine:
    """Of one run: a digest that tells boards of a kind apart (first digits), cores online, upper
    limits of the clocks, memory; None if unknown.

    ``software``: names and versions of kernel, operating system, Python and libraries, as far as
    they are known.
    """

    board: str | None
    cores: int | None
    cpu_mhz: float | None
    gpu_mhz: float | None
    memory_mhz: float | None
    is_locked: bool | None
    memory_size_bytes: int | None
    software: tuple[tuple[str, str], ...] = ()


def machine_of(path: Path) -> Machine:
    """The machine of the bundle in a folder; every field is None where system.json does not say it,
    or says it in another form."""
    try:
        system = Bundle(path).json(SYSTEM)
    except (SuiteError, OSError):
        system = {}
    settings = system.get("power_settings")
    settings = settings if isinstance(settings, Mapping) else {}
    clocks = [clock for clock in _list(settings.get("clocks")) if isinstance(clock, Mapping)]
    cores, locked, memory = (
        settings.get("cores_online"),
        settings.get("clocks_locked"),
        system.get("memory_size_bytes"),
    )
    digest = plain_or_none(system.get("board_digest"), 80)
    return Machine(
        board=digest and digest[:BOARD_DIGITS],
        cores=len(cores) if isinstance(cores, list) and cores else None,
        cpu_mhz=_upper_mhz(clocks, CPU),
        gpu_mhz=_upper_mhz(clocks, GPU),
        memory_mhz=_upper_mhz(clocks, MEMORY),
        is_locked=locked if isinstance(locked, bool) else None,
        memory_size_bytes=(
            memory if isinstance(memory, int) and 0 < memory < MAX_MEMORY_BYTES else None
        ),
        software=_software(system),
    )


def machines_of(frames: Frames) -> dict[str, Machine]:
    """The machine of every run, by run id."""
    return frames.cached(
        "machines",
        lambda: {str(run["run_id"]): machine_of(Path(run["path"])) for run in rows_of(frames.runs)},
    )


def cpu_clock_shares(path: Path) -> dict[int, float]:
    """Share of the readings of all cores between run_start and run_stop at each CPU clock, MHz;
    empty without such readings."""
    try:
        bundle = Bundle(path)
        window = run_window(bundle.log())
        channels = [channel.in_time for channel in core_clocks(bundle.channels())]
    except (SuiteError, OSError):
        return {}
    if window is None:
        return {}
    start_ns, stop_ns = window
    inside = [
        one.values[(one.t_ns >= start_ns) & (one.t_ns <= stop_ns) & np.isfinite(one.values)]
        for one in channels
    ]
    readings = np.rint(np.concatenate(inside) / HZ_PER_MHZ) if inside else np.empty(0)
    clocks, counts = np.unique(readings, return_counts=True)
    return {
        int(clock): float(count) / len(readings)
        for clock, count in zip(clocks, counts, strict=True)
    }


def differing_software(machines: Iterable[Machine]) -> tuple[str, ...]:
    """Names of the software that some of the machines have in different versions, where both are
    known."""
    versions: dict[str, set[str]] = {}
    for machine in machines:
        for name, version in machine.software:
            versions.setdefault(name, set()).add(version)
    return tuple(sorted(name for name, found in versions.items() if len(found) > 1))


def _software(system: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    libraries = system.get("libraries")
    named = {name: system.get(name) for name in SOFTWARE} | (
        dict(libraries) if isinstance(libraries, Mapping) else {}
    )
    return tuple(
        (one_line(name, 40).replace("_", " "), one_line(version, 80))
        for name, version in named.items()
        if isinstance(version, str)
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _upper_mhz(clocks: list[Mapping[str, Any]], kind: str) -> float | None:
    return max(_upper_limits(clocks, kind), default=None)


def _upper_limits(clocks: list[Mapping[str, Any]], kind: str) -> Iterator[float]:
    for clock in clocks:
        value = clock.get("max_hz")
        if (
            clock.get("kind") == kind
            and isinstance(value, int | float)
            and not isinstance(value, bool)
            and 0 < value < 1e12
        ):
            yield float(value) / HZ_PER_MHZ
