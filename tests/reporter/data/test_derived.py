"""Figures that the reporter computes from a run's other figures, by hand."""

import math
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reporter.data import derived
from reporter.data.frames import FIGURES, Row
from suite.bundle.study_mark import StudyMark
from suite.errors import SuiteError


def figure(name: str, value: float | None, **other: Any) -> Row:
    reason = None if value is not None else f"no {name}"
    return {**dict.fromkeys(FIGURES), "figure": name, "value": value, "reason": reason, **other}


def epochs(*joules: float | None) -> list[Row]:
    """Of 10, 20, 30, … s, with these energies."""
    return [
        {"end_to_end_s": 10.0 * number, "energy_j": energy_j, "eval_accuracy": 0.9}
        for number, energy_j in enumerate(joules, start=1)
    ]


def costs(trained_s: float | None, rows: list[Row], energy: Row | None) -> dict[str, Row]:
    return {row["figure"]: row for row in derived.cost_figures("r", trained_s, rows, energy)}


def test_an_evaluation_has_what_is_in_no_epoch_over_the_number_of_epochs() -> None:
    energy = figure("energy_j", 1000.0, low=980.0, high=1020.0, spread=5.0, count=90.0, tier="x")
    found = costs(66.0, epochs(300.0, 200.0, 100.0), energy)
    assert found["evaluation_s"]["value"] == (66 - 10 - 20 - 30) / 3
    assert found["first_epoch_energy_j"]["value"] == 300
    assert found["evaluation_energy_j"]["value"] == pytest.approx((1000 - 600) / 3)
    assert [found[name]["count"] for name in found] == [3, 1, 3]
    for name in ("first_epoch_energy_j", "evaluation_energy_j"):
        assert found[name]["tier"] == "x", "the run's instrument"
        assert {found[name][key] for key in ("low", "high", "spread", "reason")} == {None}


def test_an_epoch_that_was_cut_short_has_no_evaluation() -> None:
    """Of 66 s, 36 are outside of two whole epochs; the third one ended later."""
    energy = figure("energy_j", 1000.0)
    *whole, cut = epochs(300.0, 200.0, 100.0)
    rows = [*whole, {**cut, "eval_accuracy": None}]
    found = costs(66.0, rows, energy)
    assert found["evaluation_s"]["value"] == (66 - 10 - 20) / 2
    assert found["first_epoch_energy_j"]["value"] == 300
    assert found["evaluation_energy_j"]["value"] == pytest.approx((1000 - 600) / 2)
    assert [found[name]["count"] for name in found] == [2, 1, 2]
    alone = costs(None, rows[2:], energy)
    assert {each["value"] for each in alone.values()} == {None}
    assert {each["reason"] for each in alone.values()} == {"no epoch or no evaluation was finished"}


@pytest.mark.parametrize(
    ("trained_s", "rows", "energy", "reasons"),
    [
        (None, epochs(1.0), None, ["no epoch or no evaluation was finished"]),
        (9.0, [], None, ["no epoch or no evaluation was finished"]),
        (
            40.0,
            epochs(1.0, None),
            figure("energy_j", 9.0),
            [None, *["an epoch has no energy: it contains fewer than two readings"] * 2],
        ),
        (40.0, epochs(1.0, 2.0), figure("energy_j", None), [None, *["no energy_j"] * 2]),
    ],
)
def test_a_part_of_a_score_that_is_unknown_has_its_reason(
    trained_s: float | None, rows: list[Row], energy: Row | None, reasons: list[str | None]
) -> None:
    found = list(costs(trained_s, rows, energy).values())
    assert [row["reason"] for row in found] == reasons
    assert [row["value"] is None for row in found] == [reason is not None for reason in reasons]


def test_quotients_are_of_the_figures_that_are_there_and_unknown_as_they_are() -> None:
    rows = [
        figure("fetch_stall_s", 2.0, unit="s", spread=1.0, low=1.0, high=3.0, method="of rank 0"),
        figure("time_to_epoch_s", 8.0, unit="s"),
        figure("energy_per_epoch_j", None, unit="J", tier="analyser"),
        figure("instructions", 5.0),
    ]
    stall, power = derived.derived_figures(rows)
    assert (stall["figure"], stall["value"], stall["unit"]) == ("fetch_stall_share", 0.25, "ratio")
    assert stall["method"] == "fetch_stall_s / time_to_epoch_s; of rank 0"
    assert stall["reason"] is None
    without = [stall[name] for name in ("spread", "low", "high")]
    assert without == [None, None, None], "those of the seconds are none of the share"
    assert (power["figure"], power["value"], power["unit"]) == ("mean_power_w", None, "W")
    assert (power["reason"], power["tier"]) == ("no energy_per_epoch_j", "analyser")
    for below, reason in ((0.0, "cpu_time_s is 0"), (None, "no cpu_time_s")):
        (found,) = derived.derived_figures([rows[3], figure("cpu_time_s", below)])
        assert (found["value"], found["reason"]) == (None, reason)
    own = figure("fetch_stall_share", 0.3)
    assert derived.derived_figures([*rows[:2], own]) == [], "the summary has it already"


def test_the_energy_of_some_epochs_is_not_divided_by_the_time_of_all() -> None:
    energy = figure("energy_per_epoch_j", 300.0, count=3.0)
    (power,) = derived.derived_figures([energy, figure("time_to_epoch_s", 82.5, count=4.0)])
    reason = "energy_per_epoch_j is a mean of 3 values, time_to_epoch_s of 4"
    assert (power["value"], power["reason"]) == (None, reason)
    (power,) = derived.derived_figures([energy, figure("time_to_epoch_s", 60.0, count=3.0)])
    assert (power["value"], power["reason"]) == (5.0, None)


def test_figures_of_a_thousand_samples_scale_the_value_and_its_ends() -> None:
    rows = [
        figure("energy_per_epoch_j", 50.0, low=40.0, high=70.0, spread=5.0, count=4.0),
        figure("time_to_epoch_s", None),
    ]
    time, energy = derived.per_thousand_figures(rows, 2500)
    assert (time["figure"], time["value"]) == ("time_per_1000_samples_s", None)
    assert time["reason"] == "no time_to_epoch_s"
    assert energy["figure"] == "energy_per_1000_samples_j"
    scaled = [energy[key] for key in ("value", "low", "high", "spread", "count")]
    assert scaled == [20.0, 16.0, 28.0, 2.0, 4.0]


def test_counts_are_those_of_the_training_region_a_zero_is_one() -> None:
    events = {
        "branches": {"count": 7},
        "l1d_refill": {"count": 0},
        "l1d_access": {"count": None, "reason": "not counted\nhere"},
    }
    other = {"branches": {"count": 1000}}
    phases = {"evaluation": {"events": other}, "run": {"events": events}}
    rows = derived.counted_figures("r", {"phases": phases})
    found = {row["figure"]: (row["value"], row["reason"]) for row in rows}
    assert (found["branches"], found["l1d_refill"]) == ((7.0, None), (0.0, None))
    assert found["l1d_access"] == (None, "not counted here")
    assert found["branch_mispredicts"] == (None, "the bundle gives no reason")
    assert len(rows) == len(derived.COUNTED)


def test_a_run_of_a_sweep_has_its_mean_step_or_says_that_it_is_too_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def times(_bundle: object, warm_up_steps: int) -> SimpleNamespace:
        if warm_up_steps > 10:
            raise SuiteError("too few")
        step_s = math.nan if warm_up_steps == 5 else 0.5  # in asynchronous timing
        return SimpleNamespace(step_s=step_s, counted_steps=20 - warm_up_steps)

    monkeypatch.setattr(derived, "run_times", times)
    bundle: Any = Path()
    made = partial(derived.study_figures, "r", bundle)
    assert made(None) == []
    (found,) = made(StudyMark("t", (), 4))
    assert (found["figure"], found["value"], found["count"]) == ("step_s", 0.5, 16.0)
    assert found["method"] == "after 4 warm-up steps"
    (short,) = made(StudyMark("t", (), 11))
    assert (short["value"], short["reason"]) == (None, derived.TOO_SHORT)
    (unsplit,) = made(StudyMark("t", (), 5))
    assert (unsplit["value"], unsplit["reason"]) == (None, derived.NOT_SPLIT)
