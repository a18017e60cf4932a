"""Device profiles, ``rules/devices/*.toml``, and which of them this machine is."""

from dataclasses import dataclass
from pathlib import Path

from suite.catalogue import load_all, load_one
from suite.errors import SuiteError
from suite.paths import repository_root
from suite.system import board_name

GENERIC = "generic"
AUTO = "auto"


@dataclass(frozen=True)
class Identity:
    """How a machine is recognised: parts of entries of the device tree's ``compatible`` list."""

    compatible: tuple[str, ...]


@dataclass(frozen=True)
class Cpu:
    """The profile's processor."""

    architecture: str
    cores: int
    max_frequency_mhz: int


@dataclass(frozen=True)
class Gpu:
    """The profile's graphics processor."""

    architecture: str
    cuda_cores: int
    tensor_cores: int
    max_frequency_mhz: int


@dataclass(frozen=True)
class Memory:
    """The profile's memory; boards are sold in several sizes."""

    sizes_gb: tuple[int, ...]
    max_frequency_mhz: int | None = None


@dataclass(frozen=True)
class PowerMode:
    """A setting of cores and clocks."""

    name: str
    cpu_cores: int
    cpu_frequency_mhz: int
    gpu_frequency_mhz: int
    memory_frequency_mhz: int


@dataclass(frozen=True)
class Device:
    """A hardware profile; ``max_power_w`` is the board's limit (or its adapter's where none is stated).

    ``peak_gflops`` is more than the device can compute per second in any precision that trains; None where that is not known.
    """

    name: str
    title: str
    source: str
    storage_interfaces: tuple[str, ...]
    closed_workloads: tuple[str, ...]
    identity: Identity
    max_power_w: float | None = None
    peak_gflops: float | None = None
    cpu: Cpu | None = None
    gpu: Gpu | None = None
    memory: Memory | None = None
    power_modes: tuple[PowerMode, ...] = ()


@dataclass(frozen=True)
class Identification:
    """Which profile a machine is, and by what."""

    device: Device
    evidence: str


def folder(root: Path | None = None) -> Path:
    """Where the profiles are defined."""
    return (root or repository_root()) / "rules" / "devices"


def load_device(name: str, root: Path | None = None) -> Device:
    """The profile of this name; raises SuiteError naming the nearest one when there is none."""
    return load_one(folder(root), Device, "device", name)


def load_devices(root: Path | None = None) -> tuple[Device, ...]:
    """Every profile, by name."""
    return load_all(folder(root), Device)


def identify(system_root: Path = Path("/"), root: Path | None = None) -> Identification:
    """The profile of the machine below ``system_root``: the device tree decides, and without one it is generic."""
    entries = _compatible(system_root)
    for device in load_devices(root):
        for part in device.identity.compatible:
            for entry in entries:
                if part in entry:
                    return Identification(device, f"/proc/device-tree/compatible holds {entry!r}")
    board = board_name(system_root) or "an unnamed board"
    reason = "no profile matches its device tree" if entries else "it has no device tree"
    return Identification(load_device(GENERIC, root), f"{board}: {reason}")


def resolve_device(name: str, system_root: Path = Path("/"), root: Path | None = None) -> Identification:
    """The profile asked for; a machine that is another device is refused, while ``generic`` suits every machine.

    Raises SuiteError saying what was found and what to type.
    """
    found = identify(system_root, root)
    if name in (AUTO, found.device.name):
        return found
    wanted = load_device(name, root)
    if wanted.name == GENERIC:
        return Identification(wanted, f"asked for; {found.evidence}")
    raise SuiteError(
        f"This machine is not the device {name!r} ({wanted.title}): found {found.device.name!r} ({found.evidence}). "
        f"Type `--device {found.device.name}` or `--device auto`."
    )


def _compatible(system_root: Path) -> tuple[str, ...]:
    try:
        raw = (system_root / "proc/device-tree/compatible").read_bytes()
    except OSError:
        return ()
    return tuple(part for part in raw.decode("ascii", errors="replace").split("\0") if part)
