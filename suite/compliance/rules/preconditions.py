"""Preconditions: without them the other rules cannot be checked."""

from reference_impls.contract import log_name
from suite.bundle.layout import COUNTERS, MANIFEST, RUN, STEPS, SUMMARY, SYSTEM
from suite.compliance.faults.fault import sealed, unsealed
from suite.compliance.faults.file_edits import delete, halve, repeat_name, resealed, set_run
from suite.compliance.faults.log_edits import set_request
from suite.compliance.rule import Rule

ORDER = 0  # the checker reports them while it reads the bundle

RUN_COMPLETE = Rule(
    id="run-complete",
    sentence="The run finished and a manifest seals its bundle.",
    rationale="An unfinished run can be read epoch by epoch, but cannot be compared.",
    faults=(
        *(
            sealed(f"a run that is {status}", set_run("status", status))
            for status in ("running", "failed", "interrupted")
        ),
        unsealed("no manifest", delete(MANIFEST)),
    ),
)
READABLE = Rule(
    id="bundle-readable",
    sentence="Every file of the bundle can be read in its format.",
    rationale="A file that cannot be read cannot be checked.",
    faults=(
        *(
            unsealed(f"{name} lost, the manifest made to fit", resealed(delete(name)))
            for name in (SYSTEM, SUMMARY, COUNTERS, log_name(0), STEPS)
        ),
        *(
            unsealed(f"{name} cut in half, the manifest made to fit", resealed(halve(name)))
            for name in (SYSTEM, SUMMARY, COUNTERS, STEPS)
        ),
        unsealed("run.json cut in half, the manifest made to fit", resealed(halve(RUN))),
        *(
            unsealed(f"a name twice in {name}", resealed(repeat_name(name, key)))
            for name, key in ((RUN, "schema"), (SYSTEM, "kernel"))
        ),
        unsealed("rank 1's log lost", resealed(delete(log_name(1))), ranks=2),
    ),
)
REQUEST_READABLE = Rule(
    id="request-readable",
    sentence=(
        "run.json has a request of the contract that this version of the suite reads, every value"
        " in its type."
    ),
    rationale="Without the request there is nothing to compare the records with.",
    faults=(
        *(
            sealed(f"{name} = {value!r} in the request", set_request(name, value))
            for name, value in (
                ("contract_version", 0),
                ("division", "clsoed"),
                ("seed", -1),
                ("global_batch_size", "128"),
                ("optimizer", None),
                ("workload", "lenet6"),
            )
        ),
        sealed("a key that no request has", lambda bundle: bundle.request.update(precision="int8")),
        sealed("a request without a seed", lambda bundle: bundle.request.pop("seed")),
    ),
)
RULES = (RUN_COMPLETE, READABLE, REQUEST_READABLE)
