"""Meter readings: complete, of this run, within possible ranges."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.attached import SOURCE as ATTACHED
from suite.compliance.finding import Severity
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation

if TYPE_CHECKING:
    from suite.bundle.arrays import Window
    from suite.bundle.channels import Channel, Channels

ORDER = 80  # after everything that the log and the steps show

# a framework takes minutes to load from an SD card before the first event, and a while to exit
AROUND_LOG_S = 600.0
BEFORE_LOG_S = 3600.0
GAP_PERIODS, MIN_GAP_S = 10.0, 5.0
ROUNDING = 1.005
# Counters that only a new boot resets. Energy counters are exempt: a sensor's glitch makes the
# energy unknown and is no forgery.
RISING = ("counters", "disk", "network")
COUNTERS_OF_32_BITS, MAX_COUNT_OF_32_BITS = ("network",), 2**32
"""Some drivers of interfaces count in 32 bits: their counters begin again after 4 GiB."""
IN_USE = ("used", "available", "process_tree_rss", "largest_process_peak_rss")
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


def _in_run(context: BundleContext) -> Iterator[Violation]:
    """Check that the run's readings lie around the log in time, and the idle machine's before
    it."""
    times_ns = [event.mono_ns for event in context.log.events if event.mono_ns is not None]
    if not times_ns:
        return
    first_ns, last_ns = min(times_ns), max(times_ns)
    around = (first_ns - AROUND_LOG_S / SECONDS_PER_NS, last_ns + AROUND_LOG_S / SECONDS_PER_NS)
    for node in context.nodes:
        if node.is_on_clock:
            yield from _within(
                node.file,
                node.channels,
                around,
                "from ten minutes before the log to ten minutes after it",
            )
            yield from _within(
                node.idle_file,
                node.idle,
                (first_ns - BEFORE_LOG_S / SECONDS_PER_NS, first_ns),
                "in the hour before the log",
            )


def _within(
    name: str, table: "Channels", span: tuple[float, float], where: str
) -> Iterator[Violation]:
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
        when = f"{away_s:.1f} s {'before' if first_ns < span[0] else 'after'} that time"
        yield Violation(
            name,
            f"readings {where}",
            f"{count} of {len(table)} outside, the first of {first.source} {first.name}, {when}",
        )


def _order(context: BundleContext) -> Iterator[Violation]:
    for node in context.nodes:
        for channel in node.channels:
            t_ns = channel.t_ns
            late = (t_ns[1:] <= t_ns[:-1]).nonzero()[0]
            if len(late):
                yield Violation(
                    node.file,
                    f"readings of {channel.source} {channel.name} one after another",
                    f"reading {late[0] + 2} at {t_ns[late[0] + 1]} ns, the one before at"
                    f" {t_ns[late[0]]} ns",
                )


def _counted(context: BundleContext) -> Iterator[Violation]:
    """Check the number of readings of each meter against the recorder's count, unless it records a
    lost node or a failed write."""
    for node in context.nodes:
        meters = {
            str(meter.get("name")): meter for meter in node.meters if isinstance(meter, Mapping)
        }
        if not node.is_whole or meters.get("recorder", {}).get("last_error") is not None:
            continue
        for source in sorted(
            {
                *(channel.source for channel in node.channels),
                *(name for name in meters if name != "recorder"),
            }
        ):
            recorded, present = (
                meters.get(source, {}).get("readings", 0),
                sum(map(len, node.channels.of(source))),
            )
            if recorded != present:
                yield Violation(
                    node.file,
                    f"{recorded!r} readings of {source}, the count in {node.meters_file}",
                    f"{present}",
                )
        written = meters.get("recorder", {}).get("readings")
        # a trace that was attached later is not the recorder's
        own = len(node.channels) - sum(map(len, node.channels.of(ATTACHED)))
        if written is not None and written != own:
            yield Violation(
                node.file,
                f"{written!r} readings in all, which the recorder wrote by its record in"
                f" {node.meters_file}",
                f"{own}",
            )


def _rising(context: BundleContext) -> Iterator[Violation]:
    for node in context.nodes:
        for channel in (channel for source in RISING for channel in node.channels.of(source)):
            values = channel.values
            has_fallen = values[1:] < values[:-1]
            if channel.source in COUNTERS_OF_32_BITS and channel.maximum < MAX_COUNT_OF_32_BITS:
                has_fallen &= values[:-1] < MAX_COUNT_OF_32_BITS / 2
            falls = has_fallen.nonzero()[0]
            if len(falls):
                yield Violation(
                    node.file,
                    f"the counter {channel.source} {channel.name} never to fall",
                    f"{values[falls[0] + 1]:g} in reading {falls[0] + 2} after"
                    f" {values[falls[0]]:g}, {len(falls)} falls",
                )


def _possible(context: BundleContext) -> Iterator[Violation]:
    import numpy as np  # start-up

    for node in context.nodes:
        for channel in node.channels:
            if channel.units > 1:
                yield Violation(
                    node.file,
                    f"one unit for {channel.source} {channel.name}",
                    f"{channel.units} units",
                )
            values, (low, high) = channel.values, RANGES.get(channel.unit, (-np.inf, np.inf))
            bad = np.flatnonzero(~(np.abs(values) < np.inf) | (values < low) | (values > high))
            if len(bad):
                yield Violation(
                    node.file,
                    f"values from {low:g} to {high:g} {channel.unit}",
                    f"{values[bad[0]]:g} of {channel.source} {channel.name} at"
                    f" {int(channel.t_ns[bad[0]])} ns, {len(bad)} in all",
                )


def _fit_machine(context: BundleContext) -> Iterator[Violation]:
    """Check that the memory in use fits the described machine, and that all its cores were read."""
    for node in context.nodes:
        size_bytes, cores = node.system.get("memory_size_bytes"), node.system.get("cpu_cores")
        used_bytes = max(
            (
                memory.maximum
                for name in IN_USE
                if len((memory := node.channels.get("memory", name)).known)
            ),
            default=0.0,
        )
        if isinstance(size_bytes, int) and size_bytes > 0 and used_bytes > size_bytes * ROUNDING:
            yield Violation(
                node.file,
                f"at most {size_bytes} bytes of memory, as in {node.system_file}",
                f"{used_bytes:.0f} bytes in use ({used_bytes / size_bytes:.0%}), by the memory"
                " meter",
            )
        cores_read = node.cores_read
        if isinstance(cores, int) and 0 < cores_read < cores:
            yield Violation(
                node.file,
                f"readings of {cores} cores, as in {node.system_file}",
                f"of {cores_read}",
            )


def _gaps(context: BundleContext) -> Iterator[Violation]:
    window = context.window
    if window is None:
        return
    for node in (node for node in context.nodes if node.is_on_clock):
        for meter in (meter for meter in node.meters if isinstance(meter, Mapping)):
            name, period_s = str(meter.get("name")), meter.get("period_s")
            channels = node.channels.of(name)
            if not channels or not isinstance(period_s, int | float):
                continue
            longest_s, after_s = _longest_gap_s(channels, window)
            if longest_s > max(GAP_PERIODS * period_s, MIN_GAP_S):
                yield Violation(
                    node.file,
                    f"a reading of {name} every {period_s:g} s",
                    f"none for {longest_s:.1f} s, from {after_s:.1f} s after run_start on",
                )


def _longest_gap_s(channels: "Sequence[Channel]", window: "Window") -> tuple[float, float]:
    """The longest time without a reading, and its beginning after the window's, in seconds."""
    import numpy as np  # start-up

    inside = np.array(window)
    for channel in channels:  # a meter's channels are mostly read at the same times
        inside = np.union1d(inside, channel.during(window).t_ns)
    # Unsigned: logged times may be arbitrary, and further apart than a signed integer holds.
    gaps = np.diff(inside.view(np.uint64))
    longest = int(gaps.argmax()) if len(gaps) else 0
    began = float(inside[longest] - inside[0]) if len(gaps) else 0.0
    return float(gaps.max(initial=0)) * SECONDS_PER_NS, began * SECONDS_PER_NS


RULES = (
    Rule(
        "readings-in-run",
        "The meters' readings were taken within ten minutes of the log's time, those of the"
        " idle machine in the hour before.",
        "Readings of another run prove nothing.",
        READINGS_AS_READ,
        (OfBundle("readings-in-run", _in_run),),
    ),
    Rule(
        "readings-in-order",
        "The readings of a channel follow one another in time, no two at the same time.",
        "A meter reads one value at a time; inserted readings break the order.",
        READINGS_AS_READ,
        (OfBundle("readings-in-order", _order),),
    ),
    Rule(
        "readings-counted",
        "Each meter has as many readings as the recorder counted, and all of them together as"
        " many as it wrote.",
        "It shows readings that were left out or inserted.",
        READINGS_AS_READ,
        (OfBundle("readings-counted", _counted),),
    ),
    Rule(
        "counters-never-fall",
        "Counters of the processor, the disk and the network never fall.",
        "They count from the run's or the boot's start; one that falls was edited or is of two"
        " boots.",
        READINGS_AS_READ,
        (OfBundle("counters-never-fall", _rising),),
    ),
    Rule(
        "readings-possible",
        "Every reading is within the range of its unit, and a channel has one unit.",
        "A load of 140 % was not measured.",
        READINGS_AS_READ,
        (OfBundle("readings-possible", _possible),),
    ),
    Rule(
        "readings-fit-machine",
        "The readings fit the memory and the cores of the described machine.",
        "A result belongs to the machine that made it.",
        READINGS_AS_READ,
        (OfBundle("readings-fit-machine", _fit_machine),),
    ),
    Rule(
        "readings-gaps",
        "No meter is silent for ten of its periods and five seconds during the run.",
        "Nothing is known of a gap; the figures' coverage gives its size.",
        "find out what delayed the meter",
        (OfBundle("readings-gaps", _gaps, severity=Severity.WARNING),),
    ),
)
