"""Energy from long traces: integrating power readings and differencing an energy counter, each
compared with the plainest NumPy expression.

The suite's functions also find gaps, clip to a window and leave implausible readings out; the ratio
is what that costs. Both results are compared with the exact energy of the generated trace; an error
above MAX_RELATIVE_ERROR fails the benchmark.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from benchmarks.runner.benchmark import Benchmark, Ratio, alternating, ratio_of
from benchmarks.runner.command_line import run_alone
from suite.errors import SuiteError
from suite.metrics.energy import integrate_power
from suite.metrics.energy_counter import mended_counter

PERIOD_NS = 200_000_000
START_NS = 10**15
MAX_RELATIVE_ERROR = 1e-6


@dataclass(frozen=True)
class Settings:
    """What the command line can change."""

    readings: Annotated[int, "readings in the trace"] = 1_000_000
    pairs: Annotated[int, "measurements of each side"] = 15


def measure(settings: Settings) -> Iterator[Ratio]:
    """Power on a ramp, then a counter with constant power."""
    t_ns = START_NS + np.arange(settings.readings, dtype=np.int64) * PERIOD_NS
    elapsed_s = (t_ns - START_NS) * 1e-9
    window = (START_NS + PERIOD_NS // 3, int(t_ns[-1]) - PERIOD_NS // 3)
    first_s, last_s = ((moment - START_NS) * 1e-9 for moment in window)
    slope, period_s = 10 / elapsed_s[-1], PERIOD_NS * 1e-9
    power_w, counter_j = 5 + slope * elapsed_s, 5 * elapsed_s
    power_exact_j = 5 * (last_s - first_s) + slope * (last_s**2 - first_s**2) / 2

    def integrate() -> float | None:
        return integrate_power(t_ns, power_w, *window, period_s, (0, 100)).energy_j

    def difference() -> float | None:
        counter = mended_counter(t_ns, counter_j, np.zeros(len(t_ns), bool), 100.0, 0.0)
        return counter.increase(window, period_s).value

    def trapezoids() -> float:
        return float(np.sum((power_w[1:] + power_w[:-1]) / 2 * np.diff(t_ns)) * 1e-9)

    check("integrate_power", integrate(), power_exact_j)
    check("mended_counter and its increase", difference(), 5 * (last_s - first_s))
    count = f"{settings.readings:,} readings"
    yield compare(
        f"power, {count}",
        "integrate_power",
        integrate,
        "trapezoids in NumPy",
        trapezoids,
        settings.pairs,
    )
    yield compare(
        f"energy counter, {count}",
        "mended_counter and its increase",
        difference,
        "sum of np.diff",
        lambda: np.diff(counter_j).sum(),
        settings.pairs,
    )


def check(name: str, energy_j: float | None, exact_j: float) -> None:
    """Raises SuiteError for a wrong energy: the speed of a wrong result is of no use."""
    if energy_j is None or abs(energy_j / exact_j - 1) > MAX_RELATIVE_ERROR:
        raise SuiteError(f"{name} gives {energy_j} J for a trace of {exact_j} J.")


def compare(
    subject: str,
    name: str,
    compared: Callable[[], object],
    baseline_name: str,
    baseline: Callable[[], object],
    count: int,
) -> Ratio:
    """Time both in turns."""
    pairs = []
    for pair in range(count):
        taken_s = {
            function: time_of(function) for function in alternating(pair, compared, baseline)
        }
        pairs.append((taken_s[compared], taken_s[baseline]))
    return ratio_of(subject, name, baseline_name, pairs)


def time_of(function: Callable[[], object]) -> float:
    """Seconds of one call."""
    start_s = time.perf_counter()
    function()
    return time.perf_counter() - start_s


BENCHMARK = Benchmark(
    "How much longer than the plainest NumPy expression does the energy of a long trace take?",
    measure,
    Settings(),
    Settings(readings=100_000, pairs=3),
    full_s=10,
    quick_s=2,
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
