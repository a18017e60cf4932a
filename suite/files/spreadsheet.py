"""Text of strangers in CSV files, which spreadsheets open: a cell that begins like a formula is one
to them."""

import csv
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import pandas

_FORMULA = re.compile(r"\s*[=+@\uff1d\uff0b\uff20\uff0d-]")
"""The wide forms of the four signs begin a formula in East Asian settings."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def problem_of_text(text: str) -> str | None:
    """Why free text is refused; None where it is not."""
    if _FORMULA.match(text):
        return f"it begins with {text.lstrip()[0]!r}, like a spreadsheet formula"
    return "it has control characters" if _CONTROL.search(text) else None


def safe_cell(value: object) -> object:
    """A value of a CSV file: text that a spreadsheet would compute gets an apostrophe before it,
    and control characters are left out."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    text = _CONTROL.sub("", value)
    return f"'{text}" if _FORMULA.match(text) else text


def safe_frame(frame: "pandas.DataFrame") -> "pandas.DataFrame":
    """The frame with safe names of columns and cells, for its ``to_csv``."""
    return frame.rename(columns=safe_cell).map(safe_cell)


def write_rows(rows: Iterable[Iterable[object]], stream: TextIO) -> None:
    """Write rows of safe cells as CSV, each line ended by a line feed."""
    csv.writer(stream, lineterminator="\n").writerows(map(safe_cell, row) for row in rows)
