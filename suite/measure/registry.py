"""Every meter there is, in the order in which they are listed. A new meter is one file in ``sources`` and one line here."""

from collections.abc import Callable
from pathlib import Path

from suite.measure.meter import Meter
from suite.measure.sources.counters import CountersMeter
from suite.measure.sources.cpu import CpuMeter
from suite.measure.sources.disk import DiskMeter
from suite.measure.sources.ina3221 import Ina3221Meter
from suite.measure.sources.jtop import JtopMeter
from suite.measure.sources.memory import MemoryMeter
from suite.measure.sources.meter_csv import MeterCsvMeter
from suite.measure.sources.network import NetworkMeter
from suite.measure.sources.nvml import NvmlMeter
from suite.measure.sources.page_cache import PageCacheMeter
from suite.measure.sources.rapl import RaplMeter
from suite.measure.sources.rpi5_pmic import Rpi5PmicMeter
from suite.measure.sources.shelly import ShellyMeter
from suite.measure.sources.tasmota import TasmotaMeter
from suite.measure.sources.tegra import TegraMeter
from suite.measure.sources.tegrastats import TegrastatsMeter
from suite.measure.sources.temperature import TemperatureMeter
from suite.measure.sources.throttling import ThrottlingMeter
from suite.measure.sources.um25c import Um25cMeter
from suite.measure.sources.wall_clock import WallClockMeter

METERS = (
    CountersMeter,  # first: it is attached before the implementation starts a thread
    CpuMeter,
    MemoryMeter,
    DiskMeter,
    NetworkMeter,
    PageCacheMeter,
    TemperatureMeter,
    ThrottlingMeter,
    WallClockMeter,
    TegraMeter,
    Ina3221Meter,
    TegrastatsMeter,
    JtopMeter,
    Rpi5PmicMeter,
    RaplMeter,
    NvmlMeter,
    ShellyMeter,
    TasmotaMeter,
    Um25cMeter,
    MeterCsvMeter,
)


def open_meters(root: Path = Path("/")) -> tuple[Meter, ...]:
    """One of each, reading below ``root``."""
    makers: tuple[Callable[[Path], Meter], ...] = METERS
    return tuple(make(root) for make in makers)
