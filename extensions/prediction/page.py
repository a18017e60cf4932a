"""What fits a limit of power: the fastest measured power mode of a system, and the fastest of its
modes that nobody measured, by prediction.

A system's entries that differ in the power mode alone are its profiled modes, of each mode the
fastest; every combination of the cores and clocks that they have is a mode that it can be set to.
Predicted modes have no entry, no rank and no page.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reporter.board.boards import Leaderboard, LeaderboardRow
from reporter.board.columns import Cell
from reporter.data.frames import IDENTITY, is_known
from reporter.data.machines import machines_of
from reporter.data.quantities import quantity
from reporter.pages.shared import LeaderboardSection
from suite.extensions.prediction.record.limits import best, question
from suite.extensions.prediction.record.models import fit
from suite.extensions.prediction.record.modes import Modes
from suite.extensions.prediction.record.samples import Samples, intervals
from suite.extensions.prediction.record.table import ASSUMED_ERROR, MIN_ERROR, Profile

TIME, POWER = "time_to_epoch_s", "mean_power_w"
MIN_MODES = 5
"""Fewer profiled modes say too little about the others."""
MAX_MODES = 30_000
LIMITS_W = tuple(base * 10**power for power in range(-1, 4) for base in (1, 1.5, 2, 3, 5, 7))
RESOURCES = {
    "cores": "{:g} cores",
    "cpu_mhz": "CPU {:g} MHz",
    "gpu_mhz": "GPU {:g} MHz",
    "memory_mhz": "memory {:g} MHz",
}
"""Fields of a machine that make its mode, and how they are written."""
OF_MODE = ("power_mode", "threads")
"""Properties in which entries of one system may differ. Of those of one mode, with other threads or
another governor, the fastest is its measurement."""


@dataclass(frozen=True)
class PredictedMode:
    """A mode that was never measured: its resources in words, and median and 90 % interval of time
    per epoch and power."""

    mode: str
    time: str
    time_around: str
    power: str
    power_around: str


@dataclass(frozen=True)
class Fitting:
    """What fits a limit: the fastest measured mode, and a predicted one that is faster, within the
    limit with the probability CERTAINTY; None if there is none."""

    limit: str
    measured: LeaderboardRow | None
    time: Cell | None
    predicted: PredictedMode | None


@dataclass(frozen=True)
class PredictedModes:
    """The modes of one system and framework: how many were measured and how many predicted, and
    what fits each limit of power."""

    system: str
    framework: str
    instrument: int
    measured: int
    modes: int
    fitting: tuple[Fitting, ...]


@dataclass(frozen=True)
class _Profiled:
    """A measured mode: its row, the values of its resources, time per epoch (s), power (W), and
    which of :data:`RESOURCES` it has."""

    row: LeaderboardRow
    mode: tuple[float, ...]
    time: Cell
    power: Cell
    offered: tuple[bool, ...]


def predicted_modes(board: Leaderboard) -> tuple[PredictedModes, ...]:
    """For each system of a board that was measured in enough power modes."""
    return tuple(found for group in _groups(board) if (found := _predicted(group)) is not None)


def _groups(board: Leaderboard) -> Iterator[list[_Profiled]]:
    """The accepted entries with time and power and known clocks that differ in the mode alone."""
    run_of = dict(zip(board.frames.runs["entry_id"], board.frames.runs["run_id"], strict=True))
    groups: dict[tuple[Any, ...], list[_Profiled]] = {}
    for row in board.accepted:
        time, power = row.cell(TIME), row.cell(POWER)
        if (
            time is None
            or power is None
            or not time.value
            or not power.value
            or not is_known(row.entry["power_mode"])
        ):
            continue
        machine = machines_of(board.frames)[str(run_of[row.entry["entry_id"]])]
        mode = tuple(
            value for value in (getattr(machine, name) for name in RESOURCES) if value is not None
        )
        offered = tuple(getattr(machine, name) is not None for name in RESOURCES)
        same = tuple(str(row.entry[name]) for name in IDENTITY if name not in OF_MODE)
        groups.setdefault((*same, row.instrument, offered, machine.is_locked), []).append(
            _Profiled(row, mode, time, power, offered)
        )
    yield from groups.values()


def _predicted(group: Sequence[_Profiled]) -> PredictedModes | None:
    slowest_first = sorted(group, key=lambda one: _value(one.time), reverse=True)
    fastest = {one.mode: one for one in slowest_first}
    profiled = [one for one in group if one is fastest[one.mode]]
    names = tuple(
        name for name, is_offered in zip(RESOURCES, group[0].offered, strict=True) if is_offered
    )
    values = [sorted(set(column)) for column in zip(*(one.mode for one in group), strict=True)]
    if len(profiled) < MIN_MODES or math.prod(map(len, values)) > MAX_MODES:
        return None
    modes, profile = (
        Modes(names, np.array(list(itertools.product(*values)), dtype=float)),
        _profile(names, profiled),
    )
    unmeasured = np.setdiff1d(np.arange(len(modes)), modes.indices(profile.rows))
    if not len(unmeasured):
        return None
    left = Modes(names, modes.rows[unmeasured])
    samples = fit("physical", modes, profile).predict(left.rows)
    fitting = tuple(_fitting(limit_w, group, left, samples) for limit_w in _limits(group))
    first = group[0].row
    return PredictedModes(
        first.system, first.framework, first.instrument, len(profiled), len(left), fitting
    )


def _profile(names: tuple[str, ...], group: Sequence[_Profiled]) -> Profile:
    rows, times_s, powers_w = (
        [one.mode for one in group],
        [_value(one.time) for one in group],
        [_value(one.power) for one in group],
    )
    errors = (
        [_error(one.time, one.row) for one in group],
        [_error(one.power, one.row) for one in group],
    )
    return Profile(
        names, *(np.array(column, dtype=float) for column in (rows, times_s, powers_w, *errors))
    )


def _error(cell: Cell, row: LeaderboardRow) -> float:
    """Relative standard error of the mean over an entry's runs."""
    runs = int(row.entry["runs"])
    spread = (
        float(cell.raw_spread) / _value(cell) / math.sqrt(runs)
        if cell.raw_spread and runs > 1
        else ASSUMED_ERROR
    )
    return max(MIN_ERROR, spread)


def _value(cell: Cell) -> float:
    assert cell.value is not None
    return cell.value


def _limits(group: Sequence[_Profiled]) -> Iterator[float]:
    """Round numbers from the least measured power to the first above the highest."""
    powers = [_value(one.power) for one in group]
    above = [limit_w for limit_w in LIMITS_W if limit_w >= min(powers)]
    yield from itertools.takewhile(lambda limit_w: limit_w < max(powers), above)
    yield from itertools.islice((limit_w for limit_w in above if limit_w >= max(powers)), 1)


def _fitting(limit_w: float, group: Sequence[_Profiled], left: Modes, samples: Samples) -> Fitting:
    within = [one for one in group if _value(one.power) <= limit_w]
    measured = min(within, key=lambda one: _value(one.time)) if within else None
    index = best(samples, question(limit_w, None, None))
    if (
        index is not None
        and measured is not None
        and np.exp(np.median(samples.log_time[:, index])) >= _value(measured.time)
    ):
        index = None
    predicted = None if index is None else _in_words(left, samples, index)
    row, time = (None, None) if measured is None else (measured.row, measured.time)
    return Fitting(f"{limit_w:g} W", row, time, predicted)


def _in_words(left: Modes, samples: Samples, index: int) -> PredictedMode:
    time, power = (
        intervals(values[:, index : index + 1]) for values in (samples.log_time, samples.log_power)
    )
    of_time, of_power = (
        quantity(float(one.value[0]), unit, (float(one.low[0]), float(one.high[0])))
        for one, unit in ((time, "s"), (power, "W"))
    )
    return PredictedMode(
        ", ".join(RESOURCES[name].format(value) for name, value in left.named(index).items()),
        *of_time,
        *of_power,
    )


BOARD_SECTION = LeaderboardSection(
    Path(__file__).parent / "templates" / "on_board.html", predicted_modes
)
