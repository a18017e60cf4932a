"""A Jetson's GPU and memory controller, from files that every user can read."""

import time
from pathlib import Path

from suite.machine.procfs import integer
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading

LOADS = (
    "sys/devices/gpu.0/load",
    "sys/devices/platform/gpu.0/load",
    "sys/devices/platform/17000000.g*/load",
    "sys/devices/platform/bus@0/17000000.gpu/load",
)
# By address (Nano and TX1 have it at 57000000, TX2 to Orin at 17000000) and Thor's graphics
# cluster; "fb000000.gpu" is a Mali.
GPU_CLOCKS = tuple(
    f"sys/class/devfreq/{gpu}/cur_freq" for gpu in ("17000000.g*", "57000000.g*", "gpu-gpc-*")
)
MEMORY_CLOCKS = ("sys/kernel/debug/bpmp/debug/clk/emc/rate", "sys/kernel/debug/clk/emc/clk_rate")


class TegraMeter:
    """Channels ``gpu.utilisation`` (%), ``gpu.frequency`` and, as root,
    ``memory_controller.frequency`` (Hz).

    The load is the kernel's average over some tens of milliseconds. Source: jetson_stats,
    jtop/core/gpu.py; NVIDIA Jetson Linux Developer Guide.
    """

    name = "tegra"
    period_s = 0.5
    description = "load and clock of a Jetson's GPU, clock of its memory controller"

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._channels: list[tuple[str, Path, float, str]] = []

    def availability(self) -> MeterAvailability:
        """Whether the kernel has a Jetson's GPU."""
        if self._find():
            return AVAILABLE
        return MeterAvailability(
            False, "the kernel has no GPU of a Jetson", "NVIDIA's other GPUs are read by nvml"
        )

    def open(self, process: MeteredProcess) -> None:
        """Find the files."""
        self._channels = self._find()

    def read(self) -> list[Reading]:
        """One reading per file that can be read."""
        readings = []
        for channel, path, scale, unit in self._channels:
            value = integer(path)
            if value is not None:
                readings.append(
                    Reading(time.monotonic_ns(), self.name, channel, value * scale, unit)
                )
        return readings

    def close(self) -> None:
        """Nothing to release."""

    def _find(self) -> list[tuple[str, Path, float, str]]:
        """The first file of each kind that can be read; the load is in thousandths."""
        found = []
        kinds = (
            ("gpu.utilisation", LOADS, 0.1, "%"),
            ("gpu.frequency", GPU_CLOCKS, 1.0, "Hz"),
            ("memory_controller.frequency", MEMORY_CLOCKS, 1.0, "Hz"),
        )
        for channel, patterns, scale, unit in kinds:
            paths = [
                path
                for pattern in patterns
                for path in sorted(self._root.glob(pattern))
                if integer(path) is not None
            ]
            if paths:
                found.append((channel, paths[0], scale, unit))
        return found


METER = TegraMeter
