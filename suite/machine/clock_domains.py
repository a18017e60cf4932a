"""Clocks of processors, GPU and memory controller: what the kernel lets them run at, and their
governors."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import natural_order, read_integer, read_integers, read_text

CPUS = "sys/devices/system/cpu"
DEVFREQ = "sys/class/devfreq"
CPU, GPU, MEMORY = "cpu", "gpu", "memory"
# Parts of devfreq names: NVIDIA's GPUs by chip (Jetson Linux 32), by device (35 and later), Thor's
# graphics cluster; Mali is "<address>.gpu".
_DEVFREQ_KINDS = {
    GPU: (".gpu", ".gm20b", ".gp10b", ".gv11b", ".ga10b", "gpu-gpc"),
    MEMORY: ("bwmgr", "dmc", "emc"),
}
_BPMP_EMC = "sys/kernel/debug/bpmp/debug/clk/emc"  # root only; Jetson Linux 32 and later
_MAX_CORE = 65_536
_CLK_EMC = "sys/kernel/debug/clk/emc"  # root only; Jetson Nano and TX1


@dataclass(frozen=True)
class Clock:
    """One clock domain: the limits that hold now, the hardware's own, and who chooses between them.

    ``kind`` is cpu, gpu or memory; ``name`` the kernel's name of the domain; ``cores`` the cores
    that are online in it. Frequencies in Hz. None: the kernel does not say, or lets only root read
    it. ``current_hz`` is a momentary value.
    """

    kind: str
    name: str
    cores: tuple[int, ...]
    min_hz: int | None
    max_hz: int | None
    current_hz: int | None
    lowest_hz: int | None
    highest_hz: int | None
    governor: str | None
    driver: str | None = None
    energy_preference: str | None = None

    @property
    def is_locked(self) -> bool | None:
        """Whether it cannot change: lower limit equals upper limit; None where a limit is
        unknown."""
        return None if self.min_hz is None or self.max_hz is None else self.min_hz == self.max_hz


def read_clocks(root: Path) -> tuple[Clock, ...]:
    """The clock domains of the machine: cpufreq policies with cores online, then GPU and memory
    controller (devfreq, else debugfs).

    Sources: Linux admin-guide/pm/cpufreq, ABI/testing/sysfs-class-devfreq; NVIDIA Jetson Linux
    Developer Guide, Platform Power and Performance.
    """
    return (*_cpu_clocks(root), *_devfreq_clocks(root), *_emc_clocks(root))


def online_cores(root: Path) -> tuple[int, ...] | None:
    """The numbers of the cores that are online; None where the kernel does not say."""
    return core_numbers(read_text(root / CPUS / "online"))


def turbo(root: Path) -> bool | None:
    """Whether the processor may exceed its base frequency; None where there is no such switch."""
    no_turbo, boost = (
        read_integer(root / CPUS / "intel_pstate/no_turbo"),
        read_integer(root / CPUS / "cpufreq/boost"),
    )
    if no_turbo is not None:
        return no_turbo == 0
    # where there is no switch for all cores
    by_policy = [value for value in map(read_integer, boost_files(root)) if value is not None]
    return boost != 0 if boost is not None else any(by_policy) if by_policy else None


def boost_files(root: Path) -> list[Path]:
    """The switches for turbo of the cpufreq policies that have one of their own (Linux 6.11 and
    later)."""
    return [folder / "boost" for folder in policy_folders(root) if (folder / "boost").exists()]


def policy_folders(root: Path) -> list[Path]:
    """The folders of the cpufreq policies, in order."""
    return natural_order((root / CPUS / "cpufreq").glob("policy[0-9]*"))


def devfreq_folders(root: Path) -> list[tuple[str, Path]]:
    """The devfreq folders of GPU and memory controller, each with its kind, in order."""
    found = []
    for folder in natural_order((root / DEVFREQ).glob("*")):
        kind = next(
            (
                kind
                for kind, parts in _DEVFREQ_KINDS.items()
                if any(part in folder.name for part in parts)
            ),
            None,
        )
        if kind is not None:
            found.append((kind, folder))
    return found


def _cpu_clocks(root: Path) -> Iterator[Clock]:
    for folder in policy_folders(root):
        cores = core_numbers(read_text(folder / "affected_cpus"), " ") or ()
        if cores:
            yield Clock(
                kind=CPU,
                name=folder.name,
                cores=cores,
                min_hz=read_hertz(folder / "scaling_min_freq", 1000),
                max_hz=read_hertz(folder / "scaling_max_freq", 1000),
                current_hz=read_hertz(folder / "scaling_cur_freq", 1000),
                lowest_hz=read_hertz(folder / "cpuinfo_min_freq", 1000),
                highest_hz=read_hertz(folder / "cpuinfo_max_freq", 1000),
                governor=read_text(folder / "scaling_governor") or None,
                driver=read_text(folder / "scaling_driver") or None,
                energy_preference=read_text(folder / "energy_performance_preference") or None,
            )


def _devfreq_clocks(root: Path) -> Iterator[Clock]:
    for kind, folder in devfreq_folders(root):
        available = read_integers(folder / "available_frequencies")
        yield Clock(
            kind=kind,
            name=folder.name,
            cores=(),
            min_hz=read_hertz(folder / "min_freq"),
            max_hz=read_hertz(folder / "max_freq"),
            current_hz=read_hertz(folder / "cur_freq"),
            lowest_hz=min(available, default=None),
            highest_hz=max(available, default=None),
            governor=read_text(folder / "governor") or None,
        )


def _emc_clocks(root: Path) -> Iterator[Clock]:
    """The memory controller of Jetsons without a devfreq device for it: debugfs, which only root
    reads."""
    if any(kind == MEMORY for kind, _ in devfreq_folders(root)):
        return
    bpmp, clk = root / _BPMP_EMC, root / _CLK_EMC
    rate_hz = read_hertz(bpmp / "rate") or read_hertz(clk / "clk_rate")
    if rate_hz is not None:
        limits_hz = read_hertz(bpmp / "min_rate"), read_hertz(bpmp / "max_rate")
        yield Clock(MEMORY, "emc", (), *limits_hz, rate_hz, *limits_hz, None)


def read_hertz(path: Path, scale: int = 1) -> int | None:
    """The frequency in a file in units of ``scale`` Hz; None when it cannot be read."""
    value = read_integer(path)
    return None if value is None else value * scale


def core_numbers(listed: str | None, separator: str = ",") -> tuple[int, ...] | None:
    """Core numbers of a kernel list: ``0-3,6``, or ``0 1 2 3`` with a blank as separator; None for
    none, numbers above any machine's, or other text."""
    found: list[int] = []
    for part in (listed or "").split(separator):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or (last and not last.isdigit()) or int(last or first) > _MAX_CORE:
            return None
        found += range(int(first), int(last or first) + 1)
    return tuple(found)
