"""Baseload: the power of the idle machine, measured right before a run."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from suite.bundle.layout import BASELOAD_RAW
from suite.catalog.power import load_power_rules, power_sources
from suite.execution.recorder import Recorder, recording
from suite.meters.meter import Meter, MeteredProcess
from suite.meters.registry import may_have_total
from suite.meters.sources.cpu import CpuMeter


def baseload_meters(meters: Sequence[Meter]) -> tuple[Meter, ...]:
    """The available meters of which a power rule makes a total, and the CPU meter, which shows how
    idle the machine was.

    Empty where nothing measures power. The run records meters whose ``availability`` raises; here
    they are left out.
    """
    rules = load_power_rules()
    sources = power_sources(rules)
    power = tuple(
        meter
        for meter in meters
        if meter.name in sources and _is_available(meter) and may_have_total(meter, rules)
    )
    return (
        (
            *power,
            *(meter for meter in meters if meter.name == CpuMeter.name and _is_available(meter)),
        )
        if power
        else ()
    )


def recorded_baseload(meters: Sequence[Meter], directory: Path) -> AbstractContextManager[None]:
    """Read the meters into ``baseload.csv`` in ``directory`` while the block waits; they are closed
    after it.

    A meter that fails raises nothing here; its readings are absent.
    """
    recorder = Recorder(meters, directory, file_name=BASELOAD_RAW)
    return recording(recorder, MeteredProcess(os.getpid(), directory))


def _is_available(meter: Meter) -> bool:
    try:
        return meter.availability().available
    except Exception:  # noqa: BLE001 - whatever a driver raises, the run continues without this meter's baseload
        return False
