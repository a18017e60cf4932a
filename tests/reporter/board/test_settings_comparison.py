"""The values of a sweep's setting are compared where its other settings are equal."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas
import pytest

from reporter.board.settings_comparison import (
    SettingComparison,
    _corrected,
    _p,
    compare_settings,
)
from reporter.data.frames import FIGURES, POINTS, RUNS, Frames, make_frame
from suite.errors import SuiteError
from suite.metrics.comparisons import OTHER_INSTRUMENTS, run_statistics

E = math.e


def frames(
    *runs: tuple[str, dict[str, float | None], float | None], places: Sequence[str] = ()
) -> Frames:
    """Of runs with their study, their settings and their step; None has the reason "short".
    ``places`` are the runs' folders."""
    names = [f"r{number}" for number in range(len(runs))]
    points = make_frame(
        [{"run_id": name, "study": study} for name, (study, _, _) in zip(names, runs, strict=True)],
        POINTS,
    )
    for setting in ("batch_size", "threads"):
        points[setting] = [settings.get(setting) for _, settings, _ in runs]
    figures = [
        {"run_id": name, "figure": "step_s", "value": step_s, "reason": None if step_s else "short"}
        for name, (_, _, step_s) in zip(names, runs, strict=True)
    ]
    placed = make_frame(
        [{"run_id": name, "path": place} for name, place in zip(names, places, strict=False)], RUNS
    )
    others: Any = dict.fromkeys(
        ("epochs", "entries", "entry_figures", "broken"), pandas.DataFrame()
    )
    return Frames(
        **others,
        runs=placed,
        figures=make_frame(figures, FIGURES),
        points=points,
        verdicts={},
        digests={},
    )


def at(batch_size: float, threads: float | None, *steps_s: float | None, study: str = "a") -> Any:
    settings = {"batch_size": batch_size, "threads": threads}
    return [(study, settings, step_s) for step_s in steps_s]


def test_each_pair_of_values_is_compared_at_each_combination_of_the_others() -> None:
    found = compare_settings(
        frames(
            *at(32, 2, 4.0, 4.0),
            *at(16, 4, 1.0, 1.0, 1.0),
            *at(16, 2, 2.0, 2.0),
            *at(16, 1, 6.0, 6.0),
            *at(16, 2, 9.0, 9.0, study="b"),
            *at(16, 8, 3.0, 3.0, study="b"),
            *at(16, None, 3.0, 3.0, study="c"),
        ),
        "threads",
    )
    told = [(pair.study, pair.where, pair.value, pair.base, pair.runs) for pair in found]
    assert told == [
        ("a", "batch_size 16", "1", "2", 2),
        ("a", "batch_size 16", "1", "4", 2),
        ("a", "batch_size 16", "2", "4", 2),
        ("b", "batch_size 16", "2", "8", 2),
    ]
    assert [pair.ratio for pair in found] == pytest.approx([3, 6, 2, 3])
    assert all(pair.differs and pair.p_corrected == 0 for pair in found), "nothing scatters"


def test_studies_of_one_title_are_compared_each_on_its_own() -> None:
    """As of two workloads: every sweep of threads has that title."""
    small, large = (
        [*at(16, 1, *[step_s] * 3), *at(16, 2, *[step_s / ratio] * runs)]
        for step_s, ratio, runs in ((2.0, 2, 3), (900.0, 3, 6))
    )
    places = [*["small/1-r1"] * len(small), *["large/1-r1"] * len(large)]
    found = compare_settings(frames(*small, *large, places=places), "threads")
    assert [(pair.study, pair.value, pair.base, pair.runs) for pair in found] == [
        ("a", "1", "2", 3)
    ] * 2
    assert [pair.ratio for pair in found] == pytest.approx([2, 3])


def test_a_pair_that_cannot_be_compared_says_which_value_and_why() -> None:
    few = (
        "an interval needs at least 2 runs of each value, but this value has only 1; run the sweep"
        " with more --seeds (a study: --repetitions)"
    )
    rows = [*at(16, 1, 6.0), *at(16, 2, 2.0, None), *at(16, 4, 1.0, E**2)]
    pairs = compare_settings(frames(*rows), "threads")
    assert [pair.reason for pair in pairs] == [f"1: {few}; 2: short", f"1: {few}", "2: short"]
    assert {(pair.ratio, pair.p, pair.differs) for pair in pairs} == {(None, None, None)}
    (zero,) = compare_settings(frames(*at(1, 1, 0.0, 2.0), *at(1, 2, 1.0, 1.0)), "threads")
    assert zero.reason == "1: a run has the value 0, and ratios need positive values"
    for by, figure in (("workers", "step_s"), ("threads", "energy_j")):
        with pytest.raises(
            SuiteError, match=f"these sweeps vary batch_size, threads|{figure}.*step_s"
        ):
            compare_settings(frames(*rows), by, figure)


def test_energies_of_two_instruments_are_not_compared() -> None:
    """A meter was attached during the sweep, so that one run has another's energy."""
    found = frames(*at(1, 1, 1.0, 1.0), *at(1, 2, 2.0, 2.0), *at(1, 4, 4.0, 4.0))
    figures = found.figures.assign(covers="board", tier=["estimate"] * 5 + ["wall meter"])
    pairs = compare_settings(replace(found, figures=figures), "threads")
    assert [(pair.ratio, pair.reason) for pair in pairs] == [
        (pytest.approx(0.5), None),
        (None, OTHER_INSTRUMENTS),
        (None, OTHER_INSTRUMENTS),
    ]


def test_p_is_student_s_with_the_freedom_of_the_smaller_side() -> None:
    """Logarithms {0, 2} and four of 0: t = 1 with two degrees of freedom, p = 1 - 1/sqrt(3)."""
    few, many = run_statistics([1.0, E**2]), run_statistics([1.0] * 4)
    assert _p(few, many) == _p(many, few) == pytest.approx(1 - 1 / math.sqrt(3))
    assert _p(few, few) == 1.0 and _p(many, many) == 1.0
    assert _p(many, run_statistics([2.0] * 4)) == 0.0


def test_a_corrected_p_is_never_below_that_of_a_smaller_one() -> None:
    """Holm, of four: 0.01 x 4, 0.03 x 3, 0.04 x 2 and 0.5."""
    tested = (0.04, None, 0.01, 0.03, 0.5)
    pairs = [SettingComparison("", "", "", "", 2, p=p) for p in tested]
    found = list(_corrected(pairs))
    corrected = [pair.p_corrected for pair in found]
    assert corrected[1] is None and corrected[:1] + corrected[2:] == pytest.approx(
        [0.09, 0.04, 0.09, 0.5]
    )
    assert [pair.differs for pair in found] == [False, None, True, False, False]
    likely = [SettingComparison("", "", "", "", 2, p=p) for p in (0.6, 0.7, 0.8)]
    assert [pair.p_corrected for pair in _corrected(likely)] == [1.0] * 3
    (one,) = _corrected(pairs[:1])
    assert (one.p_corrected, one.differs) == (0.04, True)
