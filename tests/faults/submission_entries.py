"""Faults that the rules of suite.compliance.rules.submission_entries find, by check."""

from reference_impls.contract import ASYNCHRONOUS
from suite.submission.declaration import NAME
from tests.faults.edits.fault import (
    Fault,
    in_turn,
    of_every_run,
    of_first_run,
    of_submission,
    recomputed,
    sealed,
)
from tests.faults.edits.file_edits import edit_json, set_run
from tests.faults.edits.log_edits import request_also, set_everywhere
from tests.faults.edits.reading_edits import add_channel, drop_power
from tests.faults.edits.step_edits import without_split
from tests.faults.edits.submission_edits import declare_apart, delete_run, forget_run, set_value

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
    "submission-unfinished": (
        of_submission(
            "a launch that failed",
            lambda submission: edit_json(
                submission / NAME,
                "entries.0.launches",
                lambda launches: [*launches, {"run_id": "one", "status": "failed"}],
            ),
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
            "a run declared twice, of four planned",
            in_turn(
                set_value(NAME, "entries.0.planned_runs", 4),
                lambda submission: edit_json(
                    submission / NAME,
                    "entries.0.launches",
                    lambda launches: [*launches, launches[0]],
                ),
            ),
        ),
        of_submission(
            "a submitted run declared as failed",
            set_value(NAME, "entries.0.launches.0.status", "failed"),
        ),
        of_submission("five runs planned", set_value(NAME, "entries.0.planned_runs", 5)),
        of_submission("an entry declared as two, one with nine failures", declare_apart()),
    ),
    "submission-numbers": (of_submission("run 2 taken out", delete_run(2)),),
    "submission-power-meters": (
        of_first_run(recomputed("one run without its power readings", drop_power())),
        of_first_run(
            recomputed(
                "an energy counter that was read in one run only",
                add_channel("rapl", "package-0", "J", lambda time_s: 100.0 + 2.5 * time_s),
            )
        ),
    ),
    "submission-split": (
        of_every_run(
            recomputed(
                "asynchronous timing on a GPU, and no run that splits a step",
                in_turn(
                    set_everywhere("accelerator", "cuda"),
                    request_also("timing", ASYNCHRONOUS),
                    without_split(),
                ),
            )
        ),
    ),
    "submission-studies": (
        of_first_run(
            sealed(
                "a run of a study",
                set_run(
                    "study",
                    {"title": "Batches", "settings": {"batch_size": "16"}, "warm_up_steps": 5},
                ),
            )
        ),
        of_first_run(sealed("a run whose mark cannot be read", set_run("study", {}))),
        of_first_run(
            sealed(
                "a run of a sweep without its mark",
                set_run("command", ["suite", "sweep", "--vary", "batch_size=16,32"]),
            )
        ),
    ),
}
