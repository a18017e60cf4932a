"""The second table of docs/host-faults.md has a row for every situation, and none that ended badly."""

import pytest

from tests.host_faults.__main__ import DOCUMENT, rows_of
from tests.host_situations.__main__ import BEGIN, Outcome
from tests.host_situations.situations import SITUATIONS, Situation, nothing


def test_every_situation_has_its_row_and_none_ended_badly() -> None:
    rows = rows_of(DOCUMENT.read_text(encoding="utf-8"), BEGIN)
    assert list(rows) == [situation.name for situation in SITUATIONS]
    assert not [line for line in rows.values() if "**bad**" in line]


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
def test_what_ends_badly(is_wrong: bool, exit_code: int, complies: bool, left: int, has_traceback: bool, is_bad: bool) -> None:
    situation = Situation("a situation", nothing, is_wrong)
    assert Outcome(situation, 1.0, exit_code, "", None, complies, 0, left, has_traceback).is_bad is is_bad
