"""Faults that the rules of suite.compliance.rules.every_rank find, by rule."""

from collections.abc import Iterator

from tests.faults.edits.fault import Fault, recomputed
from tests.faults.edits.rank_log_edits import (
    reboot_rank,
    remove_of_rank,
    set_of_rank,
    shift_rank,
)
from tests.faults.edits.table_edits import scale_column_of_rank, set_column_of_rank


def _request_faults() -> Iterator[Fault]:
    for key, value in (
        ("seed", 77),
        ("global_batch_size", 64),
        ("opt_base_learning_rate", 0.01),
        ("train_samples", 30_000),
        ("parameters", 500),
    ):
        yield recomputed(f"rank 1's {key} = {value}", set_of_rank(1, key, value), ranks=2)
    yield recomputed(
        "rank 1's framework_version = '9'", set_of_rank(1, "framework_version", "9"), ranks=2
    )
    yield recomputed("rank 1's model not logged", remove_of_rank(1, "model"), ranks=2)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "ranks-request": tuple(_request_faults()),
    "ranks-results": (
        recomputed(
            "rank 1's second accuracy lower",
            set_of_rank(1, "eval_accuracy", 0.97, 1, correct=9700),
            ranks=2,
        ),
        recomputed(
            "rank 1's status 'aborted'",
            set_of_rank(1, "run_stop", None, status="aborted"),
            ranks=2,
        ),
        recomputed(
            "rank 1 without its second evaluation",
            remove_of_rank(1, "eval_accuracy", 1),
            ranks=2,
        ),
        recomputed(
            "rank 1 counts a step less in epoch 2",
            set_of_rank(1, "epoch_stop", None, 1, steps=468),
            ranks=2,
        ),
    ),
    "ranks-clock": (
        recomputed(
            "another boot of rank 1 from its second epoch on",
            reboot_rank(1, "epoch_stop"),
            ranks=2,
        ),
        recomputed(
            "rank 1's run_stop an hour earlier",
            shift_rank(1, "run_stop", -3600 * 10**9),
            ranks=2,
        ),
    ),
    "ranks-in-step": (
        recomputed(
            "half of rank 1's compute time", scale_column_of_rank(1, "compute_s", 0.5), ranks=2
        ),
        recomputed(
            "rank 1's steps twice as far apart",
            scale_column_of_rank(1, "start_ns", 2.0),
            ranks=2,
        ),
    ),
    "ranks-exchange": (
        recomputed(
            "no communication on either rank",
            set_column_of_rank(None, "communication_s", 0.0),
            ranks=2,
        ),
        recomputed(
            "no communication in nine of ten steps of rank 1",
            set_column_of_rank(1, "communication_s", 0.0, every=10),
            ranks=2,
        ),
        recomputed(
            "communication in a run of one rank",
            set_column_of_rank(0, "communication_s", 0.0005),
        ),
    ),
}
