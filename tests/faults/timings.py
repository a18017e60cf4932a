"""Faults that the rules of suite.compliance.rules.timings find, by check."""

from reference_impls.contract import ASYNCHRONOUS
from tests.faults.edits.fault import Fault, both, in_turn, recomputed
from tests.faults.edits.log_edits import request_also
from tests.faults.edits.step_edits import without_split
from tests.faults.edits.table_edits import set_cell

_ASYNCHRONOUS = request_also("timing", ASYNCHRONOUS)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "timing-possible": (
        *both("asynchronous timing of PyTorch on a CPU", in_turn(_ASYNCHRONOUS, without_split())),
        *both("asynchronous timing of two ranks", in_turn(_ASYNCHRONOUS, without_split()), ranks=2),
    ),
    "timing-agrees": (
        *both("the split of a synchronised run in an asynchronous one", _ASYNCHRONOUS),
        recomputed(
            "one copy timed",
            in_turn(_ASYNCHRONOUS, without_split(), set_cell("copy_s", 20, 0.001)),
        ),
    ),
}
