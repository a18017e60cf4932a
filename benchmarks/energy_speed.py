"""Times the energy computation on a long trace of power readings, and of energy-counter readings.

usage: python benchmarks/energy_speed.py [--readings 1000000] [--rounds 7]

Printed are the median and the range of the rounds, and how far the energy of a ramp is from what it must be.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from suite.metrics.energy import Energy, difference_counter, integrate_power

PERIOD_NS = 200_000_000
START_NS = 10**15


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readings", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    t_ns = START_NS + np.arange(arguments.readings, dtype=np.int64) * PERIOD_NS
    seconds = (t_ns - START_NS) * 1e-9
    window = (START_NS + PERIOD_NS // 3, int(t_ns[-1]) - PERIOD_NS // 3)
    first_s, last_s = ((moment - START_NS) * 1e-9 for moment in window)
    slope = 10 / seconds[-1]
    exact_j = 5 * (last_s - first_s) + slope * (last_s**2 - first_s**2) / 2
    period_s = PERIOD_NS * 1e-9
    report("power, a ramp", arguments.rounds, lambda: integrate_power(t_ns, 5 + slope * seconds, *window, period_s, (0, 100)), exact_j)
    report("counter, even", arguments.rounds, lambda: difference_counter(t_ns, 5 * seconds, *window, period_s), 5 * (last_s - first_s))


def report(name: str, rounds: int, calculate: Callable[[], Energy], exact_j: float) -> None:
    """Time a calculation and print its error."""
    taken_s = []
    for _ in range(rounds):
        began_s = time.perf_counter()
        energy = calculate()
        taken_s.append(time.perf_counter() - began_s)
    assert energy.energy_j is not None, energy.reason
    error = abs(energy.energy_j / exact_j - 1)
    print(f"{name}: {energy.count} readings in {statistics.median(taken_s):.3f} s ({min(taken_s):.3f} to {max(taken_s):.3f}), off by {error:.1e}")


if __name__ == "__main__":
    main()
