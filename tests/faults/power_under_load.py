"""Faults that the rules of suite.compliance.rules.power_under_load find, by check."""

from tests.faults.edits.fault import Fault, both
from tests.faults.edits.reading_edits import set_values

FAULTS: dict[str, tuple[Fault, ...]] = {
    "power-follows-load": both(
        "every third reading the idle machine's",
        set_values("um25c", "power", 3, lambda value: value / 2),
    ),
}
