"""Every meter there is, in the order in which they are listed. A new meter is one file in ``sources`` and one line here."""

from pathlib import Path

from suite.measure.meter import Meter
from suite.measure.sources.cpu import CpuMeter
from suite.measure.sources.disk import DiskMeter
from suite.measure.sources.memory import MemoryMeter
from suite.measure.sources.temperature import TemperatureMeter

METERS = (CpuMeter, MemoryMeter, DiskMeter, TemperatureMeter)


def open_meters(root: Path = Path("/")) -> tuple[Meter, ...]:
    """One of each, reading below ``root``."""
    return tuple(meter(root) for meter in METERS)
