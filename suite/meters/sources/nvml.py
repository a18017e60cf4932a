"""NVML: power, energy, load, clocks and temperature of discrete NVIDIA GPUs (a Jetson's own GPU is
not among them)."""

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Moments, Reading

LIBRARY = "pynvml"  # of the package nvidia-ml-py


@dataclass(frozen=True)
class _Channel:
    """One channel of a GPU, and the NVML call that reads it."""

    name: str
    unit: str
    read: Callable[[Any, Any], float]


CHANNELS: Sequence[_Channel] = (
    _Channel("power", "W", lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu) * 1e-3),
    _Channel("energy", "J", lambda nvml, gpu: nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) * 1e-3),
    _Channel("utilisation", "%", lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu),
    _Channel("memory_used", "B", lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).used),
    _Channel(
        "frequency",
        "Hz",
        lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM) * 1e6,
    ),
    _Channel(
        "memory_frequency",
        "Hz",
        lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM) * 1e6,
    ),
    _Channel(
        "temperature",
        "degC",
        lambda nvml, gpu: nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU),
    ),
    _Channel(
        "throttle_reasons",
        "bits",
        lambda nvml, gpu: nvml.nvmlDeviceGetCurrentClocksThrottleReasons(gpu),
    ),
)


class NvmlMeter:
    """Channels that a GPU supports of ``gpu<n>.power`` (W), ``.energy`` (J, a counter; Volta and
    later), ``.utilisation`` (%), ``.memory_used`` (B), ``.frequency`` and ``.memory_frequency``
    (Hz), ``.temperature`` (degC) and ``.throttle_reasons`` (bits).

    The driver renews power ten to fifty times a second at most. Source: NVIDIA NVML API reference.
    """

    name = "nvml"
    period_s = 0.5
    moments = Moments.RANDOM
    description = "power, energy, load, clocks and temperature of NVIDIA GPUs"

    def __init__(self, root: Path = Path("/"), library: Any = None) -> None:
        self._root, self._library = root, library
        self._channels: list[tuple[str, _Channel, Any]] = []

    def availability(self) -> MeterAvailability:
        """Whether the driver is loaded, NVML works, and a GPU answers a query: NVML initialises on
        Jetson boards, and supports no query."""
        if not (self._root / "proc/driver/nvidia/version").exists():
            return MeterAvailability(
                False,
                "no NVIDIA driver is loaded (Jetson boards have another one)",
                "on a Jetson, ina3221 and tegrastats are read instead",
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
            gpus, channels = nvml.nvmlDeviceGetCount(), self._supported()
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
                "NVML answers every query with Not Supported (so it does for the GPU of a Jetson,"
                " JetPack 6 and later)",
                "on a Jetson, ina3221, ina238, tegra and tegrastats are read instead",
            )
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Find the channels that each GPU supports, by reading each once."""
        self._nvml().nvmlInit()
        self._channels = self._supported()

    def read(self) -> list[Reading]:
        """One reading per channel; raises NVMLError when a GPU was lost."""
        nvml, readings = self._nvml(), []
        for name, channel, gpu in self._channels:
            before_ns, value = time.monotonic_ns(), channel.read(nvml, gpu)
            readings.append(
                Reading(
                    (before_ns + time.monotonic_ns()) // 2, self.name, name, value, channel.unit
                )
            )
        return readings

    def close(self) -> None:
        """Shut NVML down."""
        self._nvml().nvmlShutdown()

    def _supported(self) -> list[tuple[str, _Channel, Any]]:
        """Name, channel and handle of what each GPU supports."""
        nvml = self._nvml()
        gpus = [
            (index, nvml.nvmlDeviceGetHandleByIndex(index))
            for index in range(nvml.nvmlDeviceGetCount())
        ]
        return [
            (f"gpu{index}.{each.name}", each, gpu)
            for index, gpu in gpus
            for each in CHANNELS
            if self._supports(each, gpu)
        ]

    def _supports(self, channel: _Channel, gpu: Any) -> bool:
        nvml = self._nvml()
        try:
            channel.read(nvml, gpu)
        # not supported by this GPU, or by this version of the package
        except (nvml.NVMLError, AttributeError):
            return False
        return True

    def _nvml(self) -> Any:
        if self._library is None:
            self._library = importlib.import_module(LIBRARY)
        return self._library


METER = NvmlMeter
