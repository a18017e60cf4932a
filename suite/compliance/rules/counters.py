"""Counters and gauges: arithmetic and physics of processor, memory and disk."""

import math
from collections.abc import Mapping

from reference_impls.contract import SECONDS_PER_NS, log_name
from suite.bundle.channels import Channel
from suite.catalog.frameworks import known_frameworks
from suite.compliance.node_context import NodeContext
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.values import is_number
from suite.files.counted import counted
from suite.metrics.core_clocks import core_clocks

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
INTERPRETER_BYTES = 4 * 2**20  # a Python interpreter without a framework has 8 MB
# of one parameter, in the narrowest precision that is trained in; a LeNet-5 in C was read at 3.2 MB
WEIGHT_BYTES = 2
PEAK_TOLERANCE = 1.05
MIN_LOGGED_PEAK = 0.8
BUSY_TOLERANCE, BUSY_SLACK_S = 1.05, 1.0
# the kernel counts busy time in ticks; 2 ms for each MiB and more in honest runs
MAX_IDLE_BYTES = 2.0**28
# of a task clock, in which a thread must have been switched; honest runs: 25 switches a second and
# more
MIN_TASK_S = 5.0
MIGRATIONS_TOLERANCE, MIGRATIONS_SLACK = 1.1, 20.0
EMPTIED = 0.5
NOT_COUNTED = "not counted"
"""How the meter's settings begin for an event that the kernel refused."""
# of the sum of used and available memory; to the byte the same in honest runs
MAX_MEMORY_CHANGE = 0.01


def _arithmetic(context: BundleContext) -> Violations:
    """Check the counts of the run against one another, the cores and the clock."""
    for node, window in context.nodes_in_run():
        cycles, instructions = (_rate(node, name, window) for name in ("cycles", "instructions"))
        cores, clock_hz = _clock(node, window)
        if cycles is not None and cores and cycles > cores * clock_hz * SCALING:
            yield Violation(
                node.file,
                f"at most {cores * clock_hz / 1e9:.2f} billion cycles a second, on"
                f" {counted(cores, 'core')} at {clock_hz / 1e9:.2f} GHz (10% more is tolerated)",
                f"{cycles / 1e9:.2f} billion cycles a second",
            )
        if (
            cycles is not None
            and instructions is not None
            and instructions > MAX_PER_CYCLE * cycles
        ):
            ratio = instructions / cycles if cycles > 0 else math.inf
            expected = f"at most {MAX_PER_CYCLE:g} instructions a cycle"
            yield Violation(node.file, expected, f"{ratio:.3g} instructions a cycle")
        for part, whole in PARTS:
            smaller, larger = _rate(node, part, window), _rate(node, whole, window)
            if smaller is not None and larger is not None and smaller > SCALING * larger:
                yield Violation(
                    node.file,
                    f"at most as many {part} as {whole} (10% more is tolerated)",
                    f"{smaller:.4g} {part} and {larger:.4g} {whole} a second",
                )


def _clock(node: "NodeContext", window: tuple[int, int]) -> tuple[int, float]:
    """Cores that were read, and the mean clock of the fastest one in the run; the fastest that any
    has where no clock was read."""
    cores = node.cores_read
    clocks_hz = [channel.during(window).mean for channel in core_clocks(node.channels)]
    known_hz = [clock_hz for clock_hz in clocks_hz if clock_hz > 0]
    return cores, max(known_hz, default=MAX_FREQUENCY_HZ)


def _rate(node: "NodeContext", name: str, window: tuple[int, int]) -> float | None:
    return node.rate("counters", f"{name}.count", window)


def _switches(context: BundleContext) -> Violations:
    """Check context switches against the time that the implementation ran, and migrations between
    cores against them."""
    for node in context.nodes:
        switches, migrations, clock = (
            _increase(node, name) for name in ("context_switches", "cpu_migrations", "task_clock")
        )
        if switches is None:
            continue
        if switches == 0 and clock is not None and clock * SECONDS_PER_NS > MIN_TASK_S:
            yield Violation(
                node.file,
                "at least one context switch in"
                f" {clock * SECONDS_PER_NS:.1f} s of the task clock, because the training loop"
                " waits for the disk after every epoch",
                "no context switch",
            )
        if (
            migrations is not None
            and migrations > MIGRATIONS_TOLERANCE * switches + MIGRATIONS_SLACK
        ):
            yield Violation(
                node.file,
                f"at most as many moves between cores (cpu_migrations) as context switches,"
                f" {switches:.0f} (10% plus {MIGRATIONS_SLACK:g} more is tolerated)",
                f"{migrations:.0f} moves between cores",
            )


def _increase(node: "NodeContext", name: str) -> float | None:
    """How far a count rose from its first to its last reading; None where it was not read twice."""
    count = node.channels.get("counters", f"{name}.count").in_time
    return count.increase if len(count) >= 2 else None


def _as_set(context: BundleContext) -> Violations:
    """Check the events that were read against the meter's settings: each of them was attached, or
    refused."""
    for node in context.nodes:
        settings = node.meter_records.get("counters", {}).get("settings")
        read = {channel.name for channel in node.channels.of_source("counters")}
        if not isinstance(settings, Mapping) or not read or not settings:
            continue
        for name in sorted(
            {each.removesuffix(".count") for each in read if each.endswith(".count")}
            | set(map(str, settings))
        ):
            stated, is_read = str(settings.get(name, NOT_COUNTED)), f"{name}.count" in read
            if is_read is stated.startswith(NOT_COUNTED):
                said = f"say {stated[:100]!r}" if name in settings else "do not name this event"
                yield Violation(
                    node.file,
                    f"{'no readings' if is_read else 'readings'} of {name}, because the settings of"
                    f" the counters meter {said}",
                    f"{len(node.channels.get('counters', f'{name}.count'))} readings",
                )


def _instructions_of_model(context: BundleContext) -> Violations:
    """Check the instructions of the run against the model's arithmetic."""

    request = context.request
    if (
        request.accelerator != "cpu"
        or request.model != context.workload.model
        or not context.run_s > 0
    ):
        return
    multiplications = (
        TRAINING_PER_FORWARD
        * context.workload.forward_macs
        * float(context.steps.samples.sum())
        / request.parallel.nodes
    )
    needed = multiplications / MACS_PER_INSTRUCTION / FAST_CONVOLUTION / context.run_s
    for node, window in context.nodes_in_run():
        instructions = _rate(node, "instructions", window)
        if instructions is not None and instructions < needed:
            yield Violation(
                node.file,
                f"at least {needed:.3g} instructions a second for the arithmetic of"
                f" {request.model}",
                f"{instructions:.3g} instructions a second",
            )


def _clock_follows(context: BundleContext) -> Violations:
    """Check that epochs at half of the processor's clock take longer."""
    if context.request.accelerator != "cpu":
        return
    epochs = {epoch: steps for epoch, steps in context.steps.first_rank.by_epoch()}
    for node in list(context.nodes)[:1]:
        channels = [
            *core_clocks(node.channels),
            *(channel for channel in node.channels.of_source("throttling") if channel.unit == "Hz"),
        ]
        means = {
            epoch: _fastest_hz(channels, (int(steps.start_ns.min()), int(steps.start_ns.max())))
            for epoch, steps in epochs.items()
        }
        known = {epoch: clock_hz for epoch, clock_hz in means.items() if clock_hz > 0}
        if len(known) < 2:
            continue
        slow = min(known, key=lambda epoch: known[epoch])
        fast = max(known, key=lambda epoch: known[epoch])
        slow_s, fast_s = (
            epochs[epoch].sum_s("compute_s") / len(epochs[epoch]) for epoch in (slow, fast)
        )
        if known[slow] < SLOWER_CLOCK * known[fast] and slow_s < SAME_TIME * fast_s:
            yield Violation(
                node.file,
                f"a mean compute time per step at least 5% longer in epoch {slow} (at"
                f" {known[slow] / 1e9:.2f} GHz) than in epoch {fast} (at"
                f" {known[fast] / 1e9:.2f} GHz)",
                f"{slow_s * 1000:.3f} ms in epoch {slow}, {fast_s * 1000:.3f} ms in epoch {fast}",
            )


def _fastest_hz(channels: "list[Channel]", window: tuple[int, int]) -> float:
    """Mean clock of the fastest core in a window of at least five readings; 0 if unknown."""
    means_hz = [inside.mean for channel in channels if len(inside := channel.during(window)) >= 5]
    return max((mean_hz for mean_hz in means_hz if mean_hz > 0), default=0.0)


def _memory(context: BundleContext) -> Violations:
    """Check the implementation's memory against the least possible, the kernel's peak, and the peak
    that the implementation logged."""
    min_bytes = (
        INTERPRETER_BYTES
        if context.request.framework in known_frameworks()
        else WEIGHT_BYTES * context.workload.parameters
    )
    for node in context.nodes:
        in_run = context.window if node.is_on_clock else None
        yield from _memory_of_node(node, in_run, min_bytes)
    yield from _logged_peak(context)


def _memory_of_node(
    node: "NodeContext", window: tuple[int, int] | None, min_bytes: int
) -> Violations:
    rss, peak, size = (
        node.channels.get("memory", name)
        for name in ("process_tree_rss", "largest_process_peak_rss", "process_tree_size")
    )
    # before, its interpreter starts
    in_run = rss if window is None else rss.during(window)
    if len(in_run) and in_run.maximum < min_bytes:
        yield Violation(
            node.file,
            f"at least {min_bytes} bytes in use by the implementation in at least one reading",
            f"at most {in_run.maximum:.0f} bytes in use in any reading",
        )
    processes = max(size.maximum, 1.0)
    max_bytes = PEAK_TOLERANCE * peak.maximum * processes
    if len(rss) and len(peak) and len(size) and rss.maximum > max_bytes:
        yield Violation(
            node.file,
            f"at most {max_bytes:.0f} bytes in use: {PEAK_TOLERANCE:g} x {processes:.0f}"
            f" process{'es' * (processes > 1)} x {peak.maximum:.0f} bytes, the largest peak of a"
            " process",
            f"{rss.maximum:.0f} bytes in use",
        )
    faults = node.channels.get("counters", "page_faults.count")
    if len(faults) and not faults.maximum > 0 and rss.maximum > min_bytes:
        yield Violation(
            node.file,
            "a number of page faults above zero, because a process causes page faults when it first"
            f" touches memory, and {rss.maximum:.0f} bytes were in use",
            f"0 page faults in each of {counted(len(faults), 'reading')}",
        )


def _logged_peak(context: BundleContext) -> Violations:
    """Check the peak that the implementation logged against the largest one that was read."""
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
        yield Violation(
            "log.txt",
            "a largest value of peak_rss_of_ranks that is at least"
            f" {MIN_LOGGED_PEAK * before.maximum:.0f} bytes, {MIN_LOGGED_PEAK:.0%} of the largest"
            " peak of a process in the readings",
            f"{max(peaks):.0f} bytes",
            logged.line,
        )


def _disk(context: BundleContext) -> Violations:
    """Check that the disk was not busy for longer than time passed, and that it was read where the
    page cache filled."""
    for node in context.nodes:
        busy, read, resident = (
            node.channels.get(*name).in_time
            for name in (("disk", "busy"), ("disk", "read_bytes"), ("page-cache", "resident"))
        )
        if len(busy) >= 2:
            passed_s = float(busy.t_ns[-1] - busy.t_ns[0]) * 1e-9
            busy_s = float(busy.values[-1] - busy.values[0])
            if busy_s > BUSY_TOLERANCE * passed_s + BUSY_SLACK_S:
                yield Violation(
                    node.file,
                    f"a disk that is busy for at most {passed_s:.1f} s, the time from its first to"
                    f" its last reading (5% plus {BUSY_SLACK_S:g} s more is tolerated)",
                    f"a disk that is busy for {busy_s:.1f} s",
                )
        moved_bytes = sum(
            each.maximum - each.minimum
            for each in (read, node.channels.get("disk", "write_bytes"))
            if len(each) >= 2
        )
        if len(busy) >= 2 and busy.maximum == busy.minimum and moved_bytes > MAX_IDLE_BYTES:
            yield Violation(
                node.file,
                f"a busy time above 0 s for a disk that moved {moved_bytes:.0f} bytes",
                "a busy time of 0 s",
            )
        grown = resident.maximum - float(resident.values[0]) if len(resident) >= 2 else 0.0
        filled = context.request.cache_cleared is True and grown >= EMPTIED
        if filled and len(read) >= 2 and read.maximum == read.minimum:
            yield Violation(
                node.file,
                f"some bytes read from the disk, because {grown:.0%} of the data entered the page"
                " cache after it was emptied",
                "no bytes read from the disk",
            )


def _sums(context: BundleContext) -> Violations:
    for node in context.nodes:
        used, available = (node.channels.get("memory", name) for name in ("used", "available"))
        if not len(used) or len(used) != len(available):
            continue
        sums = used.values + available.values
        low, high = float(sums.min()), float(sums.max())
        if high - low > MAX_MEMORY_CHANGE * high:
            yield Violation(
                node.file,
                "used and available memory to have the same sum in every reading, within"
                f" {MAX_MEMORY_CHANGE:.0%}",
                f"sums from {low:.0f} to {high:.0f} bytes",
            )


def _listed(context: BundleContext) -> Violations:
    ranks = context.request.parallel.ranks
    for rank, log in context.logs():
        for event in log.all("peak_rss_of_ranks"):
            peaks = event.value if isinstance(event.value, list) else []
            if len(peaks) != ranks or not all(is_number(peak) and peak > 0 for peak in peaks):
                yield Violation(
                    log_name(rank),
                    f"peak_rss_of_ranks: {ranks} number{'s' * (ranks > 1)} above zero, one per"
                    " rank",
                    f"{event.value!r}",
                    event.line,
                )


RULES = (
    Rule(
        "counts-possible",
        "Over the run, the processor executes at most 12 instructions per cycle. Each core counts"
        " at most one cycle per clock tick. There are no more cache misses than cache accesses, no"
        " more mispredicted branches than branches, and no more branches than instructions. The"
        " limits of cycles, misses and branches tolerate 10 % more. The counted events are those"
        " in the settings of the counters meter. An implementation with more than five seconds on"
        " the task clock has at least one context switch. The number of moves between cores is at"
        " most the number of context switches (10 % plus 20 more is tolerated).",
        "A core has one cycle per clock tick and retires at most ten instructions a cycle; misses"
        " are a part of accesses, and branches a part of instructions. The training loop waits for"
        " the storage medium after every epoch, which takes a context switch. The kernel moves a"
        " thread to another core only while the thread does not run, so after a context switch."
        " Counts that were made up or scaled one by one break these limits.",
        READINGS_AS_READ,
        (
            OfBundle("counts-possible", _arithmetic),
            OfBundle("switches-fit", _switches),
            OfBundle("counts-as-set", _as_set),
        ),
    ),
    Rule(
        "instructions-enough",
        "A run of the workload's model on a CPU executes at least one instruction for every 256"
        " multiplications that training this model takes. Two epochs are compared as well: the one"
        " with the lowest processor clock and the one with the highest. If the lowest clock is"
        " less than half of the highest, the steps of the epoch with the lowest clock take on"
        " average at least 5 % longer to compute.",
        "Training needs three times the multiplications of a forward pass for every sample. The"
        " widest instruction makes 64 multiplications, and fast convolutions need only a quarter of"
        " the model's multiplications, so an instruction can replace at most 256 of the model's."
        " A processor computes more slowly at half its clock. Readings that were edited or copied"
        " from another run do not fit the steps.",
        READINGS_AS_READ,
        (
            OfBundle("instructions-enough", _instructions_of_model),
            OfBundle("clock-follows", _clock_follows, needs_split=True),
        ),
    ),
    Rule(
        "memory-fits",
        "The implementation uses at least 4 MiB, the memory of an interpreter. (If it is not the"
        " suite's, it uses at least two bytes for each parameter of the model.) The memory that it"
        " uses is at most the number of its processes times the largest peak of one process (5 %"
        " more is tolerated). If page faults are counted, the count is above zero. The"
        " implementation logs each rank's peak. If it has no processes besides its ranks, the"
        f" largest logged peak is at least {100 * MIN_LOGGED_PEAK:g} % of the largest process peak"
        " that the memory meter read. The machine's used and available memory have the same sum in"
        f" every reading, within {100 * MAX_MEMORY_CHANGE:g} %.",
        "The kernel records the peak of every process, and the implementation logs its own peak."
        " The meter computes the used memory as the total minus the available memory, so the two"
        " always add up to the total. If somebody lowered the memory in one of these records, it"
        " would no longer fit the others.",
        READINGS_AS_READ,
        (
            OfBundle("memory-fits", _memory),
            OfBundle("memory-adds-up", _sums),
            OfBundle("ranks-peaks", _listed),
        ),
    ),
    Rule(
        "disk-fits",
        "A disk that moves more than 256 MiB has a busy time above zero. Between its first and its"
        " last reading, a disk is busy for at most the time that passes (5 % plus 1 s more is"
        " tolerated). If the page cache was emptied before the run and at least half of the data"
        " set entered it afterwards, bytes were read from the disk.",
        "The kernel counts the bytes of every disk request, and the time with a request in flight."
        " Data that are not in the page cache are read from the disk. If somebody edited one of"
        " these readings, it would no longer fit the others.",
        READINGS_AS_READ,
        (OfBundle("disk-fits", _disk),),
    ),
)
