"""Meter readings: complete, of this run, within possible ranges."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.arrays import Window
from suite.bundle.attached import SOURCE as ATTACHED
from suite.bundle.channels import Channel, Channels
from suite.compliance.finding import Severity
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.values import is_number
from suite.files.counted import counted

ORDER = 80  # after everything that the log and the steps show

# a framework takes minutes to load from an SD card before the first event, and a while to exit
AROUND_LOG_S = 600.0
BEFORE_LOG_S = 3600.0
GAP_PERIODS, MIN_GAP_S = 10.0, 5.0
ROUNDING = 1.005
# Counters that only a new boot resets. Energy counters are exempt: a sensor's glitch makes the
# energy unknown and is no forgery.
RISING = ("counters", "disk", "links", "network")
RANGES: Mapping[str, tuple[float, float]] = {
    "%": (0.0, 100.0 * ROUNDING),
    "ratio": (0.0, 1.0 * ROUNDING),
    "B": (0.0, 2.0**60),
    "Hz": (0.0, 1e11),
    "degC": (-60.0, 200.0),
    "events": (0.0, 2.0**64),
    "operations": (0.0, 2.0**64),
    "processes": (0.0, 2.0**22),
    "ns": (0.0, 2.0**64),
    "W": (-50.0, 5000.0),
}
# 0.2 to 4.2 s in 26 real runs; a slow machine that needs long to exit needed longer to load, which
# is added
MAX_TAIL_S = 5.0
OWN_CLOCK, MAX_AHEAD_S = "meter-csv", 2.0
"""Tables of another program have its clock; honest ones ended up to 0.4 s after the other meters (a
clock of whole seconds), or before them."""
ROUND_NS, MIN_ROUND = 100_000, 20  # boards' clocks tick every 52 ns, or every microsecond
MIN_SAME, ROUNDING_NS = 10, 2
CALLS_SLACK, MORE_CALLS = 5.0, 1.1
TEMPERATURES = {"degC", "°C"}
MIN_DEGREES, MAX_DEGREES = -60.0, 150.0
# of a peak: the kernel adds up memory in batches; honest runs of one process: 0.0075
MAX_FALL = 0.05


def _in_run(context: BundleContext) -> Violations:
    """Check that the run's readings lie around the log in time, and the idle machine's before
    it."""
    log_ns = context.log.span_ns
    if log_ns is None:
        return
    around_ns, before_ns = (each / SECONDS_PER_NS for each in (AROUND_LOG_S, BEFORE_LOG_S))
    around = (log_ns[0] - around_ns, log_ns[1] + around_ns)
    before = (log_ns[0] - before_ns, log_ns[0])
    where = "from ten minutes before the log's first event to ten minutes after its last event"
    for node in (node for node in context.nodes if node.is_on_clock):
        yield from _readings_outside(node.file, node.channels, around, where)
        when = "in the hour before the log's first event"
        yield from _readings_outside(node.idle_file, node.idle, before, when)


def _readings_outside(
    name: str, table: "Channels", span: tuple[float, float], where: str
) -> Violations:
    count, first, first_ns = 0, None, 0
    for channel in table:
        t_ns = channel.t_ns
        outside = (t_ns < span[0]) | (t_ns > span[1])
        if outside.any():
            count += int(outside.sum())
            if first is None or t_ns[outside].min() < first_ns:
                first, first_ns = channel, int(t_ns[outside].min())
    if first is not None:
        away_s = (span[0] - first_ns if first_ns < span[0] else first_ns - span[1]) * SECONDS_PER_NS
        when = f"{away_s:.1f} s too {'early' if first_ns < span[0] else 'late'}"
        yield Violation(
            name,
            f"readings {where}",
            f"{count} of {len(table)} readings are not from that time; the first, by {first.source}"
            f" {first.name}, is {when}",
        )


def _end(context: BundleContext) -> Violations:
    """Check that the harness's own readings end when the implementation does."""
    log_ns, node = context.log.span_ns, context.nodes[0]
    # a logger is stopped by hand
    own = [(channel.ends_ns, channel) for channel in node.channels if channel.source != ATTACHED]
    if not own or log_ns is None or context.window is None:
        return
    first_ns = min(first_ns for (first_ns, _), _ in own)
    last_ns, last = max(((last_ns, each.source) for (_, last_ns), each in own))
    max_s = MAX_TAIL_S + max(0.0, (context.window[0] - first_ns) * SECONDS_PER_NS)
    tail_s = (last_ns - log_ns[1]) * SECONDS_PER_NS
    if tail_s > max_s:
        yield Violation(
            node.file,
            f"no reading later than {max_s:.1f} s after the log's last event: {MAX_TAIL_S:g} s"
            " plus the time from the first reading to run_start",
            f"{last} was read {tail_s:.1f} s after that event",
        )


def _ahead(context: BundleContext) -> Violations:
    """Check that a table of another program does not end after the other meters, which are all read
    once more when the run has ended."""
    for node in context.nodes:
        own_ns = [each.ends_ns[1] for each in node.channels.of_source(OWN_CLOCK)]
        others_ns = [each.ends_ns[1] for each in node.channels if each.source != OWN_CLOCK]
        if not own_ns or not others_ns:
            continue
        ahead_s = (max(own_ns) - max(others_ns)) * SECONDS_PER_NS
        if ahead_s > MAX_AHEAD_S:
            yield Violation(
                node.file,
                f"the last reading of {OWN_CLOCK} at most {MAX_AHEAD_S:g} s after the other"
                " meters' last reading",
                f"{ahead_s:.2f} s after it",
            )


def _order(context: BundleContext) -> Violations:
    for node, channel in context.channels():
        t_ns = channel.t_ns
        late = (t_ns[1:] <= t_ns[:-1]).nonzero()[0]
        if len(late):
            place = late[0]
            yield Violation(
                node.file,
                f"every reading of {channel.source} {channel.name} later than the reading before",
                f"reading {place + 2} at {t_ns[place + 1]} ns, the reading before at"
                f" {t_ns[place]} ns",
            )


def _rounded(context: BundleContext) -> Violations:
    for node in context.nodes:
        if len(node.channels) >= MIN_ROUND and not any(
            (channel.t_ns % ROUND_NS).any() for channel in node.channels
        ):
            yield Violation(
                node.file,
                "at least one reading whose time stamp is not a multiple of 0.1 ms",
                f"time stamps that are multiples of 0.1 ms in all {len(node.channels)} readings",
            )


def _nodes_read_apart(context: BundleContext) -> Violations:
    """Check that no two nodes were read at the same moments: two recorders do not wait equally
    long. On the nodes' clocks, and on rank 0's."""
    bundle = context.bundle
    tables = [
        (
            (node.file, bundle.channels(place), node.channels),
            (node.idle_file, bundle.baseload(place), node.idle),
        )
        for place, node in enumerate(context.nodes)
    ]
    for first, second in combinations(tables, 2):
        for (file, *one), (name, *other) in zip(first, second, strict=True):
            found = (_same_moments(*pair) for pair in zip(one, other, strict=True))
            same = next((count for count in found if count), None)
            if same is not None:
                observed = f"the same {same} intervals between readings (within {ROUNDING_NS} ns)"
                yield Violation(
                    name, f"intervals between readings that differ from those in {file}", observed
                )


def _same_moments(one: Channels, other: Channels) -> int:
    """The number of times between readings, if those of every channel that both have are the same,
    and there are enough of them; else 0."""
    pairs = [(channel, other.get(channel.source, channel.name)) for channel in one]
    shared = [
        (np.diff(mine.t_ns), np.diff(theirs.t_ns))
        for mine, theirs in pairs
        if len(theirs) == len(mine) > MIN_SAME
    ]
    is_same = all((abs(mine - theirs) <= ROUNDING_NS).all() for mine, theirs in shared)
    return sum(len(mine) for mine, _ in shared) if is_same else 0


def _check_reading_counts(context: BundleContext) -> Violations:
    """Check the number of readings of each meter against the recorder's count, unless it records a
    lost node or a failed write."""
    for node in context.nodes_recorded():
        records, channels = node.meter_records, node.channels
        for source in sorted({each.source for each in channels} | records.keys() - {"recorder"}):
            recorded = records.get(source, {}).get("readings", 0)
            present = sum(map(len, channels.of_source(source)))
            if recorded != present:
                expected = f"{recorded!r} readings of {source}, as {node.meters_file} says"
                yield Violation(node.file, expected, counted(present, "reading"))
        written = records.get("recorder", {}).get("readings")
        # a trace that was attached later is not the recorder's
        own = len(channels) - sum(map(len, channels.of_source(ATTACHED)))
        if written is not None and written != own:
            expected = f"{written!r} readings in all, the number that the recorder states"
            expected = f"{expected} in {node.meters_file}"
            yield Violation(node.file, expected, counted(own, "reading"))


def _available(context: BundleContext) -> Violations:
    for node, name, record, channels in context.meters_recorded():
        if channels and record.get("available") is not True:
            yield Violation(
                node.file,
                "readings of available meters only",
                f"{sum(map(len, channels))} readings of {name}; {node.meters_file} says that this"
                " meter was not available",
            )


def _failures(context: BundleContext) -> Violations:
    """Check that a meter's failures left holes: it is called once a period."""
    for node, name, record, channels in context.meters_recorded():
        failures, period_s = record.get("failures"), record.get("period_s")
        if (
            not channels
            or not is_number(failures)
            or not is_number(period_s)
            or not failures > 0
            or not period_s > 0
        ):
            continue
        readings = max(map(len, channels))
        calls = node.channels.span_s / period_s * MORE_CALLS + CALLS_SLACK
        if readings <= calls < readings + failures:
            yield Violation(
                node.meters_file,
                f"at most {calls:.0f} readings and failures of {name} together, because its period"
                f" is {period_s:g} s",
                f"{readings} readings and {failures:g} failures",
            )


def _check_reading_values(context: BundleContext) -> Violations:
    for node, channel in context.channels():
        label = f"{channel.source} {channel.name}"
        if channel.units > 1:
            yield Violation(node.file, f"one unit for {label}", f"{channel.units} units")
        values, (low, high) = channel.values, RANGES.get(channel.unit, (-np.inf, np.inf))
        bad = np.flatnonzero(~(np.abs(values) < np.inf) | (values < low) | (values > high))
        if len(bad):
            yield Violation(
                node.file,
                f"values from {low:g} to {high:g} {channel.unit}",
                f"{values[bad[0]]:g} of {label} at {int(channel.t_ns[bad[0]])} ns;"
                f" {counted(len(bad), 'such reading')}",
            )


def _silicon(context: BundleContext) -> Violations:
    expected = f"temperatures from {MIN_DEGREES:g} to {MAX_DEGREES:g} degrees Celsius"
    for node, channel in context.channels():
        low, high = channel.minimum, channel.maximum
        if channel.unit in TEMPERATURES and not MIN_DEGREES <= low <= high <= MAX_DEGREES:
            observed = f"{low:g} to {high:g} degrees Celsius by {channel.source} {channel.name}"
            yield Violation(node.file, expected, observed)


def _check_whole_counts(context: BundleContext) -> Violations:
    for node, channel in context.channels():
        parts = ((channel.values % 1) != 0).nonzero()[0]
        if (channel.source, channel.unit) == ("counters", "events") and len(parts):
            first = f"{channel.values[parts[0]]:.15g} events of {channel.name}"
            observed = f"{first}; {counted(len(parts), 'such reading')}"
            yield Violation(node.file, "whole numbers of events", observed)


def _rising(context: BundleContext) -> Violations:
    for node, channel in context.channels():
        if channel.source not in RISING:
            continue
        before, after = channel.values[:-1], channel.values[1:]
        counts = channel.without_wraps.values
        falls = np.flatnonzero(counts[1:] < counts[:-1])
        if len(falls):
            place = falls[0]
            yield Violation(
                node.file,
                f"the counter {channel.source} {channel.name} never to fall",
                f"a fall from {before[place]:g} to {after[place]:g} in reading {place + 2};"
                f" {counted(len(falls), 'fall')} in all",
            )


def _peaks(context: BundleContext) -> Violations:
    """Check that the peak of a single process never falls; of several, the one with the highest may
    end."""
    for node in context.nodes:
        peak, size = (
            node.channels.get("memory", name)
            for name in ("largest_process_peak_rss", "process_tree_size")
        )
        if not size.maximum <= 1:
            continue
        before, after = peak.values[:-1], peak.values[1:]
        falls = (after < (1 - MAX_FALL) * before).nonzero()[0]
        if len(falls):
            yield Violation(
                node.file,
                "the peak memory of the run's only process not to fall (tolerance:"
                f" {MAX_FALL:.0%})",
                f"a fall from {before[falls[0]]:.0f} to {after[falls[0]]:.0f} bytes in reading"
                f" {falls[0] + 2}",
            )


def _gaps(context: BundleContext) -> Violations:
    for node, window in context.nodes_in_run():
        for name, record in node.meter_records.items():
            period_s, channels = record.get("period_s"), node.channels.of_source(name)
            if not channels or not isinstance(period_s, int | float):
                continue
            longest_s, after_s = _longest_gap_s(channels, window)
            max_s = max(GAP_PERIODS * period_s, MIN_GAP_S)
            if longest_s > max_s:
                yield Violation(
                    node.file,
                    f"at most {max_s:g} s between readings of {name}, whose period is"
                    f" {period_s:g} s",
                    f"no reading for {longest_s:.1f} s, beginning {after_s:.1f} s after run_start",
                )


def _longest_gap_s(channels: Sequence[Channel], window: Window) -> tuple[float, float]:
    """The longest time without a reading, and its beginning after the window's, in seconds."""
    times = [channel.during(window).t_ns for channel in channels]
    # most meters read all of their channels at once
    others = (each for each in times[1:] if not np.array_equal(each, times[0]))
    inside = np.sort(np.concatenate([np.array(window), times[0], *others]))
    # Unsigned: logged times may be arbitrary, and further apart than a signed integer holds.
    gaps = np.diff(inside.view(np.uint64))
    longest = int(gaps.argmax()) if len(gaps) else 0
    began = float(inside[longest] - inside[0]) if len(gaps) else 0.0
    return float(gaps.max(initial=0)) * SECONDS_PER_NS, began * SECONDS_PER_NS


RULES = (
    Rule(
        "readings-in-run",
        "All readings of the run lie between ten minutes before the log's first event and ten"
        " minutes after the log's last event. Readings of the idle machine lie in the hour before"
        " the first event. On the first node, the recorder's last reading is at most five seconds"
        " after the last event, plus the time from the recorder's first reading to run_start."
        " Readings from another program's table (meter-csv) end at most two seconds after the other"
        " meters' last reading.",
        "Readings from another run prove nothing. The recorder stops when the implementation has"
        " exited, so later readings are from a longer run. An implementation that is slow to load"
        " is slow to exit, so the limit grows with the time before run_start. The program that"
        " writes a meter-csv table may run on another machine; if that machine's clock is wrong, so"
        " are the table's time stamps.",
        f"{READINGS_AS_READ}; if another program writes a meter's table, set the clock of the"
        " machine that it runs on, then run again, or add its table with `suite power attach`"
        " instead of meter-csv",
        (
            OfBundle("readings-in-run", _in_run),
            OfBundle("readings-end", _end),
            OfBundle("meter-clock", _ahead),
        ),
    ),
    Rule(
        "readings-in-order",
        "Each reading of a channel has a later time stamp than the reading before. On each node,"
        " the time stamps of the readings are not all multiples of 0.1 ms. No two nodes have the"
        " same intervals between readings (within two nanoseconds).",
        "A meter reads one value at a time, so inserted readings break the order. The recorder's"
        " clock counts nanoseconds, so time stamps that are all rounded do not come from it."
        " Readings copied from another node do not measure this node.",
        READINGS_AS_READ,
        (
            OfBundle("readings-in-order", _order),
            OfBundle("readings-clock", _rounded),
            OfBundle("nodes-read-apart", _nodes_read_apart),
        ),
    ),
    Rule(
        "readings-counted",
        "Each meter has as many readings as the recorder counted for this meter, and all meters"
        " together have as many as the recorder wrote. Only available meters have readings. A"
        " meter's readings and failures together are at most one per period (tolerance: 10 %, plus"
        " five).",
        "The counts reveal readings that were left out or inserted. The recorder opens only"
        " available meters, and calls each once per period; a call gives a reading or fails.",
        READINGS_AS_READ,
        (
            OfBundle("readings-counted", _check_reading_counts),
            OfBundle("meter-available", _available),
            OfBundle("meter-failures", _failures),
        ),
    ),
    Rule(
        "counters-never-fall",
        "Counters of the processor, the disk and the network never fall, except where a network"
        " counter of 32 bits starts again at zero. If a run has one process on a node, the peak"
        " memory of this process does not fall (tolerance: 5 %).",
        "Counters start when the run begins or the machine boots, and only rise; so does the peak"
        " memory of a process. If readings of a counter fall, they were edited, or are from two"
        " boots.",
        READINGS_AS_READ,
        (
            OfBundle("counters-never-fall", _rising),
            OfBundle("peak-memory-rises", _peaks),
        ),
    ),
    Rule(
        "readings-possible",
        "Every reading is within the range that is possible for its unit (such as 0 to 100 %), and"
        " all readings of a channel have one unit. The counters meter reads whole numbers of"
        " events, and temperatures are between -60 and 150 degrees Celsius.",
        "No core or GPU is busy for 140 % of the time, and no chip survives temperatures outside"
        " -60 to 150 degrees Celsius. The kernel counts whole events.",
        READINGS_AS_READ,
        (
            OfBundle("readings-possible", _check_reading_values),
            OfBundle("counts-whole", _check_whole_counts),
            OfBundle("silicon-possible", _silicon),
        ),
    ),
    Rule(
        "readings-gaps",
        "During the run, no meter goes without a reading for more than ten of its periods (or five"
        " seconds, if that is longer).",
        "What happened in a gap is unknown. Readers see the coverage beside each figure: the share"
        " of the run that has readings.",
        "find out what delayed the meter (another program, a loose cable, a lost connection), then"
        " run again",
        (OfBundle("readings-gaps", _gaps, severity=Severity.WARNING),),
    ),
)
