"""What a machine lets the suite set: nvpmodel's modes, cores, limits of clocks, governors, turbo,
the fan, jetson_clocks.

Files are relative to the root of the file system. Sources: Linux admin-guide/pm/cpufreq,
admin-guide/cputopology, ABI/testing/sysfs-class-devfreq and sysfs-class-hwmon; NVIDIA Jetson Linux
Developer Guide, Platform Power and Performance.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from suite.machine.clock_domains import (
    CPU,
    CPUS,
    MEMORY,
    devfreq_folders,
    policy_folders,
    read_hertz,
)
from suite.machine.nvpmodel import (
    CONFIGURATION,
    Configuration,
    Model,
    frequencies_at,
    parse_configuration,
)
from suite.machine.procfs import natural_order, read_integer, read_integers, read_text

NVPMODEL, JETSON_CLOCKS = "nvpmodel", "jetson_clocks"
_PROGRAM_FOLDERS = ("usr/sbin", "usr/bin", "usr/local/bin")
_EMC = "EMC"  # nvpmodel.conf's name of the memory controller
_CAPS = ("MAX_FREQ", "MAX_FREQ_KNEXT")
_FANS = (
    "sys/devices/pwm-fan/target_pwm",
    "sys/devices/platform/pwm-fan/hwmon/hwmon*/pwm1",
    "sys/class/hwmon/hwmon*/pwm1",
)
_TURBO = {f"{CPUS}/intel_pstate/no_turbo": ("0", "1"), f"{CPUS}/cpufreq/boost": ("1", "0")}
"""Files of the switch for turbo, each with its values for on and off."""


@dataclass(frozen=True)
class Domain:
    """A clock whose upper limit can be set: ``kind`` is cpu, gpu or memory, ``unit_hz`` the unit of
    its files' numbers.

    ``frequencies_hz`` are the clock's steps, empty where the kernel does not list them. Files that
    the clock lacks are None.
    """

    kind: str
    name: str
    max_file: str
    min_file: str | None
    unit_hz: int
    frequencies_hz: tuple[int, ...]
    lowest_hz: int | None
    highest_hz: int | None
    governor_file: str | None = None
    governors: tuple[str, ...] = ()
    preference_file: str | None = None


@dataclass(frozen=True)
class Turbo:
    """The switch for clocks above the base frequency: its file, and the values for on and off."""

    file: str
    on: str
    off: str


@dataclass(frozen=True)
class AvailableModes:
    """Everything that can be set on a machine; empty or None where there is nothing to set.

    ``cores`` are all cores, ``switches`` the files that take a core on and off line (core 0 usually
    has none). ``nvpmodel`` and ``jetson_clocks`` are NVIDIA's programs, ``fan_file`` takes the
    fan's duty, 0 to 255.
    """

    modes: tuple[Model, ...] = ()
    cores: tuple[int, ...] = ()
    switches: Mapping[int, str] = field(default_factory=dict)
    domains: tuple[Domain, ...] = ()
    turbo: Turbo | None = None
    fan_file: str | None = None
    nvpmodel: str | None = None
    jetson_clocks: str | None = None

    def domains_of(self, kind: str) -> tuple[Domain, ...]:
        """The clocks of a kind."""
        return tuple(domain for domain in self.domains if domain.kind == kind)


def read_available_modes(root: Path) -> AvailableModes:
    """What can be set on the machine below ``root``; never raises for a file that is missing or
    unreadable."""
    configuration = parse_configuration(read_text(root / CONFIGURATION) or "")
    numbered = [
        (int(found[1]), folder)
        for folder in (root / CPUS).glob("cpu[0-9]*")
        if (found := re.fullmatch(r"cpu(\d+)", folder.name))
    ]
    folders = dict(sorted(numbered))
    nvpmodel = _program(root, NVPMODEL)
    return AvailableModes(
        modes=configuration.models if nvpmodel else (),
        cores=tuple(folders),
        switches={
            core: _relative_name(root, folder / "online")
            for core, folder in folders.items()
            if (folder / "online").is_file()
        },
        domains=(*_processors(root), *_devices(root), *_memory(root, configuration)),
        turbo=next(
            (
                Turbo(file, *values)
                for file, values in _TURBO.items()
                if read_integer(root / file) is not None
            ),
            None,
        ),
        fan_file=next(
            (
                _relative_name(root, path)
                for pattern in _FANS
                for path in natural_order(root.glob(pattern))
                if read_integer(path) is not None
            ),
            None,
        ),
        nvpmodel=nvpmodel,
        jetson_clocks=_program(root, JETSON_CLOCKS),
    )


def _processors(root: Path) -> Iterator[Domain]:
    for folder in policy_folders(root):
        preference = folder / "energy_performance_preference"
        yield Domain(
            kind=CPU,
            name=folder.name,
            max_file=_relative_name(root, folder / "scaling_max_freq"),
            min_file=_relative_name(root, folder / "scaling_min_freq"),
            unit_hz=1000,
            frequencies_hz=read_integers(folder / "scaling_available_frequencies", 1000),
            lowest_hz=read_hertz(folder / "cpuinfo_min_freq", 1000),
            highest_hz=read_hertz(folder / "cpuinfo_max_freq", 1000),
            governor_file=_relative_name(root, folder / "scaling_governor"),
            governors=tuple((read_text(folder / "scaling_available_governors") or "").split()),
            preference_file=_relative_name(root, preference) if preference.is_file() else None,
        )


def _devices(root: Path) -> Iterator[Domain]:
    for kind, folder in devfreq_folders(root):
        frequencies_hz = read_integers(folder / "available_frequencies")
        files = (
            _relative_name(root, folder / "max_freq"),
            _relative_name(root, folder / "min_freq"),
        )
        yield _with_ends(kind, folder.name, *files, frequencies_hz)


def _memory(root: Path, configuration: Configuration) -> Iterator[Domain]:
    """The cap of the memory controller that nvpmodel sets; its file holds 0 where there is no
    cap."""
    paths = configuration.paths.get(_EMC, {})
    file = next(
        (
            paths[name].lstrip("/")
            for name in _CAPS
            if name in paths and read_integer(root / paths[name].lstrip("/")) is not None
        ),
        None,
    )
    if file is not None and not any(kind == MEMORY for kind, _ in devfreq_folders(root)):
        yield _with_ends(MEMORY, "emc", file, None, frequencies_at(root, paths))


def _with_ends(
    kind: str, name: str, max_file: str, min_file: str | None, frequencies_hz: tuple[int, ...]
) -> Domain:
    """A clock in Hz that goes from its lowest to its highest listed frequency."""
    ends = min(frequencies_hz, default=None), max(frequencies_hz, default=None)
    return Domain(kind, name, max_file, min_file, 1, frequencies_hz, *ends)


def _program(root: Path, name: str) -> str | None:
    return next(
        (f"{folder}/{name}" for folder in _PROGRAM_FOLDERS if (root / folder / name).is_file()),
        None,
    )


def _relative_name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
