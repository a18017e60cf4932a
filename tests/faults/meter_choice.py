"""Faults that the rules of suite.compliance.rules.meter_choice find, by rule."""

from suite.catalog.meter_choice import LEFT_OUT
from tests.faults.edits.fault import Fault, both, sealed
from tests.faults.edits.reading_edits import set_meter

FAULTS: dict[str, tuple[Fault, ...]] = {
    "meters-chosen": (
        *both("the CPU meter left out", set_meter("cpu", reason=LEFT_OUT)),
        sealed(
            "the CPU meter left out, without readings",
            set_meter("cpu", reason=LEFT_OUT, available=False, readings=0),
        ),
    ),
}
