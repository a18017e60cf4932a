"""Pairs of a varied setting: their p by Student's test, and its correction for all pairs."""

from dataclasses import replace

import pytest

from reporter.board.settings_comparison import (
    SettingComparison,
    _corrected,
    _p,
    _pairs,
    _statistics_or_reason,
)
from reporter.data.frames import Row
from suite.metrics.comparisons import NEEDS_POSITIVE, RunStatistics, run_statistics


def pair(p: float | None) -> SettingComparison:
    return replace(SettingComparison("study", "", "a", "b", 3), p=p)


def test_the_kth_smallest_p_counts_for_those_not_yet_rejected_and_never_less_than_before() -> None:
    """Of four tests: 4 x 0.01, 3 x 0.011, 2 x 0.03, 1 x 0.9; the second is held at the first's."""
    found = list(_corrected([pair(0.9), pair(0.011), pair(None), pair(0.03), pair(0.01)]))
    corrected = [each.p_corrected for each in found]
    assert corrected == [0.9, pytest.approx(0.04), None, pytest.approx(0.06), pytest.approx(0.04)]
    assert [each.differs for each in found] == [False, True, None, False, True]
    assert [each.p_corrected for each in _corrected([pair(0.6), pair(0.7)])] == [1.0, 1.0]


def test_p_is_of_students_test_on_logarithms_with_the_runs_of_the_smaller_side() -> None:
    """Two runs beside five: t = 4.303 at two degrees of freedom is 5 % on both sides together."""
    variance = 0.2
    one, other = (
        RunStatistics(4.3027 * (variance / 2 + variance / 5) ** 0.5, variance, 2),
        RunStatistics(0.0, variance, 5),
    )
    assert _p(one, other) == _p(other, one) == pytest.approx(0.05, abs=1e-5)
    alike = run_statistics([2.0, 2.0])
    assert (_p(alike, alike), _p(alike, run_statistics([3.0, 3.0]))) == (1.0, 0.0)


def row(value: float | None, reason: str | None = None) -> Row:
    return {"value": value, "reason": reason}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([row(1.0), row(None), row(None, "lost")], "lost"),
        ([row(1.0), None, row(2.0)], "a run has no such figure"),
        ([row(1.0)], "1 run, and an interval needs 2 (--seeds)"),
        ([row(1.0), row(0.0), row(2.0)], NEEDS_POSITIVE),
    ],
)
def test_a_point_is_compared_only_where_all_its_runs_have_a_positive_value(
    rows: list[Row | None], reason: str
) -> None:
    assert _statistics_or_reason(rows) == reason


def test_pairs_are_of_the_value_over_the_base_and_name_what_is_missing() -> None:
    runs = {"4": ["a", "b", "c"], "2": ["d", "e"], "1": ["f", "g"]}
    of_runs = {"a": 6.0, "b": 6.6, "c": 5.5, "d": 2.0, "e": 2.1, "f": 1.0}
    values = {name: row(value) for name, value in of_runs.items()}
    first, *others = _pairs("study", "threads 1", runs, values)
    assert (first.value, first.base, first.runs, first.where) == ("4", "2", 2, "threads 1")
    expected = (6.0 * 6.6 * 5.5) ** (1 / 3) / (2.0 * 2.1) ** 0.5
    assert first.ratio == pytest.approx(expected)
    assert first.low is not None and first.high is not None and first.low < expected < first.high
    missing = "1: a run has no such figure"
    assert [(each.value, each.base, each.reason, each.p) for each in others] == [
        ("4", "1", missing, None),
        ("2", "1", missing, None),
    ]
