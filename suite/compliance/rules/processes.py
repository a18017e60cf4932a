"""Processes of the implementation: their number, and their memory by several records."""

from collections.abc import Iterator

from reference_impls.contract import log_name
from suite.bundle.node_records import read_nodes
from suite.compliance.remedies import READINGS_AS_READ, TRAINING_LOOP
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.compliance.values import is_number
from suite.compliance.wording import numbers

ORDER = 87  # after the counters and gauges

HELPERS = 1
"""Beside a single rank and its workers: a launcher, or the process in which Python tracks shared
memory. None in honest runs."""
CONTAINERS = {"podman": 1}
"""Beside what starts a single rank: the process that watches its container. podman is the
launcher."""
LAUNCHERS, PROCESSES_PER_RANK = 4, 3
"""mpirun with its proxies, and a rank with what starts it. Honest runs of 2, 3 and 4 ranks: 6 to 8,
8 and 10 processes, with no workers."""
LEAST_PER_RANK = 2
"""A rank and its heartbeat process. Honest nodes of one and two ranks: 3 and 5, with what starts
them."""
# of a peak: the kernel adds up memory in batches; honest runs of one process: 0.0075
MAX_FALL = 0.05
MAX_SUM_DIFFERENCE = 0.01  # of the machine's memory; to the byte the same in honest runs
# of the sum of used and available memory; to the byte the same in honest runs
MAX_MEMORY_CHANGE = 0.01


def _requested(context: BundleContext) -> Iterator[Violation]:
    """Check the number of processes that was read most of the time, against ranks and workers."""
    import numpy as np  # start-up

    request, window = context.request, context.window
    ranks, workers = request.parallel.ranks, request.loading.workers
    if window is None or not isinstance(workers, int):
        return
    watching = CONTAINERS.get(str((context.run.isolation or {}).get("kind")), 0)
    most = ranks * workers + (
        1 + HELPERS + watching if ranks == 1 else LAUNCHERS + PROCESSES_PER_RANK * ranks
    )
    for node in (node for node in context.nodes if node.is_on_clock):
        size = node.channels.get("memory", "process_tree_size").during(window)
        if len(size) and float(np.median(size.values)) > most:
            expected = (
                f"at most {most} processes for {ranks} rank{'s' * (ranks > 1)} with {workers}"
                " workers each"
            )
            fix = (
                "state the processes that load data with --workers, and the ranks with"
                " --ranks-per-node; then run again"
            )
            yield Violation(
                node.file,
                expected,
                f"{np.median(size.values):g} in the median of {len(size)} readings in the run",
                fix,
            )
    for record, node in zip(read_nodes(context.bundle), context.nodes, strict=False):
        size, least = (
            node.channels.get("memory", "process_tree_size").during(window),
            LEAST_PER_RANK * len(record.ranks),
        )
        if node.is_on_clock and len(size) and float(np.median(size.values)) < least:
            expected = (
                f"at least {least} processes for the rank{'s' * (len(record.ranks) > 1)}"
                f" {numbers(record.ranks)} on {record.host[:100]}"
            )
            fix = "hand in nodes.json and the readings as the recorders wrote them"
            yield Violation(
                node.file,
                expected,
                f"{np.median(size.values):g} in the median of {len(size)} readings in the run",
                fix,
            )


def _listed(context: BundleContext) -> Iterator[Violation]:
    ranks = context.request.parallel.ranks
    for rank, log in context.logs():
        for event in log.all("peak_rss_of_ranks"):
            peaks = event.value if isinstance(event.value, list) else []
            if len(peaks) != ranks or not all(is_number(peak) and peak > 0 for peak in peaks):
                expected = (
                    f"peak_rss_of_ranks: {ranks} number{'s' * (ranks > 1)} above zero, one per rank"
                )
                yield Violation(
                    log_name(rank), expected, f"{event.value!r}"[:200], TRAINING_LOOP, event.line
                )


def _peaks(context: BundleContext) -> Iterator[Violation]:
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
            observed = (
                f"{after[falls[0]]:.0f} bytes in reading {falls[0] + 2} after"
                f" {before[falls[0]]:.0f}"
            )
            yield Violation(
                node.file,
                "the peak memory of one process never to fall",
                observed,
                READINGS_AS_READ,
            )


def _sums(context: BundleContext) -> Iterator[Violation]:
    for node in context.nodes:
        used, available = (node.channels.get("memory", name) for name in ("used", "available"))
        if not len(used) or len(used) != len(available):
            continue
        sums = used.values + available.values
        low, high = float(sums.min()), float(sums.max())
        if high - low > MAX_MEMORY_CHANGE * high:
            expected = (
                "used and available memory to add up to the machine's memory in every reading"
            )
            yield Violation(
                node.file, expected, f"from {low:.0f} to {high:.0f} bytes", READINGS_AS_READ
            )


def _whole(context: BundleContext) -> Iterator[Violation]:
    """Check that used and available memory are together the memory that the description has, in one
    reading at least."""
    for node in context.nodes:
        used, available, size_bytes = (
            node.channels.get("memory", "used"),
            node.channels.get("memory", "available"),
            node.system.get("memory_size_bytes"),
        )
        if not len(used) or len(used) != len(available) or not is_number(size_bytes):
            continue
        sums = used.values + available.values
        nearest = float(sums[abs(sums - size_bytes).argmin()])
        if not abs(nearest - size_bytes) <= MAX_SUM_DIFFERENCE * size_bytes:
            expected = (
                f"used and available memory of {size_bytes} bytes together, memory_size_bytes in"
                f" {node.system_file}"
            )
            yield Violation(node.file, expected, f"{nearest:.0f} bytes", READINGS_AS_READ)


RULES = (
    Rule(
        id="processes-requested",
        sentence=(
            "The implementation has no more processes than its ranks, its workers and what starts"
            " them, and each node at least those of its ranks."
        ),
        rationale=(
            "Two ranks that are called one, or workers that are not stated, train with the cores of"
            " another request. A rank that ran elsewhere used power there."
        ),
        bundle_check=_requested,
    ),
    Rule(
        id="ranks-peaks",
        sentence="Where the log states peaks of memory, it states one for each rank.",
        rationale="Every rank is a process, and states the peak that the kernel kept for it.",
        bundle_check=_listed,
    ),
    Rule(
        id="peak-memory-rises",
        sentence="The peak memory of a single process never falls, but for a twentieth.",
        rationale="The kernel keeps the largest resident set since the process began.",
        bundle_check=_peaks,
    ),
    Rule(
        id="memory-adds-up",
        sentence=(
            "Used and available memory add up to the same sum in every reading, to a hundredth."
        ),
        rationale=(
            "The meter computes the used memory from the whole and the available memory of one"
            " moment."
        ),
        bundle_check=_sums,
    ),
    Rule(
        id="memory-whole",
        sentence=(
            "Used and available memory are together the machine's memory, to a hundredth, in one"
            " reading at least."
        ),
        rationale="The description and the meter read the same line of the kernel (MemTotal).",
        bundle_check=_whole,
    ),
)
