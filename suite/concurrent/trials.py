"""Real trials for tuning: bounds from inference alone, and measurements of both sides, each in a folder ``trial-<n>`` of the experiment."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import count, product
from pathlib import Path
from typing import Protocol

import numpy as np

from suite.concurrent.arrivals import NS_PER_S
from suite.concurrent.experiment import Plan, Side, measure_both, warm_up_ns
from suite.concurrent.figures import latencies_s, share_of_windows, training_figures
from suite.concurrent.records import read_recording
from suite.concurrent.schedules import ScheduleKind
from suite.concurrent.tuning import Candidate, Limits, Report, Trial, Tuned, least_p99_s, tune

SCHEDULES = (ScheduleKind.CONCURRENT, ScheduleKind.SLICED, ScheduleKind.MANAGED)
"""Sequential is never among the best: images wait for half of the measurement."""


def candidates(plan: Plan, threads: tuple[int, ...]) -> list[Candidate]:
    """Every combination of the plan's batch sizes, the schedules, and the numbers of threads of both sides."""
    return [Candidate(*each) for each in product(plan.batches, SCHEDULES, threads, threads)]


class Power(Protocol):
    """Records power during a trial (suite.experiments.trial_power)."""

    def recording(self) -> AbstractContextManager[None]:
        """Record while the body runs."""

    def mean_w(self, window_ns: tuple[int, int]) -> float | None:
        """Mean power in a window of the monotonic clock, W; None: unknown."""


def tune_here(plan: Plan, threads: tuple[int, ...], limits: Limits, report: Report, open_power: Callable[[Path], Power] | None = None) -> Tuned:
    """Tune on this machine; measurements are as long as the plan's arrivals. ``open_power`` makes the recording of a trial's folder.

    Raises SuiteError where nothing keeps the limits.
    """
    executions_s = {
        (batch, number): warm_up_ns(_with_threads(plan, number, number), batch) / NS_PER_S for batch, number in product(plan.batches, threads)
    }
    numbers = count(1)

    def bound_s(each: Candidate) -> float:
        return least_p99_s(each.batch, plan.arrivals.rate_per_s, executions_s[each.batch, each.infer_threads])

    def measure(each: Candidate, duration_s: float) -> Trial:
        return measure_trial(plan, each, duration_s, limits, plan.output / f"trial-{next(numbers)}", open_power)

    return tune(candidates(plan, threads), bound_s, limits, plan.arrivals.duration_s, measure, report)


def measure_trial(
    plan: Plan, each: Candidate, duration_s: float, limits: Limits, folder: Path, open_power: Callable[[Path], Power] | None = None
) -> Trial:
    """One measurement of a candidate, recorded in ``folder``."""
    threads = _with_threads(plan, each.train_threads, each.infer_threads)
    power = open_power(folder) if open_power is not None else None
    changed = replace(threads, schedule=each.schedule, arrivals=plan.arrivals.lasting(duration_s))
    measure_both(changed, each.batch, folder, nullcontext if power is None else power.recording)
    found = read_recording(folder)
    values_s, rate = latencies_s(found), training_figures(found).samples_per_s
    p99_s = float(np.quantile(values_s, 0.99, method="inverted_cdf"))
    start_ns = found.setting.start_ns
    mean_w = None if power is None else power.mean_w((start_ns, start_ns + found.setting.window_ns))
    return Trial(each, duration_s, rate.value if rate else 0.0, p99_s, share_of_windows(values_s, limits.p99_s), mean_w)


def _with_threads(plan: Plan, train: int, infer: int) -> Plan:
    return replace(plan, train=_side(plan.train, train), infer=_side(plan.infer, infer))


def _side(side: Side, threads: int) -> Side:
    return replace(side, request=side.request._replace(threads=threads))
