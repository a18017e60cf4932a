"""Faults that the rules of suite.compliance.rules.preconditions find, by check."""

from reference_impls.contract import log_name
from suite.bundle.layout import COUNTERS, MANIFEST, RUN, STEPS, SUMMARY, SYSTEM
from tests.faults.edits.fault import Fault, sealed, unsealed
from tests.faults.edits.file_edits import delete, halve, repeat_name, resealed, set_run
from tests.faults.edits.log_edits import set_request

FAULTS: dict[str, tuple[Fault, ...]] = {
    "run-complete": (
        *(
            sealed(f"a run that is {status}", set_run("status", status))
            for status in ("running", "failed", "interrupted")
        ),
        unsealed("no manifest", delete(MANIFEST)),
    ),
    "bundle-readable": (
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
    "request-readable": (
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
}
