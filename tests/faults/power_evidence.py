"""Faults that the rules of suite.compliance.rules.power_evidence find, by check."""

from collections.abc import Callable
from typing import Any

from suite.bundle.layout import BASELOAD, POWER
from tests.faults.edits.attached_edits import left_out
from tests.faults.edits.fault import Edit, Fault, both, in_turn, recomputed, unsealed
from tests.faults.edits.file_edits import change_file, delete, resealed
from tests.faults.edits.reading_edits import (
    add_channel,
    call_analyser,
    change_baseload,
    clip_highest,
    copy_channel,
    interpolate,
    leave_meter_out,
    paste_idle_power,
    set_constant,
    set_meter,
    set_units,
    take_idle_from_run,
)
from tests.faults.edits.table_edits import forget_meter


def _factors(volts: float, amperes: float) -> tuple[Edit, Edit]:
    """Let the meter of USB have read this voltage and this current with every power."""
    return copy_channel("um25c", "power", "voltage", "V", volts), copy_channel(
        "um25c", "power", "current", "A", amperes
    )


def _set_in_first(**values: object) -> Callable[[Any], object]:
    return lambda content: content["rules"][0].update(values)


CHANGES = {
    "a total said to cover the chip alone": _set_in_first(coverage="chip"),
    "a cheap meter called an analyser": _set_in_first(tier="analyser"),
    "readings above 4 W called implausible": _set_in_first(plausible_w=[0.0, 4.0]),
    "a total of another channel": _set_in_first(channels=["current"]),
    "a sensor called more accurate than it is": _set_in_first(gain_error=0.0001),
    "a run allowed to have gaps": _set_in_first(min_coverage=0.1),
    "the rules left out": lambda content: content["rules"].clear(),
    "a rule twice": lambda content: content["rules"].append(content["rules"][0]),
}


FAULTS: dict[str, tuple[Fault, ...]] = {
    "power-rules-known": (
        *(
            fault
            for name, change in CHANGES.items()
            for fault in both(name, change_file(POWER, change))
        ),
        unsealed("power.json left out, manifest made to fit", resealed(delete(POWER))),
    ),
    "power-units": both("power in mW", set_units("um25c", "mW")),
    "power-varies": (
        *both("a constant power", set_constant("um25c", "power")),
        *both(
            "an energy counter on a straight line",
            add_channel("rapl", "package-0", "J", lambda time_s: 100.0 + 2.5 * time_s),
        ),
    ),
    "power-own": both("the idle machine's readings again and again", paste_idle_power()),
    "power-unclipped": both(
        "the highest tenth of the readings cut", clip_highest("um25c", "power", 0.1)
    ),
    "baseload-own": (
        recomputed("the idle readings are the run's first ones", take_idle_from_run("um25c")),
    ),
    "power-uninterpolated": (
        *both(
            "every fifth reading, the others on straight lines",
            interpolate("um25c", "power", 5),
        ),
        *both("every second reading, the others between them", interpolate("um25c", "power", 2)),
    ),
    "power-resolved": (recomputed("whole watts of an analyser", call_analyser("um25c")),),
    "power-as-current": (
        *both("5.1 V and 1 A at 6 W", in_turn(*_factors(5.1, 1.0))),
        *both("230 V and 10 mA at 6 W", in_turn(*_factors(230.0, 0.01))),
    ),
    "power-as-energy": both(
        "a counter of 8 W at 6 W",
        add_channel("um25c", "energy", "J", lambda time_s: 1000.0 + 8.0 * time_s),
    ),
    "meters-agree": (
        recomputed(
            "9 W beside the board's 6 W",
            in_turn(
                add_channel("tegrastats", "VIN", "W", lambda time_s: 9.0 + time_s**2 % 1),
                set_meter("tegrastats", longest_gap_s=1.0),
            ),
        ),
    ),
    "meters-left-out": (unsealed("a meter left out with a reason", left_out("um25c")),),
    "baseload-measured": (
        recomputed("no idle readings", lambda bundle: (bundle.path / BASELOAD).unlink()),
        recomputed(
            "the idle machine's utilisation, and no power",
            change_baseload(
                lambda rows: rows.assign(
                    source="cpu", channel="utilisation.total", value=5.0, unit="%"
                )
            ),
        ),
    ),
    "baseload-meter": (
        recomputed(
            "the idle power of another meter",
            change_baseload(lambda rows: rows.assign(source="shelly")),
        ),
    ),
    "baseload-metered": (
        *both(
            "the power meter's record says that it was not there",
            leave_meter_out("um25c"),
        ),
        recomputed(
            "the second node's power meter left out of its records",
            forget_meter("um25c"),
            ranks=2,
        ),
    ),
    "baseload-window": (
        recomputed("two idle readings", change_baseload(lambda rows: rows.tail(2))),
        recomputed(
            "idle readings ten minutes older",
            change_baseload(lambda rows: rows.assign(t_ns=rows["t_ns"] - 600 * 10**9)),
        ),
    ),
}
