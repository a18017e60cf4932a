"""Faults that the rules of suite.compliance.rules.submission_entries find, by rule."""

from suite.submission.declaration import NAME
from tests.faults.edits.fault import Fault, of_first_run, of_submission, recomputed, sealed
from tests.faults.edits.file_edits import set_system
from tests.faults.edits.log_edits import set_everywhere
from tests.faults.edits.submission_edits import delete_run, forget_run, set_value
from tests.faults.edits.table_edits import drop_power

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-runs": (
        of_submission("two runs only", forget_run(3)),
        of_first_run(
            sealed(
                "another learning rate within its range, in one run",
                set_everywhere("optimizer.base_learning_rate", 0.01),
            )
        ),
    ),
    "submission-seeds": (of_first_run(sealed("the seed of run 2", set_everywhere("seed", 2))),),
    "submission-entries": (
        of_first_run(
            sealed("one run with another batch size", set_everywhere("global_batch_size", 64))
        ),
        of_first_run(
            sealed("one run with another number of threads", set_everywhere("threads", 1))
        ),
        of_first_run(sealed("one run of the open division", set_everywhere("division", "open"))),
    ),
    "submission-software": (
        of_first_run(sealed("one run with another Python", set_system("python", "3.12.1"))),
        of_first_run(
            sealed("one run with another NumPy", set_system("libraries", {"numpy": "1.26.0"}))
        ),
        of_first_run(
            sealed(
                "one run with another version of the framework",
                set_system("framework_version", "2.0.0"),
            )
        ),
    ),
    "submission-launches": (
        of_submission("no launches declared", set_value(NAME, "entries", [])),
        of_submission("the slowest run left out", delete_run(3)),
        of_submission(
            "a run that was not declared",
            set_value(NAME, "entries.0.launches.0.run_id", "another"),
        ),
        of_submission(
            "a launch of another workload",
            set_value(
                NAME, "entries.0.launches.0.run_id", "resnet18-pytorch-20270115T080000Z-000001"
            ),
        ),
        of_submission(
            "a submitted run declared as failed",
            set_value(NAME, "entries.0.launches.0.status", "failed"),
        ),
        of_submission("five runs planned", set_value(NAME, "entries.0.planned_runs", 5)),
    ),
    "submission-numbers": (of_submission("run 2 taken out", delete_run(2)),),
    "submission-power-meters": (
        of_first_run(recomputed("one run without its power readings", drop_power())),
    ),
}
