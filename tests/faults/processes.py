"""Faults that the rules of suite.compliance.rules.processes find, by rule."""

from tests.faults.edits.fault import Fault, both, recomputed
from tests.faults.edits.reading_edits import add_channel, add_constant_channel, log_peak_memory

FAULTS: dict[str, tuple[Fault, ...]] = {
    "processes-requested": (
        *both(
            "five processes of one rank",
            add_constant_channel("memory", "process_tree_size", "processes", 5.0),
        ),
        recomputed(
            "forty processes of two ranks",
            add_constant_channel("memory", "process_tree_size", "processes", 40.0),
            ranks=2,
        ),
        recomputed(
            "one process of a node's rank",
            add_constant_channel("memory", "process_tree_size", "processes", 1.0),
            ranks=2,
        ),
    ),
    "ranks-peaks": (
        *both("the peaks of two ranks in a run of one", log_peak_memory(1.0, 2)),
        recomputed("no peak", log_peak_memory(1.0, 0)),
        recomputed("one peak of two ranks", log_peak_memory(1.0, 1), ranks=2),
    ),
    "peak-memory-rises": (
        recomputed(
            "a peak that falls by a fifth",
            lambda bundle: [
                add_constant_channel("memory", "process_tree_size", "processes", 1.0)(bundle),
                add_channel(
                    "memory",
                    "largest_process_peak_rss",
                    "B",
                    lambda time_s: 3e8 if time_s < 10 else 2.4e8,
                )(bundle),
            ],
        ),
    ),
    "memory-adds-up": (
        recomputed(
            "half of the used memory in the second half of the run",
            lambda bundle: [
                add_channel("memory", "used", "B", lambda time_s: 2e8 if time_s < 10 else 1e8)(
                    bundle
                ),
                add_channel("memory", "available", "B", lambda time_s: 4e8)(bundle),
            ],
        ),
    ),
    "memory-whole": both(
        "half of the described memory used or available",
        lambda bundle: [
            add_constant_channel("memory", name, "B", bundle.system["memory_size_bytes"] / 4)(
                bundle
            )
            for name in ("used", "available")
        ],
    ),
}
