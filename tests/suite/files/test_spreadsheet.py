"""What a spreadsheet would compute is text in every CSV file, and numbers stay numbers."""

import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas
import pytest

from reporter.pages import exports
from suite.cli import export
from suite.files.paths import repository_root
from suite.files.spreadsheet import problem_of_text, safe_cell, write_rows


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-cmd|x", "@SUM(A1)", "\t=1", " =1", "\uff1d1+1", "\uff20SUM(A1)"]
)
def test_a_formula_is_neutralised_and_refused(text: str) -> None:
    assert safe_cell(text) == f"'{text}" and "begins with" in str(problem_of_text(text))


@pytest.mark.parametrize("value", ["-1.5e-3", "+7", "-inf", 3.5, None, "a fan, 21 °C = cool"])
def test_what_is_no_formula_stays(value: object) -> None:
    assert safe_cell(value) == value


def test_control_characters_are_left_out() -> None:
    assert safe_cell("a\x07\x1b[2Jb") == "a[2Jb" and problem_of_text("a\x07b") is not None
    assert problem_of_text("two\nlines") is None


FORMULAS = pandas.DataFrame({"=name": ["=1+1", "@SUM(A1)", "plain"], "value": [-1.5, 2.0, 3.0]})
NEUTRALISED = "'=name,value\n'=1+1,-1.5\n'@SUM(A1),2.0\nplain,3.0\n"


def test_a_board_s_file_has_no_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "board_frame", lambda _board: FORMULAS)
    pages = exports.board_files(cast(Any, SimpleNamespace(slug="board")))
    assert next(pages).content == NEUTRALISED


def test_an_exported_file_has_no_formula(tmp_path: Path) -> None:
    export._write(FORMULAS, tmp_path / "runs.csv")
    assert (tmp_path / "runs.csv").read_text() == NEUTRALISED


def test_rows_have_no_formula() -> None:
    stream = io.StringIO()
    write_rows([FORMULAS.columns, *FORMULAS.itertuples(index=False)], stream)
    assert stream.getvalue() == NEUTRALISED


def test_text_of_strangers_is_written_by_these_functions() -> None:
    """What else writes CSV writes the suite's own words: readings, labels of prepared data."""
    root, own = repository_root(), re.compile(r"csv\.writer\(|(?<!def )\bto_csv\(")
    found = {
        path.relative_to(root).as_posix()
        for top in ("suite", "reporter", "extensions")
        for path in (root / top).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if own.search(line) and "safe_frame(" not in line
    }
    assert found == {
        "reporter/papers/items.py",  # calls write_rows by the papers' to_csv
        "suite/datasets/class_folders.py",
        "suite/datasets/synthetic.py",
        "suite/execution/readings_file.py",
        "suite/files/spreadsheet.py",
    }
