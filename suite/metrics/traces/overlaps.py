"""Columns or series that measure the same power: their sum is no power of the machine."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from suite.bundle.arrays import Values
from suite.errors import SuiteError
from suite.metrics.traces.columns import column_names, floats_of, words_of_name
from suite.metrics.traces.head import Head

STATISTICS = re.compile(
    r"\b(in|draw|instant(aneous)?|current|average|avg|mean|min(imum)?|max(imum)?|peak|median)\b",
    re.I,
)
"""Of one power."""
LIMIT = re.compile(r"\b(limit|cap|tdp)\b", re.I)
GENERIC = re.compile(
    r"\b(power|energy|draw|consumption|watts?|joules?|[mku]?w|[mk]?wh|[mu]?j)\b", re.I
)
TOTAL = re.compile(r"(total|tot|combined|sum|all|whole|overall)", re.I)
PACKAGE = re.compile(r"\b(package|pkg|pkgwatt|processor)\b", re.I)
IN_PACKAGE = re.compile(r"\b(ia|cores?|gt|uncore|pp0|pp1|corwatt|gfxwatt)\b", re.I)
"""RAPL's domains of cores and graphics are parts of its package."""
SAME, IN_ROWS, MIN_PART = 0.02, 0.9, 0.05
"""A column that is the sum of others to within this share, in this share of the rows, is their
total; a part is at least MIN_PART of it."""
REMEDY = (
    "Name the column that measured the machine, or columns none of which includes or repeats"
    " another."
)


def refuse_overlaps(head: Head, columns: Sequence[int], decimal: str) -> None:
    """Raise SuiteError for columns to add of which one includes or repeats another, by their names
    or their numbers."""
    if len(columns) < 2:
        return
    problem = _by_names([head.names[column] for column in columns]) or _by_numbers(
        [floats_of([row[column] for row in head.rows], decimal) for column in columns]
    )
    if problem is not None:
        whole, parts, why = problem
        raise SuiteError(
            f"{head.names[columns[whole]]!r} {why}"
            f" {column_names(head, [columns[part] for part in parts])}: they cannot be added up."
            f" {REMEDY}"
        )


def refuse_repeated_total(series: Mapping[str, Values]) -> None:
    """Raise SuiteError for series to add whose values are those of another one."""
    for (name, values), (other, again) in combinations(series.items(), 2):
        count = min(len(values), len(again))
        one, two = values[:count], again[:count]
        # idle devices that show whole watts are often equal
        is_load = one != np.median(one) if count else np.zeros(0, bool)
        if is_load.any() and np.mean(one[is_load] == two[is_load]) >= IN_ROWS:
            raise SuiteError(
                f"The series {name!r} and {other!r} have the same values: the column holds a"
                " total that was written for each series, so the sum of the series would count it"
                f" twice. Add --series {name!r}, or give --power a column that has the power of"
                " each series."
            )


Problem = tuple[int, tuple[int, ...], str]


def _by_names(names: Sequence[str]) -> Problem | None:
    words = [words_of_name(name) for name in names]
    for place, name in enumerate(words):
        others = tuple(other for other in range(len(names)) if other != place)
        parts = tuple(other for other in others if IN_PACKAGE.search(words[other]))
        if LIMIT.search(name):
            return place, others, "is a limit, not a measurement, unlike"
        if TOTAL.fullmatch(_plain(GENERIC.sub(" ", name))):
            return place, others, "includes"
        if PACKAGE.search(name) and parts:
            return place, parts, "includes"
    roots = [_plain(STATISTICS.sub(" ", name)) for name in words]
    for one, other in combinations(range(len(names)), 2):
        # columns of one name may be those of two devices
        if roots[one] == roots[other] and names[one] != names[other]:
            return one, (other,), "is the same power as"
    return None


def _by_numbers(values: Sequence[Values]) -> Problem | None:
    """The column that is the sum of all others; two that are equal may be two rails."""
    for place in range(len(values)) if len(values) > 2 else ():
        parts = tuple(other for other in range(len(values)) if other != place)
        if _is_sum(values[place], np.array([values[part] for part in parts])):
            return place, parts, "is the sum of"
    return None


def _is_sum(whole: Values, parts: Values) -> bool:
    added = parts.sum(axis=0)
    known = added[np.isfinite(added)]
    if not len(known) or np.ptp(known) == 0:
        return False
    least = np.nanmean(parts, axis=1).min() >= MIN_PART * known.mean()
    return bool(least and np.mean(np.abs(whole - added) <= SAME * np.abs(added)) >= IN_ROWS)


def _plain(name: str) -> str:
    return " ".join(name.split()).lower()
