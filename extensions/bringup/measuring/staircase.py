"""A staircase of loads on the processor's cores, with every meter recorded, and what it says of the
on-board sensors."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from reference_impls.contract import NS_PER_S, SECONDS_PER_NS
from suite.bundle.arrays import Window
from suite.bundle.channels import Channel, Channels, no_channels
from suite.bundle.layout import READINGS_RAW
from suite.bundle.readings_table import ReadingsMemory, read_raw_channels
from suite.catalog.power import Coverage, PowerTotal, Tier, load_power_rules, totals_of_channels
from suite.execution.recorder import MeterRecord, Recorder
from suite.extensions.bringup.record import Calibration, Range, Step, TotalPower
from suite.files.counted import counted
from suite.meters.meter import Meter, MeteredProcess
from suite.metrics.sensor_calibration import calibrate

MIN_LEVELS, MAX_LEVELS = 5, 8
"""A line through fewer points has no useful interval."""
MAX_STAIRCASE_S = 720.0
"""Leaves three minutes of a quarter of an hour for all else."""
MIN_STEP_S = 4.0
EXPECTED_GAINS = {
    **{(each, each): (1.0, 1.0) for each in Coverage},
    (Coverage.WALL, Coverage.BOARD): (0.75, 1.0),
    (Coverage.WALL, Coverage.MODULE): (0.7, 1.0),
    (Coverage.BOARD, Coverage.MODULE): (0.85, 1.0),
}
"""By what the meter and what the sensor cover: efficiencies of power supplies and of a carrier
board's regulators. Of other pairs nobody knows what to expect."""
# Hashes as long as its parent lives: a killed bring-up leaves no load.
_LOAD = (
    "import hashlib, os, sys\nparent = os.getppid()\nblock = bytes(2**16)\nwhile os.getppid() =="
    " parent:\n    hashlib.sha256(block)\n"
)


@dataclass(frozen=True)
class Plan:
    """The levels in their order, as numbers of busy cores, and how long each lasts."""

    levels: tuple[int, ...]
    step_s: float

    @property
    def total_s(self) -> float:
        """How long the staircase takes."""
        return len(self.levels) * self.step_s


@dataclass(frozen=True)
class Staircase:
    """What was recorded: the steps as they were, with windows in ns of CLOCK_MONOTONIC, and every
    channel."""

    steps: tuple[tuple[int, Window], ...]
    channels: Channels
    records: tuple[MeterRecord, ...]
    was_interrupted: bool


def plan(cores: int, step_s: float) -> Plan:
    """Idle, one busy core to all of them (eight levels at most), and idle again; on one to three
    cores several times."""
    count = min(cores, MAX_LEVELS)
    up = (0, *dict.fromkeys(round(cores * place / count) for place in range(1, count + 1)))
    return Plan((*up * -(-MIN_LEVELS // len(up)), 0), step_s)


def climb(plan: Plan, meters: Sequence[Meter], report: Callable[[str], None]) -> Staircase:
    """Load the machine level by level while the meters are recorded. Ctrl-C ends it: the steps
    until then are returned."""
    steps: list[tuple[int, Window]] = []
    was_interrupted = False
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(meters, Path(folder))
        # in the folder of the first readings: a temporary one may be on no disk
        recorder.start(MeteredProcess(os.getpid(), Path(__file__).parent))
        try:
            for place, cores in enumerate(plan.levels):
                left_s = (len(plan.levels) - place) * plan.step_s
                report(
                    f"step {place + 1} of {len(plan.levels)}: {counted(cores, 'busy core')}"
                    f" for {plan.step_s:g} s, {left_s:.0f} s left"
                )
                began_ns = time.monotonic_ns()
                with _load(cores):
                    time.sleep(plan.step_s)
                    steps.append((cores, (began_ns, time.monotonic_ns())))
        except KeyboardInterrupt:
            was_interrupted = True
        finally:
            records = recorder.stop()
        raw = Path(folder) / READINGS_RAW
        channels = read_raw_channels(raw, ReadingsMemory()) if raw.exists() else no_channels()
        names = [(channel.source, channel.name) for channel in channels]
        return Staircase(tuple(steps), channels.with_cached(names), records, was_interrupted)


@contextlib.contextmanager
def _load(cores: int) -> Iterator[None]:
    """Keep this many cores busy during the block."""
    processes = [
        subprocess.Popen([sys.executable, "-S", "-c", _LOAD], stdin=subprocess.DEVNULL)
        for _ in range(cores)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def describe_steps(staircase: Staircase) -> tuple[Step, ...]:
    """The steps, each with the mean power of every total over its second half."""
    start_ns = staircase.steps[0][1][0] if staircase.steps else 0
    series = [
        (total, power_channel(staircase.channels, total)) for total in _totals(staircase.channels)
    ]
    found = []
    for cores, (began_ns, ended_ns) in staircase.steps:
        settled = ((began_ns + ended_ns) // 2, ended_ns)
        powers = tuple(
            TotalPower(_label(total), mean)
            for total, channel in series
            if np.isfinite(mean := channel.during(settled).mean)
        )
        found.append(
            Step(
                cores,
                (began_ns - start_ns) * SECONDS_PER_NS,
                (ended_ns - start_ns) * SECONDS_PER_NS,
                powers,
            )
        )
    return tuple(found)


def ranges(staircase: Staircase) -> tuple[Range, ...]:
    """Number, lowest, mean and highest value of every channel."""
    return tuple(
        Range(
            each.source,
            each.name,
            each.unit,
            len(each.known),
            each.minimum,
            each.mean,
            each.maximum,
        )
        for each in staircase.channels
        if len(each.known) and np.isfinite(each.known).all()
    )


def calibrations(staircase: Staircase) -> tuple[Calibration, ...]:
    """Every on-board sensor's total against every power meter's, where a gain is expected."""
    found = _totals(staircase.channels)
    meters = [total for total in found if total.rule.tier in (Tier.ANALYSER, Tier.WALL_METER)]
    sensors = [total for total in found if total.rule.tier in (Tier.ON_BOARD, Tier.ESTIMATE)]
    windows = [window for _, window in staircase.steps]
    return tuple(
        _calibration(staircase.channels, sensor, meter, windows)
        for meter in meters
        for sensor in sensors
        if (meter.rule.coverage, sensor.rule.coverage) in EXPECTED_GAINS
    )


def _calibration(
    channels: Channels, sensor: PowerTotal, meter: PowerTotal, windows: Sequence[Window]
) -> Calibration:
    expected = EXPECTED_GAINS[meter.rule.coverage, sensor.rule.coverage]
    fitted = calibrate(
        power_channel(channels, sensor),
        power_channel(channels, meter),
        windows,
        expected_gain=expected,
        meter_gain_error=meter.rule.gain_error,
    )
    numbers = (fitted.gain, fitted.gain_low, fitted.gain_high, fitted.offset_w)
    return Calibration(
        _label(sensor), _label(meter), *numbers, *expected, fitted.deviates, fitted.reason
    )


def power_channel(channels: Channels, total: PowerTotal) -> Channel:
    """A total as one channel of power (W): the sum at the first channel's times; of a counter, the
    mean power between two readings."""
    parts = [channels.get(total.source, name).in_time for name in total.channels]
    t_ns = parts[0].t_ns
    values = np.sum([np.interp(t_ns, part.t_ns, part.values) for part in parts], axis=0)
    if total.rule.unit == "J":
        apart = np.diff(t_ns) > 0
        values = (np.diff(values)[apart] / np.diff(t_ns)[apart]) * NS_PER_S
        t_ns = ((t_ns[1:] + t_ns[:-1]) // 2)[apart]
    values = values * total.rule.scale + total.rule.offset_w
    return replace(
        parts[0], name=total.rule.name, unit="W", count=len(t_ns), fetch=lambda: (t_ns, values)
    )


def _totals(channels: Channels) -> tuple[PowerTotal, ...]:
    return totals_of_channels(
        load_power_rules(), ((channel.source, channel.name) for channel in channels)
    )


def _label(total: PowerTotal) -> str:
    return f"{total.source}: {total.rule.name}"
