"""Faults that the rules of suite.compliance.rules.cpu_time find, by check."""

from tests.faults.edits.fault import Fault, both, recomputed
from tests.faults.edits.load_edits import add_load, alternate_load, crowd
from tests.faults.edits.reading_edits import (
    add_constant_channel,
    add_idle_utilisation,
    scale_cpu_time,
    scale_readings,
    use_two_cores,
)
from tests.faults.edits.table_edits import change_second_node, keep_busy, scale_unit

FAULTS: dict[str, tuple[Fault, ...]] = {
    "cpu-time-possible": (
        *both("five times the CPU time", scale_readings("cpu", "process_tree", 5.0)),
        recomputed("five times the CPU time, counters included", scale_cpu_time(5.0)),
    ),
    "cpu-time-agrees": (
        *both("a tenth of the CPU time", scale_readings("cpu", "process_tree", 0.1)),
        *both("twice the task clock", scale_readings("counters", "task_clock.count", 2.0)),
        *both(
            "half the CPU time of two ranks",
            scale_readings("cpu", "process_tree", 0.5),
            ranks=2,
        ),
        *both(
            "two ranks of which the task clock counts one",
            scale_readings("counters", "task_clock.count", 0.5),
            ranks=2,
        ),
        *both(
            "two ranks of which the task clock counts mpirun alone",
            scale_readings("counters", "task_clock.count", 0.01),
            ranks=2,
        ),
    ),
    "cpu-total": (
        *both("a tenth of the total", scale_readings("cpu", "utilisation.total", 0.1)),
        *both("the second core idle", scale_readings("cpu", "utilisation.core1", 0.03)),
    ),
    "utilisation-ticks": (
        *both("an interpolated utilisation", scale_readings("cpu", "utilisation.total", 1.0, 0.01)),
        *both(
            "239 ticks of two cores in a second",
            scale_readings("cpu", "utilisation.total", 0.0, 100 * 121 / 239),
        ),
    ),
    "load-possible": (
        *both("more own CPU time than was busy", add_load(busy=1.0, own=1.8)),
        *both("less own CPU time than the implementation's", add_load(busy=1.0, own=0.1)),
        *both("foreign load edited away", add_load(busy=0.5, own=0.5)),
    ),
    "load-follows": both("busy seconds in another order than the utilisation's", alternate_load()),
    "load-follows-closely": both(
        "a steady load, and a utilisation that is not", alternate_load(by=0.0)
    ),
    "own-load": both("another program's time called the suite's own", add_load(busy=1.0, own=0.99)),
    "cpu-time-threads": (
        recomputed("one thread that uses two cores", use_two_cores()),
        *both(
            "CPU time of four cores",
            keep_busy(4.0),
        ),
    ),
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
    "cpu-busy": (
        *both("idle cores", scale_readings("cpu", "utilisation", 0.02)),
        recomputed("a fifth of the CPU time, counters included", scale_cpu_time(0.2)),
        recomputed(
            "a fifth of the CPU time, and a load that is the suite's own", crowd(0.2, own=0.66)
        ),
    ),
    "nodes-load": (
        recomputed("no load on the second node", change_second_node(scale_unit("%", 0.0)), ranks=2),
    ),
    "foreign-load": (
        recomputed("another program on nearly half a core", add_load(busy=1.0, own=0.55)),
        recomputed(
            "a hypervisor that takes a third of a core",
            add_load(busy=0.7, own=0.55, steal=0.33),
        ),
    ),
    "baseload-idle": (recomputed("a busy machine before the run", add_idle_utilisation(90.0)),),
}
