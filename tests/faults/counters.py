"""Faults that the rules of suite.compliance.rules.counters find, by check."""

from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.reading_edits import (
    add_channel,
    add_constant_channel,
    add_switches,
    empty_cache_without_reading,
    log_peak_memory,
    lower_frequency,
    read_without_work,
    scale_readings,
    set_meter,
    set_peak_memory,
)

EVENTS = (
    "instructions",
    "cycles",
    "l1d_access",
    "l1d_refill",
    "branches",
    "branch_mispredicts",
    "page_faults",
    "task_clock",
)


SETTINGS = {name: f"cpu/{name}/" for name in EVENTS}
"""Settings of the meter in the good run, which counts these events."""


FAULTS: dict[str, tuple[Fault, ...]] = {
    "counts-possible": (
        *both("fifty times the cycles", scale_readings("counters", "cycles", 50.0)),
        *both("a thousandth of the cycles", scale_readings("counters", "cycles", 0.001)),
        *both("forty times the cache misses", scale_readings("counters", "l1d_refill", 40.0)),
        *both(
            "a hundred times the mispredicted branches",
            scale_readings("counters", "branch_mispredicts", 100.0),
        ),
        *both("twenty times the branches", scale_readings("counters", "branches", 20.0)),
        recomputed("a third of the clock", scale_readings("cpu", "frequency", 1 / 3)),
    ),
    "switches-fit": (
        recomputed(
            "no context switch",
            add_constant_channel("counters", "context_switches.count", "events", 0.0),
        ),
        recomputed("three times as many migrations as switches", add_switches(3.0)),
    ),
    "counts-as-set": (
        *both(
            "cycles said to be refused",
            set_meter(
                "counters",
                settings={**SETTINGS, "cycles": "not counted: No such file or directory"},
            ),
        ),
        *both(
            "events without a setting",
            set_meter("counters", settings={"cycles": SETTINGS["cycles"]}),
        ),
        *both(
            "bus cycles said to be counted",
            set_meter(
                "counters",
                settings={**SETTINGS, "bus_cycles": "cpu/bus-cycles/ type=0 config=0x6"},
            ),
        ),
    ),
    "instructions-enough": (
        *both(
            "a two-hundredth of the instructions",
            scale_readings("counters", "instructions", 0.005),
        ),
        *both(
            "instructions that stand still",
            scale_readings("counters", "instructions", 0.0, plus=1e9),
        ),
    ),
    "clock-follows": (
        recomputed("the clock falls to a quarter, the steps do not change", lower_frequency()),
    ),
    "memory-fits": (
        *both("one megabyte in use", scale_readings("memory", "process_tree_rss", 0.005)),
        recomputed("a peak below the memory in use", set_peak_memory(0.3)),
        recomputed("a third of the peak in the log", log_peak_memory(0.3)),
        *both("no page fault", scale_readings("counters", "page_faults", 0.0)),
    ),
    "memory-adds-up": (
        recomputed(
            "half of the used memory in the second half of the run",
            in_turn(
                add_channel("memory", "used", "B", lambda time_s: 2e8 if time_s < 10 else 1e8),
                add_channel("memory", "available", "B", lambda time_s: 4e8),
            ),
        ),
    ),
    "ranks-peaks": (
        *both("the peaks of two ranks in a run of one", log_peak_memory(1.0, 2)),
        recomputed("no peak", log_peak_memory(1.0, 0)),
        recomputed("one peak of two ranks", log_peak_memory(1.0, 1), ranks=2),
    ),
    "disk-fits": (
        recomputed(
            "a disk that is busy for four seconds a second",
            add_channel("disk", "busy", "s", lambda time_s: 4 * time_s),
        ),
        recomputed("the page cache filled without reading", empty_cache_without_reading()),
        recomputed("a disk that reads 500 MB a second and is never busy", read_without_work()),
    ),
}
