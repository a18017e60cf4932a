"""Faults that the rules of suite.compliance.rules.ranks find, by rule."""

from collections.abc import Iterator

from reference_impls.contract import log_name
from tests.faults.edits.fault import Fault, both, of_first_run, recomputed, sealed, unsealed
from tests.faults.edits.file_edits import (
    change_lines,
    copy_from_second_run,
    halve,
    rechained,
    replace_in_line,
    resealed,
)
from tests.faults.edits.log_edits import (
    EPOCHS,
    add_correct,
    reverse_chain_heads,
    set_metadata,
    set_request,
    shift_clock_offset,
)
from tests.faults.edits.table_edits import drop_rank, rename_rank, set_cell, shrink_share

OTHER_LOG = log_name(1)


def _rewritten_faults() -> Iterator[Fault]:
    """One rank's log rewritten; the manifest is made to fit."""
    yield unsealed("rank 1's log cut in half", resealed(halve(OTHER_LOG)), ranks=2)
    yield of_first_run(
        unsealed("rank 1's log of another run", resealed(copy_from_second_run(OTHER_LOG)), ranks=2)
    )
    for key in ("seed", "run_start", "epoch_stop"):
        change = replace_in_line(key, '"time_ms": 1', '"time_ms": 2')
        yield unsealed(f"rank 1's {key} edited", resealed(change_lines(OTHER_LOG, change)), ranks=2)
        yield unsealed(
            f"rank 1's {key} edited, its chain made to fit",
            resealed(change_lines(OTHER_LOG, rechained(change))),
            ranks=2,
        )
    for number in EPOCHS:
        yield recomputed(
            f"rank 0's chain heads {number + 1} in another order",
            reverse_chain_heads(number),
            ranks=2,
        )
        yield from both(
            f"rank 0's accuracy {number + 1} a sample better, with its count",
            add_correct(number, 1),
            ranks=2,
        )
    yield recomputed(
        "the second node's clock offset a millisecond larger after the run",
        shift_clock_offset(1, 10**6),
        ranks=2,
    )
    yield recomputed(
        "an event of rank 0 under rank 1's name", set_metadata("run_stop", rank=1), ranks=2
    )
    yield sealed("an event of rank 1 in a run of one rank", set_metadata("run_stop", rank=1))


FAULTS: dict[str, tuple[Fault, ...]] = {
    "ranks-complete": (
        *both("a step of rank 1 in a run of one rank", set_cell("rank", 20, 1)),
        *both("rank 1 left out of the steps", drop_rank(1), ranks=2),
        recomputed("rank 1's steps as rank 2's", rename_rank(1, 2), ranks=2),
        *both("rank 1 took less than its share", shrink_share(1), ranks=2),
        recomputed("1 rank requested", set_request("parallel.ranks", 1), ranks=2),
        *both("3 ranks requested", set_request("parallel.ranks", 3), ranks=2),
    ),
    "ranks-agree": tuple(_rewritten_faults()),
}
