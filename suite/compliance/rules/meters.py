"""Meters: what they say of themselves in run.json, and the times of their readings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.attached import SOURCE
from suite.bundle.layout import RUN
from suite.catalog.meter_choice import LEFT_OUT, POWER_SCHEDULES, REQUIRED
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation
from suite.compliance.values import is_number

if TYPE_CHECKING:
    from suite.bundle.channels import Channel
    from suite.compliance.node_context import NodeContext

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
OWN_CLOCK, MAX_AHEAD_S = "meter-csv", 2.0
"""Tables of another program have its clock; honest ones ended up to 0.4 s after the other meters (a
clock of whole seconds), or before them."""
# of a run whose meters must have cost a microsecond; 0.01 s and more in honest runs of a second
MIN_COST_S = 10.0
# 20 microseconds and more in honest runs; 3 to 200 ms of CPU time a second
MIN_READING_S, UNREAD_S = 1e-6, 60.0
CALLS_SLACK, MORE_CALLS = 5.0, 1.1
# 0.2 to 4.2 s in 26 real runs; a slow machine that needs long to exit needed longer to load, which
# is added
MAX_TAIL_S = 5.0
ROUND_NS, MIN_ROUND = 100_000, 20  # boards' clocks tick every 52 ns, or every microsecond


def _available(context: BundleContext) -> Iterator[Violation]:
    for node, name, record, channels in _meters(context):
        if channels and record.get("available") is not True:
            yield Violation(
                node.file,
                "readings of available meters only",
                f"{sum(map(len, channels))} readings of {name}, which {node.meters_file} says was"
                " not available",
            )


def _periods(context: BundleContext) -> Iterator[Violation]:
    """Check the achieved period of every meter against one of its channels: the recorder states the
    median of the first one's.

    Of a short run, that one may have fewer readings than the others.
    """
    for node, name, record, channels in _meters(context):
        periods_s = [channel.period_s for channel in channels if channel.period_s is not None]
        stated_s = record.get("achieved_period_s")
        if not periods_s or all(len(channel) < MIN_READINGS for channel in channels):
            continue
        nearest_s = (
            min(periods_s, key=lambda period_s: abs(period_s - stated_s))
            if is_number(stated_s)
            else periods_s[0]
        )
        if not is_number(stated_s) or abs(nearest_s - stated_s) > MAX_PERIOD_DIFFERENCE * stated_s:
            yield Violation(
                node.file,
                f"a reading of {name} every {stated_s!r} s, its achieved_period_s in"
                f" {node.meters_file}",
                f"every {nearest_s:.6g} s",
            )


def _jitter(context: BundleContext) -> Iterator[Violation]:
    """Check a stated jitter against the scatter of the times between the readings of one of the
    meter's channels; `suite finish` states none.

    The recorder takes it from the meter's first channel, which may have fewer readings than others:
    processes end before their machine is idle.
    """
    for node, name, record, channels in _meters(context):
        stated_s = record.get("jitter_s")
        gaps = [
            channel.in_time.t_ns[1:] - channel.in_time.t_ns[:-1]
            for channel in channels
            if len(channel) > 2
        ]
        if not is_number(stated_s) or not any(len(each) + 1 >= MIN_READINGS for each in gaps):
            continue
        nearest_s = min(
            (float(each.std(ddof=1)) * SECONDS_PER_NS for each in gaps),
            key=lambda found_s: abs(found_s - stated_s),
        )
        if abs(nearest_s - stated_s) > MAX_PERIOD_DIFFERENCE * nearest_s + JITTER_SLACK_S:
            yield Violation(
                node.file,
                f"times between readings of {name} that scatter by {stated_s:.6g} s, its jitter_s"
                f" in {node.meters_file}",
                f"by {nearest_s:.6g} s",
            )


def _as_its_class(context: BundleContext) -> Iterator[Violation]:
    """Check the period and the moments of a meter against those of the suite's meter of that name;
    `suite finish` takes them from the readings."""
    if context.run.closed_later is not None:
        return
    for node, name, record, channels in _meters(context):
        period_s, moments = POWER_SCHEDULES.get(name, (None, "fixed" if name in REQUIRED else None))
        if not channels or moments is None:
            continue
        if record.get("moments", moments) != moments:
            yield Violation(
                node.meters_file,
                f"{name} read at {moments} moments, as the suite's meter of this name is",
                f"moments = {record.get('moments')!r}",
            )
        if period_s is not None and record.get("period_s") != period_s:
            yield Violation(
                node.meters_file,
                f"{name} read every {period_s:g} s, as the suite's meter of this name is",
                f"period_s = {record.get('period_s')!r}",
            )


def _gaps(context: BundleContext) -> Iterator[Violation]:
    """Check holes in a meter's readings against its longest gap, if it states no failures."""
    from suite.compliance.evidence import seconds  # start-up: loads numpy

    window = context.window
    for node, name, record, channels in _meters(context):
        stated_s, period_s = record.get("longest_gap_s"), record.get("period_s")
        if (
            record.get("failures") != 0
            or not channels
            or not is_number(stated_s)
            or not is_number(period_s)
        ):
            continue
        gap_s = min(_longest_gap_s(node, channel) for channel in channels)
        if gap_s > LONGER_GAP * stated_s + GAP_SLACK_S:
            yield Violation(
                node.file,
                f"no gap over {stated_s:.3g} s between readings of {name}, which states no failure"
                f" in {node.meters_file}",
                f"{gap_s:.2f} s",
            )
        if window is None or not node.is_on_clock:
            continue
        late_s = max(
            min(channel.t_ns.min() for channel in channels) - window[0],
            window[1] - max(channel.t_ns.max() for channel in channels),
        )
        late_s *= SECONDS_PER_NS
        if late_s > max(
            MIN_EDGE_S, EDGE_SHARE * seconds(window), EDGE_PERIODS * period_s, LONGER_GAP * stated_s
        ):
            yield Violation(
                node.file,
                f"readings of {name} over the whole run: it states no failure and no gap over"
                f" {stated_s:.3g} s",
                f"none for {late_s:.2f} s at the run's start or end",
            )


def _longest_gap_s(node: "NodeContext", channel: "Channel") -> float:
    """Longest time between two readings of a channel; 0 if no other meter was read in its middle:
    the machine stood still, or the recorder."""
    times_ns = channel.in_time.t_ns
    if len(times_ns) < 2:
        return 0.0
    longest = int((times_ns[1:] - times_ns[:-1]).argmax())
    others_ns = [other.t_ns for other in node.channels if other.source != channel.source]
    first_ns, last_ns = float(times_ns[longest]), float(times_ns[longest + 1])
    quarter_ns = (last_ns - first_ns) / 4
    is_common = bool(others_ns) and not any(
        ((each > first_ns + quarter_ns) & (each < last_ns - quarter_ns)).any() for each in others_ns
    )
    return 0.0 if is_common else (last_ns - first_ns) * SECONDS_PER_NS


def _stated_gaps(context: BundleContext) -> Iterator[Violation]:
    """Check that a longest gap that is stated is found in the readings of one meter at least; it
    may be before the first or after the last."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    for node, name, record, channels in _meters(context):
        stated_s = record.get("longest_gap_s")
        if is_number(stated_s) and max(map(len, channels), default=0) >= MIN_READINGS:
            longest_s = (
                max(
                    float((each.in_time.t_ns[1:] - each.in_time.t_ns[:-1]).max())
                    for each in channels
                    if len(each) > 1
                )
                * SECONDS_PER_NS
            )
            found.setdefault(node.file, []).append((name, stated_s, longest_s))
    for file, gaps in found.items():
        if len(gaps) >= MIN_METERS and all(
            longest_s < FOUND_GAP * stated_s for _, stated_s, longest_s in gaps
        ):
            name, stated_s, longest_s = gaps[0]
            yield Violation(
                file,
                f"a gap of {stated_s:.6g} s between readings of {name}, the longest that its record"
                " states, or so of another meter",
                f"{longest_s:.6g} s at most; so of all {len(gaps)} meters",
            )


def _failures(context: BundleContext) -> Iterator[Violation]:
    """Check that a meter's failures left holes: it is called once a period."""
    for node, name, record, channels in _meters(context):
        failures, period_s = record.get("failures"), record.get("period_s")
        span_ns = node.channels.span_ns
        if (
            not channels
            or span_ns is None
            or not is_number(failures)
            or not is_number(period_s)
            or not failures > 0
            or not period_s > 0
        ):
            continue
        readings = max(map(len, channels))
        calls = (span_ns[1] - span_ns[0]) * SECONDS_PER_NS / period_s * MORE_CALLS + CALLS_SLACK
        if readings <= calls < readings + failures:
            yield Violation(
                node.meters_file,
                f"at most {calls:.0f} calls of {name}, one every {period_s:g} s",
                f"{readings} readings and {failures:g} failures",
            )


def _end(context: BundleContext) -> Iterator[Violation]:
    """Check that the harness's own readings end when the implementation does."""
    times_ns = [event.mono_ns for event in context.log.events if event.mono_ns is not None]
    node = next(iter(context.nodes), None)
    # a logger is stopped by hand
    own = [] if node is None else [channel for channel in node.channels if channel.source != SOURCE]
    if node is None or not own or not times_ns or context.window is None:
        return
    first_ns, last_ns = (
        min(int(channel.t_ns.min()) for channel in own),
        max(int(channel.t_ns.max()) for channel in own),
    )
    loading_s = max(0.0, (context.window[0] - first_ns) * SECONDS_PER_NS)
    tail_s = (last_ns - max(times_ns)) * SECONDS_PER_NS
    if tail_s > MAX_TAIL_S + loading_s:
        last = next(channel for channel in own if channel.t_ns.max() == last_ns)
        yield Violation(
            node.file,
            f"readings up to {MAX_TAIL_S + loading_s:.1f} s after the log's last event:"
            f" {MAX_TAIL_S:g} s, and the time before run_start",
            f"{last.source} was read {tail_s:.1f} s after it",
        )


def _schedule(context: BundleContext) -> Iterator[Violation]:
    yield from _too_often(context)
    yield from _too_many(context)


def _too_many(context: BundleContext) -> Iterator[Violation]:
    """Check that no channel of a kernel's meter has more readings than periods; `suite finish`
    takes the period from the readings."""
    if context.run.closed_later is not None:
        return
    for node, name, record, channels in _meters(context):
        period_s = record.get("period_s")
        if name not in SCHEDULED or not is_number(period_s) or not period_s > 0:
            continue
        for channel in channels:
            span_s = float(channel.t_ns.max() - channel.t_ns.min()) * SECONDS_PER_NS
            most = MORE_READINGS * span_s / period_s + READINGS_SLACK
            if len(channel) > most:
                expected = (
                    f"at most {most:.0f} readings of {name} {channel.name} in {span_s:.1f} s, one"
                    f" every {period_s:g} s"
                )
                yield Violation(node.file, expected[:300], f"{len(channel)}")


def _too_often(context: BundleContext) -> Iterator[Violation]:
    """Check that the kernel's meters were not read more often than once a period: one at least was
    not, unless all their times were scaled."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    for node, name, record, channels in _meters(context):
        period_s = record.get("period_s")
        longest = max(channels, key=len, default=None)
        if (
            name in SCHEDULED
            and longest is not None
            and len(longest) >= MIN_SCHEDULED_READINGS
            and is_number(period_s)
            and period_s > 0
        ):
            found.setdefault(node.file, []).append((name, period_s, longest.period_s or 0.0))
    for file, meters in found.items():
        if all(between_s < MIN_PERIOD_RATIO * period_s for _, period_s, between_s in meters):
            name, period_s, between_s = meters[0]
            yield Violation(
                file,
                f"a reading of {name} every {period_s:g} s or less often, as it is asked for",
                f"every {between_s:.4g} s in the median"
                + (f"; so of all {len(meters)} meters of the kernel" if len(meters) > 1 else ""),
            )


def _ahead(context: BundleContext) -> Iterator[Violation]:
    """Check that a table of another program does not end after the other meters, which are all read
    once more when the run has ended."""
    for node in context.nodes:
        last_ns = {
            source: max(int(each.t_ns.max()) for each in node.channels.of(source))
            for source in {each.source for each in node.channels}
        }
        own_ns = last_ns.pop(OWN_CLOCK, None)
        if own_ns is None or not last_ns:
            continue
        ahead_s = (own_ns - max(last_ns.values())) * SECONDS_PER_NS
        if ahead_s > MAX_AHEAD_S:
            yield Violation(
                node.file,
                f"readings of {OWN_CLOCK} until the last ones of the other meters, or"
                f" {MAX_AHEAD_S:g} s later",
                f"{ahead_s:.2f} s later",
            )


def _cost(context: BundleContext) -> Iterator[Violation]:
    """Check that reading cost CPU time; `suite finish` cannot know it."""
    from suite.compliance.evidence import seconds  # start-up: loads numpy

    if (
        context.run.closed_later is not None
        or context.window is None
        or not seconds(context.window) > MIN_COST_S
    ):
        return
    for node in context.nodes:
        costs_s = [
            record.get("cost_s")
            for record in node.meters
            if isinstance(record, Mapping) and record.get("available") is True
        ]
        if (
            node.is_whole
            and len(node.channels)
            and costs_s
            and not any(is_number(cost_s) and cost_s > 0 for cost_s in costs_s)
        ):
            yield Violation(
                node.meters_file,
                "CPU time for reading the meters: cost_s above zero of one at least",
                f"none of {len(costs_s)} meters, for {len(node.channels)} readings",
            )


def _cost_possible(context: BundleContext) -> Iterator[Violation]:
    """Check what reading cost in all, of every node: more than a microsecond a reading, less than
    all cores did."""
    if context.run.closed_later is not None:
        return
    for node, records in _recorded(context):
        own = [
            record
            for name, record in records.items()
            if name not in ("recorder", SOURCE) and record.get("available") is True
        ]
        costs_s, readings = (
            [record.get("cost_s") for record in own],
            sum(len(channel) for channel in node.channels if channel.source != SOURCE),
        )
        spans_ns = [channels.span_ns for channels in (node.channels, node.idle)]
        span_s = sum(
            (span_ns[1] - span_ns[0]) * SECONDS_PER_NS
            for span_ns in spans_ns
            if span_ns is not None
        )
        cost_s = sum(cost_s for cost_s in costs_s if is_number(cost_s))
        least_s = MIN_READING_S * readings if span_s >= MIN_COST_S else 0.0
        most_s = (span_s + UNREAD_S) * max(node.cores_read, 1)
        if readings and costs_s and not least_s <= cost_s <= most_s:
            yield Violation(
                node.meters_file,
                f"{least_s:.3g} to {most_s:.3g} s of CPU time for {readings} readings in"
                f" {span_s:.1f} s",
                f"{cost_s:.3g} s by cost_s of {len(own)} meters",
            )


def _of_linux(context: BundleContext) -> Iterator[Violation]:
    """Check that processor and memory were read on every node: the kernel has them for
    everybody."""
    for node, records in _recorded(context):
        for name in OF_EVERY_LINUX:
            if not node.channels.of(name):
                reason = str(records.get(name, {}).get("reason") or "no reading")[:200]
                yield Violation(
                    node.meters_file,
                    f"readings of {name}, which every Linux offers in /proc",
                    reason,
                )


def _of_kernel(context: BundleContext) -> Iterator[Violation]:
    """Check that meters of the kernel were read where another record says that the kernel has
    them."""
    for node, records in _recorded(context):
        offered = dict.fromkeys(("load", "wall-clock"), "which every Linux offers in /proc")
        if context.request.cache_cleared is True:
            offered["page-cache"] = (
                f"which the harness read before the run (cache_cleared in {RUN})"
            )
        if node.system.get("storage_medium") not in NOT_ON_DISK:
            offered["disk"] = f"the data are on a disk (storage_medium in {node.system_file})"
        for name in dict.fromkeys((*offered, *records)):
            record = records.get(name, {})
            if record.get("reason") == LEFT_OUT or node.channels.of(name):
                continue
            reason = str(record.get("reason") or "no reading")[:200]
            if name in offered:
                yield Violation(node.meters_file, f"readings of {name}, {offered[name]}", reason)
            elif (
                name in SCHEDULED and record.get("available") is True and not record.get("failures")
            ):
                yield Violation(
                    node.meters_file, f"readings of {name}, or failures: it was available", reason
                )


def _rounded(context: BundleContext) -> Iterator[Violation]:
    for node in context.nodes:
        if len(node.channels) >= MIN_ROUND and not any(
            (channel.t_ns % ROUND_NS).any() for channel in node.channels
        ):
            yield Violation(
                node.file,
                "times of a clock, which ticks in nanoseconds",
                f"{len(node.channels)} readings at whole tenths of a millisecond",
            )


def _meters(
    context: BundleContext,
) -> "Iterator[tuple[NodeContext, str, Mapping[str, Any], Sequence[Channel]]]":
    """Every meter's record with the channels that were read; nodes whose recorder was lost or could
    not write are left out."""
    for node, records in _recorded(context):
        for name, record in records.items():
            if name != "recorder":
                yield node, name, record, node.channels.of(name)


def _recorded(
    context: BundleContext,
) -> "Iterator[tuple[NodeContext, Mapping[str, Mapping[str, Any]]]]":
    """Every node with its meters' records by name; without nodes whose recorder was lost or could
    not write."""
    for node in context.nodes:
        records = {
            str(record.get("name")): record for record in node.meters if isinstance(record, Mapping)
        }
        if node.is_whole and records.get("recorder", {}).get("last_error") is None:
            yield node, records


OWN_NAME = f"{READINGS_AS_READ}; a meter of your own has a name of its own"
NOT_ON_DISK = (None, "network", "memory")
OF_EVERY_LINUX = ("cpu", "memory")

RULES = (
    Rule(
        "meter-available",
        "Only meters that were available have readings.",
        "The recorder opens no other meter.",
        READINGS_AS_READ,
        (OfBundle("meter-available", _available),),
    ),
    Rule(
        "meter-periods",
        "A meter's readings are as far apart as its record says.",
        "The recorder states the median time between readings, from the same times. Readings"
        " that were scaled in time, inserted or made up differ.",
        READINGS_AS_READ,
        (OfBundle("meter-periods", _periods),),
    ),
    Rule(
        "meter-jitter",
        "The times between a meter's readings scatter as its record says.",
        "The recorder states their standard deviation, from the same times. Invented readings"
        " and edited records differ.",
        READINGS_AS_READ,
        (OfBundle("meter-jitter", _jitter),),
    ),
    Rule(
        "meter-own-schedule",
        "A power meter has the period of the suite's meter of its name, and every meter its"
        " moments.",
        "Both are constants of the meter's program. Readings of a plug under the name of an"
        " analyser keep the plug's.",
        OWN_NAME,
        (OfBundle("meter-own-schedule", _as_its_class),),
    ),
    Rule(
        "meter-gaps",
        "A meter that states no failure has no hole in its readings, nor misses a tenth of the"
        " run and ten seconds at its start or end.",
        "The recorder states the longest time without a reading: readings that were left out"
        " contradict it.",
        READINGS_AS_READ,
        (OfBundle("meter-gaps", _gaps),),
    ),
    Rule(
        "meter-stated-gaps",
        "The longest gap that a meter's record states is in the readings, for one meter of a"
        " node at least.",
        "The recorder finds it in the times of the same readings. Readings that were"
        " interpolated to new times are evenly spaced.",
        READINGS_AS_READ,
        (OfBundle("meter-stated-gaps", _stated_gaps),),
    ),
    Rule(
        "meter-failures",
        "A meter's readings and failures together are at most one a period.",
        "A call that fails has no reading.",
        READINGS_AS_READ,
        (OfBundle("meter-failures", _failures),),
    ),
    Rule(
        "meter-schedule",
        "The kernel's meters are read no more often than once a period, and none of their"
        " channels has more readings than periods.",
        "The recorder waits for the period to pass. Readings and records that were made to fit"
        " shorter times come faster, and a second series of readings that was put into a"
        " channel comes beside the first.",
        READINGS_AS_READ,
        (OfBundle("meter-schedule", _schedule),),
    ),
    Rule(
        "meter-clock",
        "A table that another program writes ends when the other meters do, or two seconds later.",
        "It has a clock of its own. Where that clock is wrong, the power of another moment is"
        " counted.",
        "set the clock of the machine that writes the table, or add the table after the run"
        " with suite power attach",
        (OfBundle("meter-clock", _ahead),),
    ),
    Rule(
        "meter-cost",
        "Reading the meters cost CPU time.",
        "The recorder measures its own time, so that its share of the run's load is known.",
        READINGS_AS_READ,
        (OfBundle("meter-cost", _cost),),
    ),
    Rule(
        "meter-cost-possible",
        "Reading cost a microsecond a reading or more, and no more than all cores could do"
        " meanwhile.",
        "A reading is a system call at least. The recorder's own time is left out of the"
        " foreign load.",
        READINGS_AS_READ,
        (OfBundle("meter-cost-possible", _cost_possible),),
    ),
    Rule(
        "meters-of-linux",
        "Processor and memory are read on every node of a closed run.",
        "Every Linux offers them to every user. Without them nothing shows how a result came"
        " about.",
        "let the user of the run read /proc; inside a container, run on the host",
        (OfBundle("meters-of-linux", _of_linux, divisions=CLOSED),),
    ),
    Rule(
        "meters-of-kernel",
        "Load and wall clock are read on every node, the page cache where it was emptied, the"
        " disk where the data are on one; another meter of the kernel that was available has"
        " readings or failures.",
        "The kernel has these meters for every user. A meter that is said to be unavailable"
        " shows neither other programs nor clock steps.",
        READINGS_AS_READ,
        (OfBundle("meters-of-kernel", _of_kernel),),
    ),
    Rule(
        "readings-end",
        "The readings end soon after the log does: within five seconds, and as long as it took"
        " from the first reading to run_start.",
        "The recorder stops when the implementation has exited. A machine that loads a"
        " framework slowly also leaves it slowly. Later readings belong to a longer run.",
        READINGS_AS_READ,
        (OfBundle("readings-end", _end),),
    ),
    Rule(
        "readings-clock",
        "The times of the readings are not all whole tenths of a millisecond.",
        "They are read from a clock of nanoseconds, one meter after another.",
        READINGS_AS_READ,
        (OfBundle("readings-clock", _rounded),),
    ),
)
