"""NVML as a library that is scripted: no GPU, no driver."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.bundle.readings_table import channels_of_frame
from suite.catalog.power import load_power_rules, totals_of_channels
from suite.meters.meter import MeteredProcess
from suite.meters.sources.nvml import NvmlMeter
from suite.metrics.energy import energy_of


class NVMLError(Exception):
    """What the library raises."""


class FakeNvml(SimpleNamespace):
    """Two GPUs; the first is too old for an energy counter and shares no utilisation."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self) -> None:
        super().__init__(second=0, shut=0, lost=False)

    def nvmlInit(self) -> None: ...

    def nvmlShutdown(self) -> None:
        self.shut += 1

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetPowerUsage(self, gpu: int) -> int:
        if self.lost:
            raise NVMLError("GPU is lost")
        return 50_000 + 10_000 * gpu

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu: int) -> int:
        if gpu == 0:
            raise NVMLError("Not Supported")
        return 123_000_000 + self.second * 61_500

    def nvmlDeviceGetUtilizationRates(self, gpu: int) -> Any:
        if gpu == 0:
            raise NVMLError("Not Supported")
        return SimpleNamespace(gpu=97, memory=40)

    def nvmlDeviceGetMemoryInfo(self, gpu: int) -> Any:
        return SimpleNamespace(used=2**30, free=2**31, total=2**32)

    def nvmlDeviceGetClockInfo(self, gpu: int, kind: int) -> int:
        return {1: 1410, 2: 1215}[kind]

    def nvmlDeviceGetTemperature(self, gpu: int, sensor: int) -> int:
        return 61


@pytest.fixture
def machine(tree) -> Path:
    """A machine with the driver loaded."""
    return tree({"proc/driver/nvidia/version": "NVRM version\n"})


def test_each_gpu_gives_what_it_supports(machine: Path) -> None:
    meter = NvmlMeter(machine, FakeNvml())
    assert meter.availability().available
    meter.open(MeteredProcess(1, Path("/data")))
    values = {reading.channel: (reading.value, reading.unit) for reading in meter.read()}
    assert values["gpu0.power"] == (50.0, "W")
    assert values["gpu1.energy"] == (123_000.0, "J")
    assert values["gpu1.utilisation"] == (97, "%")
    assert values["gpu0.frequency"] == (1.41e9, "Hz")
    assert values["gpu1.memory_frequency"] == (pytest.approx(1.215e9), "Hz")
    assert values["gpu0.memory_used"] == (2**30, "B")
    assert {"gpu0.energy", "gpu0.utilisation", "gpu0.throttle_reasons"}.isdisjoint(values)


def test_the_counter_is_preferred_where_there_is_one(machine: Path, replay) -> None:
    nvml = FakeNvml()
    nvml.nvmlDeviceGetHandleByIndex = lambda index: 1
    readings = replay(
        NvmlMeter(machine, nvml),
        [lambda second=second: setattr(nvml, "second", second) for second in range(6)],
    )
    best, power = totals_of_channels(
        load_power_rules(), zip(readings["source"], readings["channel"], strict=True)
    )
    assert energy_of(channels_of_frame(readings), best, 0, 5 * 10**9).energy_j == pytest.approx(
        2 * 5 * 61.5
    )
    assert energy_of(channels_of_frame(readings), power, 0, 5 * 10**9).energy_j == pytest.approx(
        2 * 5 * 60.0
    )


def test_a_gpu_that_is_lost_during_the_run_is_an_error(machine: Path) -> None:
    nvml = FakeNvml()
    meter = NvmlMeter(machine, nvml)
    meter.open(MeteredProcess(1, Path("/data")))
    nvml.lost = True
    with pytest.raises(NVMLError, match="GPU is lost"):
        meter.read()


def test_a_library_that_initialises_and_supports_no_query_is_not_available(machine: Path) -> None:
    def unsupported(*arguments: object) -> Any:
        raise NVMLError("Not Supported")

    nvml = FakeNvml()  # as on Jetson Orin with JetPack 6 and 7
    for query in dir(nvml):
        if query.startswith("nvmlDeviceGet") and query not in (
            "nvmlDeviceGetCount",
            "nvmlDeviceGetHandleByIndex",
        ):
            setattr(nvml, query, unsupported)
    availability = NvmlMeter(machine, nvml).availability()
    assert not availability.available
    assert "Not Supported" in availability.reason
    assert "ina3221" in availability.remedy
    assert nvml.shut == 1


def test_the_driver_is_let_go_of(machine: Path) -> None:
    nvml = FakeNvml()
    meter = NvmlMeter(machine, nvml)
    meter.open(MeteredProcess(1, Path("/data")))
    meter.close()
    assert nvml.shut == 1


def test_a_driver_without_the_python_package_has_a_remedy(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    assert "nvidia-ml-py" in NvmlMeter(machine).availability().remedy
