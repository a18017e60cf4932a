"""How far the readings of a counter are from the edges of a window, and how uncertain that makes
its increase."""

from dataclasses import dataclass

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Times, Values, Window

# over which a rate is taken: readings at two edges may be a fraction of a millisecond apart
MIN_SPAN_NS = 100_000_000


@dataclass(frozen=True)
class Edge:
    """``distance_s``: from the edge to the nearest reading. ``uncertainty``: of the counter at the
    edge; None with fewer than two readings."""

    distance_s: float
    uncertainty: float | None


def edge_of(times_ns: Times, moment_ns: int) -> float | None:
    """Seconds from a moment to the nearest of the sorted times, negative if that is earlier; None
    without any."""
    if not len(times_ns):
        return None
    return float(times_ns[_nearest(times_ns, moment_ns)] - moment_ns) * SECONDS_PER_NS


def edge_uncertainty(times_ns: Times, counts: Values, window: Window) -> Edge:
    """Both edges of a window: the larger distance, and the sum of the uncertainties.

    Between two readings a counter is interpolated. It cannot be off by more than it grew between
    them, nor, at the largest rate around the edge, by more than that rate times the distance to the
    nearest reading. The readings are plausible and sorted by time.
    """
    distances_s = [
        abs(distance_s)
        for moment_ns in window
        if (distance_s := edge_of(times_ns, moment_ns)) is not None
    ]
    if len(times_ns) < 2:
        return Edge(max(distances_s, default=float("inf")), None)
    return Edge(max(distances_s), sum(_at(times_ns, counts, moment_ns) for moment_ns in window))


def _at(times_ns: Times, counts: Values, moment_ns: int) -> float:
    after = min(max(int(times_ns.searchsorted(moment_ns)), 1), len(times_ns) - 1)
    grown, span_ns, nearest = (
        float(counts[after] - counts[after - 1]),
        float(times_ns[after] - times_ns[after - 1]),
        _nearest(times_ns, moment_ns),
    )
    rate = max(_rate(times_ns, counts, nearest), grown / span_ns if span_ns else 0.0)
    distance_ns = abs(int(times_ns[nearest]) - moment_ns)
    return min(grown, rate * distance_ns) if times_ns[0] <= moment_ns <= times_ns[-1] else grown


def _rate(times_ns: Times, counts: Values, at: int) -> float:
    """The larger rate per nanosecond before and after a reading, each over a tenth of a second or
    more."""
    first = max(int(times_ns.searchsorted(times_ns[at] - MIN_SPAN_NS, side="right")) - 1, 0)
    last = min(int(times_ns.searchsorted(times_ns[at] + MIN_SPAN_NS)), len(times_ns) - 1)
    spans = ((first, at), (at, last))
    return max(
        (
            float(counts[stop] - counts[start]) / float(times_ns[stop] - times_ns[start])
            for start, stop in spans
            if stop > start
        ),
        default=0.0,
    )


def _nearest(times_ns: Times, moment_ns: int) -> int:
    if len(times_ns) < 2:
        return 0
    after = min(max(int(times_ns.searchsorted(moment_ns)), 1), len(times_ns) - 1)
    return after if times_ns[after] - moment_ns < moment_ns - times_ns[after - 1] else after - 1
