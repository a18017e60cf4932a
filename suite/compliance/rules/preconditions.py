"""Preconditions: without them the other rules cannot be checked."""

from reference_impls.contract import log_name
from suite.bundle.layout import COUNTERS, MANIFEST, STEPS, SUMMARY, SYSTEM
from suite.compliance.faults.fault import sealed, unsealed
from suite.compliance.faults.file_edits import delete, halve, resealed, set_run
from suite.compliance.rule import Rule

ORDER = 0  # the checker reports them while it reads the bundle

RUN_COMPLETE = Rule(
    id="run-complete",
    sentence="The run finished and a manifest seals its bundle.",
    rationale="An unfinished run can be read epoch by epoch, but cannot be compared.",
    faults=(
        *(sealed(f"a run that is {status}", set_run("status", status)) for status in ("running", "failed", "interrupted")),
        unsealed("no manifest", delete(MANIFEST)),
    ),
)
READABLE = Rule(
    id="bundle-readable",
    sentence="Every file of the bundle can be read in its format.",
    rationale="A file that cannot be read cannot be checked.",
    faults=(
        *(unsealed(f"{name} lost, the manifest made to fit", resealed(delete(name))) for name in (SYSTEM, SUMMARY, COUNTERS, log_name(0), STEPS)),
        *(unsealed(f"{name} cut in half, the manifest made to fit", resealed(halve(name))) for name in (SYSTEM, SUMMARY, COUNTERS, STEPS)),
        unsealed("rank 1's log lost", resealed(delete(log_name(1))), ranks=2),
    ),
)
RULES = (RUN_COMPLETE, READABLE)
