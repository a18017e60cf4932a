"""What a matrix says of its points: disturbed runs, times over the first, boards that differ."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reporter.data.study_kinds import matrix

FOLDER = Path()


def made(monkeypatch: pytest.MonkeyPatch, *points: list[tuple[float | None, object]]) -> Any:
    """A matrix of points p0, p1, … whose runs have these times of an epoch and foreign shares."""
    of_runs = [
        (f"{at}-{number}", run) for at, runs in enumerate(points) for number, run in enumerate(runs)
    ]
    figures = {
        name: {"time_to_epoch_s": {"value": time_s}, "foreign_cpu_share": {"value": share}}
        for name, (time_s, share) in of_runs
    }
    monkeypatch.setattr(matrix, "Bundle", str)
    monkeypatch.setattr(matrix, "read_summary", lambda name: {"figures": figures[name]})
    listed = [
        SimpleNamespace(
            name=f"p{at}",
            words=f"workers {at}",
            runs=[SimpleNamespace(folder=f"{at}-{number}") for number in range(len(runs))],
        )
        for at, runs in enumerate(points)
    ]
    return SimpleNamespace(points=listed, plan=SimpleNamespace(points=listed))


def test_each_point_s_time_is_over_that_of_the_first_one_with_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def times(*values: float | None) -> list[tuple[float | None, object]]:
        return [(value, 0.0) for value in values]

    found = made(
        monkeypatch,
        *([], times(2.0, 2.0), times(3.0, 3.0, 3.0), times(8.0, None), times(1.0, 4.0)),
    )
    assert list(matrix._differences(FOLDER, found)) == [
        "Time of an epoch, workers 2 over workers 1: 1.500 (95 % interval 1.500 to 1.500; 3 and 2"
        " runs): a difference.",
        # a standard error of ln 2, and t = 4.3027 with two degrees of freedom
        "Time of an epoch, workers 4 over workers 1: 1.000 (95 % interval 0.051 to 19.735; 2 and 2"
        " runs): no difference was found.",
    ]
    many = made(monkeypatch, *[times(1.0, 1.0)] * 15)
    assert len(list(matrix._differences(FOLDER, many))) == 12
    assert list(matrix._differences(FOLDER, made(monkeypatch, times(1.0), times(2.0, 2.0)))) == []


def test_disturbed_runs_are_counted_of_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[list[tuple[float | None, object]]] = [
        [(1.0, 0.05), (1.0, 0.3)],
        [(1.0, None), (1.0, 0.06)],
    ]
    assert list(matrix._disturbed(FOLDER, made(monkeypatch, *shares))) == [
        "Other programs used more than 5% of the CPU time in 2 of 4 runs; the highest share was"
        " 30%."
    ]
    assert list(matrix._disturbed(FOLDER, made(monkeypatch, shares[0][:1]))) == []


def test_boards_that_stand_out_are_named() -> None:
    outliers = [
        SimpleNamespace(board="b1", to_median=1.25),
        SimpleNamespace(board="b2", to_median=2),
    ]
    spreads = [
        SimpleNamespace(name="step", count=9, variation=0.0123, outliers=outliers),
        SimpleNamespace(name="power", count=1, variation=None, outliers=[]),
    ]
    found = matrix._variability(SimpleNamespace(boards=spreads))  # type: ignore[arg-type]
    assert found is not None and found.rows == (
        ("step", "9", "1.23%", "b1 (1.25 times the median), b2 (2 times the median)"),
        ("power", "1", "unknown: one board", "none"),
    )
    assert matrix._variability(SimpleNamespace(boards=None)) is None  # type: ignore[arg-type]
