"""Meters: what they say of themselves in run.json, when they were read, and which of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.attached import SOURCE
from suite.bundle.channels import Channel
from suite.bundle.layout import RUN
from suite.bundle.node_records import NODES
from suite.catalog.divisions import Division
from suite.catalog.meter_choice import LEFT_OUT, POWER_SCHEDULES, REQUIRED
from suite.compliance.agreement import ExpectedField, differing_fields
from suite.compliance.finding import Finding
from suite.compliance.node_context import NodeContext
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.values import is_number
from suite.compliance.wording import joined_names
from suite.files.counted import counted

ORDER = 81  # after the readings' own rules

MIN_READINGS = 5
# relative; the recorder computes the same median from the same times: real runs differ by 10^-16
MAX_PERIOD_DIFFERENCE = 0.04
# and MAX_PERIOD_DIFFERENCE of it; it is computed from the same times, too: 48 real runs differ by
# 4e-16
JITTER_SLACK_S = 1e-5
LONGER_GAP, GAP_SLACK_S = 1.5, 0.05
MIN_METERS, FOUND_GAP = 3, 0.999  # 1.000 for three meters or more in each of 26 real runs
MIN_EDGE_S, EDGE_SHARE, EDGE_PERIODS = 10.0, 0.1, 2.0
SCHEDULED = ("cpu", "memory", "disk", "network", "wall-clock")
"""Meters of the kernel that the recorder reads on a fixed schedule. Others have a clock of their
own, or are read at the edges of epochs, too."""
# the last reading may come early; 0.999 and more in honest runs of 20 readings
MIN_SCHEDULED_READINGS, MIN_PERIOD_RATIO = 20, 0.97
# of one a period: a late recorder skips the turns that it missed, so it never catches up
MORE_READINGS, READINGS_SLACK = 1.1, 5.0
# of a run whose meters must have cost a microsecond; 0.01 s and more in honest runs of a second
MIN_COST_S = 10.0
# 20 microseconds and more in honest runs; 3 to 200 ms of CPU time a second
MIN_READING_S, UNREAD_S = 1e-6, 60.0
NOT_ON_DISK = (None, "network", "memory")
OF_EVERY_LINUX, IN_PROC = ("cpu", "memory"), "which every Linux offers in /proc"
MIN_SILENCE_S, SILENT_SHARE, SILENT_PERIODS = 10.0, 0.1, 10.0
EXPECTED = "no meter left out that a closed run must read"


def _periods(context: BundleContext) -> Violations:
    """Check the achieved period of every meter against one of its channels: the recorder states the
    median of the first one's.

    Of a short run, that one may have fewer readings than the others.
    """
    for node, name, record, channels in context.meters_recorded():
        periods_s = [channel.period_s for channel in channels if channel.period_s is not None]
        if not periods_s or max(map(len, channels)) < MIN_READINGS:
            continue
        stated_s = record.get("achieved_period_s")
        nearest_s = _nearest(stated_s, periods_s) if is_number(stated_s) else periods_s[0]
        if not is_number(stated_s) or abs(nearest_s - stated_s) > MAX_PERIOD_DIFFERENCE * stated_s:
            expected = (
                f"a median of {stated_s!r} s between readings of {name}, the achieved_period_s in"
                f" {node.meters_file}"
            )
            yield Violation(node.file, expected, f"a median of {nearest_s:.6g} s")


def _jitter(context: BundleContext) -> Violations:
    """Check a stated jitter against the scatter of the times between the readings of one of the
    meter's channels, on the node's own clock; `suite finish` states none.

    The recorder takes it from the meter's first channel, which may have fewer readings than others:
    processes end before their machine is idle.
    """
    for node, name, record, _ in context.meters_recorded():
        stated_s = record.get("jitter_s")
        gaps_s = [each.gaps_s for each in node.on_own_clock.of_source(name)]
        gaps_s = [each for each in gaps_s if len(each) > 1]
        if not is_number(stated_s) or not any(len(each) + 1 >= MIN_READINGS for each in gaps_s):
            continue
        nearest_s = _nearest(stated_s, [float(each.std(ddof=1)) for each in gaps_s])
        if abs(nearest_s - stated_s) > MAX_PERIOD_DIFFERENCE * nearest_s + JITTER_SLACK_S:
            expected = (
                f"times between readings of {name} with a standard deviation of {stated_s:.6g} s,"
                f" the jitter_s in {node.meters_file}"
            )
            yield Violation(node.file, expected, f"a standard deviation of {nearest_s:.6g} s")


def _nearest(stated: float, found: Sequence[float]) -> float:
    return min(found, key=lambda value: abs(value - stated))


def _as_its_class(context: BundleContext) -> Violations:
    """Check the period and the moments of a meter against those of the suite's meter of that name;
    `suite finish` takes them from the readings."""
    if context.run.closed_later is not None:
        return
    for node, name, record, channels in context.meters_recorded():
        period_s, moments = POWER_SCHEDULES.get(name, (None, "fixed" if name in REQUIRED else None))
        if not channels or moments is None:
            continue
        of_class = {"moments": moments} | ({} if period_s is None else {"period_s": period_s})
        why = f", as the suite's meter {name} has"
        rows = (ExpectedField(field, value, why) for field, value in of_class.items())
        yield from differing_fields(node.meters_file, {"moments": moments, **record}.get, rows)


def _schedule(context: BundleContext) -> Violations:
    """Check that the kernel's meters were not read more often than once a period: one at least was
    not, unless all their times were scaled; and that no channel has more readings than periods,
    but where `suite finish` takes the period from the readings."""
    slowest: dict[str, list[tuple[str, float, float]]] = {}
    for node, name, record, channels in context.meters_recorded():
        period_s = record.get("period_s")
        if name not in SCHEDULED or not channels or not is_number(period_s) or not period_s > 0:
            continue
        longest = max(channels, key=len)
        if len(longest) >= MIN_SCHEDULED_READINGS:
            slowest.setdefault(node.file, []).append((name, period_s, longest.period_s or 0.0))
        for channel in channels if context.run.closed_later is None else ():
            span_s = (channel.ends_ns[1] - channel.ends_ns[0]) * SECONDS_PER_NS
            most = MORE_READINGS * span_s / period_s + READINGS_SLACK
            if len(channel) > most:
                expected = (
                    f"at most {most:.0f} readings of {name} {channel.name} in {span_s:.1f} s,"
                    f" because the period is {period_s:g} s"
                )
                yield Violation(node.file, expected, f"{len(channel)} readings")
    for file, meters in slowest.items():
        if all(between_s < MIN_PERIOD_RATIO * period_s for _, period_s, between_s in meters):
            name, period_s, between_s = meters[0]
            expected = (
                f"a median of at least {period_s:g} s between readings of {name}, which is the"
                " meter's period"
            )
            observed = (
                f"a median of {between_s:.4g} s; every meter on a fixed schedule"
                f" ({counted(len(meters), 'meter')}) was read too often"
            )
            yield Violation(file, expected, observed)


def _gaps(context: BundleContext) -> Violations:
    """Check holes in a meter's readings against its longest gap, if it states no failures."""
    for node, name, record, channels in context.meters_recorded():
        stated_s, period_s = record.get("longest_gap_s"), record.get("period_s")
        if (
            record.get("failures") != 0
            or not channels
            or not is_number(stated_s)
            or not is_number(period_s)
        ):
            continue
        limits, max_s = (
            f"no failure and no gap over {stated_s:.3g} s",
            LONGER_GAP * stated_s + GAP_SLACK_S,
        )
        gap_s = min(_longest_gap_s(node, channel, max_s) for channel in channels)
        if gap_s > max_s:
            yield Violation(
                node.file,
                f"readings of {name} with {limits}, as {node.meters_file} states",
                f"a gap of {gap_s:.2f} s",
            )
        if context.window is None or not node.is_on_clock:
            continue
        start_ns, stop_ns = context.window
        first_ns, last_ns = zip(*(channel.ends_ns for channel in channels), strict=True)
        late_s = max(min(first_ns) - start_ns, stop_ns - max(last_ns)) * SECONDS_PER_NS
        if late_s > max(
            MIN_EDGE_S, EDGE_SHARE * context.run_s, EDGE_PERIODS * period_s, LONGER_GAP * stated_s
        ):
            observed = f"no reading for {late_s:.2f} s at the run's start or end"
            yield Violation(
                node.file,
                f"readings of {name} in the whole run: {node.meters_file} states {limits}",
                observed,
            )


def _longest_gap_s(node: "NodeContext", channel: "Channel", max_s: float) -> float:
    """Longest time between two readings of a channel; 0 if it is longer than ``max_s`` and no other
    meter was read in its middle: the machine stood still, or the recorder."""
    times_ns = channel.in_time.t_ns
    if len(times_ns) < 2:
        return 0.0
    longest = int((times_ns[1:] - times_ns[:-1]).argmax())
    first_ns, last_ns = float(times_ns[longest]), float(times_ns[longest + 1])
    gap_s = (last_ns - first_ns) * SECONDS_PER_NS
    if gap_s <= max_s:
        return gap_s
    others = [other for other in node.channels if other.source != channel.source]
    quarter_ns = (last_ns - first_ns) / 4
    is_common = bool(others) and not any(
        ((each > first_ns + quarter_ns) & (each < last_ns - quarter_ns)).any()
        for each in (other.t_ns for other in others)
    )
    return 0.0 if is_common else gap_s


def _stated_gaps(context: BundleContext) -> Violations:
    """Check that a longest gap that is stated is found in the readings of one meter at least; it
    may be before the first or after the last."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    for node, name, record, channels in context.meters_recorded():
        stated_s = record.get("longest_gap_s")
        if is_number(stated_s) and max(map(len, channels), default=0) >= MIN_READINGS:
            longest_s = max(float(each.gaps_s.max(initial=0.0)) for each in channels)
            found.setdefault(node.file, []).append((name, stated_s, longest_s))
    for file, gaps in found.items():
        if len(gaps) >= MIN_METERS and all(
            longest_s < FOUND_GAP * stated_s for _, stated_s, longest_s in gaps
        ):
            name, stated_s, longest_s = gaps[0]
            yield Violation(
                file,
                "at least one meter whose readings have a gap as long as its longest_gap_s"
                f" ({name}: {stated_s:.6g} s)",
                f"{name}: {longest_s:.6g} s at most; the gaps of all {len(gaps)} meters are"
                " shorter than stated",
            )


def _throughout(context: BundleContext) -> Violations:
    """Check that a node whose recorder was not lost has readings, of any meter, through the whole
    run."""

    for node, window in context.nodes_in_run() if len(context.nodes) > 1 else ():
        if not node.is_whole or not len(node.channels):
            continue
        inside = np.sort(
            np.concatenate([window, *(channel.during(window).t_ns for channel in node.channels)])
        )
        place = int(np.diff(inside).argmax())
        gap_s = float(inside[place + 1] - inside[place]) * SECONDS_PER_NS
        periods_s = [each.get("period_s") for each in node.meter_records.values()]
        longest_s = max(
            MIN_SILENCE_S,
            SILENT_SHARE * context.run_s,
            *(SILENT_PERIODS * each for each in periods_s if is_number(each) and 0 < each < 3600),
        )
        if gap_s > longest_s:
            after_s = (inside[place] - window[0]) * SECONDS_PER_NS
            yield Violation(
                node.file,
                f"a reading of at least one meter every {longest_s:.1f} s, because {NODES}"
                " records no loss of the recorder",
                f"no reading for {gap_s:.1f} s, from {after_s:.1f} s after run_start on",
            )


def _cost(context: BundleContext) -> Violations:
    """Check that reading cost CPU time; `suite finish` cannot know it."""
    if context.run.closed_later is not None or not context.run_s > MIN_COST_S:
        return
    for node in context.nodes:
        costs_s = [
            record.get("cost_s")
            for record in node.meter_records.values()
            if record.get("available") is True
        ]
        if (
            node.is_whole
            and len(node.channels)
            and costs_s
            and not any(is_number(cost_s) and cost_s > 0 for cost_s in costs_s)
        ):
            yield Violation(
                node.meters_file,
                "cost_s above zero for at least one meter: reading takes CPU time",
                f"no cost_s above zero among {counted(len(costs_s), 'meter')}, for"
                f" {len(node.channels)} readings",
            )


def _cost_possible(context: BundleContext) -> Violations:
    """Check what reading cost in all, of every node: more than a microsecond a reading, less than
    all cores did."""
    if context.run.closed_later is not None:
        return
    for node in context.nodes_recorded():
        own = [
            record
            for name, record in node.meter_records.items()
            if name not in ("recorder", SOURCE) and record.get("available") is True
        ]
        costs_s = [record.get("cost_s") for record in own]
        readings = sum(len(channel) for channel in node.channels if channel.source != SOURCE)
        span_s = node.channels.span_s + node.idle.span_s
        cost_s = sum(cost_s for cost_s in costs_s if is_number(cost_s))
        min_s = MIN_READING_S * readings if span_s >= MIN_COST_S else 0.0
        max_s = (span_s + UNREAD_S) * max(node.cores_read, 1)
        if readings and costs_s and not min_s <= cost_s <= max_s:
            yield Violation(
                node.meters_file,
                f"{min_s:.3g} to {max_s:.3g} s of CPU time for {readings} readings in"
                f" {span_s:.1f} s",
                f"{cost_s:.3g} s, the sum of cost_s of {counted(len(own), 'meter')}",
            )


def _of_linux(context: BundleContext) -> Violations:
    """Check that processor and memory were read on every node: the kernel has them for
    everybody."""
    for node in context.nodes_recorded():
        yield from _unread(node, dict.fromkeys(OF_EVERY_LINUX, IN_PROC))


def _of_kernel(context: BundleContext) -> Violations:
    """Check that meters of the kernel were read where another record says that the kernel has
    them."""
    for node in context.nodes_recorded():
        records, offered = node.meter_records, dict.fromkeys(("load", "wall-clock"), IN_PROC)
        if context.request.cache_cleared is True:
            offered["page-cache"] = f"because it was emptied (cache_cleared in {RUN})"
        if node.system.get("storage_medium") not in NOT_ON_DISK:
            offered["disk"] = (
                f"because the data are on a disk (storage_medium in {node.system_file})"
            )
        for name in SCHEDULED:
            record = records.get(name, {})
            if record.get("available") is True and not record.get("failures"):
                offered.setdefault(name, "or at least one failure, because the meter was available")
        left_out = {name for name, each in records.items() if each.get("reason") == LEFT_OUT}
        yield from _unread(node, {name: offered[name] for name in offered.keys() - left_out})


def _unread(node: "NodeContext", offered: Mapping[str, str]) -> Violations:
    for name, why in sorted(offered.items()):
        if not node.channels.of_source(name):
            reason = node.meter_records.get(name, {}).get("reason") or "no reading"
            yield Violation(node.meters_file, f"readings of {name}, {why}", f"{reason}")


def _chosen(context: BundleContext) -> Violations:
    """Check the meters' records of every node: none left out is required."""
    for node in context.nodes:
        records = node.meter_records.items()
        left_out = [name for name, record in records if record.get("reason") == LEFT_OUT]
        yield from _violations(node.meters_file, left_out)


def _violations(file: str, left_out: Iterable[str]) -> Violations:
    missing = sorted(set(left_out) & set(REQUIRED))
    if missing:
        yield Violation(file, EXPECTED, f"left out: {', '.join(missing)}")


CHOICE = OfBundle("meters-chosen", _chosen, CLOSED)


def findings_of_choice(division: str, left_out: Collection[str]) -> tuple[Finding, ...]:
    """Findings of a choice of meters before a run."""
    if Division(division) not in CHOICE.divisions:
        return ()
    (rule,) = (rule for rule in RULES if CHOICE in rule.checks)
    return tuple(each.finding(rule, CHOICE) for each in _violations("--meters", left_out))


RULES = (
    Rule(
        "meter-periods",
        "A meter's record states the median of the times between readings (achieved_period_s) and"
        " their standard deviation (jitter_s). Each figure can be recomputed from the readings of"
        " at least one of the meter's channels (tolerance: 4 %; for jitter_s, 4 % plus 0.01 ms).",
        "The recorder computes both figures from the times at which it read the meter. If readings"
        " were scaled in time, inserted or made up, the figures recomputed from the readings differ"
        " from the record.",
        READINGS_AS_READ,
        (OfBundle("meter-periods", _periods), OfBundle("meter-jitter", _jitter)),
    ),
    Rule(
        "meter-schedule",
        f"The meters {joined_names(SCHEDULED)} are read on a fixed schedule. From its first"
        " reading to its last, each of their channels has at most one reading per period of the"
        " meter (tolerance: 10 %, plus five readings). On each node, at least one of these meters"
        " has a median time between readings of one period or more (tolerance: 3 %). If a meter has"
        " the name of one of the suite's meters, its record states the same `moments` as the"
        " suite's meter (readings at fixed or at random times). The record of such a power meter"
        " states the same period, too.",
        "The recorder waits one period between two readings. Readings that come faster were"
        " compressed in time, and more readings than periods show that readings were inserted."
        " If somebody passes off a plug's readings as an analyser's, they still have the plug's"
        " period.",
        f"{READINGS_AS_READ}; give a meter of your own a name that no meter of the suite has",
        (
            OfBundle("meter-schedule", _schedule),
            OfBundle("meter-own-schedule", _as_its_class),
        ),
    ),
    Rule(
        "meter-gaps",
        "If a meter had no failures, no gap between its readings is longer than the longest_gap_s"
        " in its record (tolerance: 50 % plus 0.05 s). Gaps in which no other meter was read do not"
        " count. Such a meter's readings begin at most 10 s after the run's start and end at most"
        " 10 s before the run's end. (The limit is a tenth of the run, two periods or 1.5 times"
        " longest_gap_s, if one of these is longer.) On each node with three meters or more, at"
        " least one meter's readings have a gap as long as the meter's longest_gap_s. In a run on"
        " several nodes, every node whose recorder was not lost has readings in the whole run, with"
        " pauses of at most 10 s (or a tenth of the run or ten periods of its slowest meter, if one"
        " of these is longer).",
        "The recorder states each meter's longest time without a reading. If somebody removed"
        " readings, the longest gap would be longer than stated; if somebody filled in readings, it"
        " would be shorter. If no meter was read, the machine or the recorder stood still. If"
        " readings ended early, energy would be missing.",
        READINGS_AS_READ,
        (
            OfBundle("meter-gaps", _gaps),
            OfBundle("meter-stated-gaps", _stated_gaps),
            OfBundle("nodes-throughout", _throughout),
        ),
    ),
    Rule(
        "meter-cost",
        "A meter's record states the CPU time that reading the meter took (cost_s). In runs longer"
        " than 10 s, at least one meter of each node has a cost_s above zero, and all meters of a"
        " node together took at least 1 µs per reading. In every run, all meters of a node together"
        " took at most the CPU time that the node's cores offered while meters were read, plus 60 s"
        " per core.",
        "A reading takes at least one system call. The rule load-agrees allows the suite's"
        " processes the implementation's CPU time plus the meters' cost_s, so a cost_s that is too"
        " large could hide other work.",
        READINGS_AS_READ,
        (OfBundle("meter-cost", _cost), OfBundle("meter-cost-possible", _cost_possible)),
    ),
    Rule(
        "meters-read",
        "Every node has readings of the meters load and wall-clock. It has readings of the meter"
        " page-cache if the page cache was emptied before the run, and of the meter disk if the"
        f" data are on a disk. Each of the meters {joined_names(SCHEDULED)} that was available has"
        " readings or failures. None of this applies to a meter that --meters left out. Every"
        " node of a closed run has readings of the meters cpu and memory. In a closed run,"
        f" --meters does not leave out any of these meters: {', '.join(REQUIRED)}.",
        "Linux offers the processor, the memory, the load and the clock in /proc to every user."
        " Rules compare the meters with one another, so nobody may avoid a comparison by leaving a"
        " meter out.",
        "if --meters left out a meter that a closed run must read: run without --meters; if /proc"
        " could not be read: let the run's user read it, or run on the host, not in a container",
        (
            OfBundle("meters-of-linux", _of_linux, CLOSED),
            OfBundle("meters-of-kernel", _of_kernel),
            CHOICE,
        ),
    ),
)
