"""Faults that the rules of suite.compliance.rules.cpu_time find, by rule."""

from tests.faults.edits.fault import Fault, both, recomputed
from tests.faults.edits.load_edits import crowd
from tests.faults.edits.reading_edits import scale_cpu_time, scale_readings, use_two_cores
from tests.faults.edits.table_edits import keep_busy

FAULTS: dict[str, tuple[Fault, ...]] = {
    "cpu-time-possible": (
        *both("five times the CPU time", scale_readings("cpu", "process_tree", 5.0)),
        recomputed("five times the CPU time, counters included", scale_cpu_time(5.0)),
    ),
    "cpu-time-threads": (
        recomputed("one thread that uses two cores", use_two_cores()),
        *both("CPU time of four cores", keep_busy(4.0)),
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
    "cpu-busy": (
        *both("idle cores", scale_readings("cpu", "utilisation", 0.02)),
        recomputed("a fifth of the CPU time, counters included", scale_cpu_time(0.2)),
        recomputed(
            "a fifth of the CPU time, and a load that is the suite's own", crowd(0.2, own=0.66)
        ),
    ),
    "cpu-total": (
        *both("a tenth of the total", scale_readings("cpu", "utilisation.total", 0.1)),
        *both("the second core idle", scale_readings("cpu", "utilisation.core1", 0.03)),
    ),
}
