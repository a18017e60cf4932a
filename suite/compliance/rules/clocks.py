"""Clocks: the wall clock and the monotonic clock run alike, but for steps."""

from collections.abc import Iterator
from itertools import pairwise

from reference_impls.contract import SECONDS_PER_NS
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation

ORDER = 31  # after the order of the log's events

LONG_S = 1.0
MAX_DIFFERENCE_S, MAX_RATE_DIFFERENCE = 0.05, 1e-3
"""Real runs on a busy machine: 2 ms at most from first to last event. Both clocks are slewed alike
(clock_gettime(2)); only steps part them."""
MAX_DRIFT_DIFFERENCE_S = 0.25


def _rate(context: BundleContext) -> Iterator[Violation]:
    """Check the intervals of a second or more between two events; a clock that is set differs in
    one of them."""
    intervals = []
    for before, after in pairwise(context.log.events):
        if (
            before.mono_ns is not None
            and after.mono_ns is not None
            and (after.mono_ns - before.mono_ns) * SECONDS_PER_NS >= LONG_S
        ):
            monotonic_s, wall_s = (
                (after.mono_ns - before.mono_ns) * SECONDS_PER_NS,
                (after.time_ms - before.time_ms) / 1000,
            )
            intervals.append((after, monotonic_s, wall_s))
    differing = [
        each
        for each in intervals
        if abs(each[2] - each[1]) > MAX_DIFFERENCE_S + MAX_RATE_DIFFERENCE * each[1]
    ]
    if len(differing) >= 2 and len(differing) > len(intervals) / 2:
        event, monotonic_s, wall_s = differing[0]
        observed = (
            f"{wall_s:.2f} s by the wall clock before {event.key}, {monotonic_s:.2f} s by the"
            " monotonic clock; "
        )
        observed += f"so in {len(differing)} of {len(intervals)} intervals"
        yield Violation(
            "log.txt",
            "two clocks that run at the same rate, but for single steps",
            observed,
            event.line,
        )


def _drift(context: BundleContext) -> Iterator[Violation]:
    """Check the log's two times against the wall-clock meter, which reads their difference once a
    second."""
    import numpy as np  # start-up

    drift = context.bundle.channels().get("wall-clock", "drift").in_time
    if len(drift) < 2:
        return
    reference: tuple[float, float, float] | None = None
    for event in context.log.events:
        if event.mono_ns is None or not drift.t_ns[0] <= event.mono_ns <= drift.t_ns[-1]:
            continue
        place = min(max(int(np.searchsorted(drift.t_ns, event.mono_ns)), 1), len(drift) - 1)
        low_s, high_s = sorted(drift.values[place - 1 : place + 1].tolist())
        ahead_s = event.time_ms / 1000 - event.mono_ns * SECONDS_PER_NS
        if reference is None:
            reference = (ahead_s, low_s, high_s)
        first_s, first_low_s, first_high_s = reference
        moved_s = ahead_s - first_s
        if (
            not low_s - first_high_s - MAX_DRIFT_DIFFERENCE_S
            <= moved_s
            <= high_s - first_low_s + MAX_DRIFT_DIFFERENCE_S
        ):
            yield Violation(
                "log.txt",
                f"the wall clock moved by {low_s - first_high_s:.3f} to {high_s - first_low_s:.3f}"
                f" s until {event.key}, as the wall-clock meter read",
                f"by {moved_s:.3f} s",
                event.line,
            )
            return


RULES = (
    Rule(
        "wall-clock-rate",
        "Wall clock and monotonic clock measure the same length for most of the log's"
        " intervals: to 50 ms and a thousandth.",
        "Linux slews both clocks alike, so only a step parts them, and a step is in one"
        " interval. Scaled times differ in all of them.",
        "never edit times; where a driver or a virtual machine disturbs the clock, repair that"
        " and run again",
        (OfBundle("wall-clock-rate", _rate),),
    ),
    Rule(
        "wall-clock-meter",
        "What the wall clock moved against the monotonic clock in the log is what the"
        " wall-clock meter read, to a quarter of a second.",
        "The meter reads both clocks once a second, independently of the log.",
        "never edit times or readings; run again",
        (OfBundle("wall-clock-meter", _drift),),
    ),
)
