"""Baseload: what the machine draws right before a run, when it does nothing but wait and be measured."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from suite.bundle.layout import BASELOAD_RAW
from suite.catalog.power import load_power_rules, power_sources
from suite.execution.recorder import Recorder
from suite.meters.meter import Meter, MeteredProcess
from suite.meters.sources.cpu import CpuMeter


def baseload_meters(meters: Sequence[Meter]) -> tuple[Meter, ...]:
    """Those that a power rule adds up and that can read here, and the processor's load, which tells how idle the machine was.

    Empty where nothing measures power. A meter that fails while it is asked is left to the run to name.
    """
    sources = power_sources(load_power_rules())
    power = tuple(meter for meter in meters if meter.name in sources and _is_available(meter))
    return (*power, *(meter for meter in meters if meter.name == CpuMeter.name and _is_available(meter))) if power else ()


@contextmanager
def recorded_baseload(meters: Sequence[Meter], directory: Path) -> Iterator[None]:
    """While the block waits, the meters are read into ``baseload.csv`` in ``directory``; they are closed after it.

    Nothing a meter does raises: what it did not read is not there.
    """
    recorder = Recorder(meters, directory, file_name=BASELOAD_RAW)
    recorder.start(MeteredProcess(os.getpid(), directory))
    try:
        yield
    finally:
        recorder.stop()


def _is_available(meter: Meter) -> bool:
    try:
        return meter.availability().available
    except Exception:  # noqa: BLE001 - whatever a driver does, the run goes on without this meter's baseload
        return False
