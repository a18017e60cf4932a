"""Device profiles, each defined in ``rules/devices/*.toml``."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from suite.catalog.definitions import Definitions
from suite.catalog.rounds import current_round
from suite.catalog.workloads import Workload, load_workload

GENERIC = "generic"


@dataclass(frozen=True)
class Identity:
    """How a machine is recognised; each list holds parts of names, any one of which suffices.

    ``compatible``: of the device tree's ``compatible`` entries (ARM boards). ``dmi``: of the names
    in /sys/class/dmi/id (PCs). ``cpu_model``: of /proc/cpuinfo's model name, for machines whose DMI
    names are useless. ``not_compatible``: of entries that only other boards have beside them.
    """

    compatible: tuple[str, ...] = ()
    not_compatible: tuple[str, ...] = ()
    dmi: tuple[str, ...] = ()
    cpu_model: tuple[str, ...] = ()

    def contradicts(self, compatible: Sequence[str]) -> bool:
        """Whether a device tree with these entries is of another board; False where either side has
        none."""
        return bool(compatible and self.compatible) and (
            self.is_of_another(compatible)
            or not any(has_part(entry, part) for part in self.compatible for entry in compatible)
        )

    def is_of_another(self, compatible: Iterable[str]) -> bool:
        """Whether a device tree with these entries names another board of the same module or
        chip."""
        return any(has_part(entry, part) for part in self.not_compatible for entry in compatible)


def has_part(name: str, part: str) -> bool:
    """Whether a name that a machine gives itself has this part; a number goes on no further: N95 is
    no part of N950."""
    return re.search(re.escape(part) + (r"(?!\d)" if part[-1:].isdigit() else ""), name) is not None


@dataclass(frozen=True)
class Cpu:
    """The profile's processor; ``machine`` are the instruction sets of its kernels, as ``uname -m``
    prints them (empty: not checked).

    ``fp64_per_cycle`` is the largest number of double-precision operations that a core can do in a
    cycle; None where that is not known.
    """

    architecture: str
    cores: int
    max_frequency_mhz: int
    machine: tuple[str, ...] = ()
    fp64_per_cycle: int | None = None

    @property
    def peak_fp64_gflops(self) -> float | None:
        """Double-precision rate of all cores at the highest clock, which no program exceeds; None
        where that is not known."""
        return (
            None
            if self.fp64_per_cycle is None
            else self.cores * self.max_frequency_mhz * self.fp64_per_cycle / 1000
        )


@dataclass(frozen=True)
class Gpu:
    """Graphics processor."""

    architecture: str
    cuda_cores: int
    tensor_cores: int
    max_frequency_mhz: int


@dataclass(frozen=True)
class Memory:
    """Memory; boards are sold with several sizes."""

    sizes_gb: tuple[float, ...]
    max_frequency_mhz: int | None = None


@dataclass(frozen=True)
class RecordedFolder:
    """Files of one folder of a recorded machine: each a name and its content, as
    ``"scaling_governor: schedutil"``; ``-> target`` makes a link."""

    folder: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Expected:
    """What the suite reads from a recorded machine: the label of the power mode, and the total of
    the board's own power sensor (None: no file has one). ``program_total``: the total of a sensor
    that a program reads, which the recorded files lack."""

    power_mode: str | None = None
    power_total: str | None = None
    power_w: float | None = None
    program_total: str | None = None

    @property
    def totals(self) -> tuple[str, ...]:
        """Names of the totals of the board's own sensors."""
        return tuple(name for name in (self.power_total, self.program_total) if name is not None)


@dataclass(frozen=True)
class RecordedMachine:
    """What one machine of the profile reports, as evidence that it is recognised and read: device
    tree, else DMI names, else CPU model.

    ``compatible``: entries of the device tree. ``dmi``: file names in /sys/class/dmi/id and their
    contents, as ``"product_name: NUC11TNKi5"``. ``memory_gb`` is the machine's nominal memory.
    ``origin`` says where the record is from, ``tree`` has further files of the machine.
    """

    memory_gb: int
    compatible: tuple[str, ...] = ()
    dmi: tuple[str, ...] = ()
    cpu_model: str | None = None
    origin: str = ""
    tree: tuple[RecordedFolder, ...] = ()
    expected: Expected = Expected()


@dataclass(frozen=True)
class PowerMode:
    """A power mode, by nvpmodel's name: active cores and maximum clocks of the profile's largest
    variant; None where no source states one."""

    name: str
    cpu_cores: int
    cpu_frequency_mhz: int | None = None
    gpu_frequency_mhz: int | None = None
    memory_frequency_mhz: int | None = None


@dataclass(frozen=True)
class Sensors:
    """Meters that can always be read with the vendor's own kernels, whose releases have one of the
    parts ``kernels``."""

    kernels: tuple[str, ...]
    meters: tuple[str, ...]


@dataclass(frozen=True)
class Device:
    """A hardware profile. It covers the variants of a board: memory sizes, part numbers, carriers.

    ``cpu``, ``gpu`` and ``max_power_w`` are of the largest variant; ``max_power_w`` is the board's
    limit (or its adapter's where none is stated). ``power_modes`` are nvpmodel's, in a profile of
    machines that have it. ``power_rails`` are the rails of the board's own sensors that make its
    total; empty where it has none, or they are not known. ``peak_gflops`` is more than the device
    can compute per second in any precision that trains; None where that is not known.
    ``is_fallback``: any machine that no other profile recognises; it needs no ``recorded``.
    ``short_title``: the title where there is little room.
    """

    name: str
    title: str
    source: str
    storage_interfaces: tuple[str, ...]
    identity: Identity
    max_power_w: float | None = None
    peak_gflops: float | None = None
    cpu: Cpu | None = None
    gpu: Gpu | None = None
    memory: Memory | None = None
    power_modes: tuple[PowerMode, ...] = ()
    power_rails: tuple[str, ...] = ()
    sensors: Sensors | None = None
    recorded: RecordedMachine | None = None
    is_fallback: bool = False
    short_title: str | None = None

    @property
    def fitting_workloads(self) -> tuple[Workload, ...]:
        """Those of the round that need less memory than the largest variant has."""
        largest_gb = max(self.memory.sizes_gb) if self.memory else math.inf
        of_round = (load_workload(each.name) for each in current_round().workloads)
        return tuple(each for each in of_round if each.needs.memory_size_bytes < largest_gb * 2**30)

    @property
    def closed_workloads(self) -> tuple[str, ...]:
        """Those that are trained where none is named; every other one may be entered, too."""
        return tuple(each.name for each in self.fitting_workloads if not each.why_not_ranked)


DEFINITIONS = Definitions("devices", Device, "device")
folder, load_device, load_devices = DEFINITIONS.folder, DEFINITIONS.load, DEFINITIONS.load_all
