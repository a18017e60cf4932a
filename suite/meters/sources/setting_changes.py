"""Power mode: whether anybody, or the kernel, changed the machine's limits during the run."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from suite.machine import nvpmodel
from suite.machine.clock_domains import (
    CPUS,
    boost_files,
    devfreq_folders,
    online_cores,
    policy_folders,
)
from suite.machine.power_settings import limit_files
from suite.machine.procfs import read_text
from suite.meters.channels import ChannelMeter, MeterChannel, file_reader
from suite.meters.meter import MeterAvailability, MeteredProcess, Reading

CHANGED, GOVERNOR = "changed", "governor"


class PowerModeMeter(ChannelMeter):
    """Channels ``changed`` (how many settings differ from the first reading, in unit ``settings``),
    and each setting at the first reading and whenever it has another value: ``nvpmodel`` (a
    Jetson's mode, unit ``id``), ``<policy>.min`` and ``.max`` of the cores' clocks,
    ``<device>.min`` and ``.max`` of GPU and memory controller (Hz), ``<policy>.governor`` (its
    place among the governors that the kernel offers, which the settings name, unit ``governor``),
    ``<zone>.<n>`` (RAPL's limits, W), ``cores`` (online), ``turbo.off`` or ``turbo`` (``active``).

    Upper limits of clocks also fall when the kernel cools the processor by them. Sources:
    suite.machine.clock_domains, nvpmodel and power_settings.
    """

    name = "power-mode"
    period_s = 1.0
    description = "changes of the power mode and of the limits on clocks and power"

    absent = MeterAvailability(
        False,
        "the kernel offers no limits on clocks or power",
        "a virtual machine has no such limits: if this is one, run on its host instead",
    )

    def __init__(self, root: Path = Path("/")) -> None:
        super().__init__(root)
        self._first: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def availability(self) -> MeterAvailability:
        """Whether the kernel offers any limit besides the number of cores."""
        only_cores = all(setting.name == "cores" for setting in self.find())
        return self.absent if only_cores else super().availability()

    def open(self, process: MeteredProcess) -> None:
        """Find the settings."""
        super().open(process)
        self._first, self._last = {}, {}

    def read(self) -> list[Reading]:
        """The number of changed settings, and those whose value is another one than at the last
        call."""
        t_ns, readings = time.monotonic_ns(), []
        for setting in self._channels:
            value = setting.read()
            if value is not None and value != self._last.get(setting.name):
                self._first.setdefault(setting.name, value)
                self._last[setting.name] = value
                readings.append(Reading(t_ns, self.name, setting.name, value, setting.unit))
        changed = sum(self._last[channel] != first for channel, first in self._first.items())
        return [Reading(t_ns, self.name, CHANGED, float(changed), "settings"), *readings]

    def settings(self) -> Mapping[str, str]:
        """The governors of each policy, in the order of the values of its channel."""
        return {
            f"{folder.name}.{GOVERNOR}": " ".join(_governors(folder))
            for folder in policy_folders(self._root)
            if _governors(folder)
        }

    def find(self) -> Iterator[MeterChannel]:
        """Every setting that can be read now."""
        for setting in self._candidates():
            if setting.read() is not None:
                yield setting

    def _candidates(self) -> Iterator[MeterChannel]:
        yield MeterChannel("nvpmodel", "id", self._mode_id)
        for folder in policy_folders(self._root):
            for limit in ("min", "max"):
                frequency_hz = file_reader(folder / f"scaling_{limit}_freq", 1000)
                yield MeterChannel(f"{folder.name}.{limit}", "Hz", frequency_hz)
            yield MeterChannel(f"{folder.name}.{GOVERNOR}", GOVERNOR, _governor_reader(folder))
        for _, folder in devfreq_folders(self._root):
            for limit in ("min", "max"):
                yield MeterChannel(
                    f"{folder.name}.{limit}", "Hz", file_reader(folder / f"{limit}_freq")
                )
        for path in limit_files(self._root):
            zone = f"{path.parent.name}.{path.name.split('_')[1]}"
            yield MeterChannel(zone, "W", file_reader(path, 1e-6))
        cpus = self._root / CPUS
        yield MeterChannel("turbo.off", "active", file_reader(cpus / "intel_pstate/no_turbo"))
        yield MeterChannel("turbo", "active", file_reader(cpus / "cpufreq/boost"))
        for path in boost_files(self._root):
            yield MeterChannel(f"{path.parent.name}.turbo", "active", file_reader(path))
        yield MeterChannel("cores", "cores", self._cores)

    def _mode_id(self) -> float | None:
        status = nvpmodel.read_status(self._root)
        return None if status is None else float(status[0])

    def _cores(self) -> float | None:
        cores = online_cores(self._root)
        return None if cores is None else float(len(cores))


def _governors(policy: Path) -> list[str]:
    return (read_text(policy / "scaling_available_governors") or "").split()


def _governor_reader(policy: Path) -> Callable[[], float | None]:
    known = _governors(policy)

    def read() -> float | None:
        now = read_text(policy / "scaling_governor")
        return float(known.index(now)) if now in known else None

    return read


METER = PowerModeMeter
