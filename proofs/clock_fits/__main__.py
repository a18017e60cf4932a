"""The bound of a fitted logger's clock holds as often as it claims, as developed and out of sample:
`make prove clock-fits`.

Three kinds of cases. *development*: the recorded traces as the method was developed on, the only
ones in sample. *parts*: parts of those traces, forward and backward, with other weights of the
rails; the run's course follows one rail, the logger sees another sum. *laws*: runs and loads that
are drawn at random, with what real ones have: slow drift, clock changes, foreign bursts, ripple,
late power, averaging loggers, lost rows.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from proofs.figures import hand_over
from suite.bundle.arrays import Mask, Values
from suite.errors import COULD_NOT
from suite.metrics.traces.clock_fit import ClockFit, NoFit, fit_clock
from suite.metrics.traces.course import MARGIN_S, MIN_SHARE, Course, Phase
from suite.metrics.uncertainty import CONFIDENCE
from tests.suite.meters.recorded import FOLDER, traces
from tests.suite.metrics.traces.test_clock_fit import (
    course_of_trace,
    largest_error_s,
    logged,
    recorded,
)

PERIODS_S = (0.05, 0.2, 1.0, 2.0, 5.0, 10.0)
DRAWS = {"development": 6, "parts": 12, "laws": 40}
FIRST_SEED = 1000
"""Of parts and laws. What smaller seeds draw was looked at when the method began to refuse loggers
that are too slow, and is in sample."""
FAR_S = 1e6
FINE_S = 0.005
QUARTZ = 100e-6


@dataclass(frozen=True, eq=False)
class Case:
    """A run's course, what a logger wrote (its times, W), and the true times of its readings since
    run_start."""

    course: Course
    times_s: Values
    power_w: Values
    true_s: Values


@dataclass(frozen=True)
class Judged:
    """The largest error of a moment in the run and the stated bound, s; both None where the trace
    was refused."""

    error_s: float | None = None
    bound_s: float | None = None

    @property
    def held(self) -> bool:
        """The error is within the bound."""
        return (
            self.error_s is not None and self.bound_s is not None and self.error_s <= self.bound_s
        )


def judge(case: Case, fit: Callable[[Values, Values, Course], ClockFit] = fit_clock) -> Judged:
    """Fit a case's clock and compare it with the truth."""
    try:
        found = fit(case.times_s, case.power_w, case.course)
    except NoFit:
        return Judged()
    return Judged(
        largest_error_s(found, case.times_s, case.true_s, case.course.run_s), found.half_width_s
    )


# --- development
# --------------------------------------------------------------------------------------------------


def development_case(name: str, period_s: float, seed: int) -> Case:
    """A whole trace; the run follows its power."""
    random = np.random.default_rng((1, seed))
    t_s, power_w = recorded(name)
    course, start_s = course_of_trace(t_s, power_w)
    rate, offset_s = random.uniform(-QUARTZ, QUARTZ), random.uniform(-1e4, 1e4)
    return Case(course, *logged(t_s, power_w, start_s, period_s, offset_s, rate, seed))


# --- parts of traces
# --------------------------------------------------------------------------------------------------


def part_case(name: str, period_s: float, seed: int) -> Case:
    """Some 40 to 150 s of a trace as a run between real idle readings; the course follows the GPU's
    rail, the power is a sum of its own."""
    random = np.random.default_rng((2, seed, len(name), round(period_s * 100)))
    t_s, rails = traces()[name]
    weights = random.uniform(0.3, 1.5, len(rails))
    total_w = sum(
        (weight * watts for weight, watts in zip(weights, rails.values(), strict=True)),
        random.uniform(0.0, 2.0),
    )
    activity_w = rails["VDD_GPU_SOC"]
    if random.random() < 0.5:
        total_w, activity_w = total_w[::-1], activity_w[::-1]
    run_s = float(np.clip(random.uniform(40, 150), 0, t_s[-1] - 5))
    begin_s = float(random.uniform(0, t_s[-1] - run_s))
    inside = (t_s >= begin_s) & (t_s <= begin_s + run_s)
    idle_w = total_w[activity_w <= np.percentile(activity_w, 2)]
    course = _course_of_part(t_s[inside] - t_s[inside][0], activity_w[inside])
    return _logged(
        _Power.between(t_s[inside] - t_s[inside][0], total_w[inside], idle_w, random),
        course,
        period_s,
        random,
    )


def _course_of_part(t_s: Values, activity_w: Values) -> Course:
    """Computing where the rail is in the upper of two groups (2-means), waiting in the lower one
    for at least 0.3 s."""
    low_w, high_w = float(activity_w.min()), float(np.median(activity_w))
    for _ in range(20):
        upper = np.abs(activity_w - high_w) <= np.abs(activity_w - low_w)
        if upper.all():
            break
        low_w, high_w = activity_w[~upper].mean(), activity_w[upper].mean()
    starts_s, stops_s = _spans(t_s, ~upper)
    long = stops_s - starts_s >= 0.3
    return _course(float(t_s[-1]), 0.0, 0.0, [("waiting", starts_s[long], stops_s[long])])


def _spans(t_s: Values, chosen: Mask) -> tuple[Values, Values]:
    """Begin and end of every stretch in which a mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], chosen.astype(np.int8), [0]))))
    ends_s = np.append(t_s, t_s[-1])
    return ends_s[edges[::2]], ends_s[edges[1::2]]


# --- random laws
# --------------------------------------------------------------------------------------------------


def law_case(period_s: float, seed: int) -> Case:
    """A run of random epochs, and a load that follows it as a board's would."""
    random = np.random.default_rng((3, seed, round(period_s * 100)))
    course, kinds = _random_run(
        max(float(np.exp(random.uniform(np.log(40), np.log(900)))), 20 * period_s), random
    )
    begin_s, end_s = course.begin_s - random.uniform(5, 60), course.end_s + random.uniform(5, 60)
    fine_s = np.arange(begin_s, end_s, FINE_S)
    shares = course.shares(fine_s, fine_s + FINE_S)
    step_w = random.uniform(1, 12)
    levels = {
        "before": 0.0,
        "after": 0.0,
        "loading": random.uniform(0.2, 0.8),
        "waiting": random.uniform(0.05, 0.7),
        "evaluation": random.uniform(0.5, 1.1),
    }
    columns = [levels[kind] for kind in kinds] + [1.0]
    activity = shares @ np.array(columns)
    power_w = random.uniform(1, 4) + step_w * (
        activity + _disturbances(fine_s, shares[:, -1], random)
    )
    late_s = abs(random.normal(0, 0.05))  # the bound counts on 0.1 s at most in 95 of 100 cases
    return _logged(_Power(fine_s + late_s, power_w), course, period_s, random)


def _random_run(run_s: float, random: np.random.Generator) -> tuple[Course, list[str]]:
    """Epochs with pauses and evaluations of random lengths; the course, and the kinds of its
    phases."""
    epochs = int(random.integers(1, 9))
    edges_s = np.concatenate(([0.0], np.cumsum(random.dirichlet(np.full(epochs, 20.0)) * run_s)))
    phases: list[tuple[str, Values, Values]] = []
    share = random.uniform(0.03, 0.2) if random.random() < 0.8 else 0.0
    if random.random() < 0.4:
        lengths_s = random.gamma(2.0, random.uniform(0.05, 3.0), 4000)
        moments_s = np.cumsum(lengths_s)
        starts_s, stops_s = moments_s[::2], moments_s[1::2]
        place = np.searchsorted(edges_s, starts_s, side="right") - 1
        within = (place < epochs) & (
            stops_s < np.append(edges_s, 0)[np.minimum(place + 1, epochs)] - share * run_s / epochs
        )
        phases.append(("waiting", starts_s[within], stops_s[within]))
    if share:
        phases.append(("evaluation", edges_s[1:] - share * np.diff(edges_s), edges_s[1:]))
    course = _course(run_s, random.uniform(2, 20), random.uniform(0.2, 3), phases)
    return course, [phase.name for phase in course.phases]


def _disturbances(fine_s: Values, computing: Values, random: np.random.Generator) -> Values:
    """Power that the course does not explain, in steps from idle to computing: drift, changes of
    clocks, other programs, ripple."""
    count, span_s = len(fine_s), fine_s[-1] - fine_s[0]
    warm = random.uniform(0, 0.08) * (
        1 - np.exp(-np.cumsum(computing) * FINE_S / random.uniform(20, 200))
    )
    changes_s = np.cumsum(random.exponential(random.uniform(2, 40), 2000))
    clocks = (
        random.uniform(0, 0.15)
        * np.where(np.searchsorted(changes_s, fine_s - fine_s[0]) % 2, 1.0, -1.0)
        * computing
    )
    foreign = np.zeros(count)
    for begin_s in random.uniform(0, span_s, random.poisson(span_s / 30)):
        first = int(begin_s / FINE_S)
        foreign[first : first + int(random.exponential(2.0) / FINE_S)] += random.uniform(0, 0.4)
    ripple = random.uniform(0, 0.2) * np.sin(2 * np.pi * random.uniform(1, 20) * fine_s) * computing
    return np.asarray(warm + clocks + foreign + ripple)


# --- what the cases share
# --------------------------------------------------------------------------------------------------


def _course(
    run_s: float, loading_s: float, ending_s: float, inside: Sequence[tuple[str, Values, Values]]
) -> Course:
    """A course with idle time around it; phases shorter than a hundredth of the run are computing,
    as in a bundle's."""
    phases = [
        Phase("before", np.array([-FAR_S]), np.array([-loading_s])),
        Phase("after", np.array([run_s + ending_s]), np.array([FAR_S])),
    ]
    if loading_s:
        phases.append(
            Phase("loading", np.array([-loading_s, run_s]), np.array([0.0, run_s + ending_s]))
        )
    phases += [Phase(*each) for each in inside]
    kept = tuple(
        phase for phase in phases if len(phase.starts_s) and phase.length_s >= MIN_SHARE * run_s
    )
    return Course(0, 1.7e9, run_s, -loading_s - MARGIN_S, run_s + ending_s + MARGIN_S, kept)


@dataclass(frozen=True, eq=False)
class _Power:
    """Power on a fine grid, s since run_start."""

    t_s: Values
    power_w: Values

    @classmethod
    def between(
        cls, t_s: Values, power_w: Values, idle_w: Values, random: np.random.Generator
    ) -> "_Power":
        """A part of a trace with idle readings of the same trace, in random order, before and after
        it."""
        spacing_s = float(np.median(np.diff(t_s)))
        counts = [int(random.uniform(MARGIN_S + 5, 60) / spacing_s) for _ in range(2)]
        before, after = (random.choice(idle_w, count) for count in counts)
        before_s, after_s = (
            -spacing_s * np.arange(counts[0], 0, -1),
            t_s[-1] + spacing_s * np.arange(1, counts[1] + 1),
        )
        return cls(
            np.concatenate((before_s, t_s, after_s)), np.concatenate((before, power_w, after))
        )


def _logged(power: _Power, course: Course, period_s: float, random: np.random.Generator) -> Case:
    """What a logger with a clock of its own writes: readings at a moment or means of its period,
    noise, steps, lost rows, a pause."""
    read_s = np.arange(
        power.t_s[0] + period_s, power.t_s[-1] - period_s, period_s
    ) + random.uniform(0, period_s)
    read_s = np.sort(read_s + random.normal(0, 0.02 * period_s, len(read_s)))
    read_s = read_s[read_s < power.t_s[-1] - period_s]
    if random.random() < 0.5:
        passed_j = np.concatenate(([0.0], np.cumsum(power.power_w[:-1] * np.diff(power.t_s))))
        values_w = (
            np.interp(read_s + period_s / 2, power.t_s, passed_j)
            - np.interp(read_s - period_s / 2, power.t_s, passed_j)
        ) / period_s
    else:
        values_w = np.interp(read_s, power.t_s, power.power_w)
    spread_w = float(np.percentile(power.power_w, 90) - np.percentile(power.power_w, 2))
    values_w = values_w + random.normal(0, random.uniform(0.01, 0.05) * spread_w, len(read_s))
    step_w = random.uniform(0.001, 0.1) * spread_w
    kept = random.random(len(read_s)) > 0.01
    if random.random() < 0.2:
        pause = int(random.integers(0, len(read_s)))
        kept[pause : pause + 5] = False
    true_s, values_w = read_s[kept], np.round(values_w[kept] / step_w) * step_w
    rate, offset_s = (
        float(np.clip(random.normal(0, QUARTZ / 2), -QUARTZ, QUARTZ)),
        random.uniform(-1e5, 1e5),
    )
    return Case(course, (true_s - offset_s) * (1 - rate), values_w, true_s)


def cases(kind: str, period_s: float, draws: int) -> Iterator[Case]:
    """The cases of a kind at a logger's period, ``draws`` per trace (of laws: in all)."""
    if kind == "laws":
        yield from (law_case(period_s, FIRST_SEED + seed) for seed in range(draws))
        return
    make, first = (development_case, 0) if kind == "development" else (part_case, FIRST_SEED)
    yield from (make(name, period_s, first + seed) for name in traces() for seed in range(draws))


def row(kind: str, period: str, judged: Sequence[Judged]) -> str:
    """A row of the table."""
    fits = [one for one in judged if one.error_s is not None and one.bound_s is not None]
    errors = [one.error_s for one in fits if one.error_s is not None]
    bounds = [one.bound_s for one in fits if one.bound_s is not None]
    if not fits:
        return f"| {kind} | {period} | {len(judged)} | {len(judged)} | | | | |"
    held = sum(one.held for one in fits)
    figures = f"{np.median(errors):.2f} s | {max(errors):.2f} s | {np.median(bounds):.2f} s"
    return (
        f"| {kind} | {period} | {len(judged)} | {len(judged) - len(fits)} | {figures} | {held} of"
        f" {len(fits)} |"
    )


def coverage(judged: Sequence[Judged]) -> str:
    """The share of bounds that hold, with its own 95 % interval (Clopper and Pearson, Biometrika
    26, 1934)."""
    held, fits = counted(judged)
    if not fits:
        return "no fit"
    low, high = interval(held, fits)
    return (
        f"{held} of {fits} bounds hold: {held / fits:.1%} (95 % interval {low:.1%} to {high:.1%})"
    )


def counted(judged: Sequence[Judged]) -> tuple[int, int]:
    """The bounds that hold, and the fits."""
    fits = [one for one in judged if one.error_s is not None]
    return int(sum(one.held for one in fits)), len(fits)


def interval(held: int, fits: int) -> tuple[float, float]:
    """The 95 % interval of the share that holds."""
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    found = binomtest(held, fits).proportion_ci(CONFIDENCE)
    return float(found.low), float(found.high)


HEADINGS = (
    "| cases | period | draws | refused | median error | largest error | median bound | within the"
    " bound |\n|---|---|---|---|---|---|---|---|"
)


def main(kinds: Sequence[str]) -> int:
    """Print the table and the coverage of every kind; 1: of one kind significantly fewer bounds
    hold than are stated, 2: the traces are missing."""
    chosen = [kind for kind in kinds or DRAWS if kind == "laws" or FOLDER.is_dir()]
    print(HEADINGS, flush=True)
    found: dict[str, list[Judged]] = {}
    for kind in chosen:
        for period_s in PERIODS_S:
            judged = [judge(case) for case in cases(kind, period_s, DRAWS[kind])]
            found.setdefault(kind, []).extend(judged)
            print(row(kind, f"{period_s:g} s", judged), flush=True)
    print()
    for kind, judged in found.items():
        print(f"{kind}: {coverage(judged)}")
    if len(chosen) < len(kinds or DRAWS):
        print(f"No traces: {FOLDER} does not exist.")
        return COULD_NOT
    figures: dict[str, int] = {}
    for kind, judged in found.items():
        held, fits = counted(judged)
        figures |= {
            f"{kind}_fits": fits,
            f"{kind}_bounds_that_hold": held,
            f"{kind}_refused": len(judged) - fits,
        }
    hand_over(**figures)
    return int(any(interval(*counted(judged))[1] < CONFIDENCE for judged in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
