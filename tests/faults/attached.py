"""Faults that the rules of suite.compliance.rules.attached find, by check."""

from tests.faults.edits.attached_edits import (
    another_trace,
    attached,
    change_kept,
    change_record,
    change_run,
    left_out,
    scale_attached,
    scale_own,
    scale_times,
    shift_attached,
    without_record,
)
from tests.faults.edits.fault import Fault, unsealed

FAULTS: dict[str, tuple[Fault, ...]] = {
    "attached-trace": (
        unsealed("the attached readings two seconds later", attached(shift_attached(2.0))),
        unsealed("the attached readings a tenth lower", attached(scale_attached(0.9))),
        unsealed("the kept trace a tenth lower", attached(change_kept(0.9))),
        unsealed(
            "the fit's offset two seconds more, with the readings",
            attached(shift_attached(2.0, with_record=True)),
        ),
        unsealed("the trace of another run", attached(another_trace())),
        unsealed("a trace of a run that was a fifth longer", attached(scale_times(1.2))),
        unsealed("a better correlation", attached(change_record(correlation=0.999999))),
        unsealed("a clock that is more certain", attached(change_record(half_width_s=0.001))),
        unsealed("another instrument", attached(change_record(tier="analyser"))),
        unsealed("a method that there is not", attached(change_record(rate="fast"))),
        unsealed("no record of the trace", attached(without_record())),
        unsealed(
            "the run's own power a tenth lower after attaching",
            attached(scale_own("um25c", 0.9)),
        ),
        unsealed(
            "another exit code in run.json after attaching", attached(change_run(exit_code=7))
        ),
        unsealed(
            "the run's own power a tenth lower after a meter was left out",
            left_out("um25c", scale_own("um25c", 0.9)),
        ),
        unsealed(
            "another exit code in run.json after a meter was left out",
            left_out("um25c", change_run(exit_code=7)),
        ),
    ),
    "attached-fitted": (unsealed("an offset given by hand", attached(by_hand=True)),),
}
