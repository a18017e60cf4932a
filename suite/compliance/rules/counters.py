"""Counters and gauges: arithmetic and physics of processor, memory, disk and network."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.node_records import read_nodes
from suite.catalog.frameworks import known_frameworks
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.metrics.core_clocks import core_clocks

if TYPE_CHECKING:
    from suite.bundle.channels import Channel
    from suite.compliance.node_context import NodeContext

ORDER = 83  # after the readings' own rules

MAX_FREQUENCY_HZ = 8e9  # no processor has run this fast for a minute
MAX_PER_CYCLE = 12.0  # instructions; the widest cores retire ten
SCALING = 1.1  # counts of counters that share a register are scaled up, with an error
PARTS = (
    ("l1d_refill", "l1d_access"),
    ("l1d_load_misses", "l1d_loads"),
    ("branch_mispredicts", "branches"),
    ("branches", "instructions"),
)
MACS_PER_INSTRUCTION, FAST_CONVOLUTION = 64, 4  # VNNI on 512 bits; Winograd's F(4x4, 3x3)
TRAINING_PER_FORWARD = 3
SLOWER_CLOCK, SAME_TIME = 0.5, 1.05
TEMPERATURES = {"degC", "°C"}
MIN_DEGREES, MAX_DEGREES = -60.0, 150.0
INTERPRETER_BYTES = 4 * 2**20  # a Python interpreter without a framework has 8 MB
# of one parameter, in the narrowest precision that is trained in; a LeNet-5 in C was read at 3.2 MB
WEIGHT_BYTES = 2
PEAK_TOLERANCE = 1.05
MIN_LOGGED_PEAK = 0.8
BUSY_TOLERANCE, BUSY_SLACK_S = 1.05, 1.0
LINK_TOLERANCE = 1.05
# the kernel counts busy time in ticks; 2 ms for each MiB and more in honest runs
MAX_IDLE_BYTES = 2.0**28
# of a task clock, in which a thread must have been switched; honest runs: 25 switches a second and
# more
MIN_TASK_S = 5.0
MIGRATIONS_TOLERANCE, MIGRATIONS_SLACK = 1.1, 20.0
EMPTIED = 0.5
NOT_COUNTED = "not counted"
"""How the meter's settings begin for an event that the kernel refused."""


def _arithmetic(context: BundleContext) -> Iterator[Violation]:
    """Check the counts of the run against one another, the cores and the clock."""
    window = context.window
    for node in (node for node in context.nodes if node.is_on_clock and window is not None):
        assert window is not None
        cycles, instructions = (_rate(node, name, window) for name in ("cycles", "instructions"))
        cores, clock_hz = _clock(node, window)
        if cycles is not None and cores and cycles > cores * clock_hz * SCALING:
            yield Violation(
                node.file,
                f"at most {cores} x {clock_hz / 1e9:.2f} thousand million cycles a second",
                f"{cycles / 1e9:.2f}",
                READINGS_AS_READ,
            )
        if (
            cycles is not None
            and instructions is not None
            and instructions > MAX_PER_CYCLE * cycles
        ):
            ratio = instructions / cycles if cycles > 0 else math.inf
            yield Violation(
                node.file,
                f"at most {MAX_PER_CYCLE:g} instructions a cycle",
                f"{ratio:.3g}",
                READINGS_AS_READ,
            )
        for part, whole in PARTS:
            smaller, larger = _rate(node, part, window), _rate(node, whole, window)
            if smaller is not None and larger is not None and smaller > SCALING * larger:
                yield Violation(
                    node.file,
                    f"at most as many {part} as {whole}",
                    f"{smaller:.4g} and {larger:.4g} a second",
                    READINGS_AS_READ,
                )


def _clock(node: "NodeContext", window: tuple[int, int]) -> tuple[int, float]:
    """Cores that were read, and the mean clock of the fastest one in the run; the fastest that any
    has where no clock was read."""
    cores = node.cores_read
    clocks_hz = [channel.during(window).mean for channel in core_clocks(node.channels)]
    known_hz = [clock_hz for clock_hz in clocks_hz if clock_hz > 0]
    return cores, max(known_hz, default=MAX_FREQUENCY_HZ)


def _rate(node: "NodeContext", name: str, window: tuple[int, int]) -> float | None:
    from suite.compliance.evidence import rate  # start-up: loads numpy

    return rate(node.channels.get("counters", f"{name}.count"), window)


def _whole(context: BundleContext) -> Iterator[Violation]:
    for node in context.nodes:
        for channel in node.channels.of("counters"):
            parts = ((channel.values % 1) != 0).nonzero()[0]
            if channel.unit == "events" and len(parts):
                observed = (
                    f"{channel.values[parts[0]]:.15g} of {channel.name}, {len(parts)} such readings"
                )
                yield Violation(node.file, "whole numbers of events", observed, READINGS_AS_READ)


def _as_set(context: BundleContext) -> Iterator[Violation]:
    """Check the events that were read against the meter's settings: each of them was attached, or
    refused."""
    for node in context.nodes:
        record = next(
            (
                each
                for each in node.meters
                if isinstance(each, Mapping) and each.get("name") == "counters"
            ),
            {},
        )
        settings, read = (
            record.get("settings"),
            {channel.name for channel in node.channels.of("counters")},
        )
        if not isinstance(settings, Mapping) or not read or not settings:
            continue
        for name in sorted(
            {each.removesuffix(".count") for each in read if each.endswith(".count")}
            | set(map(str, settings))
        ):
            stated, is_read = str(settings.get(name, NOT_COUNTED)), f"{name}.count" in read
            if is_read is stated.startswith(NOT_COUNTED):
                expected = (
                    f"{'no readings' if is_read else 'readings'} of {name}: the settings of the"
                    f" meter counters say {stated[:100]!r}"
                )
                yield Violation(
                    node.file,
                    expected,
                    f"{len(node.channels.get('counters', f'{name}.count'))} readings",
                    READINGS_AS_READ,
                )


def _enough(context: BundleContext) -> Iterator[Violation]:
    """Check the instructions of the run against the model's arithmetic."""
    from suite.compliance.evidence import seconds  # start-up: loads numpy

    request, window = context.request, context.window
    if (
        request.accelerator != "cpu"
        or request.model != context.workload.model
        or window is None
        or not seconds(window) > 0
    ):
        return
    multiplications = (
        TRAINING_PER_FORWARD
        * context.workload.forward_macs
        * float(context.steps.samples.sum())
        / request.parallel.nodes
    )
    needed = multiplications / MACS_PER_INSTRUCTION / FAST_CONVOLUTION / seconds(window)
    for node in (node for node in context.nodes if node.is_on_clock):
        instructions = _rate(node, "instructions", window)
        if instructions is not None and instructions < needed:
            expected = (
                f"{needed:.3g} instructions a second or more for the arithmetic of {request.model}"
            )
            yield Violation(node.file, expected, f"{instructions:.3g}", READINGS_AS_READ)


def _clock_follows(context: BundleContext) -> Iterator[Violation]:
    """Check that epochs at half of the processor's clock take longer."""
    if context.request.accelerator != "cpu":
        return
    epochs = {epoch: steps for epoch, steps in context.steps.first_rank.by_epoch()}
    for node in list(context.nodes)[:1]:
        channels = [
            *core_clocks(node.channels),
            *(channel for channel in node.channels.of("throttling") if channel.unit == "Hz"),
        ]
        means = {
            epoch: _fastest_hz(channels, (int(steps.start_ns.min()), int(steps.start_ns.max())))
            for epoch, steps in epochs.items()
        }
        known = {epoch: clock_hz for epoch, clock_hz in means.items() if clock_hz > 0}
        if len(known) < 2:
            continue
        slow, fast = (
            min(known, key=lambda epoch: known[epoch]),
            max(known, key=lambda epoch: known[epoch]),
        )
        slow_s, fast_s = (
            epochs[epoch].sum_s("compute_s") / len(epochs[epoch]) for epoch in (slow, fast)
        )
        if known[slow] < SLOWER_CLOCK * known[fast] and slow_s < SAME_TIME * fast_s:
            expected = (
                f"steps of epoch {slow}, at {known[slow] / 1e9:.2f} GHz, to compute longer than"
                f" those of epoch {fast}, at {known[fast] / 1e9:.2f} GHz"
            )
            yield Violation(
                node.file,
                expected,
                f"{slow_s * 1000:.3f} and {fast_s * 1000:.3f} ms",
                READINGS_AS_READ,
            )


def _fastest_hz(channels: "list[Channel]", window: tuple[int, int]) -> float:
    """Mean clock of the fastest core in a window of at least five readings; 0 if unknown."""
    means_hz = [inside.mean for channel in channels if len(inside := channel.during(window)) >= 5]
    return max((mean_hz for mean_hz in means_hz if mean_hz > 0), default=0.0)


def _silicon(context: BundleContext) -> Iterator[Violation]:
    for node in context.nodes:
        for channel in node.channels:
            if (
                channel.unit in TEMPERATURES
                and not MIN_DEGREES <= channel.minimum <= channel.maximum <= MAX_DEGREES
            ):
                observed = f"{channel.minimum:g} to {channel.maximum:g}"
                observed += f" by {channel.source} {channel.name}"
                observed = observed[:200]
                yield Violation(
                    node.file,
                    f"{MIN_DEGREES:g} to {MAX_DEGREES:g} degrees Celsius",
                    observed,
                    READINGS_AS_READ,
                )


def _memory(context: BundleContext) -> Iterator[Violation]:
    """Check the implementation's memory against the least possible, the kernel's peak, and the peak
    that the implementation logged."""
    least_bytes = (
        INTERPRETER_BYTES
        if context.request.framework in known_frameworks()
        else WEIGHT_BYTES * context.workload.parameters
    )
    for node in context.nodes:
        rss, peak, size = (
            node.channels.get("memory", name)
            for name in ("process_tree_rss", "largest_process_peak_rss", "process_tree_size")
        )
        # before, its interpreter starts
        in_run = (
            rss.during(context.window) if node.is_on_clock and context.window is not None else rss
        )
        if len(in_run) and in_run.maximum < least_bytes:
            expected = f"{least_bytes} bytes or more in use by the implementation"
            yield Violation(node.file, expected, f"{in_run.maximum:.0f} at most", READINGS_AS_READ)
        if (
            len(rss)
            and len(peak)
            and len(size)
            and rss.maximum > PEAK_TOLERANCE * peak.maximum * max(size.maximum, 1.0)
        ):
            expected = (
                f"at most {peak.maximum:.0f} bytes in each of {size.maximum:.0f} processes, the"
                " largest peak"
            )
            yield Violation(
                node.file, expected, f"{rss.maximum:.0f} bytes in use", READINGS_AS_READ
            )
        faults = node.channels.get("counters", "page_faults.count")
        if len(faults) and not faults.maximum > 0 and rss.maximum > least_bytes:
            expected = (
                "page faults: the kernel gives memory to a process when it touches it, and"
                f" {rss.maximum:.0f} bytes were in use"
            )
            yield Violation(
                node.file, expected, f"none in {len(faults)} readings", READINGS_AS_READ
            )
    logged = context.log.first("peak_rss_of_ranks")
    largest = context.bundle.channels().get("memory", "largest_process_peak_rss")
    size = context.bundle.channels().get("memory", "process_tree_size")
    if (
        logged is None
        or logged.mono_ns is None
        or not isinstance(logged.value, list)
        or not size.maximum <= context.request.parallel.ranks
    ):
        return  # a worker, a launcher or a compiler may be the largest process
    peaks = [
        value for value in logged.value if isinstance(value, int | float) and abs(value) < 2**60
    ]
    # before, a launcher or a container's engine is in its place
    started_ns = context.window[0] if context.window is not None else 0
    before = largest.select((started_ns <= largest.t_ns) & (largest.t_ns <= logged.mono_ns))
    if peaks and len(before) and max(peaks) < MIN_LOGGED_PEAK * before.maximum:
        expected = (
            f"peak_rss_of_ranks near {before.maximum:.0f} bytes, the largest peak of a process in"
            " the readings"
        )
        yield Violation("log.txt", expected, f"{max(peaks):.0f}", READINGS_AS_READ, logged.line)


def _disk(context: BundleContext) -> Iterator[Violation]:
    """Check that the disk was not busy for longer than time passed, and that it was read where the
    page cache filled."""
    for node in context.nodes:
        busy, read, resident = (
            node.channels.get(*name).in_time
            for name in (("disk", "busy"), ("disk", "read_bytes"), ("page-cache", "resident"))
        )
        if len(busy) >= 2:
            passed_s, busy_s = (
                float(busy.t_ns[-1] - busy.t_ns[0]) * 1e-9,
                float(busy.values[-1] - busy.values[0]),
            )
            if busy_s > BUSY_TOLERANCE * passed_s + BUSY_SLACK_S:
                yield Violation(
                    node.file,
                    f"a disk that is busy for {passed_s:.1f} s at most",
                    f"{busy_s:.1f} s",
                    READINGS_AS_READ,
                )
        moved_bytes = sum(
            each.maximum - each.minimum
            for each in (read, node.channels.get("disk", "write_bytes"))
            if len(each) >= 2
        )
        if len(busy) >= 2 and busy.maximum == busy.minimum and moved_bytes > MAX_IDLE_BYTES:
            yield Violation(
                node.file,
                f"a disk that is busy while it moves {moved_bytes:.0f} bytes",
                "0 s of busy time",
                READINGS_AS_READ,
            )
        filled = (
            context.request.cache_cleared is True
            and len(resident) >= 2
            and resident.maximum - float(resident.values[0]) >= EMPTIED
        )
        if filled and len(read) >= 2 and read.maximum == read.minimum:
            expected = (
                f"bytes read from the disk: {resident.maximum - float(resident.values[0]):.0%} of"
                " the data came into the emptied page cache"
            )
            yield Violation(node.file, expected, "none", READINGS_AS_READ)


def _network(context: BundleContext) -> Iterator[Violation]:
    """Check the bytes of every node's link against its speed, and that ranks on several nodes
    exchanged any."""
    from suite.compliance.evidence import rate  # start-up: loads numpy

    window = context.window
    if window is None or context.request.parallel.nodes < 2:
        return
    for record, node in zip(read_nodes(context.bundle), context.nodes, strict=False):
        channels = [channel for channel in node.channels.of("network") if node.is_on_clock]
        link = record.link or {}
        speed, interface = link.get("speed_mbit_s"), link.get("interface")
        rates = {
            channel.name: bytes_per_s
            for channel in channels
            if (bytes_per_s := rate(channel, window)) is not None
        }
        for name, bytes_per_s in rates.items():
            if (
                isinstance(speed, int | float)
                and speed > 0
                and name.startswith(f"{interface}.")
                and bytes_per_s * 8e-6 > LINK_TOLERANCE * speed
            ):
                yield Violation(
                    node.file,
                    f"at most {speed:g} Mbit/s on {interface}"[:200],
                    f"{bytes_per_s * 8e-6:.0f} Mbit/s",
                    READINGS_AS_READ,
                )
        if rates and not any(bytes_per_s > 0 for bytes_per_s in rates.values()):
            yield Violation(
                node.file,
                "gradients exchanged over the network",
                "no byte sent or received in the run",
                READINGS_AS_READ,
            )


def _switches(context: BundleContext) -> Iterator[Violation]:
    """Check context switches against the time that the implementation ran, and migrations between
    cores against them."""
    for node in context.nodes:
        switches, migrations, clock = (
            _increase(node, name) for name in ("context_switches", "cpu_migrations", "task_clock")
        )
        if switches is None:
            continue
        if switches == 0 and clock is not None and clock * SECONDS_PER_NS > MIN_TASK_S:
            expected = (
                f"context switches in {clock * SECONDS_PER_NS:.1f} s of the task clock: the loop"
                " waits for the disk after every epoch"
            )
            yield Violation(node.file, expected, "none", READINGS_AS_READ)
        if (
            migrations is not None
            and migrations > MIGRATIONS_TOLERANCE * switches + MIGRATIONS_SLACK
        ):
            expected = f"no more migrations between cores than the {switches:.0f} context switches"
            yield Violation(node.file, expected, f"{migrations:.0f}", READINGS_AS_READ)


def _increase(node: "NodeContext", name: str) -> float | None:
    """How far a count rose from its first to its last reading; None where it was not read twice."""
    count = node.channels.get("counters", f"{name}.count").in_time
    return float(count.values[-1] - count.values[0]) if len(count) >= 2 else None


RULES = (
    Rule(
        id="switches-fit",
        sentence=(
            "In five seconds of its task clock the implementation was switched, and no more often"
            " moved between cores than switched."
        ),
        rationale=(
            "The training loop waits for the storage medium after every epoch, and the kernel moves"
            " a thread while it does not run."
        ),
        bundle_check=_switches,
    ),
    Rule(
        id="counts-possible",
        sentence="The counts of the processor fit one another, its cores and its clock.",
        rationale=(
            "A core has one cycle a tick of its clock and retires ten instructions a cycle at most;"
            " misses are a part of accesses, and branches a part of instructions."
        ),
        bundle_check=_arithmetic,
    ),
    Rule(
        id="counts-whole",
        sentence="Counts are whole numbers.",
        rationale="The kernel counts events one by one.",
        bundle_check=_whole,
    ),
    Rule(
        id="counts-as-set",
        sentence=(
            "The events that were counted are those that the meter's settings say were counted."
        ),
        rationale=(
            "The meter notes for each event how it was attached, or why it was not; one that was"
            " attached is in every reading."
        ),
        bundle_check=_as_set,
    ),
    Rule(
        id="instructions-enough",
        sentence=(
            "A run on a CPU executes the instructions that the model's arithmetic needs, at 256"
            " multiplications each."
        ),
        rationale=(
            "Training needs three times the multiplications of a forward pass for every sample. The"
            " widest instruction has 64, and fast convolutions need a fourth of them."
        ),
        bundle_check=_enough,
    ),
    Rule(
        id="clock-follows",
        needs_split=True,
        sentence="An epoch at less than half of another's processor clock computes longer.",
        rationale="Computing on a CPU slows down with its clock.",
        bundle_check=_clock_follows,
    ),
    Rule(
        id="silicon-possible",
        sentence="Temperatures are between -60 and 150 degrees Celsius.",
        rationale="Silicon bears no more.",
        bundle_check=_silicon,
    ),
    Rule(
        id="memory-fits",
        sentence=(
            "The implementation uses the memory of an interpreter (one from outside: of the model's"
            " weights) or more, at most its processes' peaks, and logs the peak that was read; it"
            " has page faults, where they are counted."
        ),
        rationale=(
            "The kernel keeps the peak of every process; the implementation logs its own. Counted"
            " from a program's first instruction, page faults are never none."
        ),
        bundle_check=_memory,
    ),
    Rule(
        id="disk-fits",
        sentence=(
            "The disk is busy while it moves bytes, for no longer than time passes, and is read"
            " when data come into an emptied page cache."
        ),
        rationale=(
            "The kernel counts the time with a request in flight, and the bytes of every request."
        ),
        bundle_check=_disk,
    ),
    Rule(
        id="network-fits",
        sentence=(
            "A node's link carries no more than its speed, and nodes that exchange gradients send"
            " bytes."
        ),
        rationale="The interface counts every byte; its driver states the speed.",
        bundle_check=_network,
    ),
)
