"""The course of a run's activity: when the harness started and closed it, when it was loading,
computing, waiting for data, evaluating, and when nothing of it ran.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from reference_impls.contract import NS_PER_S, SECONDS_PER_NS
from suite.bundle.arrays import Values, Window, span_s
from suite.bundle.attached import SOURCE
from suite.bundle.layout import RUN
from suite.bundle.lifetime import read_lifetime
from suite.bundle.log import Log, run_window
from suite.bundle.node_records import read_nodes
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.files.schema import Count, problem_of
from suite.metrics.counted_time import uncounted_intervals
from suite.metrics.load_figures import load_figures

MARGIN_S = 10.0
"""Of the time before and after the run's processes that is compared."""
MIN_SHARE = 0.01
"""Of the run: a phase that is shorter is not distinguished from computing."""
MAX_AROUND_S = 600
"""Before and after the timed window in which the run's processes, and the harness's work, are
looked for."""
MIN_UNCLEAR_S, MAX_UNCLEAR_S = 0.5, 60
"""Between the start of the harness's process and the moment from which it surely worked: less is
work, more is not tried."""
Loads = Annotated[list[tuple[Count, Count]], Meta(max_length=100)]
ENDING_SHARE = 1
"""Of the recorded closing (at least 0.5 s): as long as the sealing and the process's end may take.
They took half of it on an idle machine."""


@dataclass(frozen=True, eq=False)
class Phase:
    """Times of one kind of activity: sorted intervals that do not overlap, s since run_start."""

    name: str
    starts_s: Values
    stops_s: Values

    @property
    def length_s(self) -> float:
        """The time of all intervals."""
        return float(np.sum(self.stops_s - self.starts_s))

    def shares(self, begins_s: Values, ends_s: Values) -> Values:
        """The share of each span [begin, end] that lies in this phase."""
        knots_s = np.column_stack((self.starts_s, self.stops_s)).ravel()
        passed_s = np.concatenate(
            ([0.0], np.cumsum(np.diff(knots_s) * (np.arange(len(knots_s) - 1) % 2 == 0)))
        )
        return (np.interp(ends_s, knots_s, passed_s) - np.interp(begins_s, knots_s, passed_s)) / (
            ends_s - begins_s
        )


@dataclass(frozen=True, eq=False)
class Course:
    """A run's phases. ``origin_ns`` is run_start on the monotonic clock, ``wall_s`` the wall clock
    then; all other times are s since run_start.

    ``begin_s`` and ``end_s`` bound what is compared. The first two phases are the time before and
    after the run; time in no phase is computing. ``foreign_share`` is the share of all cores' time
    in the run that other programs took, 0 where it was not read.
    """

    origin_ns: int
    wall_s: float
    run_s: float
    begin_s: float
    end_s: float
    phases: tuple[Phase, ...]
    foreign_share: float = 0.0

    @property
    def active_s(self) -> float:
        """The time in which the harness or the run's processes worked, and pauses between."""
        return self.end_s - self.begin_s - 2 * MARGIN_S

    @property
    def pulse(self) -> int | None:
        """The column of the power pulse in :meth:`shares`; None for a run without one."""
        return next(
            (place for place, phase in enumerate(self.phases) if phase.name == "pulse"), None
        )

    def shares(self, begins_s: Values, ends_s: Values) -> Values:
        """The share of each span in each phase, shape (spans, phases + 1); the last column is
        computing."""
        columns = [phase.shares(begins_s, ends_s) for phase in self.phases]
        return np.column_stack((*columns, np.clip(1.0 - np.sum(columns, axis=0), 0.0, None)))


def course_of(bundle: Bundle) -> Course:
    """The course of a finished run on one machine; raises SuiteError for any other."""
    log, run = bundle.log(), bundle.run()
    window = run_window(log)
    start = log.first("run_start")
    if window is None or start is None or window[1] <= window[0]:
        raise SuiteError(
            f"{bundle.path} is not a finished run (no run_start and run_stop in its log), so no"
            " power trace can be fitted to it."
        )
    if read_nodes(bundle) or len(set(log.value("nodes_of_ranks") or [])) > 1:
        raise SuiteError(
            f"{bundle.path} ran on several nodes, and one power trace measures one machine: it"
            " cannot be attached. Give each node a meter that is read during the run"
            " (docs/measuring.md)."
        )
    pulses = pulse_windows(run.power_pulse)
    around = _harness_activity(bundle, log, window, pulses)
    phases = _phases(bundle, log, window, around)
    begin_ns, end_ns = around.begin_ns, around.end_ns
    return Course(
        origin_ns=window[0],
        wall_s=start.time_ms / 1000,
        run_s=span_s(window),
        begin_s=(begin_ns - window[0]) * SECONDS_PER_NS - MARGIN_S,
        end_s=(end_ns - window[0]) * SECONDS_PER_NS + MARGIN_S,
        phases=phases,
        foreign_share=load_figures(bundle.channels(), window)["foreign_cpu_share"].value or 0.0,
    )


def pulse_windows(pulse: Mapping[str, Any] | None) -> list[Window]:
    """The loads of a run's power pulse, ns; empty without one. Raises SuiteError for a malformed
    record."""
    loads: Any = [] if pulse is None else pulse.get("loads_ns")
    if problem_of(loads, Loads) or any(first >= last for first, last in loads):
        raise SuiteError("power_pulse in run.json is not a list of time intervals in ns.")
    return [(first, last) for first, last in sorted(loads)]


@dataclass(frozen=True)
class _HarnessActivity:
    """What is known of the time around the timed window, ns. ``lived``: from the start of the
    training's processes to their end, by the readings of its own meters, which run meanwhile. From
    ``started_ns`` to ``ended_ns`` the harness's process was there, and worked but in ``idle``.
    ``unclear`` is the time in which it may have worked: between the start of that process and the
    moment from which it surely worked (the disk was read, or a program waited), and after the last
    moment that it recorded (the bundle is sealed, the process ends).
    """

    lived: Window
    started_ns: int
    ended_ns: int
    idle: tuple[Window, ...]
    unclear: tuple[Window, ...]
    pulses: tuple[Window, ...]

    @property
    def begin_ns(self) -> int:
        return min(first for first, _ in ((self.started_ns, 0), *self.unclear, *self.pulses))

    @property
    def end_ns(self) -> int:
        return max(last for _, last in ((0, self.ended_ns), *self.unclear, *self.pulses))


def _harness_activity(
    bundle: Bundle, log: Log, window: Window, pulses: Sequence[Window]
) -> _HarnessActivity:
    """Without a record of the harness's own work (bundles of earlier versions) it is taken to be
    idle outside the training."""
    longest_ns = MAX_AROUND_S * NS_PER_S
    logged = log.span_ns or ()
    own = [channel for channel in bundle.channels() if channel.source != SOURCE]
    read = [
        moment for channel in own for moment in (int(channel.t_ns.min()), int(channel.t_ns.max()))
    ]
    lived = (
        max(min([*logged, *read]), window[0] - longest_ns),
        min(max([*logged, *read]), window[1] + longest_ns),
    )
    try:
        lifetime = read_lifetime(bundle.run().lifetime)
    except ValueError as error:
        raise SuiteError(f"{bundle.path / RUN}: {error}.") from error
    if lifetime is None:
        return _HarnessActivity(lived, *lived, (), (), tuple(pulses))
    started_ns = min(lived[0], max(lifetime.begin_ns, lived[0] - longest_ns))
    ended_ns = max(lived[1], min(lifetime.closed_ns or lived[1], lived[1] + longest_ns))
    process_ns = max(
        started_ns if lifetime.process_ns is None else lifetime.process_ns,
        started_ns - MAX_UNCLEAR_S * NS_PER_S,
    )
    if 0 <= started_ns - process_ns < MIN_UNCLEAR_S * NS_PER_S:
        started_ns = process_ns
    unclear = [(process_ns, started_ns)] if process_ns < started_ns else []
    if ended_ns > lived[1]:
        unclear.append(
            (ended_ns, ended_ns + max(NS_PER_S // 2, ENDING_SHARE * (ended_ns - lived[1])))
        )
    return _HarnessActivity(
        lived, started_ns, ended_ns, tuple(sorted(lifetime.idle_ns)), tuple(unclear), tuple(pulses)
    )


def _phases(
    bundle: Bundle, log: Log, window: Window, around: _HarnessActivity
) -> tuple[Phase, ...]:
    far_ns = 10**15
    evaluations = list(zip(_times(log, "eval_start"), _times(log, "eval_stop"), strict=False))
    uncounted = [(interval.start_ns, interval.stop_ns) for interval in uncounted_intervals(log)]
    lived, idle = around.lived, around.idle
    begin_ns = min([around.started_ns, *(first for first, _ in around.unclear)])
    end_ns = max([around.ended_ns, *(last for _, last in around.unclear)])
    waited = (
        [_cut(each, around.started_ns, lived[0]) for each in idle],
        [_cut(each, lived[1], around.ended_ns) for each in idle],
    )
    worked = (
        _without([(around.started_ns, lived[0])], idle),
        _without([(lived[1], around.ended_ns)], idle),
    )
    steps = bundle.steps().first_rank
    waits_ns = np.round(np.nan_to_num(steps.fetch_stall_s) * NS_PER_S).astype(np.int64)
    waiting = _phase(
        "waiting", np.column_stack((steps.start_ns, steps.start_ns + waits_ns)), window[0]
    )
    outside = [
        _phase(name, _without(spans, around.pulses), window[0])
        for name, spans in (
            ("before", [(window[0] - far_ns, begin_ns), *waited[0]]),
            ("after", [*waited[1], (end_ns, window[1] + far_ns)]),
            ("unclear start", [each for each in around.unclear if each[0] < lived[0]]),
            ("unclear end", [each for each in around.unclear if each[0] > lived[0]]),
            ("starting", worked[0]),
            ("closing", worked[1]),
        )
    ]
    outside += [
        _phase("loading", [(lived[0], window[0]), (window[1], lived[1])], window[0]),
        _phase("pulse", around.pulses, window[0]),
    ]
    least_s = MIN_SHARE * span_s(window)
    inside = [
        waiting,
        _phase("evaluation", evaluations, window[0]),
        _phase("uncounted", uncounted, window[0]),
    ]
    return tuple(
        phase
        for phase in (*outside, *(phase for phase in inside if phase.length_s >= least_s))
        if len(phase.starts_s)
    )


def _cut(span: Window, first_ns: int, last_ns: int) -> Window:
    """The part of a span between two moments; empty where none of it is."""
    return max(span[0], first_ns), min(span[1], last_ns)


def _times(log: Log, key: str) -> list[int]:
    return [event.mono_ns for event in log.all(key) if event.mono_ns is not None]


def _without(spans: Sequence[Window], holes: Sequence[Window]) -> list[Window]:
    """Spans without the holes in them."""
    left = []
    for start_ns, stop_ns in spans:
        for first, last in holes:
            if start_ns < last and first < stop_ns:
                left.append((start_ns, max(start_ns, first)))
                start_ns = min(stop_ns, last)
        left.append((start_ns, stop_ns))
    return left


def _phase(name: str, windows: Any, origin_ns: int) -> Phase:
    """The windows as a phase; those that are empty, or that begin before the one before has ended,
    are left out or cut."""
    rows = np.asarray(windows, np.int64).reshape(-1, 2)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    since_s = (rows - origin_ns).astype(np.float64) * SECONDS_PER_NS
    if len(since_s):
        latest = np.maximum.accumulate(since_s[:, 1])
        since_s[1:, 0] = np.maximum(since_s[1:, 0], latest[:-1])
    kept = since_s[since_s[:, 1] > since_s[:, 0]] if len(since_s) else since_s
    return Phase(name, kept[:, 0], kept[:, 1])
