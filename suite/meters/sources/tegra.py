"""A Jetson's GPU and memory controller, from files that every user can read."""

from collections.abc import Iterator

from suite.machine.procfs import read_integer
from suite.meters.channels import ChannelMeter, MeterChannel, file_reader
from suite.meters.meter import MeterAvailability

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
CHANNELS = (  # the load is in thousandths
    ("gpu.utilisation", LOADS, 0.1, "%"),
    ("gpu.frequency", GPU_CLOCKS, 1.0, "Hz"),
    ("memory_controller.frequency", MEMORY_CLOCKS, 1.0, "Hz"),
)


class TegraMeter(ChannelMeter):
    """Channels ``gpu.utilisation`` (%), ``gpu.frequency`` and, as root,
    ``memory_controller.frequency`` (Hz).

    The load is the kernel's average over some tens of milliseconds. Source: jetson_stats,
    jtop/core/gpu.py; NVIDIA Jetson Linux Developer Guide.
    """

    name = "tegra"
    period_s = 0.5
    description = "load and clock of a Jetson's GPU, clock of its memory controller"

    absent = MeterAvailability(
        False,
        "the kernel reports no GPU of a Jetson",
        "the meter `nvml` reads NVIDIA's other GPUs",
    )

    def find(self) -> Iterator[MeterChannel]:
        """The first file of each channel that can be read."""
        for channel, patterns, scale, unit in CHANNELS:
            paths = (path for pattern in patterns for path in sorted(self._root.glob(pattern)))
            path = next((path for path in paths if read_integer(path) is not None), None)
            if path is not None:
                yield MeterChannel(channel, unit, file_reader(path, scale))


METER = TegraMeter
