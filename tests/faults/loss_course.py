"""Faults that the rules of suite.compliance.rules.loss_course find, by rule."""

from tests.faults.edits.fault import Fault, both
from tests.faults.edits.table_edits import drop_losses, repeat_losses

FAULTS: dict[str, tuple[Fault, ...]] = {
    "losses-measured": (
        *both("every four steps with one loss", repeat_losses(4)),
        *both("every fourth loss that of the step before", repeat_losses(4, only_first=True)),
    ),
    "losses-fall": both("a tenth of the losses from step 31 on", drop_losses(30, 0.05)),
}
