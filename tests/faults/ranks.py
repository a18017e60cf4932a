"""Faults that the rules of suite.compliance.rules.ranks find, by check."""

from collections.abc import Iterator

from reference_impls.contract import log_name
from suite.compliance.rules.ranks import COMPARED
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
    shift_clock_offset,
)
from tests.faults.edits.rank_log_edits import remove_of_rank, set_in_all_logs, set_of_rank

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
    "ranks-agree": tuple(_rewritten_faults()),
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
    "ranks-admitted": (
        *(
            recomputed(
                f"other {kind} on rank 1",
                set_of_rank(1, "admission", {**dict.fromkeys(COMPARED, "0" * 64), kind: "1" * 64}),
                ranks=2,
            )
            for kind in COMPARED
        ),
        recomputed("no admission of rank 1", remove_of_rank(1, "admission"), ranks=2),
        recomputed("no admission of rank 0", remove_of_rank(0, "admission"), ranks=2),
        recomputed("no digests admitted", set_in_all_logs("admission", None), ranks=2),
    ),
}
