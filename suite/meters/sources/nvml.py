"""NVML: power, energy, load, clocks and temperature of discrete NVIDIA GPUs (a Jetson's own GPU is
not among them)."""

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from suite.meters.channels import ChannelMeter, MeterChannel
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Moments

LIBRARY = "pynvml"  # of the package nvidia-ml-py


CHANNELS: tuple[tuple[str, str, Callable[[Any, Any], float]], ...] = (
    ("power", "W", lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu) * 1e-3),
    ("energy", "J", lambda nvml, gpu: nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) * 1e-3),
    ("utilisation", "%", lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu),
    ("memory_used", "B", lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).used),
    (
        "frequency",
        "Hz",
        lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM) * 1e6,
    ),
    (
        "memory_frequency",
        "Hz",
        lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM) * 1e6,
    ),
    (
        "temperature",
        "degC",
        lambda nvml, gpu: nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU),
    ),
    (
        "throttle_reasons",
        "bits",
        lambda nvml, gpu: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu),
    ),
)
"""Name and unit of a GPU's channels, and the NVML call that reads each; it raises NVMLError when
the GPU was lost."""


class NvmlMeter(ChannelMeter):
    """Channels: ``gpu<n>.power`` (W), ``.energy`` (J, a counter; Volta and later),
    ``.utilisation`` (%), ``.memory_used`` (B), ``.frequency`` and ``.memory_frequency`` (Hz),
    ``.temperature`` (degC) and ``.throttle_reasons`` (bits), if the GPU has them.

    The driver renews power ten to fifty times a second at most. Source: NVIDIA NVML API reference.
    """

    name = "nvml"
    period_s = 0.5
    moments = Moments.RANDOM
    description = "power, energy, load, clocks and temperature of NVIDIA GPUs"

    def __init__(self, root: Path = Path("/"), library: Any = None) -> None:
        super().__init__(root)
        self._library = library

    def availability(self) -> MeterAvailability:
        """Whether the driver is loaded, NVML works, and a GPU answers a query: NVML initialises on
        Jetson boards, and supports no query."""
        if not (self._root / "proc/driver/nvidia/version").exists():
            return MeterAvailability(
                False,
                "no NVIDIA driver is loaded (Jetson boards have another driver)",
                "on a Jetson, the meters `ina3221` and `tegrastats` are read instead",
            )
        try:
            nvml = self._nvml()
        except ImportError:
            return MeterAvailability(
                False,
                f"the Python package {LIBRARY} is missing",
                "pip install nvidia-ml-py, in the environment of the suite",
            )
        try:
            nvml.nvmlInit()
            gpus, channels = nvml.nvmlDeviceGetCount(), any(self.find())
            nvml.nvmlShutdown()
        except nvml.NVMLError as error:
            return MeterAvailability(
                False, f"NVML does not answer: {error}", "check the driver with `nvidia-smi`"
            )
        if not gpus:
            return MeterAvailability(
                False, "the driver sees no GPU", "check the driver with `nvidia-smi`"
            )
        if not channels:
            return MeterAvailability(
                False,
                "NVML answers every query with Not Supported (as for the GPU of a Jetson with"
                " JetPack 6 or later)",
                "on a Jetson, the meters `ina3221`, `ina238`, `tegra` and `tegrastats` are read"
                " instead",
            )
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Find the channels that each GPU supports, by reading each once."""
        self._nvml().nvmlInit()
        super().open(process)

    def close(self) -> None:
        """Shut NVML down."""
        self._nvml().nvmlShutdown()

    def find(self) -> Iterator[MeterChannel]:
        """What each GPU supports, and this version of the package."""
        nvml = self._nvml()
        for index in range(nvml.nvmlDeviceGetCount()):
            gpu = nvml.nvmlDeviceGetHandleByIndex(index)
            for name, unit, call in CHANNELS:
                try:
                    call(nvml, gpu)
                except (nvml.NVMLError, AttributeError):
                    continue
                yield MeterChannel(f"gpu{index}.{name}", unit, partial(call, nvml, gpu))

    def _nvml(self) -> Any:
        if self._library is None:
            self._library = importlib.import_module(LIBRARY)
        return self._library


METER = NvmlMeter
