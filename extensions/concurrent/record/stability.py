"""Whether the queue of images is stable: the trend of its length over time (Mann, 1945; Kendall,
1975; Sen, 1968).

The length is the number of images that should have arrived and are not finished. Its mean is taken
over equal windows of the measurement, the first tenth left out, in which the queue fills. Sen's
slope of these means, divided by the arrival rate, is the *growth*: the share of the arriving images
that stays in the queue. The 95 % interval is Sen's, by ranks, which assumes no distribution.

* stable: the whole interval is below MARGIN
* unstable: the whole interval is above MARGIN
* undecided: it contains MARGIN, or there are too few batches; a longer measurement decides
"""

import enum
import itertools
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from suite.extensions.concurrent.record.arrivals import Times
from suite.metrics.linear_fit import FittedValue

MARGIN = 0.01
WINDOWS, MIN_WINDOWS = 20, 8
BATCHES_PER_WINDOW = 2
FILLING = 0.1
Z = NormalDist().inv_cdf(0.975)


class QueueState(str, enum.Enum):
    """What the test found."""

    STABLE = "stable"
    UNSTABLE = "unstable"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Stability:
    """The test's answer. ``growth`` is a share of the arriving images, ``p_value`` that of Mann and
    Kendall's one-sided test for a growing queue.

    Both are None with ``reason``.
    """

    state: QueueState
    growth: FittedValue | None
    p_value: float | None
    windows: int
    reason: str | None = None


def stability(intended_ns: Times, end_ns: Times, batches: int, window_ns: int) -> Stability:
    """Test the queue of a measurement of ``window_ns``. ``end_ns`` is when each image was finished,
    for the first ones that were."""
    begin_ns = FILLING * window_ns
    count = min(WINDOWS, int(batches * (1 - FILLING)) // BATCHES_PER_WINDOW)
    if count < MIN_WINDOWS:
        needed = math.ceil(MIN_WINDOWS * BATCHES_PER_WINDOW / (1 - FILLING))
        return _without_enough(
            intended_ns, end_ns, f"{batches} batches; the test needs {needed}", window_ns
        )
    edges = np.linspace(begin_ns, window_ns, count + 1)
    lengths = np.diff(_area(intended_ns, edges) - _area(end_ns, edges)) / np.diff(edges)
    rate_per_ns = len(intended_ns) / window_ns
    growth, p_value = _trend(lengths, float(edges[1] - edges[0]) * rate_per_ns)
    state = (
        QueueState.STABLE
        if growth.high < MARGIN
        else QueueState.UNSTABLE
        if growth.low > MARGIN
        else QueueState.UNDECIDED
    )
    return Stability(state, growth, p_value, count)


def _without_enough(intended_ns: Times, end_ns: Times, reason: str, window_ns: int) -> Stability:
    """Too few batches for a trend: unstable all the same if inference was too slow to serve half of
    the images."""
    served = int(np.count_nonzero(end_ns <= window_ns))
    arrived = int(np.count_nonzero(intended_ns <= window_ns * (1 - FILLING)))
    return Stability(
        QueueState.UNSTABLE if served < arrived / 2 else QueueState.UNDECIDED, None, None, 0, reason
    )


def _area(times_ns: Times, edges: Times) -> Times:
    """Integral of the number of ``times_ns`` passed, from 0 to each edge."""
    ordered = np.sort(times_ns.astype(np.float64))
    sums = np.concatenate(([0.0], np.cumsum(ordered)))
    passed = np.searchsorted(ordered, edges, side="right")
    return passed * edges - sums[passed]


def _trend(values: Times, step: float) -> tuple[FittedValue, float]:
    """Sen's slope per ``step`` with its interval, and the p-value of Mann and Kendall's test for a
    positive trend."""
    pairs = list(itertools.combinations(range(len(values)), 2))
    slopes = np.sort(
        [(values[later] - values[earlier]) / ((later - earlier) * step) for earlier, later in pairs]
    )
    score, count = float(np.sign(slopes).sum()), len(values)
    deviation = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    reach = Z * deviation
    low, high = math.floor((len(slopes) - reach) / 2), math.ceil((len(slopes) + reach) / 2)
    interval = FittedValue(
        float(np.median(slopes)),
        float(slopes[max(0, low)]),
        float(slopes[min(len(slopes) - 1, high)]),
    )
    z = 0.0 if score == 0 else (score - math.copysign(1, score)) / deviation
    return interval, 1 - NormalDist().cdf(z)
