"""An epoch against honest replays of it: what each figure allows, and what it shows."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from suite.catalog.audit_tolerances import OUTSIDE, load_audit_tolerances
from suite.metrics.epoch_replays import LEVEL, EpochReplays, interval, least_margin, replay_figures
from suite.metrics.replayed_losses import AuditVerdict

STEPS, REPLAYS = 400, 8
RANDOM = np.random.default_rng(0)
TRUE = 0.2 + 0.1 * RANDOM.random(STEPS)


def honest(count: int = REPLAYS) -> list[tuple[tuple[float, ...], int]]:
    """Losses that rounding moved by a tenth, and correct samples that it moved by ten."""
    return [
        (
            tuple((TRUE * (1 + 0.1 * RANDOM.standard_normal(STEPS))).tolist()),
            9800 + int(10 * RANDOM.standard_normal()),
        )
        for _ in range(count)
    ]


def judged(losses: tuple[float, ...], correct: int, samples: int = 100) -> EpochReplays:
    own, replayed = replay_figures((losses, correct), honest())
    return EpochReplays(STEPS, samples, 100, 10_000, own, replayed)


def test_honest_epochs_agree() -> None:
    verdicts = [judged(*run).verdict for run in honest(200)]
    assert verdicts.count(AuditVerdict.CONTRADICTS) <= 2


@pytest.mark.parametrize(
    ("run", "figure"),
    [
        ((tuple((TRUE * 1.05).tolist()), 9800), "mean_loss"),
        ((tuple(np.roll(TRUE, 1).tolist()), 9800), "apart_loss"),
        ((honest(1)[0][0], 9700), "correct"),
        ((*honest(1)[0], 99), "samples"),
    ],
    ids=["learned less", "other mini-batches", "raised accuracy", "samples left out"],
)
def test_a_figure_that_no_honest_replay_has_contradicts(
    run: tuple[tuple[float, ...], int], figure: str
) -> None:
    found = judged(*run)
    assert found.verdict is AuditVerdict.CONTRADICTS
    assert figure in {each.name for each in found.judged() if not each.is_within}


def test_the_interval_of_one_more_value_is_students() -> None:
    """By hand: mean 3 and standard deviation 1 of three values; a third of the level for each of
    the three figures."""
    margin = stats.t.ppf(1 - LEVEL / 3 / 2, 2) * math.sqrt(1 + 1 / 3)
    assert interval((2.0, 3.0, 4.0), 0.1) == pytest.approx((3 - margin, 3 + margin))
    assert interval((3.0, 3.0, 3.0), 0.1) == pytest.approx((2.9, 3.1))
    assert [least_margin("correct", count) for count in (100, 10**5)] == [1.0, 20.0]


def test_correct_samples_that_one_replay_did_not_count_are_not_judged() -> None:
    *replays, (losses, _) = honest()
    own, replayed = replay_figures((losses, 9800), [(losses, None), *replays])
    assert own.correct is None and replayed[0].correct is None
    found = EpochReplays(STEPS, 100, 100, 10_000, replace(own, correct=9800), replayed)
    assert [each.name for each in found.judged()] == ["samples", "mean_loss", "apart_loss"]


def test_losses_may_be_nearer_to_the_replays_than_they_are_to_each_other() -> None:
    assert judged(tuple(TRUE.tolist()), 9800).verdict is AuditVerdict.AGREES


def test_an_implementation_outside_may_be_as_far_away_as_the_farthest_framework() -> None:
    tolerances = load_audit_tolerances("lenet")
    pairs = [
        tolerances.per_step(name, "pytorch", 5) for name in ("chainer", "tensorflow", "pytorch")
    ]
    assert tolerances.per_step(OUTSIDE, "pytorch", 5) == tuple(map(max, zip(*pairs, strict=True)))  # type: ignore[arg-type]
    assert load_audit_tolerances("resnet50").per_step(OUTSIDE, "pytorch", 2) == (None, None)
