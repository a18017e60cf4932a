"""Each meter's first readings on a board, within a time limit, and whether the board's files alone
yield the same channels."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from suite.extensions.bringup.measuring.collecting import call_within
from suite.extensions.bringup.record import BringUp, FirstReading, MeterTrial, plant
from suite.meters.meter import Meter, MeteredProcess, Reading, WithSettings, is_number
from suite.meters.registry import open_meters

TRIAL_LIMIT_S, READING_LIMIT_S = 30.0, 6.0
FROM_FILES = frozenset(
    (
        "ina3221",
        "ina238",
        "power-mode",
        "rapl",
        "rpi5-pmic",
        "tegra",
        "tegrastats",
        "temperature",
        "throttling",
    )
)
"""The meters whose sources are in a bring-up file. The others read processes, the network, a serial
line, a library or a system call."""


def try_meters(root: Path, report: Callable[[str], None]) -> Iterator[MeterTrial]:
    """One trial per meter that reads below ``root``; a meter that raises or does not return is not
    available, with the reason."""
    for meter in open_meters(root):
        report(f"reading {meter.name}")
        try:
            yield call_within(TRIAL_LIMIT_S, lambda meter=meter: try_meter(meter))  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 - one broken driver must not hide the other meters
            yield MeterTrial(
                meter.name,
                False,
                f"the trial failed: {type(error).__name__}: {error}",
                "please report this",
            )


def try_meter(meter: Meter) -> MeterTrial:
    """Open the meter, read it once and close it; one that waits for its source gets
    READING_LIMIT_S."""
    availability = meter.availability()
    trial = MeterTrial(meter.name, availability.available, availability.reason, availability.remedy)
    if not availability.available:
        return trial
    meter.open(MeteredProcess(os.getpid(), Path(__file__).parent))
    try:
        settings = dict(meter.settings()) if isinstance(meter, WithSettings) else {}
        readings = _first_readings(meter)
    finally:
        meter.close()
    found = tuple(
        FirstReading(one.channel, one.value, one.unit) for one in readings if is_number(one.value)
    )
    return replace(
        trial, settings=tuple(f"{name}={value}" for name, value in settings.items()), readings=found
    )


def _first_readings(meter: Meter) -> list[Reading]:
    deadline_s = time.monotonic() + READING_LIMIT_S
    while not (readings := meter.read()) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return readings


def replayed(bringup: BringUp) -> Iterator[MeterTrial]:
    """The trials, each with whether its meter reads the same channels, in the same units, from the
    file's tree."""
    with tempfile.TemporaryDirectory() as folder:
        root = plant(bringup, Path(folder))
        again = {meter.name: meter for meter in open_meters(root)}
        for trial in bringup.meters:
            if trial.name not in FROM_FILES or not trial.available:
                yield trial
            else:
                yield replace(trial, is_replayed=_reads_the_same(again[trial.name], trial))


def _reads_the_same(meter: Meter, trial: MeterTrial) -> bool:
    try:
        found = call_within(TRIAL_LIMIT_S, lambda: try_meter(meter))
    except Exception:  # noqa: BLE001 - whatever a meter raises, it does not read the same
        return False
    return {(one.channel, one.unit) for one in found.readings} == {
        (one.channel, one.unit) for one in trial.readings
    }
