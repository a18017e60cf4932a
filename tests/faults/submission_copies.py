"""Faults that the rules of suite.compliance.rules.submission_copies find, by check."""

from tests.faults.edits.fault import Fault, of_first_run, of_submission, sealed
from tests.faults.edits.log_edits import rename_boot
from tests.faults.edits.submission_edits import (
    copy_data_record,
    copy_digests,
    copy_first_run,
    copy_from_second,
    copy_later_losses,
    copy_losses,
    copy_losses_with_noise,
    copy_memory,
    copy_power,
    copy_readings,
    copy_step_times,
    copy_with_noise,
    move_to_first,
    rename_run,
    rename_run_and_output,
    repeat_seed_in_own_entry,
)

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-duplicates": (
        of_submission("run 1 again as run 4", copy_first_run()),
        of_submission(
            "run 1 again as run 4, under another id and seed", copy_first_run(rename_run)
        ),
        of_submission(
            "run 1 again as run 4, another file renamed", copy_first_run(rename_run_and_output)
        ),
        of_submission("run 1 with run 2's step times", copy_from_second(copy_step_times)),
        of_submission("run 1 with run 2's readings", copy_from_second(copy_readings)),
        of_submission("run 1 with run 2's digests of the data", copy_from_second(copy_data_record)),
    ),
    "submission-near-copies": (
        of_submission("run 1 as run 4, with noise", copy_with_noise(0.01)),
        of_submission(
            "run 1 as run 4, with noise, a hundredth slower", copy_with_noise(0.03, 1.01)
        ),
        of_submission(
            "run 1's steps as run 4, in another order",
            copy_with_noise(0.0, 1.0, is_shuffled=True),
        ),
        of_submission(
            "run 1 with run 2's losses, with noise", copy_from_second(copy_losses_with_noise)
        ),
        of_submission("run 1 with run 2's power", copy_from_second(copy_power)),
        of_submission("run 1 with run 2's memory", copy_from_second(copy_memory)),
    ),
    "submission-losses": (
        of_submission(
            "run 1 with run 2's losses and seed, as an entry of its own",
            repeat_seed_in_own_entry(),
        ),
    ),
    "submission-seed-losses": (
        of_submission("run 1 with run 2's losses", copy_from_second(copy_losses)),
        of_submission(
            "run 1 with run 2's losses from step 101 on", copy_from_second(copy_later_losses)
        ),
    ),
    "submission-states": (
        of_submission("run 1 with run 2's digests", copy_from_second(copy_digests)),
    ),
    "submission-overlap": (
        of_submission("run 2 at the time of run 1", move_to_first(0.0)),
        of_submission("run 2 six seconds after run 1", move_to_first(6.0)),
    ),
    "submission-boots": (of_first_run(sealed("another boot id of run 1", rename_boot())),),
}
