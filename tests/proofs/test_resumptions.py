"""The table of `make prove resumptions`: kills that left nothing to resume are not among the runs
that were resumed."""

from proofs.resumptions.__main__ import ENDED, NOTHING_KEPT, OTHER, SAME, table


def test_kills_before_a_first_state_are_apart_from_runs_that_were_resumed() -> None:
    counted = {
        ("pytorch", 0, NOTHING_KEPT): 9,
        ("pytorch", 1, SAME): 17,
        ("pytorch", 3, SAME): 2,
        ("pytorch", 1, OTHER): 1,
        ("pytorch", 0, ENDED): 4,
    }
    assert (
        table(counted).splitlines()[-1] == "| pytorch | 29 | 9 | 20 (18 once, 2 three times) | 19 |"
    )


def test_a_framework_of_which_nothing_was_resumed_has_a_row() -> None:
    assert (
        table({("chainer", 0, NOTHING_KEPT): 3}).splitlines()[-1]
        == "| chainer | 3 | 3 | 0 (none) | 0 |"
    )
