"""Faults that the rules of suite.compliance.rules.power_rules find, by rule."""

from collections.abc import Callable
from typing import Any

from suite.bundle.layout import POWER
from tests.faults.edits.fault import Fault, both, unsealed
from tests.faults.edits.file_edits import change_file, delete, resealed


def _set_in_first(**values: object) -> Callable[[Any], object]:
    return lambda content: content["rules"][0].update(values)


FAULTS = {
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
            for name, change in FAULTS.items()
            for fault in both(name, change_file(POWER, change))
        ),
        unsealed("power.json left out, manifest made to fit", resealed(delete(POWER))),
    ),
}
