"""The 95 % intervals of energies hold the true energy as often as they claim: `make prove
energy-intervals`.

Readings are drawn from a power that is known at every moment: square waves, imperfect sensors, and
recorded traces that are thinned.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas

from proofs.figures import hand_over
from suite.bundle.readings_table import channels_of_frame
from suite.catalog.power import PowerRule, load_power_rules
from suite.errors import COULD_NOT
from suite.metrics.energy import Energy
from suite.metrics.power_totals import MeasuredTotal, measure_totals
from tests.suite.meters.recorded import FOLDER, Trace, traces

Array = npt.NDArray[np.float64]
PERIODS_S = (1.0, 2.0, 5.0)
WAVES_HZ = (1.0, 5.0, 0.97)
WAVE_PERIOD_S, WAVE_S = 0.2, 60.0
IDLE_W, LOAD_W = 4.0, 10.0
MIN_HELD = 0.9
"""Of the intervals of every case; 95 % are stated, and a case has 200 draws or 1,000."""


@dataclass(frozen=True)
class Draws:
    """What repeated measurements of one known energy gave: per draw the error and the interval's
    half-width, J."""

    name: str
    true_j: float
    errors_j: Array
    half_widths_j: Array

    @property
    def held(self) -> npt.NDArray[np.bool_]:
        """Which intervals held the true energy."""
        return np.abs(self.errors_j) <= self.half_widths_j

    @property
    def width_in_errors(self) -> float:
        """Median half-width over the errors' standard deviation."""
        return float(np.median(self.half_widths_j) / np.std(self.errors_j))

    def row(self) -> str:
        """A row of the table."""
        half, error = (
            np.median(self.half_widths_j) / self.true_j,
            np.std(self.errors_j) / self.true_j,
        )
        return (
            f"| {self.name} | {len(self.held)} | {self.held.mean():.1%} | {error:.2%} | {half:.2%}"
            f" | {self.width_in_errors:.2f} |"
        )


HEADINGS = (
    "| case | draws | intervals that hold | error's standard deviation | median half-width | their"
    " ratio |\n|---|---|---|---|---|---|"
)


def random_moments(rng: np.random.Generator, window_s: float, period_s: float) -> Array:
    """One random moment of each period of the window."""
    periods = int(np.ceil(window_s / period_s - 1e-9))
    return np.minimum((np.arange(periods) + rng.random(periods)) * period_s, window_s)


def measure(
    readings: Sequence[tuple[str, Array, Array]],
    window_s: float,
    rules: Sequence[PowerRule] | None = None,
) -> MeasuredTotal:
    """The first total of an INA3221's rails: name, times (s) and power (W) of each."""
    frames = [
        pandas.DataFrame(
            {
                "t_ns": np.round(t_s * 1e9).astype(np.int64),
                "source": "ina3221",
                "channel": name,
                "value": power_w,
                "unit": "W",
            }
        )
        for name, t_s, power_w in readings
    ]
    return measure_totals(
        channels_of_frame(pandas.concat(frames)),
        load_power_rules() if rules is None else rules,
        (0, round(window_s * 1e9)),
    )[0]


def sampling_half_width_j(energy: Energy) -> float:
    """The sampling part; fails without one."""
    assert energy.uncertainty is not None
    assert energy.uncertainty.sampling is not None
    return energy.uncertainty.sampling


def whole_half_width_j(energy: Energy) -> float:
    """Half-width of the whole interval; fails without one."""
    assert energy.uncertainty is not None
    assert energy.uncertainty.half_width is not None
    return energy.uncertainty.half_width


def thinned_trace(
    name: str,
    trace: Trace,
    period_s: float,
    draws: int,
    rng: np.random.Generator,
    whole: bool = False,
) -> Draws:
    """A recorded trace, read at the sample nearest to a random moment of each period; the truth is
    its energy at the full rate."""
    t_s, rails = trace
    true_j = float(
        measure([(rail, t_s, power_w) for rail, power_w in rails.items()], t_s[-1]).energy.energy_j
        or 0.0
    )
    energies, halves = [], []
    for _ in range(draws):
        chosen = np.unique(
            np.clip(np.searchsorted(t_s, random_moments(rng, t_s[-1], period_s)), 0, len(t_s) - 1)
        )
        energy = measure(
            [(rail, t_s[chosen], power_w[chosen]) for rail, power_w in rails.items()], t_s[-1]
        ).energy
        assert energy.energy_j is not None, energy.reason
        energies.append(energy.energy_j)
        halves.append(whole_half_width_j(energy) if whole else sampling_half_width_j(energy))
    return Draws(f"{name}, {period_s:g} s", true_j, np.array(energies) - true_j, np.array(halves))


def square_wave(
    hertz: float, phase: float
) -> tuple[Callable[[Array], Array], Callable[[float], float]]:
    """A load that is on for half of each cycle: its power at any moments, and its energy from 0 to
    a moment."""

    def power_w(t_s: Array) -> Array:
        return np.where((t_s * hertz + phase) % 1 < 0.5, LOAD_W, IDLE_W)

    def cycles_j(cycles: float) -> float:
        whole, part = divmod(cycles, 1)
        return (
            whole * (LOAD_W + IDLE_W) / 2 + min(part, 0.5) * LOAD_W + max(0.0, part - 0.5) * IDLE_W
        ) / hertz

    return power_w, lambda until_s: cycles_j(until_s * hertz + phase) - cycles_j(phase)


def wave_at_random(hertz: float, draws: int, rng: np.random.Generator) -> Draws:
    """A square wave with a random phase, read at random moments of the meter's period."""
    energies, halves, truths = [], [], []
    for _ in range(draws):
        power_w, energy_j = square_wave(hertz, rng.random())
        t_s = random_moments(rng, WAVE_S, WAVE_PERIOD_S)
        energy = measure([("VDD_IN", t_s, power_w(t_s))], WAVE_S).energy
        energies.append(energy.energy_j or 0.0)
        halves.append(sampling_half_width_j(energy))
        truths.append(energy_j(WAVE_S))
    return Draws(
        f"square wave, {hertz:g} Hz",
        float(np.mean(truths)),
        np.array(energies) - np.array(truths),
        np.array(halves),
    )


def wave_on_a_clock(hertz: float, rng: np.random.Generator) -> tuple[Energy, float]:
    """A square wave read on a fixed clock: its energy as measured, and the true one, J."""
    power_w, energy_j = square_wave(hertz, rng.random())
    t_s = np.arange(round(WAVE_S / WAVE_PERIOD_S)) * WAVE_PERIOD_S + rng.random() * WAVE_PERIOD_S
    return measure([("VDD_IN", t_s, power_w(t_s))], WAVE_S).energy, energy_j(WAVE_S)


def load(kind: str, rng: np.random.Generator) -> Callable[[Array], Array]:
    """A load of training: constant, with a slow swing, or in steps of random lengths and heights,
    W."""
    level_w = rng.uniform(3.0, 15.0)
    if kind == "constant":
        return lambda t_s: np.full(len(t_s), level_w)
    if kind == "swing":
        swing_w, cycle_s, phase = (
            level_w * rng.uniform(0.05, 0.5),
            rng.uniform(7, 40),
            rng.uniform(0, 2 * np.pi),
        )
        return lambda t_s: level_w + swing_w * np.sin(2 * np.pi * t_s / cycle_s + phase)
    ends_s, levels_w = np.cumsum(rng.exponential(3.0, 200)), level_w * rng.uniform(0.5, 1.5, 200)
    return lambda t_s: levels_w[np.searchsorted(ends_s, t_s) % 200]


def imperfect_sensor(
    kind: str, step_w: float, gain_error: float, draws: int, rng: np.random.Generator
) -> Draws:
    """A load of known energy, read at random moments by a sensor with a gain and a resolution; the
    whole interval is judged.

    The gain is drawn from a normal distribution whose 95 % interval is ``gain_error``, as the
    rulebook states it.
    """
    (rule,) = (rule for rule in load_power_rules() if rule.name == "VDD_IN")
    rules = [replace(rule, step=(step_w,), gain_error=gain_error)]
    fine_s = np.linspace(0.0, WAVE_S, 60_001)
    energies, halves, truths = [], [], []
    for _ in range(draws):
        power_w = load(kind, rng)
        t_s = random_moments(rng, WAVE_S, 1.0)
        shown_w = np.round(power_w(t_s) * (1 + rng.normal(0, gain_error / 1.96)) / step_w) * step_w
        energy = measure([("VDD_IN", t_s, shown_w)], WAVE_S, rules).energy
        energies.append(energy.energy_j or 0.0)
        halves.append(whole_half_width_j(energy))
        fine_w = power_w(fine_s)
        truths.append(float(np.sum((fine_w[1:] + fine_w[:-1]) / 2) * (fine_s[1] - fine_s[0])))
    name = f"{kind} load, steps of {step_w:g} W, gain within {gain_error:.1%}"
    return Draws(
        name, float(np.mean(truths)), np.array(energies) - np.array(truths), np.array(halves)
    )


SENSORS = [
    (kind, step_w, gain)
    for kind in ("constant", "swing", "steps")
    for step_w, gain in ((0.4, 0.001), (0.04, 0.05), (0.4, 0.05))
]


def main() -> int:
    """Run every case with many draws, and print the tables; 1: of one case fewer intervals hold
    than MIN_HELD, 2: the traces are missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print(HEADINGS)
    cases = [wave_at_random(hertz, options.draws, rng) for hertz in WAVES_HZ]
    cases += [imperfect_sensor(*sensor, 5 * options.draws, rng) for sensor in SENSORS]
    recorded = traces() if FOLDER.is_dir() else {}
    thinned = [
        thinned_trace(name, trace, period_s, options.draws, rng)
        for name, trace in recorded.items()
        for period_s in PERIODS_S
    ]
    for draws in (*cases, *thinned):
        print(draws.row())
    if not recorded:
        print(f"No traces: {FOLDER} does not exist.")
        return COULD_NOT
    of_traces = np.concatenate([draws.held for draws in thinned]).mean()
    print(f"\nTraces together: {of_traces:.1%} of the sampling parts hold.")
    whole = [
        thinned_trace(name, trace, 1.0, options.draws, rng, whole=True)
        for name, trace in recorded.items()
    ]
    halves = np.concatenate([draws.half_widths_j / draws.true_j for draws in whole])
    print(
        f"At 1 Hz the whole interval's median half-width is {np.median(halves):.1%} of the energy."
    )
    errors = [
        abs((energy.energy_j or 0.0) / true_j - 1)
        for energy, true_j in (wave_on_a_clock(1.0, rng) for _ in range(options.draws))
    ]
    print(
        f"On a fixed clock the 1 Hz wave is up to {max(errors):.1%} wrong, is flagged as possibly"
        " aliased, and has no interval."
    )
    least = min(draws.held.mean() for draws in (*cases, *thinned))
    hand_over(
        cases=len(cases) + len(thinned),
        least_intervals_that_hold_percent=round(100 * least, 1),
        intervals_of_traces_that_hold_percent=round(100 * of_traces, 1),
        half_width_at_1_hz_percent=round(100 * float(np.median(halves)), 2),
        error_on_a_fixed_clock_percent=round(100 * max(errors), 2),
    )
    return int(least < MIN_HELD)


if __name__ == "__main__":
    sys.exit(main())
