"""Chooses inference batch, schedule, threads and power mode for the highest training rate or the
least energy, within limits of latency and power.

1. A candidate is left out without a measurement if even alone, with nothing to wait for but its
   batch, it exceeds the limit or the rate.
2. All others are measured briefly. Those near the best one within the limit are measured again,
   twice as long, until few are left.
3. The finalists are measured in turns, so that a drift of the machine (its temperature, other
   programs) hits them alike. Where none of them keeps the limits, the next ones are.

The limit holds for windows of 1,000 images: 97 % of them must have their 99th percentile within it.
"""

import enum
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suite.errors import SuiteError
from suite.extensions.concurrent.measuring.schedules import ScheduleKind
from suite.files.counted import counted

SHARE_OF_WINDOWS = 0.97
FIRST_SHARE = 0.25
"""Length of the first measurement of each candidate, of the final ones'."""

NEAR = 0.15
"""A candidate stays while it is at most this share worse than the best one: what a short
measurement is uncertain by."""

SLACK = 1.1
"""The limit's factor in short measurements, whose 99th percentile is uncertain."""

FINALISTS, TURNS, GROUPS = 3, 3, 3
Report = Callable[[str], None]


class Goal(str, enum.Enum):
    """What to minimise for each trained sample: time, or energy of the whole machine, which
    infers meanwhile."""

    TIME = "time"
    ENERGY = "energy"


@dataclass(frozen=True)
class Candidate:
    """One setting of what can be tuned; ``power_mode`` None: the machine's is left as it is."""

    batch: int
    schedule: ScheduleKind
    train_threads: int
    infer_threads: int
    power_mode: str | None = None

    def __str__(self) -> str:
        mode = "" if self.power_mode is None else f", power mode {self.power_mode}"
        return (
            f"batch {self.batch}, {self.schedule.value}, {self.train_threads} training and"
            f" {self.infer_threads} inference threads{mode}"
        )


@dataclass(frozen=True)
class Trial:
    """What one measurement of a candidate found. ``samples_per_s`` is None with too few training
    steps for a rate; ``p99_s`` is infinite where the queue was left with more than 1 % of the
    images.

    ``windows_within`` is the share of windows of 1,000 images within the limit; None without a
    whole window. ``power_w`` is the machine's mean power; None where it was not measured.
    """

    candidate: Candidate
    duration_s: float
    samples_per_s: float | None
    p99_s: float
    windows_within: float | None
    power_w: float | None = None

    @property
    def energy_j(self) -> float | None:
        """The machine's energy per trained sample, J; None where it is unknown."""
        return (
            self.power_w / self.samples_per_s
            if self.power_w is not None and self.samples_per_s
            else None
        )


@dataclass(frozen=True)
class Aim:
    """What a setting must keep, and what is best: limits of the 99th percentile of latency, s, and
    of the machine's mean power, W (None: any)."""

    p99_s: float
    power_w: float | None = None
    goal: Goal = Goal.TIME

    @property
    def needs_power(self) -> bool:
        """Whether the machine's power must be known."""
        return self.power_w is not None or self.goal is Goal.ENERGY

    def is_met(self, trial: Trial) -> bool:
        """Whether a final trial is within the limits. A power that is unknown is not."""
        is_soon = (
            trial.windows_within >= SHARE_OF_WINDOWS
            if trial.windows_within is not None
            else trial.p99_s <= self.p99_s
        )
        return is_soon and self._power_kept(trial, 1.0)

    def is_nearly_met(self, trial: Trial) -> bool:
        """Whether a longer trial may be within the limits."""
        return trial.p99_s <= SLACK * self.p99_s and self._power_kept(trial, SLACK)

    def excess(self, trial: Trial) -> float:
        """The largest factor by which a limit is exceeded; below 1 where all are kept."""
        watts = math.inf if trial.power_w is None else trial.power_w
        return max(trial.p99_s / self.p99_s, 0.0 if self.power_w is None else watts / self.power_w)

    def worth(self, trial: Trial) -> float:
        """The more, the better: samples/s, or samples/J; 0 where they are unknown."""
        if self.goal is Goal.TIME:
            return trial.samples_per_s or 0.0
        return 1 / trial.energy_j if trial.energy_j else 0.0

    def _power_kept(self, trial: Trial, slack: float) -> bool:
        if trial.power_w is None:
            return not self.needs_power
        return self.power_w is None or trial.power_w <= slack * self.power_w


Measure = Callable[[Candidate, float], Trial]


@dataclass(frozen=True)
class Tuned:
    """The chosen candidate, its final trials, and all trials in the order of measurement.
    ``left_out`` were not measured."""

    best: Candidate
    finals: tuple[Trial, ...]
    trials: tuple[Trial, ...]
    left_out: tuple[Candidate, ...]

    @property
    def samples_per_s(self) -> float:
        """The median training rate of the final trials."""
        return statistics.median(
            trial.samples_per_s for trial in self.finals if trial.samples_per_s is not None
        )

    @property
    def energy_j(self) -> float | None:
        """The median energy per trained sample of the final trials, J; None where one is
        unknown."""
        known = [trial.energy_j for trial in self.finals if trial.energy_j is not None]
        return statistics.median(known) if len(known) == len(self.finals) else None


def least_p99_s(
    batch: int, rate_per_s: float, execution_s: float, *, has_bursts: bool = False
) -> float:
    """A bound that no schedule beats: an image waits for its batch to fill, and for its execution;
    infinite if batches come faster than that.

    Of b images at equal gaps, the one at the 99th percentile waits for the (b - 1) 0.99 that follow
    it. Images of a burst may fill their batch at once.
    """
    if rate_per_s * execution_s >= batch:
        return math.inf
    forming_s = 0.0 if has_bursts else math.floor((batch - 1) * 0.99) / rate_per_s
    return forming_s + execution_s


def tune(
    candidates: Sequence[Candidate],
    bound_s: Callable[[Candidate], float],
    aim: Aim,
    duration_s: float,
    measure: Measure,
    report: Report,
) -> Tuned:
    """The best candidate within the limits. Raises SuiteError, with the nearest that is possible,
    where none keeps them."""
    possible = [each for each in candidates if bound_s(each) <= aim.p99_s]
    left_out = tuple(each for each in candidates if each not in possible)
    if not possible:
        nearest = min(candidates, key=bound_s)
        raise SuiteError(_impossible(nearest, bound_s(nearest), aim.p99_s, "even without training"))
    report(
        f"{counted(len(possible), 'setting')} can keep --p99; {len(left_out)} cannot, even without"
        " training"
    )
    trials, length_s = list[Trial](), FIRST_SHARE * duration_s
    left = possible
    while len(left) > FINALISTS and length_s < duration_s:
        trials += [_measure_candidate(measure, each, length_s, report) for each in left]
        left, length_s = _near_the_best(trials[-len(left) :], aim), 2 * length_s
    best, finals = _finals(_in_order(left, trials, aim), aim, duration_s, measure, report)
    return Tuned(
        best,
        tuple(trial for trial in finals if trial.candidate == best),
        (*trials, *finals),
        left_out,
    )


def _in_order(left: Sequence[Candidate], trials: Sequence[Trial], aim: Aim) -> list[Candidate]:
    """Candidates for the final trials: those that are left, then the others that may keep the
    limits, the best first."""
    others = sorted(
        (trial for trial in trials if aim.is_nearly_met(trial)), key=aim.worth, reverse=True
    )
    return list(dict.fromkeys([*left, *(trial.candidate for trial in others)]))


def _finals(
    waiting: Sequence[Candidate], aim: Aim, duration_s: float, measure: Measure, report: Report
) -> tuple[Candidate, tuple[Trial, ...]]:
    """Measure the finalists in turns, and the next ones where none of them keeps the limits; raises
    SuiteError where none does."""
    finals: list[Trial] = []
    for begin in range(0, min(len(waiting), GROUPS * FINALISTS), FINALISTS):
        group = waiting[begin : begin + FINALISTS]
        finals += [
            _measure_candidate(measure, each, duration_s, report)
            for _ in range(TURNS)
            for each in group
        ]
        best = _best(finals, aim)
        if best is not None:
            return best, tuple(finals)
    raise SuiteError(_none_within(finals, aim))


def _measure_candidate(
    measure: Measure, candidate: Candidate, duration_s: float, report: Report
) -> Trial:
    trial = measure(candidate, duration_s)
    power = "" if trial.power_w is None else f", {trial.power_w:.3g} W"
    rate = (
        "too few training steps for a rate"
        if trial.samples_per_s is None
        else f"{trial.samples_per_s:.1f} samples/s"
    )
    report(
        f"{candidate}: {rate}{power}, 99th percentile {trial.p99_s * 1e3:.0f} ms ({duration_s:g} s)"
    )
    return trial


def _near_the_best(trials: Sequence[Trial], aim: Aim) -> list[Candidate]:
    """Those that may be the best, the best first; without any within the limits, those that exceed
    them least."""
    within = [trial for trial in trials if aim.is_nearly_met(trial)]
    if not within:
        return [trial.candidate for trial in sorted(trials, key=aim.excess)[:FINALISTS]]
    ordered = sorted(within, key=aim.worth, reverse=True)
    return [
        trial.candidate
        for trial in ordered
        if aim.worth(trial) >= (1 - NEAR) * aim.worth(ordered[0])
    ]


def _best(finals: Sequence[Trial], aim: Aim) -> Candidate | None:
    """The best of those that kept the limits in every turn, with a known rate, by the median:
    another program that disturbs one turn does not decide."""
    by_candidate = _by_candidate(finals)
    within = [
        each
        for each, trials in by_candidate.items()
        if all(aim.is_met(trial) and trial.samples_per_s is not None for trial in trials)
    ]
    return max(
        within, key=lambda each: statistics.median(map(aim.worth, by_candidate[each])), default=None
    )


def _by_candidate(trials: Sequence[Trial]) -> dict[Candidate, list[Trial]]:
    found: dict[Candidate, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.candidate, []).append(trial)
    return found


def _none_within(finals: Sequence[Trial], aim: Aim) -> str:
    if any(aim.is_met(trial) and trial.samples_per_s is None for trial in finals):
        return (
            f"Within {finals[0].duration_s:g} s too few training steps ended to know the rate;"
            " use a longer --duration."
        )
    if aim.needs_power and any(Aim(aim.p99_s).is_met(trial) for trial in finals):
        return _too_much_power(finals, aim.power_w)
    worst_s = {
        each: max(trial.p99_s for trial in trials) for each, trials in _by_candidate(finals).items()
    }
    nearest = min(worst_s, key=lambda each: worst_s[each])
    if worst_s[nearest] <= aim.p99_s:
        return _too_few_windows(nearest, finals, aim.p99_s)
    return _impossible(nearest, worst_s[nearest], aim.p99_s, "while training runs")


def _too_few_windows(nearest: Candidate, finals: Sequence[Trial], limit_s: float) -> str:
    shares = [
        trial.windows_within
        for trial in finals
        if trial.candidate == nearest and trial.windows_within is not None
    ]
    return (
        f"No setting finishes 99 % of the images within {limit_s * 1e3:g} ms in"
        f" {100 * SHARE_OF_WINDOWS:g} % of the windows of 1,000 images: the nearest ({nearest})"
        f" does in {100 * min(shares):.4g} % of them; use a longer --duration, a higher --p99, a"
        " lower --rate, or slower --arrivals."
    )


def _too_much_power(finals: Sequence[Trial], limit_w: float | None) -> str:
    known = [trial.power_w for trial in finals if trial.power_w is not None]
    if not known or limit_w is None:
        return (
            "The power meter gave too few readings during the trials; use a longer --duration, or"
            " tune for time without --max-watts."
        )
    return (
        f"No setting within the latency limit stays within {limit_w:g} W: the lowest mean power was"
        f" {min(known):.1f} W; use a higher --max-watts."
    )


def _impossible(nearest: Candidate, p99_s: float, limit_s: float, where: str) -> str:
    if math.isinf(p99_s):
        return (
            f"No setting serves this rate {where}; use a lower --rate, slower --arrivals, or larger"
            " batches in --infer-batch."
        )
    took_ms = f"{p99_s * 1e3:.0f}" if p99_s >= 0.01 else f"{p99_s * 1e3:.2g}"
    return (
        f"No setting finishes 99 % of the images within {limit_s * 1e3:g} ms: the nearest"
        f" ({nearest}) takes {took_ms} ms {where}; use --p99 {math.ceil(SLACK * p99_s * 1e3)}ms,"
        " a lower --rate, or slower --arrivals."
    )
