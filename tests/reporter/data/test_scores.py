"""Scores of entries: what they are worth, and why some are unknown."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reporter.data.entry_scores import MEASURED_J, EntryScores, Status
from reporter.data.frames import Row
from reporter.data.scores import OPEN, SCORE_J, SCORE_S, score_entry
from suite.catalog.reference_losses import load_reference_losses
from suite.catalog.scoring import load_scoring

ENTRY = {
    "state": "accepted",
    "workload": "lenet",
    "framework": "pytorch",
    "division": "closed",
    "own_data": True,
    "round": "v0.2",
    "batch_size": 128,
    "learning_rate": 0.04,
    "ranks": 1,
    "planned_runs": None,
    "normalisation": "local",
    "accumulation": 1,
    "timing": "synchronised",
    "accelerator": "cpu",
    "recomputation": "none",
    "short": 0,
}
REFERENCE = 128 / 15  # epochs of eighteen runs, over the fifteen that reached the target


def row(name: str, value: float | None, **other: Any) -> Row:
    return {
        "figure": name,
        "value": value,
        "reason": None if value is not None else "not measured",
        "high": None,
        "tier": None,
        "covers": None,
        **other,
    }


def run_figures(
    epoch_s: float, epoch_j: float | None, tier: str = "wall meter", covers: str = "board"
) -> dict[str, Row]:
    energies = {
        "first_epoch_energy_j": epoch_j and 1.5 * epoch_j,
        "energy_per_epoch_j": epoch_j,
        "evaluation_energy_j": epoch_j and 1.0,
    }
    times = {
        "first_epoch_s": 1.2 * epoch_s,
        "time_to_epoch_s": epoch_s,
        "evaluation_s": 0.1 * epoch_s,
    }
    return {
        **{name: row(name, value) for name, value in times.items()},
        **{name: row(name, value, tier=tier, covers=covers) for name, value in energies.items()},
        "energy_j": row("energy_j", 100.0, high=102.0),
    }


def scored(
    epochs_s: list[float],
    entry: Mapping[str, Any] = ENTRY,
    trained: int = 5,
    reached: bool = True,
    figures: Mapping[str, Any] | None = None,
    epochs: tuple[Row, ...] = (),
) -> EntryScores:
    runs = [
        {"run_id": f"r{index}", "epochs": trained, "reached": reached}
        for index in range(len(epochs_s))
    ]
    of_runs = figures or {
        f"r{index}": run_figures(epoch_s, 20.0) for index, epoch_s in enumerate(epochs_s)
    }
    return score_entry(
        {**entry, "runs": len(runs), "reached": len(runs) if reached else 0},
        runs,
        of_runs,
        {run["run_id"]: epochs for run in runs},
    )


def test_three_runs_with_a_reference_point_are_confirmed() -> None:
    found = scored([10.0, 10.0, 10.0])
    assert (found.status, found.reason) == (Status.CONFIRMED, None)
    assert found.time is not None and found.time.interval.value == pytest.approx(
        12 + (REFERENCE - 1) * 10 + REFERENCE * 1
    )
    assert found.energy is not None and found.energy.interval.value == pytest.approx(
        30 + (REFERENCE - 1) * 20 + REFERENCE
    )
    assert found.instrument == ("wall meter", "board")


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_runs_are_provisional_and_have_a_score(count: int) -> None:
    found = scored([10.0] * count)
    assert (found.status, found.reason) == (
        Status.PROVISIONAL,
        f"the entry has {count} of the 3 runs needed for a rank",
    )
    assert found.time is not None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"batch_size": 64},
            (
                "round v0.2 has no reference point at batch size 64, rate 0.04, only at batch size"
                " 16, rate 0.005; batch size 128, rate 0.04"
            ),
        ),
        (
            {"workload": "lenet-adapt", "round": "v0.3"},
            "a run of this workload takes only seconds, too short for the readings of a wall meter",
        ),
        ({"workload": "resnet18"}, "round v0.2 has no reference point of this workload"),
        (
            {"workload": "resnet18", "round": "v0.3"},
            "its target is provisional, so entries are not ranked",
        ),
        ({"own_data": False}, "reference points apply only to the workload's own data set"),
        (
            {"accumulation": 2},
            "reference points apply only without accumulation of mini-batches",
        ),
        ({"division": "open"}, OPEN),
        ({"round": None}, "the run names no round"),
        ({"round": "v9"}, "this version of the suite does not know the workload or the round"),
    ],
)
def test_without_a_reference_point_there_is_no_score_and_the_reason(
    changes: dict[str, Any], reason: str
) -> None:
    found = scored([10.0] * 3, {**ENTRY, **changes})
    assert (found.status, found.reason, found.time, found.missing[SCORE_S]) == (
        Status.UNRANKED,
        reason,
        None,
        reason,
    )


@pytest.mark.parametrize("state", ["refused", "withdrawn", "studied"])
def test_what_is_not_accepted_has_a_score_and_is_not_confirmed(state: str) -> None:
    found = scored([10.0] * 3, {**ENTRY, "state": state})
    assert found.time is not None
    assert (found.status, found.reason) == (Status.UNRANKED, "the entry is not accepted")


def test_a_workload_without_a_target_is_a_characterisation_without_score_or_rank() -> None:
    found = scored([10.0] * 3, {**ENTRY, "workload": "mobilenetv3"})
    reason = "the workload has no established target: its entries are compared without a rank"
    assert (found.status, found.reason, found.time, found.missing[SCORE_S]) == (
        Status.CHARACTERISATION,
        reason,
        None,
        reason,
    )


def test_a_vendors_implementation_that_waits_for_its_accelerator_has_a_score() -> None:
    """It has no other timing; PyTorch has, in which its score is."""
    assert (
        scored([10.0] * 3, {**ENTRY, "framework": "acme", "accelerator": "cuda"}).time is not None
    )
    assert "need asynchronous timing" in str(
        scored([10.0] * 3, {**ENTRY, "accelerator": "cuda"}).reason
    )
    for waits in ({"ranks": 2}, {"recomputation": "of 2 GB"}):
        found = scored([10.0] * 3, {**ENTRY, "accelerator": "cuda", **waits})
        assert "asynchronous" not in str(found.reason), waits


def test_between_reference_points_there_is_a_score() -> None:
    found = scored([10.0] * 3, {**ENTRY, "batch_size": 64, "learning_rate": 0.02})
    assert (
        found.status is Status.CONFIRMED
        and found.expected is not None
        and found.expected.between == (16, 128)
    )


SHORT = {**ENTRY, "short": 4, "max_epochs": 10}


def epoch_rows(factor: float = 1.0, whole: int = 4) -> tuple[Row, ...]:
    """Epochs with the mean losses of a reference run at batch size 128 times ``factor``; those
    after ``whole`` were cut short, at other losses."""
    losses = load_reference_losses("lenet")[-1].runs[0].losses
    full = [
        {"epoch": float(number), "steps": 469.0, "mean_loss": factor * losses[number - 1]}
        for number in range(1, whole + 1)
    ]
    return (*full, {"epoch": whole + 1.0, "steps": 3.0, "mean_loss": 9.9})


def test_a_short_entry_is_ranked_where_it_learns_as_the_reference_does() -> None:
    found = scored([10.0] * 3, SHORT, trained=4, reached=False, epochs=epoch_rows())
    assert found.status is Status.SHORT and found.reason is not None
    assert found.reason.startswith("4 of 10 epochs trained")
    assert found.epochs is not None and not found.epochs.is_own and found.time is not None
    assert found.time.interval.value == pytest.approx(12 + (REFERENCE - 1) * 10 + REFERENCE)
    few = scored([10.0] * 2, SHORT, trained=4, reached=False, epochs=epoch_rows())
    assert few.status is Status.PROVISIONAL
    runs = [{"run_id": str(index), "epochs": 4, "reached": False} for index in range(3)]
    told = {"0": epoch_rows(), "1": epoch_rows(), "2": epoch_rows(2.0)}
    figures = dict.fromkeys(told, run_figures(10.0, 20.0))
    last = score_entry({**SHORT, "runs": 3, "reached": 0}, runs, figures, told)
    assert last.status is Status.UNRANKED, "every run has to learn as the reference"
    assert scored([10.0] * 3, SHORT, epochs=epoch_rows()).status is Status.CONFIRMED
    is_open = {**SHORT, "division": "open"}
    found = scored([10.0] * 3, is_open, trained=4, reached=False, epochs=epoch_rows())
    assert found.status is Status.UNRANKED


@pytest.mark.parametrize(
    ("changes", "epochs", "reason"),
    [
        (
            {},
            epoch_rows(2.0),
            r"the mean loss of epoch 1 is 0\.4\d+, outside the band of 9 reference runs,"
            r" 0\.\d+ to 0\.\d+",
        ),
        ({}, (), "no epoch has a mean loss that can be compared with the reference's"),
        (
            {"batch_size": 64, "learning_rate": 0.02},
            epoch_rows(),
            "no losses of reference runs are known at batch size 64, learning rate 0.02",
        ),
    ],
    ids=["twice the losses", "no losses", "between two reference points"],
)
def test_a_short_entry_that_cannot_be_held_against_the_reference_is_unranked(
    changes: dict[str, Any], epochs: tuple[Row, ...], reason: str
) -> None:
    found = scored([10.0] * 3, {**SHORT, **changes}, trained=4, reached=False, epochs=epochs)
    assert found.status is Status.UNRANKED
    said = f"the short entry's losses differ from the reference's: {reason}"
    assert re.fullmatch(said, str(found.reason))


def test_epochs_that_are_significantly_more_are_scored_as_they_are() -> None:
    found = scored([10.0] * 5, {**ENTRY, "batch_size": 16, "learning_rate": 0.005}, trained=10)
    assert found.epochs is not None and found.epochs.is_own and found.time is not None
    assert found.time.interval.value == pytest.approx(12 + 9 * 10 + 10 * 1)


def test_a_score_needs_all_parts_of_all_runs() -> None:
    figures = {
        "r0": run_figures(10.0, 20.0),
        "r1": run_figures(10.0, None),
        "r2": run_figures(10.0, 20.0),
    }
    found = scored([10.0] * 3, figures=figures)
    assert found.time is not None and (found.energy, found.missing) == (
        None,
        {SCORE_J: "not measured"},
    )


@pytest.mark.parametrize("last", [("estimate", "board"), ("wall meter", "wall")], ids=str)
def test_energies_of_several_instruments_are_no_score(last: tuple[str, str]) -> None:
    figures = {f"r{index}": run_figures(10.0, 20.0) for index in range(2)}
    figures["r2"] = run_figures(10.0, 20.0, *last)
    reason = "the runs' energies come from different instruments"
    assert scored([10.0] * 3, figures=figures).missing == {SCORE_J: reason, MEASURED_J: reason}


def test_the_least_certain_energy_of_its_runs_sets_the_error_of_the_instrument() -> None:
    """One run whose energy is known to 20 % makes the entry's energy at least that uncertain."""
    figures = {f"r{index}": run_figures(10.0, 20.0) for index in range(3)}
    figures["r2"]["energy_j"] = row("energy_j", 100.0, high=120.0)
    energy = scored([10.0] * 3, figures=figures).energy
    assert energy is not None and energy.interval.high is not None
    assert energy.interval.high > 1.2 * energy.interval.value
    error = 0.2 / 1.959964  # a standard deviation; 0.02 is the floor for runs of few sessions
    assert energy.measured.fixed_variance == pytest.approx(0.02**2 + error**2)


def test_a_meter_that_contradicts_one_run_s_energy_contradicts_the_entry_s() -> None:
    figures = {f"r{index}": run_figures(10.0, 20.0) for index in range(3)}
    assert scored([10.0] * 3, figures=figures).contradicted_by is None
    figures["r1"]["energy_j"]["contradicted_by"] = "um25c"
    assert scored([10.0] * 3, figures=figures).contradicted_by == "um25c"


def test_no_time_or_energy_is_zero_or_less() -> None:
    figures = {f"r{index}": run_figures(10.0, 20.0) for index in range(3)}
    figures["r1"]["evaluation_s"] = row("evaluation_s", -20.0)
    figures["r2"]["energy_j"] = row("energy_j", 0.0, high=1.0)
    found = scored([10.0] * 3, figures=figures)
    assert found.status is Status.UNRANKED and found.time is None
    # the fewer of the scored and the reference's epochs: 12 + 10 (e - 1) - 20 e
    assert str(found.reason).startswith(
        f"the run's figures give a score of {2 - 10 * REFERENCE:.3g}"
    )
    assert found.missing[MEASURED_J] == "a run has an energy of 0 J or less"
    figures["r2"]["energy_j"] = row("energy_j", None)
    assert scored([10.0] * 3, figures=figures).missing[MEASURED_J] == "not measured"


def test_the_measured_energy_needs_no_reference_point() -> None:
    """Three runs of 100 J each by a meter with an error of 2 %: the interval holds that error."""
    found = scored([10.0] * 3, {**ENTRY, "workload": "resnet18"})
    assert (
        found.energy is None
        and found.instrument == ("wall meter", "board")
        and found.measured_energy is not None
    )
    interval = found.measured_energy.interval
    assert (
        interval.value == pytest.approx(100)
        and interval.low is not None
        and interval.high is not None
    )
    assert interval.low < 98 and interval.high > 102


def test_the_measured_energy_of_missed_targets_is_shared_by_the_runs_that_reached_it() -> None:
    runs = [{"run_id": f"r{index}", "epochs": 5, "reached": index > 0} for index in range(5)]
    figures = {f"r{index}": run_figures(10.0, 20.0) for index in range(5)}
    ranked = score_entry({**ENTRY, "runs": 5, "reached": 4, "planned_runs": 5}, runs, figures)
    assert (
        ranked.measured_energy is not None
        and ranked.measured_energy.interval.value == pytest.approx(125)
    )
    assert "r0" not in ranked.measured_energy.by_run
    unplanned = score_entry({**ENTRY, "runs": 5, "reached": 4}, runs, figures)
    assert unplanned.measured_energy is None and "4 of 5 reached" in unplanned.missing[MEASURED_J]
    short = score_entry({**SHORT, "runs": 5, "reached": 4, "planned_runs": 5}, runs, figures)
    assert short.measured_energy is None
    assert short.missing[MEASURED_J] == "the limit of the short entry ended a run before the target"
    assert scored([10.0], reached=False).missing[MEASURED_J] == "no run reached a target"


def test_an_energy_without_a_stated_error_has_no_interval() -> None:
    figures = {
        f"r{index}": {**run_figures(10.0, 20.0), "energy_j": row("energy_j", 100.0)}
        for index in range(3)
    }
    found = scored([10.0] * 3, figures=figures)
    assert found.energy is not None and found.energy.interval.low is None


@settings(deadline=None)
@given(epochs_s=st.lists(st.floats(0.1, 100), min_size=3, max_size=5), factor=st.floats(1.001, 10))
def test_slower_runs_never_have_a_smaller_score(epochs_s: list[float], factor: float) -> None:
    before, after = scored(epochs_s).time, scored([epoch_s * factor for epoch_s in epochs_s]).time
    assert before is not None and after is not None
    assert after.interval.value == pytest.approx(before.interval.value * factor)
    assert (
        after.interval.low is not None
        and before.interval.low is not None
        and after.interval.low >= before.interval.low
    )


@pytest.mark.parametrize("trained", [3, 5, 9])
def test_luck_with_the_seeds_does_not_change_a_score(trained: int) -> None:
    found = scored([10.0] * 3, trained=trained)
    assert found.epochs is not None and found.epochs.epochs == pytest.approx(REFERENCE)


@pytest.mark.parametrize(
    ("boots", "values"), [("aabbcc", 3), ("aaabbb", 6), ("aabbc?", 6)], ids=["3", "2", "unknown"]
)
def test_the_unit_is_a_session_where_there_are_enough(boots: str, values: int) -> None:
    """Six runs in three sessions are three values; in two sessions, or where one is unknown, they
    are six, and the floor for a session's effects is added."""
    runs = [
        {
            "run_id": f"r{index}",
            "epochs": 5,
            "reached": True,
            "boot": None if boot == "?" else boot,
        }
        for index, boot in enumerate(boots)
    ]
    figures = {f"r{index}": run_figures(10.0 + 0.1 * index, 20.0) for index in range(6)}
    found, scoring = score_entry({**ENTRY, "runs": 6, "reached": 6}, runs, figures), load_scoring()
    floor = scoring.noise_floor if values == 3 else scoring.session_floor
    assert found.time is not None and found.is_separated == (values == 3)
    assert (found.time.measured.runs, found.time.measured.fixed_variance) == (values, floor**2)


def test_a_run_that_missed_the_target_is_no_session_of_the_measured_energy() -> None:
    """Four runs of two boots have an energy: they are four values, with the floor for a session's
    effects, although the run that missed was made in a third boot."""
    runs = [
        {"run_id": f"r{index}", "epochs": 5, "reached": boot != "c", "boot": boot}
        for index, boot in enumerate("aabbc")
    ]
    figures = {f"r{index}": run_figures(10.0, 20.0) for index in range(5)}
    found = score_entry({**ENTRY, "runs": 5, "reached": 4, "planned_runs": 5}, runs, figures)
    assert found.measured_energy is not None
    measured, error = found.measured_energy.measured, 0.02 / 1.959964
    assert measured.runs == 4
    assert measured.fixed_variance == pytest.approx(load_scoring().session_floor ** 2 + error**2)
