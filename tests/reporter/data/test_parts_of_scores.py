"""The parts from which scores of entriesare made, by hand."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from reporter.data import scores
from suite.catalog.scoring import load_scoring
from suite.metrics.costs import TrainingCost
from suite.metrics.expected_epochs import ScoredEpochs

SCORING: Any = SimpleNamespace(min_sessions=3)


def runs(*boots: object) -> list[Any]:
    return [{"run_id": f"run-{place}", "boot": boot} for place, boot in enumerate(boots)]


def test_sessions_are_told_apart_where_every_run_names_one_of_enough() -> None:
    assert scores._sessions(runs("a", "b", "c", "a"), SCORING) == {
        "run-0": "a",
        "run-1": "b",
        "run-2": "c",
        "run-3": "a",
    }
    assert scores._sessions(runs("a", "b", "b"), SCORING) is None
    assert scores._sessions(runs("a", "b", "c", None), SCORING) is None


def energies(*kinds: tuple[object, object] | None) -> Any:
    return {
        f"run-{place}": {}
        if kind is None
        else {"energy_per_epoch_j": {"tier": kind[0], "covers": kind[1]}}
        for place, kind in enumerate(kinds)
    }


@pytest.mark.parametrize(
    ("kinds", "shared"),
    [
        ((("wall meter", "wall"), ("wall meter", "wall")), ("wall meter", "wall")),
        ((("wall meter", "wall"), ("analyser", "wall")), None),
        ((("wall meter", "wall"), ("wall meter", "board")), None),
        ((("wall meter", "wall"), None), None),
        (((None, "wall"), (None, "wall")), None),
        ((None, None), None),
    ],
)
def test_an_entry_has_the_instrument_that_all_its_runs_share(
    kinds: tuple[Any, ...], shared: tuple[str, str] | None
) -> None:
    assert scores._instrument(runs("a", "b"), energies(*kinds)) == shared


def test_one_contradicted_run_is_enough() -> None:
    figures: Any = {"run-0": {"energy_j": {}}, "run-1": {"energy_j": {"contradicted_by": "plug"}}}
    assert scores._contradicted_by(runs("a", "b", "c"), figures) == "plug"
    assert scores._contradicted_by(runs("a"), figures) is None


def test_an_instrument_s_error_is_that_of_the_widest_interval() -> None:
    def energy(value: float | None, high: float | None) -> dict[str, Any]:
        return {"value": value, "high": high}

    energies = [energy(100.0, 101.0), energy(200.0, 210.0), energy(-50.0, -49.0)]
    assert scores._relative_half_width(energies[2]) == pytest.approx(0.02)
    fixed = scores.fixed_variance(energies, 0.02)
    assert fixed == pytest.approx(0.02**2 + (0.05 / 1.959964) ** 2, rel=1e-6)
    assert scores.fixed_variance((), 0.02) == 0.02**2
    for lacking in (energy(100.0, None), energy(None, 101.0), energy(0.0, 1.0), None):
        assert scores.fixed_variance([*energies, lacking], 0) == math.inf


def test_only_whole_epochs_have_a_mean_loss() -> None:
    epochs: Any = [
        {"epoch": 1, "steps": 100, "mean_loss": 2.0},
        {"epoch": 2, "steps": 100, "mean_loss": None},
        {"epoch": 3, "steps": 100, "mean_loss": 1.0},
        {"epoch": 4, "steps": 40, "mean_loss": 0.5},
        {"epoch": 5, "steps": None, "mean_loss": 0.4},
    ]
    assert scores._mean_losses(epochs) == {1: 2.0, 3: 1.0} and scores._mean_losses([]) == {}


def test_times_of_fewer_than_two_runs_or_of_none_have_no_interval() -> None:
    scoring = load_scoring()
    assert scores.time_interval([10.0], scoring) is None
    assert scores.time_interval([10.0, 0.0], scoring) is None
    # equal times differ as sessions do; Student's t of 60 degrees of freedom
    equal = scores.time_interval([10.0] * 3, scoring)
    assert equal is not None
    assert equal.high == pytest.approx(10 * math.exp(2.000298 * scoring.session_floor))
    found = scores.time_interval([9.0, 11.0], scoring)
    assert found is not None and found.low is not None and found.high is not None
    assert found.low < 9.95 < found.high, "the geometric mean"


@pytest.mark.parametrize(
    ("parts", "is_possible"),
    [
        ((10.0, 5.0, -2.0), True),
        ((20.0, 1.0, -3.0), False),  # 9 s at the reference's 5 epochs, below 0 at its own 10
        ((-10.0, 5.0, -2.0), False),  # 0 at 5 epochs, 15 s at 10
    ],
)
def test_a_cost_is_above_zero_at_the_reference_s_epochs_and_at_its_own(
    parts: tuple[float, ...], is_possible: bool
) -> None:
    names = scores.PARTS[scores.SCORE_S]
    figures = {name: {"value": value} for name, value in zip(names, parts, strict=True)}
    found = scores._cost(scores.SCORE_S, figures, ScoredEpochs(10.0, 5.0, 10.0, 0.01))
    if is_possible:
        assert found == TrainingCost(*parts)
    else:
        assert str(found).startswith("the run's figures give a score of")
