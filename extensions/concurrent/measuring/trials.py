"""Real trials for tuning: bounds from inference alone, and measurements of both sides, each in a
folder ``trial-<n>`` of the experiment."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import count, product
from pathlib import Path
from typing import Protocol

import numpy as np

from suite.errors import SuiteError
from suite.extensions.concurrent.measuring.experiment import Plan, capacity, measure_both
from suite.extensions.concurrent.measuring.schedules import ScheduleKind
from suite.extensions.concurrent.measuring.tuning import (
    FIRST_SHARE,
    Aim,
    Candidate,
    Report,
    Trial,
    Tuned,
    least_p99_s,
    tune,
)
from suite.extensions.concurrent.record.arrivals import ArrivalKind
from suite.extensions.concurrent.record.calculated import (
    latencies_s,
    share_of_windows,
    training_figures,
)
from suite.extensions.concurrent.record.records import read_recording
from suite.launch.turns import Side

SCHEDULES = (ScheduleKind.CONCURRENT, ScheduleKind.SLICED, ScheduleKind.MANAGED)
"""Sequential is never among the best: images wait for half of the measurement."""


class Power(Protocol):
    """Records power during a trial (suite.extensions.concurrent.measuring.trial_power)."""

    def recording(self) -> AbstractContextManager[None]:
        """Record while the body runs."""

    def mean_w(self, window_ns: tuple[int, int]) -> float | None:
        """Mean power in a window of the monotonic clock, W; None: unknown."""


@dataclass(frozen=True)
class Mode:
    """A power mode to choose from, and how many cores it has on line (None: unknown). ``name``
    None: the machine's is left as it is."""

    name: str | None = None
    cores: int | None = None


@dataclass(frozen=True)
class Choices:
    """What to choose from beside the plan's batch sizes and the schedules; ``threads`` are those of
    either side."""

    threads: tuple[int, ...]
    modes: tuple[Mode, ...] = (Mode(),)


def candidates(plan: Plan, choices: Choices) -> list[Candidate]:
    """Every combination, mode by mode. A mode has no more threads than cores; raises SuiteError
    where that leaves nothing."""
    found = [
        Candidate(batch, schedule, train, infer, mode.name)
        for mode, batch, schedule, train, infer in product(
            choices.modes, plan.batches, SCHEDULES, choices.threads, choices.threads
        )
        if mode.cores is None or max(train, infer) <= mode.cores
    ]
    if not found:
        raise SuiteError(
            f"No power mode has {min(choices.threads)} cores online; use fewer --threads."
        )
    return found


@dataclass(frozen=True)
class Instruments:
    """What tuning needs of the machine: ``open_power`` makes the recording of a trial's folder,
    ``set_mode`` sets a power mode by its name."""

    open_power: Callable[[Path], Power] | None = None
    set_mode: Callable[[str], None] | None = None

    def enter(self, mode: str | None) -> None:
        """Set the power mode of a candidate, where it has one."""
        if mode is not None:
            assert self.set_mode is not None, (
                "a candidate has a power mode only if set_mode is given"
            )
            self.set_mode(mode)


NO_INSTRUMENTS = Instruments()


def tune_here(
    plan: Plan,
    choices: Choices,
    aim: Aim,
    report: Report,
    instruments: Instruments = NO_INSTRUMENTS,
) -> Tuned:
    """Tune on this machine; measurements are as long as the plan's arrivals. Raises SuiteError
    where nothing keeps the limits, and for a batch that does not fit into memory."""
    plan.arrivals.refuse_short(FIRST_SHARE)
    possible = candidates(plan, choices)
    executions_s: dict[tuple[str | None, int, int], float] = {}
    for mode, batch, threads in dict.fromkeys(
        (each.power_mode, each.batch, each.infer_threads) for each in possible
    ):
        instruments.enter(mode)
        alone = _with_threads(plan, threads, threads)
        executions_s[mode, batch, threads] = batch / capacity(alone, batch)
    numbers = count(1)

    def bound_s(each: Candidate) -> float:
        return least_p99_s(
            each.batch,
            plan.arrivals.rate_per_s,
            executions_s[each.power_mode, each.batch, each.infer_threads],
            has_bursts=plan.arrivals.kind is ArrivalKind.TRACE,
        )

    def measure(each: Candidate, duration_s: float) -> Trial:
        return measure_trial(
            plan, each, duration_s, aim, plan.output / f"trial-{next(numbers)}", instruments
        )

    return tune(possible, bound_s, aim, plan.arrivals.duration_s, measure, report)


def measure_trial(
    plan: Plan,
    each: Candidate,
    duration_s: float,
    aim: Aim,
    folder: Path,
    instruments: Instruments = NO_INSTRUMENTS,
) -> Trial:
    """One measurement of a candidate, recorded in ``folder``."""
    instruments.enter(each.power_mode)
    threads = _with_threads(plan, each.train_threads, each.infer_threads)
    power = instruments.open_power(folder) if instruments.open_power is not None else None
    changed = replace(threads, schedule=each.schedule, arrivals=plan.arrivals.lasting(duration_s))
    measure_both(changed, each.batch, folder, nullcontext if power is None else power.recording)
    found = read_recording(folder)
    values_s, rate = latencies_s(found), training_figures(found).samples_per_s
    p99_s = float(np.quantile(values_s, 0.99, method="inverted_cdf"))
    start_ns = found.setting.start_ns
    mean_w = None if power is None else power.mean_w((start_ns, start_ns + found.setting.window_ns))
    return Trial(
        each,
        duration_s,
        rate.value if rate else None,
        p99_s,
        share_of_windows(values_s, aim.p99_s),
        mean_w,
    )


def _with_threads(plan: Plan, train: int, infer: int) -> Plan:
    return replace(plan, train=_side(plan.train, train), infer=_side(plan.infer, infer))


def _side(side: Side, threads: int) -> Side:
    return replace(side, request=side.request._replace(threads=threads))
