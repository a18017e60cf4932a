"""Faults that the rules of suite.compliance.rules.readings find, by check."""

from suite.bundle.layout import node_baseloads
from tests.faults.edits.fault import Fault, both, in_turn, recomputed, sealed, unsealed
from tests.faults.edits.file_edits import delete, resealed
from tests.faults.edits.log_edits import HOUR_NS, delay_stop
from tests.faults.edits.reading_edits import (
    add_channel,
    add_constant_channel,
    count_written,
    round_reading_times,
    scale_meter_times,
    scale_readings,
    set_meter,
    shift_end,
)
from tests.faults.edits.table_edits import (
    SECOND_NODE,
    a_day_earlier,
    change_second_node,
    copy_first_node,
    drop_reading,
    insert_reading,
    read_at_one_time,
    rename_source,
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
    "readings-end": (
        *both("power readings ten seconds later", shift_end(10.0, "um25c")),
        *both("all readings ten seconds later", shift_end(10.0)),
    ),
    "meter-clock": (
        recomputed(
            "the table of another program four seconds later",
            in_turn(
                rename_source("um25c", "meter-csv", "board.analyser"),
                scale_meter_times("meter-csv", 1.2),
            ),
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
    "readings-clock": (
        recomputed("all readings at whole half seconds", round_reading_times(500_000_000)),
    ),
    "nodes-read-apart": (
        recomputed("the first node's readings as the second's", copy_first_node(), ranks=2),
        recomputed(
            "the first node's baseload as the second's",
            copy_first_node(node_baseloads(1)[0]),
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
    "meter-available": tuple(
        fault
        for name in SOURCES
        for fault in both(f"{name} said to be absent", set_meter(name, available=False))
    ),
    "meter-failures": both(
        "a hundred failures of a meter with all readings",
        set_meter("cpu", failures=100, last_error="timed out"),
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
    "peak-memory-rises": (
        recomputed(
            "a peak that falls by a fifth",
            in_turn(
                add_constant_channel("memory", "process_tree_size", "processes", 1.0),
                add_channel(
                    "memory",
                    "largest_process_peak_rss",
                    "B",
                    lambda time_s: 3e8 if time_s < 10 else 2.4e8,
                ),
            ),
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
    "counts-whole": both(
        "halves of page faults", scale_readings("counters", "page_faults", 1.0, plus=0.5)
    ),
    "silicon-possible": tuple(
        recomputed(
            f"{value:g} degrees",
            add_constant_channel("temperature", "cpu-thermal", "degC", value),
        )
        for value in (-300.0, 51234.0)
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
