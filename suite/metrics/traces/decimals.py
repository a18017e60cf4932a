"""The decimal sign of a logger's numbers, and the sign between their groups of three digits."""

import re
from collections.abc import Collection
from typing import Any

from suite.errors import SuiteError
from suite.metrics.traces.head import Head

GROUPING = {".": ",", ",": "."}
"""The sign between groups of three digits, by the decimal sign."""
BLANKS = " \u00a0\u202f'’"
"""Other signs between groups of three digits."""
MIN_CELLS = 20
"""Numbers that all have three digits behind the sign by accident are fewer."""


def decimal_sign(head: Head) -> str:
    """The decimal sign: not one that stands twice in a number, else the more frequent one."""
    for grouping, decimal in ((".", ","), (",", ".")):
        if any(
            re.fullmatch(rf"[-+]?\d{{1,3}}(?:\{grouping}\d{{3}}){{2,}}(?:\{decimal}\d*)?", cell)
            for row in head.rows
            for cell in row
        ):
            return decimal
    commas = sum(bool(re.fullmatch(r"[-+]?\d*,\d+\D*", cell)) for row in head.rows for cell in row)
    points = sum(bool(re.fullmatch(r"[-+]?\d*\.\d+\D*", cell)) for row in head.rows for cell in row)
    return "," if commas > points else "."


def refuse_ambiguous(head: Head, columns: Collection[int], times: Collection[int]) -> None:
    """Raise SuiteError where every number of a column has three digits behind its one sign, which
    may group thousands, and nothing in the file shows that the sign is the decimal one.

    Between commas a number has a decimal point.
    """
    if head.log:
        return
    for column in columns:
        cells = [row[column] for row in head.rows if re.search(r"\d", row[column])]
        for sign in ".,":
            # 950 beside 1.050; with commas such a column is read as thousands
            plain = r"|[-+]?[1-9]\d{0,2}" if sign == "." else ""
            pattern = rf"(?:[-+]?[1-9]\d{{0,2}}\{sign}\d{{3}}{plain})(?:\s*[A-Za-zµμ]+)?"
            signed = [cell for cell in cells if sign in cell]
            if not signed or len(cells) < MIN_CELLS:
                continue
            if not all(re.fullmatch(pattern, cell) for cell in cells):
                continue
            if (sign, head.delimiter) == (".", ",") or _is_decimal(head, sign, times):
                continue
            number, is_mixed = re.sub(r"[^-+\d.,]", "", signed[0]), sign != decimal_sign(head)
            decimals = (
                "export the file with one decimal sign" if is_mixed else f"add `--decimal {sign}`"
            )
            raise SuiteError(
                f"The numbers of {head.names[column]!r} can be read in two ways: add"
                f" `--decimal {GROUPING[sign]}` if {number} means {number.replace(sign, '')};"
                f" {decimals} if it means a number between {number[:-4]} and"
                f" {int(number[:-4]) + 1}."
            )


def _is_decimal(head: Head, sign: str, times: Collection[int]) -> bool:
    """Whether a cell of the file has a number whose sign groups no thousands."""
    number = rf"[-+]?(?:0?\{sign}\d+|\d{{4,}}\{sign}\d+|\d+\{sign}(?:\d{{1,2}}|\d{{4,}}))"
    grouped = rf"[-+]?\d{{1,3}}(?:\{GROUPING[sign]}\d{{3}})+\{sign}\d+"
    shown = re.compile(f"{number}|{grouped}")
    # the seconds of times have a decimal point in every country, a comma where numbers have one
    of_times = re.compile(r"\d:\d\d,\d")
    return any(
        shown.fullmatch(cell) or (sign == "," and place in times and of_times.search(cell))
        for row in head.rows
        for place, cell in enumerate(row)
    )


def without_grouping(cells: Any, decimal: str, *, is_stated: bool = False) -> Any:
    """Numbers such as 1,234.5 or 1 234,5 without the sign between their groups of three digits.

    1,234 alone may be a number with three decimals: it is taken for 1234 only where other cells of
    the column show that the sign groups digits, or the decimal sign ``is_stated``.
    """
    blank = cells.str.fullmatch(
        rf"[-+]?\d{{1,3}}(?:[{BLANKS}]\d{{3}})+(?:{re.escape(decimal)}\d*)?"
    )
    cells = cells.where(~blank, cells.str.replace(f"[{BLANKS}]", "", regex=True))
    sign, point = re.escape(GROUPING[decimal]), re.escape(decimal)
    one = cells.str.fullmatch(rf"[-+]?\d{{1,3}}{sign}\d{{3}}")
    surely = cells.str.fullmatch(
        rf"[-+]?\d{{1,3}}(?:(?:{sign}\d{{3}})+{point}\d*|(?:{sign}\d{{3}}){{2,}})"
    )
    is_plain = one.any() and cells.str.fullmatch(r"[-+]?\d{1,3}").any()
    if is_stated or surely.any() or is_plain:
        return cells.where(~(one | surely), cells.str.replace(GROUPING[decimal], "", regex=False))
    return cells
