"""Faults that the rules of suite.compliance.rules.power_evidence find, by rule."""

from suite.bundle.layout import BASELOAD
from tests.faults.edits.fault import Edit, Fault, both, in_turn, recomputed
from tests.faults.edits.reading_edits import (
    add_channel,
    add_idle_utilisation,
    call_analyser,
    change_baseload,
    clip_highest,
    copy_channel,
    count_energy,
    interpolate,
    paste_idle_power,
    remove_baseload,
    set_around_run,
    set_constant,
    set_units,
    set_values,
    take_idle_from_run,
)


def _factors(volts: float, amperes: float) -> tuple[Edit, Edit]:
    """Let the meter of USB have read this voltage and this current with every power."""
    return copy_channel("um25c", "power", "voltage", "V", volts), copy_channel(
        "um25c", "power", "current", "A", amperes
    )


FAULTS: dict[str, tuple[Fault, ...]] = {
    "power-units": both("power in mW", set_units("um25c", "mW")),
    "power-plausible": (
        *both(
            "every ninth reading negative",
            set_values("um25c", "power", 9, lambda value: -value),
        ),
        *both(
            "every ninth reading a thousandfold",
            set_values("um25c", "power", 9, lambda value: 1000 * value),
        ),
    ),
    "power-varies": (
        *both("a constant power", set_constant("um25c", "power")),
        *both("an energy counter on a straight line", count_energy("rapl", "package-0", 2.5)),
    ),
    "power-own": both("the idle machine's readings again and again", paste_idle_power()),
    "power-unclipped": both(
        "the highest tenth of the readings cut", clip_highest("um25c", "power", 0.1)
    ),
    "power-uninterpolated": (
        *both(
            "every fifth reading, the others on straight lines",
            interpolate("um25c", "power", 5),
        ),
        *both("every second reading, the others between them", interpolate("um25c", "power", 2)),
    ),
    "power-around-run": both(
        "half a watt before and after the run", set_around_run("um25c", "power", 0.5)
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
    "baseload-own": (
        recomputed("the idle readings are the run's first ones", take_idle_from_run("um25c")),
    ),
    "baseload-meter": (
        recomputed(
            "the idle power of another meter",
            change_baseload(lambda rows: rows.assign(source="shelly")),
        ),
    ),
    "baseload-window": (
        recomputed("two idle readings", change_baseload(lambda rows: rows.tail(2))),
        recomputed(
            "idle readings ten minutes older",
            change_baseload(lambda rows: rows.assign(t_ns=rows["t_ns"] - 600 * 10**9)),
        ),
    ),
    "baseload-idle": (recomputed("a busy machine before the run", add_idle_utilisation(90.0)),),
    "baseload-measured": (recomputed("no idle readings", remove_baseload(BASELOAD)),),
}
