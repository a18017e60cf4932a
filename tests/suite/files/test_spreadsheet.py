"""What a spreadsheet would compute is text in every CSV file, and numbers stay numbers."""

import pytest

from suite.files.spreadsheet import problem_of_text, safe_cell


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\t=1", " =1"])
def test_a_formula_is_neutralised_and_refused(text: str) -> None:
    assert safe_cell(text) == f"'{text}" and "begins with" in str(problem_of_text(text))


@pytest.mark.parametrize("value", ["-1.5e-3", "+7", "-inf", 3.5, None, "a fan, 21 °C = cool"])
def test_what_is_no_formula_stays(value: object) -> None:
    assert safe_cell(value) == value


def test_control_characters_are_left_out() -> None:
    assert safe_cell("a\x07\x1b[2Jb") == "a[2Jb" and problem_of_text("a\x07b") is not None
    assert problem_of_text("two\nlines") is None
