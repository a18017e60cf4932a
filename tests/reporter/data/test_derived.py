"""Figures computed from others of the same run, by values worked out by hand."""

from typing import Any

import pytest

from reporter.data.derived import (
    COUNTED,
    EVALUATION_J,
    EVALUATION_S,
    FIRST_EPOCH_J,
    cost_figures,
    counted_figures,
    derived_figures,
    per_thousand_figures,
)
from reporter.data.frames import FIGURES, Row


def figure(name: str, value: float | None, **other: Any) -> Row:
    return {**dict.fromkeys(FIGURES), "run_id": "r", "figure": name, "value": value, **other}


def epoch(end_to_end_s: float, energy_j: float | None) -> Row:
    return {"end_to_end_s": end_to_end_s, "energy_j": energy_j}


def test_an_evaluation_has_its_share_of_what_is_in_no_epoch() -> None:
    """130 s and 700 J in all, 100 s and 640 J of them in three epochs: 10 s and 20 J each."""
    epochs = [epoch(40.0, 300.0), epoch(35.0, 180.0), epoch(25.0, 160.0)]
    energy = figure("energy_j", 700.0, tier="wall meter", spread=9.0, low=690.0, high=710.0)
    time, first, around = cost_figures("r", 130.0, epochs, energy)
    assert (time["figure"], time["value"], time["unit"]) == (EVALUATION_S, pytest.approx(10), "s")
    assert (first["figure"], first["value"], first["count"]) == (FIRST_EPOCH_J, 300.0, 1.0)
    assert (around["figure"], around["value"], around["count"]) == (
        EVALUATION_J,
        pytest.approx(20),
        3.0,
    )
    for each in (first, around):
        assert each["tier"] == "wall meter"
        assert [each[key] for key in ("spread", "low", "high", "reason")] == [None] * 4


@pytest.mark.parametrize(
    ("epochs", "energy", "reason"),
    [
        (
            [epoch(1.0, 5.0), epoch(1.0, None)],
            figure("energy_j", 9.0),
            "an epoch has no energy: fewer than two readings are in it",
        ),
        ([epoch(1.0, 5.0)], figure("energy_j", None, reason="no meter"), "no meter"),
        (
            [],
            figure("energy_j", 9.0),
            "an epoch has no energy: fewer than two readings are in it",
        ),
    ],
)
def test_energies_of_parts_need_that_of_the_run_and_of_every_epoch(
    epochs: list[Row], energy: Row, reason: str
) -> None:
    _, *energies = cost_figures("r", 9.0, epochs, energy)
    assert [(each["value"], each["reason"]) for each in energies] == [(None, reason)] * 2


@pytest.mark.parametrize(("trained_s", "epochs"), [(None, [epoch(1.0, 1.0)]), (5.0, [])])
def test_the_time_of_an_evaluation_is_unknown_without_an_epoch_or_an_evaluation(
    trained_s: float | None, epochs: list[Row]
) -> None:
    (time,) = cost_figures("r", trained_s, epochs, None)
    assert (time["value"], time["reason"]) == (None, "no epoch or no evaluation was finished")


def test_quotients_have_their_own_unit_and_the_reason_of_the_unknown_part() -> None:
    known = [
        figure("energy_per_epoch_j", 60.0, unit="J", spread=2.0, method="wall"),
        figure("time_to_epoch_s", 20.0, unit="s"),
        figure("fetch_stall_s", 5.0, unit="s"),
        figure("instructions", 9.0),
        figure("cpu_time_s", None, reason="no counter"),
    ]
    found = {each["figure"]: each for each in derived_figures(known)}
    power, share, rate = (
        found[name] for name in ("mean_power_w", "fetch_stall_share", "instructions_per_cpu_s")
    )
    assert (power["value"], power["unit"], power["spread"]) == (3.0, "W", None)
    assert power["method"] == "energy_per_epoch_j / time_to_epoch_s; wall"
    assert (share["value"], share["unit"]) == (0.25, "ratio")
    assert (rate["value"], rate["reason"]) == (None, "no counter")
    idle = derived_figures([known[0], figure("time_to_epoch_s", 0.0)])
    assert [(each["value"], each["reason"]) for each in idle] == [(None, "time_to_epoch_s is 0")]
    assert derived_figures([*known[:2], power]) == [], "what a summary holds stays as it is"


def test_figures_per_thousand_samples_scale_the_spread_and_the_interval() -> None:
    of_epoch = figure("energy_per_epoch_j", 500.0, spread=5.0, low=490.0, high=520.0)
    (found,) = per_thousand_figures([of_epoch, figure("ipc", 1.0)], 50_000)
    assert [found[key] for key in ("figure", "value", "spread", "low", "high")] == [
        "energy_per_1000_samples_j",
        *map(pytest.approx, (10.0, 0.1, 9.8, 10.4)),
    ]
    (unknown,) = per_thousand_figures([figure("fetch_stall_s", None, reason="none")], 10)
    assert (unknown["figure"], unknown["value"], unknown["reason"]) == (
        "fetch_stall_per_1000_samples_s",
        None,
        "none",
    )


def test_counts_are_those_of_the_run_and_unknown_ones_have_the_bundles_reason() -> None:
    events = {"branches": {"count": 0}, "l1d_loads": {"count": None, "reason": "two\nlines"}}
    other = {"branches": {"count": 7}}
    found = {
        each["figure"]: (each["value"], each["reason"])
        for each in counted_figures("r", {"phases": {"run": {"events": events}, "idle": other}})
    }
    assert list(found) == list(COUNTED)
    assert found["branches"] == (0.0, None) and found["l1d_loads"] == (None, "two lines")
    assert found["l1d_refill"] == (None, "the bundle gives no reason")
