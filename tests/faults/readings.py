"""Faults that the rules of suite.compliance.rules.readings find, by rule."""

from suite.bundle.layout import node_baseloads
from tests.faults.edits.fault import Fault, both, recomputed, sealed, unsealed
from tests.faults.edits.file_edits import delete, resealed, set_system
from tests.faults.edits.log_edits import HOUR_NS, delay_stop
from tests.faults.edits.reading_edits import count_written
from tests.faults.edits.table_edits import (
    SECOND_NODE,
    a_day_earlier,
    change_second_node,
    drop_reading,
    insert_reading,
    read_at_one_time,
    scale_unit,
    set_reading,
    set_unit,
    shift_readings,
    silence,
)

SOURCES = ("um25c", "memory", "cpu", "disk", "counters")


COUNTERS = (
    ("disk", "read_bytes"),
    ("counters", "page_faults.count"),
    ("counters", "instructions.count"),
)


IMPOSSIBLE = (
    ("cpu", "utilisation.total", 140.0),
    ("cpu", "utilisation.core1", -3.0),
    ("memory", "process_tree_rss", -1.0),
    ("memory", "process_tree_rss", float("nan")),
    ("um25c", "power", float("inf")),
    ("um25c", "power", 1e6),
)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "readings-in-run": (
        *(
            fault
            for source in SOURCES
            for fault in both(f"{source} read a day earlier", shift_readings(source, -24 * HOUR_NS))
        ),
        recomputed(
            "the second node's readings a day earlier",
            change_second_node(a_day_earlier),
            ranks=2,
        ),
        recomputed(
            "the second node's baseload a day earlier",
            change_second_node(a_day_earlier, node_baseloads(1)[0]),
            ranks=2,
        ),
    ),
    "readings-in-order": (
        *(
            fault
            for source in SOURCES
            for fault in both(f"two readings of {source} at one time", read_at_one_time(source))
        ),
        recomputed(
            "the second node's readings backwards",
            change_second_node(lambda rows: rows.iloc[::-1]),
            ranks=2,
        ),
    ),
    "readings-counted": (
        *(
            fault
            for source in SOURCES
            for fault in both(f"a reading of {source} left out", drop_reading(source))
        ),
        *(
            fault
            for source in SOURCES
            for fault in both(f"a reading of {source} put in", insert_reading(source))
        ),
        *both("ten readings more written than there are", count_written(10)),
        recomputed(
            "a reading of the second node left out",
            change_second_node(lambda rows: rows.drop(index=rows.index[3])),
            ranks=2,
        ),
        unsealed("all readings of the second node lost", resealed(delete(SECOND_NODE)), ranks=2),
    ),
    "counters-never-fall": (
        *(
            fault
            for source, channel in COUNTERS
            for fault in both(f"{channel} falls", set_reading(source, channel, -1, 0.0))
        ),
        recomputed(
            "the counter of bytes sent falls",
            set_reading("network", "eth0.sent", -1, 0.0),
            ranks=2,
        ),
        recomputed(
            "counters of the second node fall",
            change_second_node(scale_unit("events", -1)),
            ranks=2,
        ),
    ),
    "readings-possible": (
        *(
            fault
            for source, name, value in IMPOSSIBLE
            for fault in both(f"{source} {name} reads {value}", set_reading(source, name, 4, value))
        ),
        *both("a channel with two units", set_unit("memory", "KiB")),
        recomputed(
            "a load of 140 % on the second node",
            change_second_node(scale_unit("%", 2.8)),
            ranks=2,
        ),
    ),
    "readings-fit-machine": (
        *(
            sealed(f"{name} = {value} in system.json", set_system(name, value))
            for name, value in (("cpu_cores", 64), ("memory_size_bytes", 10**6))
        ),
        *both(
            "more memory in use than there is",
            set_reading("memory", "process_tree_rss", 4, 1e15),
        ),
    ),
    "readings-gaps": (
        *(
            fault
            for source in SOURCES
            for fault in both(
                f"{source} silent for ten seconds, and the count made to fit", silence(source)
            )
        ),
        *both(
            "um25c silent for ten seconds, and its failures stated",
            silence("um25c", failures=50),
        ),
        sealed("a minute without a reading before run_stop", delay_stop(60)),
    ),
}
