"""What the meters read: whole, of this run, and possible."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from suite.compliance.editing import EditableBundle
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleCase, Fault, Rule, Violation

if TYPE_CHECKING:
    from suite.bundle.arrays import Window
    from suite.bundle.channels import Channel, Channels

from reference_impls.contract import SECONDS_PER_NS

AROUND_S = 600.0  # frameworks load for minutes from an SD card before the first event, and take a while to leave
BEFORE_S = 3600.0
GAP_PERIODS, SHORTEST_GAP_S = 10.0, 5.0
ROUNDING = 1.005
# Counters that only a new boot takes back. Counters of energy are left out: a glitch of the sensor leaves no energy and is no forgery.
RISING = ("counters", "disk")
IN_USE = ("used", "available", "process_tree_rss", "largest_process_peak_rss")
RANGES: Mapping[str, tuple[float, float]] = {
    "%": (0.0, 100.0 * ROUNDING), "ratio": (0.0, 1.0 * ROUNDING), "B": (0.0, 2.0**60), "Hz": (0.0, 1e11), "degC": (-60.0, 200.0),
    "events": (0.0, 2.0**64), "operations": (0.0, 2.0**64), "processes": (0.0, 2.0**22), "ns": (0.0, 2.0**64), "W": (-50.0, 5000.0),
}  # fmt: skip
READ_AGAIN = "run again; readings are kept as the meters gave them"


def _in_run(case: BundleCase) -> Iterator[Violation]:
    """Readings of the run lie around the log, those of the idle machine before it."""
    times_ns = [event.mono_ns for event in case.log.events if event.mono_ns is not None]
    if not times_ns:
        return
    first_ns, last_ns = min(times_ns), max(times_ns)
    around = (first_ns - AROUND_S / SECONDS_PER_NS, last_ns + AROUND_S / SECONDS_PER_NS)
    for node in case.nodes:
        if node.is_on_clock:
            yield from _within(node.file, node.channels, around, "from ten minutes before the log to ten minutes after it")
            yield from _within(node.idle_file, node.idle, (first_ns - BEFORE_S / SECONDS_PER_NS, first_ns), "in the hour before the log")


def _within(name: str, table: "Channels", span: tuple[float, float], words: str) -> Iterator[Violation]:
    outside = ((table.t_ns < span[0]) | (table.t_ns > span[1])).nonzero()[0]
    if len(outside):
        observed = f"{len(outside)} of {len(table)} readings at another time, the first of {table.owner(outside[0]).source!r}"
        yield Violation(name, f"readings {words}", observed[:200], READ_AGAIN)


def _order(case: BundleCase) -> Iterator[Violation]:
    for node in case.nodes:
        for channel in node.channels:
            if (channel.t_ns[1:] <= channel.t_ns[:-1]).any():
                expected = f"readings of {channel.source} {channel.name} one after another"
                yield Violation(node.file, expected, "two at the same time, or an earlier one", READ_AGAIN)


def _counted(case: BundleCase) -> Iterator[Violation]:
    """As many readings of each meter as were recorded; a disk that was full, or a lost recorder, loses some, and the record says so."""
    for node in case.nodes:
        meters = {str(meter.get("name")): meter for meter in node.meters if isinstance(meter, Mapping)}
        if not node.is_whole or meters.get("recorder", {}).get("last_error") is not None:
            continue
        for source in sorted({*(channel.source for channel in node.channels), *(name for name in meters if name != "recorder")}):
            recorded, there = meters.get(source, {}).get("readings", 0), sum(map(len, node.channels.of(source)))
            if recorded != there:
                yield Violation(node.file, f"{recorded!r} readings of {source}, as {node.records} records", f"{there}", READ_AGAIN)


def _rising(case: BundleCase) -> Iterator[Violation]:
    for node in case.nodes:
        for channel in (channel for source in RISING for channel in node.channels.of(source)):
            lower = channel.values[1:][channel.values[1:] < channel.values[:-1]]
            if len(lower):
                observed = f"{lower[0]:g} after more, {len(lower)} times"
                yield Violation(node.file, f"a counter {channel.source} {channel.name} that never falls", observed, READ_AGAIN)


def _possible(case: BundleCase) -> Iterator[Violation]:
    import numpy as np

    for node in case.nodes:
        channels, units = node.channels, node.channels.units
        ranges = np.array([RANGES.get(unit, (-np.inf, np.inf)) for unit in units.texts]).reshape(-1, 2)
        low, high = ranges[units.index].T
        bad = np.flatnonzero(~(np.abs(channels.values) < np.inf) | (channels.values < low) | (channels.values > high))
        for place in np.flatnonzero(np.bincount(units.index[bad])):
            of_unit = bad[units.index[bad] == place]
            first = channels.owner(of_unit[0])
            observed = f"{channels.values[of_unit[0]]:g} of {first.source} {first.name}, {len(of_unit)} such readings"
            expected = f"values from {low[of_unit[0]]:g} to {high[of_unit[0]]:g} {units.texts[place]}"
            yield Violation(node.file, expected, observed, READ_AGAIN)
        for channel in (channel for channel in channels if channel.units > 1):
            yield Violation(node.file, f"one unit for {channel.source} {channel.name}", f"{channel.units}", READ_AGAIN)


def _fit_machine(case: BundleCase) -> Iterator[Violation]:
    """No more memory is used than the described machine has; at least its cores are seen."""
    for node in case.nodes:
        size_bytes, cores = node.system.get("memory_size_bytes"), node.system.get("cpu_cores")
        used_bytes = max((memory.maximum for name in IN_USE if len((memory := node.channels.get("memory", name)).known)), default=0.0)
        if isinstance(size_bytes, int) and used_bytes > size_bytes * ROUNDING:
            observed = f"{used_bytes:.0f} bytes in use"
            yield Violation(node.file, f"at most the {size_bytes} bytes that {node.described} says", observed, READ_AGAIN)
        seen = sum(channel.name.startswith("utilisation.core") for channel in node.channels.of("cpu"))
        if isinstance(cores, int) and 0 < seen < cores:
            yield Violation(node.file, f"readings of the {cores} cores that {node.described} says", f"of {seen}", READ_AGAIN)


def _gaps(case: BundleCase) -> Iterator[Violation]:
    window = case.window
    if window is None:
        return
    for node in (node for node in case.nodes if node.is_on_clock):
        for meter in (meter for meter in node.meters if isinstance(meter, Mapping)):
            name, period_s = str(meter.get("name")), meter.get("period_s")
            channels = node.channels.of(name)
            if not channels or not isinstance(period_s, int | float):
                continue
            longest_s = _longest_gap_s(channels, window)
            if longest_s > max(GAP_PERIODS * period_s, SHORTEST_GAP_S):
                expected = f"a reading of {name} every {period_s:g} s"
                yield Violation(node.file, expected, f"none for {longest_s:.1f} s", "find out what held it up")


def _longest_gap_s(channels: "Sequence[Channel]", window: "Window") -> float:
    import numpy as np

    inside = np.sort(np.concatenate([np.array(window), *(channel.during(window).t_ns for channel in channels)]))
    # Unsigned: the logged times may be anything, and lie further apart than a signed number holds.
    return float(np.diff(inside.view(np.uint64)).max(initial=0)) * SECONDS_PER_NS


def _another_day(bundle: EditableBundle) -> None:
    bundle.readings["t_ns"] -= 86_400 * 10**9


def _twice(bundle: EditableBundle) -> None:
    bundle.readings.loc[1, "t_ns"] = bundle.readings.loc[0, "t_ns"]


def _dropped(bundle: EditableBundle) -> None:
    bundle.readings = bundle.readings.drop(index=3).reset_index(drop=True)


def _falling(bundle: EditableBundle) -> None:
    chosen = bundle.readings[bundle.at("disk", "read_bytes")].index
    bundle.readings.loc[chosen[-1], "value"] = 0.0


def _too_much(bundle: EditableBundle) -> None:
    bundle.readings.loc[bundle.at("cpu", "utilisation.total"), "value"] = 140.0


def _not_a_number(bundle: EditableBundle) -> None:
    bundle.readings.loc[bundle.at("memory", "process_tree_rss"), "value"] = float("nan")


def _smaller_machine(bundle: EditableBundle) -> None:
    bundle.system["memory_size_bytes"] = 100_000_000


def _more_cores(bundle: EditableBundle) -> None:
    bundle.system["cpu_cores"] = 64


def _pause(bundle: EditableBundle) -> None:
    """The run's clock times are stretched, so that the meters are silent for a minute."""
    for event in bundle.events[bundle.events.index(bundle.event("run_stop")) :]:
        event["metadata"]["mono_ns"] += 60 * 10**9
        event["time_ms"] += 60_000


RULES = (
    Rule(
        id="readings-in-run",
        sentence="The meters' readings were taken around the log's time, those of the idle machine in the hour before.",
        rationale="Readings of another run tell nothing of this one.",
        judges_bundle=_in_run,
        faults=(Fault("readings of the day before", _another_day),),
    ),
    Rule(
        id="readings-in-order",
        sentence="The readings of a channel follow one another, none at the time of another.",
        rationale="A meter reads once at a time; readings that were put in show.",
        judges_bundle=_order,
        faults=(Fault("a reading twice", _twice),),
    ),
    Rule(
        id="readings-counted",
        sentence="There are as many readings of each meter as the recorder counted.",
        rationale="Readings that were left out, or put in, show.",
        judges_bundle=_counted,
        faults=(Fault("a reading left out", _dropped),),
    ),
    Rule(
        id="counters-never-fall",
        sentence="Counters of the processor and of the disk never fall.",
        rationale="They count from the run's or the boot's start; one that falls was edited or is of two boots.",
        judges_bundle=_rising,
        faults=(Fault("bytes read that are taken back", _falling),),
    ),
    Rule(
        id="readings-possible",
        sentence="Every reading is a number that its unit allows, and a channel has one unit.",
        rationale="A load of 140 % was not measured.",
        judges_bundle=_possible,
        faults=(Fault("a load of 140 %", _too_much), Fault("no number", _not_a_number)),
    ),
    Rule(
        id="readings-fit-machine",
        sentence="The readings fit the machine that is described: its memory, its cores.",
        rationale="A row is only worth something with the right machine beside it.",
        judges_bundle=_fit_machine,
        faults=(Fault("a machine with less memory than was used", _smaller_machine), Fault("a machine with more cores than were read", _more_cores)),
    ),
    Rule(
        id="readings-gaps",
        sentence="No meter is silent for ten of its periods, and five seconds, while the run goes on.",
        rationale="What happened in between is not known; the figures' coverage says how much that is.",
        severity=Severity.WARNING,
        judges_bundle=_gaps,
        faults=(Fault("a minute without a reading", _pause),),
    ),
)
