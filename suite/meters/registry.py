"""Every meter there is, in the order in which they are listed. A new meter is one file in ``sources`` and one line here."""

from collections.abc import Callable
from pathlib import Path

from suite.meters.meter import Meter
from suite.meters.sources.counters import CountersMeter
from suite.meters.sources.cpu import CpuMeter
from suite.meters.sources.disk import DiskMeter
from suite.meters.sources.ina3221 import Ina3221Meter
from suite.meters.sources.jtop import JtopMeter
from suite.meters.sources.memory import MemoryMeter
from suite.meters.sources.meter_csv import MeterCsvMeter
from suite.meters.sources.network import NetworkMeter
from suite.meters.sources.nvml import NvmlMeter
from suite.meters.sources.page_cache import PageCacheMeter
from suite.meters.sources.rapl import RaplMeter
from suite.meters.sources.rpi5_pmic import Rpi5PmicMeter
from suite.meters.sources.shelly import ShellyMeter
from suite.meters.sources.tasmota import TasmotaMeter
from suite.meters.sources.tegra import TegraMeter
from suite.meters.sources.tegrastats import TegrastatsMeter
from suite.meters.sources.temperature import TemperatureMeter
from suite.meters.sources.throttling import ThrottlingMeter
from suite.meters.sources.um25c import Um25cMeter
from suite.meters.sources.wall_clock import WallClockMeter

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
