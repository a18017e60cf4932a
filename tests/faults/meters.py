"""Faults that the rules of suite.compliance.rules.meters find, by check."""

from suite.catalog.meter_choice import LEFT_OUT
from tests.faults.edits.fault import Edit, Fault, both, in_turn, recomputed, sealed
from tests.faults.edits.file_edits import set_system
from tests.faults.edits.log_edits import set_everywhere
from tests.faults.edits.reading_edits import (
    drop_readings,
    free_meters,
    hurry_meters,
    leave_meter_out,
    read_twice_as_often,
    scale_longest_gaps,
    scale_meter_times,
    set_meter,
)
from tests.faults.edits.table_edits import change_second_node


def _unread(name: str) -> Edit:
    """Add the record of a meter that was available, and has no readings."""
    record = {
        "name": name,
        "period_s": 1.0,
        "available": True,
        "reason": "",
        "readings": 0,
        "failures": 0,
        "achieved_period_s": None,
    }
    return lambda bundle: bundle.run["meters"].append(
        {**bundle.run["meters"][0], **record, "longest_gap_s": None}
    )


def _forget(name: str) -> Edit:
    """Take a meter's record out."""
    return lambda bundle: bundle.run.update(
        meters=[meter for meter in bundle.run["meters"] if meter["name"] != name]
    )


def _cost_of_each(cost_s: float) -> Edit:
    return lambda bundle: [meter.update(cost_s=cost_s) for meter in bundle.run["meters"]]


METERS = ("um25c", "cpu", "counters")


FAULTS: dict[str, tuple[Fault, ...]] = {
    "meter-periods": (
        *(
            fault
            for name in METERS
            for fault in both(f"the times of {name} a fifth shorter", scale_meter_times(name, 0.8))
        ),
        *both("no achieved period", set_meter("um25c", achieved_period_s=None)),
    ),
    "meter-jitter": (
        *both("a third of a second of jitter", set_meter("um25c", jitter_s=0.3)),
        *both("a second of jitter", set_meter("cpu", jitter_s=1.0)),
    ),
    "meter-schedule": (
        recomputed("all times of the kernel's meters a tenth shorter", hurry_meters(0.9)),
        *both(
            "a clock of 400 MHz between the readings of 1.4 GHz",
            read_twice_as_often("cpu", "frequency.core1", 0.4 / 1.4),
        ),
    ),
    "meter-own-schedule": (
        *both("a plug's period of a USB meter", set_meter("um25c", period_s=1.0)),
        *both("fixed moments of a USB meter", set_meter("um25c", moments="fixed")),
        *both("random moments of the processor's meter", set_meter("cpu", moments="random")),
    ),
    "meter-gaps": (
        *both("five seconds of power readings left out", drop_readings("um25c", 10.0, 15.0)),
        *both("no power readings but in the last two seconds", drop_readings("um25c", -10.0, 26.0)),
        *both("no readings of the second half", drop_readings("cpu", 14.0, 100.0)),
    ),
    "meter-stated-gaps": (
        recomputed("longer gaps in all records than in the readings", scale_longest_gaps(1.01)),
    ),
    "nodes-throughout": (
        recomputed(
            "the second node's readings end after ten seconds",
            change_second_node(lambda rows: rows[rows["t_ns"] < rows["t_ns"].min() + 10**10]),
            ranks=2,
        ),
    ),
    "meter-cost": both("meters that cost nothing", free_meters()),
    "meter-cost-possible": (
        *both("meters that cost a nanosecond", _cost_of_each(1e-9)),
        *both("meters that cost 500 seconds", _cost_of_each(500.0)),
    ),
    "meters-of-linux": both("the processor's meter left out", leave_meter_out("cpu")),
    "meters-of-kernel": (
        recomputed("the load said to be unavailable", leave_meter_out("load")),
        recomputed(
            "the load left out, with its record",
            in_turn(leave_meter_out("load"), _forget("load")),
        ),
        recomputed(
            "the wall clock said to be available, without readings",
            in_turn(
                leave_meter_out("wall-clock"),
                set_meter("wall-clock", available=True, reason=""),
            ),
        ),
        recomputed("the network said to be available, without readings", _unread("network")),
        *both(
            "the disk's meter said to be unavailable",
            in_turn(leave_meter_out("disk"), set_system("storage_medium", "NVMe")),
        ),
        *both(
            "the page cache emptied, its meter said to be unavailable",
            in_turn(leave_meter_out("page-cache"), set_everywhere("cache_cleared", True)),
        ),
    ),
    "meters-chosen": (
        *both("the CPU meter left out", set_meter("cpu", reason=LEFT_OUT)),
        sealed(
            "the CPU meter left out, without readings",
            set_meter("cpu", reason=LEFT_OUT, available=False, readings=0),
        ),
    ),
}
