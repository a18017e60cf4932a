"""The verdict of an audit, from losses and tolerances."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suite.bundle.steps import StepRecords
from suite.catalog.audit_tolerances import (
    FLOAT64,
    AuditTolerances,
    PairTolerance,
    load_audit_tolerances,
)
from suite.errors import FileError, SuiteError
from suite.metrics.audit_record import audit_badge, contradictions, read_audit
from suite.metrics.replayed_losses import (
    AuditVerdict,
    ReplayedLosses,
    compare_losses,
    recorded_losses,
    smallest_rate_error,
)
from tests.faults.edits.audit_edits import honest_audit, honest_state

STEPS = 6
TRUE = (2.3, 2.2, 2.0, 1.7, 1.3, 0.9)
TIGHT = (1e-4,) * STEPS


def steps_of(rows: list[tuple[int, int, int, float]]) -> StepRecords:
    """Records of (step, rank, samples, loss)."""
    step, rank, samples, loss = (np.array(column) for column in zip(*rows, strict=True))
    zeros = np.zeros(len(rows))
    return StepRecords(
        np.ones(len(rows), int),
        step,
        rank,
        samples,
        zeros.astype(int),
        zeros,
        zeros,
        zeros,
        zeros,
        loss,
    )


def moved(losses: tuple[float, ...], at: int, by: float) -> tuple[float, ...]:
    return tuple(loss + by if step == at else loss for step, loss in enumerate(losses, start=1))


def compared(
    recorded: tuple[float, ...],
    plain: tuple[float, ...] | None = TRUE,
    wide: tuple[float, ...] | None = None,
    tolerances=TIGHT,
):  # type: ignore[no-untyped-def]
    return compare_losses(ReplayedLosses(recorded, plain, wide, tolerances, TIGHT))


def test_ranks_are_combined_by_their_samples() -> None:
    rows = [(1, 0, 3, 2.0), (1, 1, 1, 4.0), (2, 0, 2, 1.0), (2, 1, 2, 2.0), (3, 0, 4, 9.0)]
    assert recorded_losses(steps_of(rows), 2) == pytest.approx((2.5, 1.5))
    assert recorded_losses(steps_of(rows), 2, after=1) == pytest.approx((1.5, 9.0))


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([(1, 0, 3, 2.0), (3, 0, 3, 2.0)], 2),
        ([(1, 0, 3, 2.0), (2, 0, 3, float("nan"))], 2),
        ([(1, 0, 3, 2.0), (2, 0, 0, 1.0)], 2),
        ([(1, 0, 3, 2.0)], 10**13),
    ],
)
def test_a_missing_step_or_loss_cannot_be_compared(
    rows: list[tuple[int, int, int, float]], count: int
) -> None:
    with pytest.raises(SuiteError, match="no loss for one of the steps to compare"):
        recorded_losses(steps_of(rows), count)


def test_equal_losses_agree_and_need_no_referee() -> None:
    found = compared(TRUE)
    assert (found.verdict, found.decisive_steps) == (AuditVerdict.AGREES, STEPS)


def test_differences_within_the_tolerance_agree() -> None:
    found = compared(moved(TRUE, 3, 1.5e-4))  # 7.5e-5 of a loss of 2
    assert found.verdict is AuditVerdict.AGREES
    assert found.step is not None and found.step.step == 3


def test_a_difference_needs_the_referee_to_contradict() -> None:
    forged = moved(TRUE, 3, 1e-2)
    assert compared(forged).verdict is AuditVerdict.CANNOT_TELL
    found = compared(forged, wide=TRUE)
    assert found.verdict is AuditVerdict.CONTRADICTS
    assert found.step is not None
    assert (found.step.step, found.step.observed, found.step.expected) == (3, 2.01, 2.0)


def test_what_rounding_moves_in_the_replay_itself_is_no_contradiction() -> None:
    """From step 4 on, the plain replay is 1e-3 from the float64 one: ten times that is allowed, and
    not at step 3."""
    drifted = tuple(loss + (1e-3 if step >= 4 else 0.0) for step, loss in enumerate(TRUE, start=1))
    assert compared(moved(TRUE, 4, 8e-3), drifted, TRUE).verdict is AuditVerdict.AGREES
    assert compared(moved(TRUE, 4, 3e-2), drifted, TRUE).verdict is AuditVerdict.CONTRADICTS
    assert compared(moved(TRUE, 3, 8e-3), drifted, TRUE).verdict is AuditVerdict.CONTRADICTS
    assert compared(moved(TRUE, 6, 2e-2), drifted, TRUE).verdict is AuditVerdict.CONTRADICTS, (
        "the largest distance so far, not the sum of three"
    )


def test_where_rounding_moves_every_step_nothing_can_be_told() -> None:
    drifted = tuple(loss + 0.1 for loss in TRUE)
    assert compared(moved(TRUE, 2, 0.3), drifted, TRUE).verdict is AuditVerdict.CANNOT_TELL


def test_a_workload_without_tolerances_is_judged_by_the_referee_alone() -> None:
    nothing = (None,) * STEPS
    for recorded, verdict in (
        (TRUE, AuditVerdict.AGREES),
        (moved(TRUE, 2, 0.1), AuditVerdict.CONTRADICTS),
    ):
        assert (
            compare_losses(ReplayedLosses(recorded, TRUE, TRUE, nothing, nothing)).verdict
            is verdict
        )
    assert (
        compare_losses(ReplayedLosses(TRUE, TRUE, None, nothing, nothing)).verdict
        is AuditVerdict.CANNOT_TELL
    )


def test_without_a_plain_replay_the_referee_decides() -> None:
    assert compared(TRUE, None, TRUE).verdict is AuditVerdict.AGREES
    assert compared(moved(TRUE, 5, 0.01), None, TRUE).verdict is AuditVerdict.CONTRADICTS


def test_three_steps_that_could_show_a_lie_are_enough_and_two_are_not() -> None:
    for decisive, verdict in ((3, AuditVerdict.AGREES), (2, AuditVerdict.CANNOT_TELL)):
        tolerances = (*(1e-2,) * decisive, *(1.1e-2,) * (STEPS - decisive))
        found = compared(moved(TRUE, 5, 0.001), tolerances=tolerances)
        assert (found.verdict, found.decisive_steps) == (verdict, decisive)


def test_a_step_within_the_tolerance_of_either_replay_contradicts_nothing() -> None:
    """The plain replay allows 1 % and leaves at step 4; the referee allows a hundredth of that."""
    plain, allowed = moved(TRUE, 4, 0.5), (1e-2,) * STEPS
    assert compared(moved(TRUE, 2, 5e-3), plain, TRUE, allowed).verdict is AuditVerdict.AGREES
    found = compared(moved(TRUE, 3, 0.05), plain, TRUE, allowed)
    assert found.verdict is AuditVerdict.CONTRADICTS
    assert found.step is not None and found.step.step == 3


def test_the_smallest_rate_error_is_in_proportion_to_what_a_wrong_rate_moves() -> None:
    other = (2.3, 2.2 + 0.022, 2.0 + 0.01, 3.0)
    assert smallest_rate_error(
        (2.3, 2.2, 2.0, 2.0), other, (1e-4, 1e-4, 1e-4, None), 0.1
    ) == pytest.approx(0.1 * 1e-4 / 0.01)
    assert smallest_rate_error((2.3,), (2.3,), (1e-4,), 0.1) is None


def test_tolerances_are_those_of_the_range_of_a_step_and_unknown_after_the_last() -> None:
    tolerances = AuditTolerances(
        "lenet", (2, 5), (PairTolerance(("chainer", "pytorch"), (1e-4, 1e-2)),)
    )
    assert tolerances.per_step("pytorch", "chainer", 6) == (1e-4, 1e-4, 1e-2, 1e-2, 1e-2, None)
    assert tolerances.per_step("pytorch", "tensorflow", 2) == (None, None)


def test_the_tolerances_of_lenet_are_for_every_pair() -> None:
    tolerances = load_audit_tolerances("lenet")
    for one in ("pytorch", "tensorflow", "chainer"):
        for other in ("pytorch", "tensorflow", "chainer", FLOAT64):
            assert None not in tolerances.per_step(one, other, 30)
    assert load_audit_tolerances("resnet5000").pairs == ()


def test_an_honest_record_contradicts_nothing_and_reads_back(
    good_bundle: Path, tmp_path: Path
) -> None:
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(honest_audit(good_bundle)))
    record = read_audit(path)
    assert contradictions(record, load_audit_tolerances("lenet")) == []
    assert audit_badge(record) == "pytorch"
    assert (
        audit_badge(
            replace(record, comparison=replace(record.comparison, verdict=AuditVerdict.CANNOT_TELL))
        )
        is None
    )


@pytest.mark.parametrize("value", [None, "a value"])
def test_a_badge_does_not_say_that_somebody_else_drew_the_state(
    good_bundle: Path, tmp_path: Path, value: str | None
) -> None:
    """A submitter may try values until the epoch suits."""
    path = tmp_path / "audit.json"
    state = honest_state(good_bundle, 2, value)
    path.write_text(json.dumps({**honest_audit(good_bundle), "state": state}))
    assert audit_badge(read_audit(path)) == "pytorch, from a state"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("steps", 10**9),
        ("steps", "ten"),
        ("losses", []),
        ("time_s", None),
        ("comparison", {"verdict": "maybe"}),
        ("with_other_rate", [1.0]),
        ("with_other_rate", []),
    ],
)
def test_a_malformed_record_is_one_sentence(
    name: str, value: object, good_bundle: Path, tmp_path: Path
) -> None:
    path = tmp_path / "audit.json"
    path.write_text(json.dumps({**honest_audit(good_bundle), name: value}))
    with pytest.raises(
        FileError, match=r"audit\.json is not (a valid audit record|as the suite writes it)"
    ):
        read_audit(path)
