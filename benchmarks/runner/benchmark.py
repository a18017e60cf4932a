"""The interface of a benchmark: a module with a ``BENCHMARK``, which measures ratios.

A minimal benchmark, ``benchmarks/sorting.py``::

    @dataclass(frozen=True)
    class Settings:
        pairs: Annotated[int, "measurements of each side"] = 9

    def measure(settings: Settings) -> Iterator[Ratio | Skipped]:
        pairs = [(time_of(sorted_copy), time_of(sort_in_place)) for _ in range(settings.pairs)]
        yield ratio_of("10,000 integers", "sorted()", "list.sort()", pairs)

    BENCHMARK = Benchmark("How much slower is sorted() than list.sort()?", measure, Settings(),
    Settings(pairs=2), full_s=5, quick_s=1)

    if __name__ == "__main__":
        run_alone(BENCHMARK, __doc__)

Both sides of a ratio are measured in the same run, one after the other, again and again, so that
both see the same machine. Every field of the settings (int, float, str or Path, or one of them and
None) is also a command-line option: ``python -m benchmarks.sorting --pairs 20``.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MIN_PAIRS_FOR_INTERVAL = 6
"""With fewer pairs, even their range covers the true median with less than 95 %."""

Need = Callable[[], str | None]
"""Returns None when a benchmark can run here, else what is missing and the command that provides
it."""


@dataclass(frozen=True)
class Ratio:
    """``compared`` divided by ``baseline`` for one ``subject``: the median over ``pairs``
    neighbouring measurements, with its spread.

    ``low`` to ``high`` is the 95 % confidence interval of the median, or the range where there are
    fewer than MIN_PAIRS_FOR_INTERVAL pairs. ``compared_value`` and ``baseline_value`` are the
    medians of both sides in ``unit``.
    """

    subject: str
    compared: str
    baseline: str
    median: float
    low: float
    high: float
    pairs: int
    compared_value: float
    baseline_value: float
    unit: str = "s"

    @property
    def spread(self) -> str:
        """What ``low`` and ``high`` are."""
        return "95 % interval" if self.pairs >= MIN_PAIRS_FOR_INTERVAL else "range"


@dataclass(frozen=True)
class Skipped:
    """A part of a benchmark that cannot run on this machine, with the reason and the remedy."""

    subject: str
    reason: str


@dataclass(frozen=True)
class Benchmark:
    """One benchmark. Its name is its module's.

    ``measure(settings)`` yields each ratio as soon as it is known. ``full`` and ``quick`` are
    instances of the same frozen dataclass of settings; ``full_s`` and ``quick_s`` are about how
    long they take on two x86-64 cores, for the estimate of the time left.
    """

    question: str
    measure: Callable[[Any], Iterable[Ratio | Skipped]]
    full: Any
    quick: Any
    full_s: float
    quick_s: float
    needs: tuple[Need, ...] = ()


def ratio_of(
    subject: str,
    compared: str,
    baseline: str,
    pairs: Sequence[tuple[float, float]],
    unit: str = "s",
) -> Ratio:
    """The ratio of measurements in pairs (compared, baseline)."""
    ratios = [above / below for above, below in pairs]
    low, high = median_interval(ratios)
    sides = [statistics.median(side) for side in zip(*pairs, strict=True)]
    return Ratio(
        subject,
        compared,
        baseline,
        statistics.median(ratios),
        low,
        high,
        len(pairs),
        sides[0],
        sides[1],
        unit,
    )


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of the median from order statistics (binomial, any
    distribution); of few values the range."""
    ordered, count = sorted(values), len(values)
    tail, outside = 0.0, 0
    while tail + math.comb(count, outside) / 2**count <= 0.025:
        tail += math.comb(count, outside) / 2**count
        outside += 1
    return ordered[max(outside - 1, 0)], ordered[min(count - outside, count - 1)]


def alternating(pair: int, first: Any, second: Any) -> tuple[Any, Any]:
    """Both sides in the order of this pair: the order alternates, so that neither side always comes
    first."""
    return (first, second) if pair % 2 == 0 else (second, first)
