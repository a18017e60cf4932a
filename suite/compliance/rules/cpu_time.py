"""CPU time: what the implementation used, against wall time, cores, threads and the steps."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation

if TYPE_CHECKING:
    from suite.compliance.node_context import NodeContext

ORDER = 82  # after the readings' own rules

TOLERANCE, SLACK = 1.1, 0.1
"""Of rates in cores: readings of two meters are up to a second apart. Real runs: task clock and CPU
time differ by 2.5 % at most."""
TASK_CLOCKS = ("task_clock.count", "task_clock:u.count")
"""The kernel's clock of a task runs in kernel mode, too, whatever the event excludes."""

MIN_WINDOW_S = 10.0  # CPU times are read once a second, in ticks of a hundredth
# of a rank: of the interpreter and the framework; 26 real runs of one thread and no worker used
# 0.20 to 0.99 cores
OTHER_THREADS = 0.5
# busy cores for each second of computing; 1.9 in real runs, where other programs kept the second
# core busy
MIN_BUSY_SHARE = 0.5
# CPU seconds for each second of computing; 0.48 to 1.2 in 26 real runs, other programs on both
# cores meanwhile
MIN_OWN_SHARE = 0.25
# of the cores, busy: programs queue for them; 0.997 in a real run among 14 to 20 runnable programs
MIN_CROWDED_SHARE = 0.9
MAX_SWAPPED_BYTES = 2**26
MAX_MEAN_DIFFERENCE = 5.0  # of the total and the mean of the cores, %; 0.02 at most in real runs
FIX = "never edit readings; stop other programs and run again"


def _possible(context: BundleContext) -> Iterator[Violation]:
    """Check every node's CPU time against its cores, and against what all programs together
    used."""
    for node, used, window in _used(context):
        cores = node.cores_read
        if cores and used > cores * TOLERANCE + SLACK:
            yield Violation(
                node.file,
                f"at most the {cores} cores of CPU time",
                f"{used:.2f} CPU seconds a second",
            )
        busy = node.busy_cores(window)
        if busy is not None and used > busy * TOLERANCE + SLACK:
            yield Violation(
                node.file,
                f"at most the {busy:.2f} cores that utilisation.total says were busy",
                f"{used:.2f} CPU seconds a second by the implementation",
            )


def _threads(context: BundleContext) -> Iterator[Violation]:
    """Check the CPU time against the threads that the request allows; an accelerator's driver has
    threads of its own."""
    request = context.request
    threads, workers = request.threads, request.loading.workers
    if (
        request.accelerator != "cpu"
        or not isinstance(threads, int)
        or not isinstance(workers, int)
        or request.parallel.ranks > 1
    ):
        return
    for node, used, _ in _used(context):
        allowed = threads + workers + OTHER_THREADS
        if used > allowed * TOLERANCE:
            yield Violation(
                node.file,
                f"at most {allowed:g} CPU seconds a second with {threads} threads and {workers}"
                " workers",
                f"{used:.2f}",
            )


def _agree(context: BundleContext) -> Iterator[Violation]:
    """Check the two measurements of the same time: the process tree's CPU time and the counters'
    task clock."""
    from suite.compliance.evidence import rate  # start-up: loads numpy

    for node, used, window in _used(context):
        clocks = (rate(node.channels.get("counters", name), window) for name in TASK_CLOCKS)
        task_clock = next((clock for clock in clocks if clock is not None), None)
        if (
            task_clock is not None
            and abs(task_clock * 1e-9 - used) > (TOLERANCE - 1) * used + SLACK
        ):
            yield Violation(
                node.file,
                f"a task clock of {used:.2f} s a second, the CPU time of the process tree",
                f"{task_clock * 1e-9:.2f} s",
            )


def _busy(context: BundleContext) -> Iterator[Violation]:
    """Check that computing on the CPU keeps cores busy, the implementation's share of them
    included."""
    window = context.window
    if context.request.accelerator != "cpu" or window is None or not window[1] > window[0]:
        return
    computing = _computing(context, window) / context.request.parallel.nodes
    for node in (node for node in context.nodes if node.is_on_clock):
        busy = None if _has_swapped(node) else node.busy_cores(window)
        if busy is not None and busy < MIN_BUSY_SHARE * computing:
            yield Violation(
                node.file,
                f"{MIN_BUSY_SHARE * computing:.2f} busy cores or more while {computing:.2f} ranks"
                " compute",
                f"{busy:.2f} by utilisation.total",
            )
    for node, used, window in _used(context):
        if (
            used < MIN_OWN_SHARE * computing
            and not _has_swapped(node)
            and not _is_crowded(node, used, window)
        ):
            yield Violation(
                node.file,
                f"{MIN_OWN_SHARE * computing:.2f} CPU seconds a second or more while"
                f" {computing:.2f} ranks compute",
                f"{used:.2f} by the implementation",
            )


def _total(context: BundleContext) -> Iterator[Violation]:
    """Check that the total utilisation is the mean of the cores'."""
    window = context.window
    if window is None:
        return
    for node in (node for node in context.nodes if node.is_on_clock):
        means = [
            channel.during(window).mean
            for channel in node.channels.of("cpu")
            if channel.name.startswith("utilisation.core")
        ]
        total = node.channels.get("cpu", "utilisation.total").during(window)
        if means and len(total) and abs(total.mean - sum(means) / len(means)) > MAX_MEAN_DIFFERENCE:
            yield Violation(
                node.file,
                f"a total utilisation of {sum(means) / len(means):.1f} %, the mean of {len(means)}"
                " cores",
                f"{total.mean:.1f} %",
            )


def _used(context: BundleContext) -> "Iterator[tuple[NodeContext, float, tuple[int, int]]]":
    """Every node whose implementation's CPU time was read over most of the run, with that time in
    CPU seconds a second."""
    from suite.compliance.evidence import rate, seconds  # start-up: loads numpy

    window = context.window
    if window is None or not seconds(window) >= MIN_WINDOW_S:
        return
    for node in (node for node in context.nodes if node.is_on_clock):
        used = rate(node.channels.get("cpu", "process_tree"), window)
        if used is not None:
            yield node, used, window


def _is_crowded(node: "NodeContext", used: float, window: tuple[int, int]) -> bool:
    """Whether the meter of the load says that all cores were busy, and that the suite's processes
    had no more of them than the implementation."""
    from suite.compliance.evidence import rate  # start-up: loads numpy

    busy, own, steal = (
        rate(node.channels.get("load", name), window) for name in ("busy", "own", "steal")
    )
    if busy is None or own is None or not node.cores_read:
        return False
    return (
        busy + (steal or 0.0) > MIN_CROWDED_SHARE * node.cores_read
        and own < used * TOLERANCE + SLACK
    )


def _has_swapped(node: "NodeContext") -> bool:
    """Memory was moved to swap during the run: then computing waits for the disk."""
    swapped = node.channels.get("memory", "swap_used")
    return len(swapped) > 0 and swapped.maximum - swapped.minimum > MAX_SWAPPED_BYTES


def _computing(context: BundleContext, window: tuple[int, int]) -> float:
    """Seconds of computing per second of the run, over all ranks."""
    from suite.compliance.evidence import seconds  # start-up: loads numpy

    return context.steps.sum_s("compute_s") / seconds(window)


RULES = (
    Rule(
        "cpu-time-possible",
        "The implementation uses no more CPU time than the cores have, nor more than all"
        " programs together.",
        "Its CPU time is read from its processes, the utilisation from the kernel's idle time:"
        " independent counts of the same cores.",
        FIX,
        (OfBundle("cpu-time-possible", _possible),),
    ),
    Rule(
        "cpu-time-threads",
        "A run of one rank on a CPU uses no more CPU time than its threads and workers can, and"
        " half a core.",
        "More threads than requested are another configuration. Two CPU seconds a second of one"
        " thread show that the wall time was shortened.",
        "run again with --threads as many as there are",
        (OfBundle("cpu-time-threads", _threads),),
    ),
    Rule(
        "cpu-time-agrees",
        "On every node two counts of the implementation's CPU time agree to a tenth: the task"
        " clock of the meter counters, and process_tree of the meter cpu.",
        "The kernel keeps both, for the same threads, which start when both meters are attached"
        " to them. They part where one was edited.",
        FIX,
        (OfBundle("cpu-time-agrees", _agree),),
    ),
    Rule(
        "cpu-busy",
        "Unless it swaps, computing on a CPU keeps half a core busy for every rank that"
        " computes, a quarter by the implementation unless the meter of the load shows that"
        " other programs had the cores.",
        "Time passes without CPU time only while other programs have the cores: then these are"
        " busy, and the implementation has its share.",
        FIX,
        (OfBundle("cpu-busy", _busy, needs_split=True),),
    ),
    Rule(
        "cpu-total",
        "The total utilisation is the mean of the cores' utilisation.",
        "The kernel adds the cores up.",
        FIX,
        (OfBundle("cpu-total", _total),),
    ),
)
