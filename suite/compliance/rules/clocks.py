"""Clocks: the time of day by every record, against the monotonic clock."""

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

import numpy as np

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.layout import RUN
from suite.bundle.log import Log, LogEvent
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.rules.node_clocks import is_offset
from suite.compliance.submission_rule import OfSubmission, SubmissionContext, SubmittedRun
from suite.compliance.values import elapsed_s, is_number

ORDER = 31  # after the order of the log's events

WALL_CLOCK_STEP_S = 0.25
# a board without a battery begins where it was switched off, hours or years back
MAX_WALL_OFFSET_S = 60.0
SET_BY_S = 60.0
"""NTP slews a clock that is less off."""
LONG_S = 1.0
MAX_DIFFERENCE_S, MAX_RATE_DIFFERENCE = 0.05, 1e-3
"""Real runs on a busy machine: 2 ms at most from first to last event. Both clocks are slewed alike
(clock_gettime(2)); only steps part them."""
MAX_DRIFT_DIFFERENCE_S = 0.25
MIN_CLOCK_INTERVALS, MIN_CLOCK_INTERVAL_S, CLOCK_RATES = 3, 0.5, (0.5, 2.0)


def _steps(context: BundleContext) -> Violations:
    for after, monotonic_s, wall_s in _intervals(context.log):
        if abs(wall_s - monotonic_s) > WALL_CLOCK_STEP_S:
            yield Violation(
                "log.txt",
                "wall clock and monotonic clock to advance by the same time from event to event,"
                f" within {WALL_CLOCK_STEP_S:g} s",
                f"the wall clock stepped by {wall_s - monotonic_s:.1f} s before {after.key}",
                after.line,
            )
    last_ms = max((event.time_ms for event in context.log.events), default=0)
    later = context.run.closed_later
    closed_ms = None if later is None else later.get("time_ms")
    if later is not None and not (is_number(closed_ms) and closed_ms >= last_ms):
        expected = f"closed_later.time_ms of at least {last_ms}, the largest time_ms in the log"
        yield Violation(RUN, expected, f"closed_later.time_ms = {closed_ms!r}")


def _intervals(log: Log) -> Iterator[tuple[LogEvent, float, float]]:
    """The intervals between events: the later event, and the time that passed by the monotonic
    clock and by the wall clock, s."""
    timed = (event for event in log.events if event.mono_ns is not None)
    for before, after in pairwise(timed):
        monotonic_s = elapsed_s(before, after)
        if monotonic_s is not None:
            yield after, monotonic_s, (after.time_ms - before.time_ms) / 1000


def _times_of_day(context: BundleContext) -> Violations:
    """Compare the time of day of each rank's first event with rank 0's, both on rank 0's monotonic
    clock."""
    offsets = context.log.value("clock_offsets_ns")
    if (
        not isinstance(offsets, list)
        or len(offsets) != context.request.parallel.ranks
        or not all(map(is_offset, offsets))
    ):
        return  # reported by clock-offsets
    ahead_of_0_s: float | None = None
    for rank, log in context.logs():
        event = next((event for event in log.events if event.mono_ns is not None), None)
        if event is None or event.mono_ns is None:
            continue
        ahead_s = event.time_ms / 1000 - (event.mono_ns - offsets[rank][0]) * SECONDS_PER_NS
        ahead_of_0_s = ahead_s if ahead_of_0_s is None else ahead_of_0_s
        if abs(ahead_s - ahead_of_0_s) > MAX_WALL_OFFSET_S:
            yield Violation(
                log_name(rank),
                f"wall clocks of all ranks that agree within {MAX_WALL_OFFSET_S:g} s",
                f"rank {rank}'s wall clock {abs(ahead_s - ahead_of_0_s):.0f} s"
                f" {'ahead of' if ahead_s > ahead_of_0_s else 'behind'} rank 0's",
                event.line,
            )


def _dates(context: SubmissionContext) -> Violations:
    """Runs between which the wall clock was set, since the first run of the same boot."""
    firsts: dict[str, SubmittedRun] = {}
    for run in context.runs:
        if run.boot is None:
            continue
        first = firsts.setdefault(run.boot, run)
        apart_s = run.booted_apart_s(first)
        if apart_s > SET_BY_S:
            yield Violation(
                run.name,
                "wall clock and monotonic clock to advance by the same time from"
                f" {first.name} to this run (same boot), within {SET_BY_S:g} s",
                f"a difference of {apart_s:.0f} s: the wall clock was set between the two runs",
            )


def _clock_order(context: SubmissionContext) -> Violations:
    """Runs of one boot that are in another order by the wall clock than by the monotonic clock."""
    for run, other in context.pairs():
        if run.boot is None or run.boot != other.boot or not (run.span_ns and other.span_ns):
            continue
        late_s = (other.started_time_ms - run.started_time_ms) / 1000
        if run.span_ns[0] > other.span_ns[1] and late_s > 0:
            expected = f"a start after that of {other.full_name}, as by the monotonic clock"
            observed = f"by the wall clock, a start {late_s:.0f} s before that of {other.full_name}"
            yield Violation(run.name, expected, observed)


def _rate(context: BundleContext) -> Violations:
    """Check the intervals of a second or more between two events; a clock that is set differs in
    one of them."""
    intervals = [each for each in _intervals(context.log) if each[1] >= LONG_S]
    differing = [
        each
        for each in intervals
        if abs(each[2] - each[1]) > MAX_DIFFERENCE_S + MAX_RATE_DIFFERENCE * each[1]
    ]
    if len(differing) >= 2 and len(differing) > len(intervals) / 2:
        event, monotonic_s, wall_s = differing[0]
        yield Violation(
            "log.txt",
            "wall clock and monotonic clock that run at the same rate, except when the wall clock"
            " is set",
            f"from the previous event to {event.key}, {wall_s:.2f} s passed by the wall clock and"
            f" {monotonic_s:.2f} s by the monotonic clock; the clocks differ in {len(differing)} of"
            f" {len(intervals)} intervals of {LONG_S:g} s or more",
            event.line,
        )


def _drift(context: BundleContext) -> Violations:
    """Check the log's two times against the wall-clock meter, which reads their difference once a
    second."""

    drift = context.bundle.channels().get("wall-clock", "drift").in_time
    if len(drift) < 2:
        return
    t_ns, values = drift.t_ns, drift.values
    reference: tuple[float, float, float] | None = None
    for event in context.log.events:
        if event.mono_ns is None or not t_ns[0] <= event.mono_ns <= t_ns[-1]:
            continue
        place = min(max(int(np.searchsorted(t_ns, event.mono_ns)), 1), len(drift) - 1)
        low_s, high_s = sorted(values[place - 1 : place + 1].tolist())
        ahead_s = event.time_ms / 1000 - event.mono_ns * SECONDS_PER_NS
        if reference is None:
            reference = (ahead_s, low_s, high_s)
        first_s, first_low_s, first_high_s = reference
        drift_s = ahead_s - first_s
        min_s = low_s - first_high_s - MAX_DRIFT_DIFFERENCE_S
        max_s = high_s - first_low_s + MAX_DRIFT_DIFFERENCE_S
        if not min_s <= drift_s <= max_s:
            yield Violation(
                "log.txt",
                f"from the first event during the wall-clock meter's readings to {event.key}, the"
                f" wall clock to gain {min_s:.3f} to {max_s:.3f} s on the monotonic clock: what"
                f" the meter read, plus or minus {MAX_DRIFT_DIFFERENCE_S:g} s",
                f"a gain of {drift_s:.3f} s",
                event.line,
            )
            return


def _running(context: BundleContext) -> Violations:
    """Check that monotonic times are not negative, and that the wall clock runs: it may be set, but
    it does not stand still."""
    for rank, log in context.logs():
        early = next(
            (event for event in log.events if event.mono_ns is not None and event.mono_ns < 0), None
        )
        if early is not None:
            yield Violation(
                log_name(rank),
                "monotonic times of 0 ns or more, because the clock counts from the boot",
                f"mono_ns = {early.mono_ns}",
                early.line,
            )
        rates = [
            wall_s / monotonic_s
            for _, monotonic_s, wall_s in _intervals(log)
            if monotonic_s >= MIN_CLOCK_INTERVAL_S
        ]
        if (
            len(rates) >= MIN_CLOCK_INTERVALS
            and not CLOCK_RATES[0] <= median(rates) <= CLOCK_RATES[1]
        ):
            yield Violation(
                log_name(rank),
                f"a wall clock (time_ms) that advances {CLOCK_RATES[0]:g} to {CLOCK_RATES[1]:g} s"
                " per second of the monotonic clock (median of the intervals of"
                f" {MIN_CLOCK_INTERVAL_S:g} s or more between events)",
                f"{median(rates):.2g} s per second, the median of {len(rates)} intervals",
            )


RULES = (
    Rule(
        "wall-clock",
        "From each event of the log to the next, wall clock and monotonic clock advance by the same"
        " time, within 0.25 s. The wall clocks of a run's nodes agree within a minute. For all"
        " runs of a submission in the same boot of a machine, both clocks give the same order, and"
        " the difference between the two clocks changes by at most a minute. If `suite finish`"
        " sealed a bundle, it did so after the log's last event, by the wall clock.",
        "On a board without a battery for its clock, the time of day may be set during a run."
        " Durations are not affected, but the readings of other instruments cannot be aligned with"
        " the run, and the run has a wrong date.",
        "let NTP set the clock of every node before a run (`sudo timedatectl set-ntp true`), and"
        " before `suite finish`",
        (
            OfBundle("wall-clock", _steps, severity=Severity.WARNING),
            OfBundle("nodes-times-of-day", _times_of_day, severity=Severity.WARNING),
            OfSubmission("submission-dates", _dates, severity=Severity.WARNING),
            OfSubmission("submission-clock-order", _clock_order, severity=Severity.WARNING),
        ),
    ),
    Rule(
        "clocks-agree",
        "In at least half of the log's intervals of a second or more between events, wall clock"
        " and monotonic clock advance by the same time, within 50 ms plus a thousandth of the"
        " interval (one such interval may always differ). In the log, the two clocks drift apart"
        " by as much as the wall-clock meter read, within 0.25 s. If at least three intervals last"
        " half a second or more, the median rate of the wall clock in these intervals is 0.5 to 2 s"
        " per second of the monotonic clock. Monotonic times are not negative.",
        "When Linux corrects its time gradually, it changes the rate of both clocks alike. Only"
        " setting the wall clock moves them apart, and that shows in one interval. If somebody"
        " scaled the times of one clock, the clocks differ in all intervals. If somebody wrote a"
        " log after the run, one of its clocks may stand almost still, or show times before the"
        " boot.",
        "never edit times or readings; if a driver or a virtual machine disturbs the clock, fix it"
        " and run again",
        (
            OfBundle("wall-clock-rate", _rate),
            OfBundle("wall-clock-meter", _drift),
            OfBundle("log-clocks-run", _running),
        ),
    ),
)
