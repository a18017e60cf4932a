"""The table of situations has a row for each, with what it said; what ended badly is marked."""

import pytest

from proofs.host_situations.__main__ import Outcome, table
from proofs.host_situations.situations import SITUATIONS, Situation, nothing


def test_every_situation_has_its_row_and_what_ended_badly_is_marked() -> None:
    lines = table(
        [Outcome(situation, 1.0, 0, "", "complies", True, 2, 0, False) for situation in SITUATIONS]
    ).splitlines()
    rows = [
        line for line in lines if line.startswith("| ") and not line.startswith("| situation |")
    ]
    assert [row.split(" | ")[0] for row in rows] == [
        f"| {situation.name}" for situation in SITUATIONS
    ]
    assert [
        situation.name for situation, row in zip(SITUATIONS, rows, strict=True) if "**bad**" in row
    ] == [situation.name for situation in SITUATIONS if situation.is_wrong]


@pytest.mark.parametrize(
    ("is_wrong", "exit_code", "complies", "left", "has_traceback", "is_bad"),
    [
        (False, 0, True, 0, False, False),
        (False, 2, False, 0, False, True),  # an honest run that is refused
        (True, 2, False, 0, False, False),
        (True, 0, False, 0, False, False),  # the checker refuses it
        (True, 0, True, 0, False, True),  # a wrong result that is taken
        (True, 2, False, 1, False, True),
        (True, 2, False, 0, True, True),
    ],
)
def test_what_ends_badly(
    is_wrong: bool, exit_code: int, complies: bool, left: int, has_traceback: bool, is_bad: bool
) -> None:
    situation = Situation("a situation", nothing, is_wrong)
    assert (
        Outcome(situation, 1.0, exit_code, "", None, complies, 0, left, has_traceback).is_bad
        is is_bad
    )
