"""Step records as arrays: by rank, by epoch, and over the ranks of a step."""

import numpy as np
import pandas
import pytest

from suite.bundle.steps import StepRecords
from suite.bundle.tables import STEP_TYPES

# epoch, step, rank, samples, start_ns, fetch_stall_s, copy_s, compute_s, communication_s, loss
ROWS = [
    (1, 1, 0, 3, 0, 0.1, 0.2, 0.3, 0.0, 2.0),
    (1, 2, 0, 3, 10**9, 0.1, 0.2, 0.3, 0.1, 1.0),
    (2, 3, 0, 2, 2 * 10**9, 0.1, float("nan"), 0.3, 0.0, 0.5),
    (1, 1, 1, 2, 0, 0.2, 0.2, 0.3, 0.0, 4.0),
    (1, 2, 1, 2, 10**9, 0.2, 0.2, 0.3, 0.0, 3.0),
    (2, 3, 1, 1, 2 * 10**9, 0.2, 0.2, 0.3, 0.0, 0.5),
]


def steps_of(rows: list[tuple[float, ...]]) -> StepRecords:
    frame = pandas.DataFrame(rows, columns=list(STEP_TYPES)).astype(STEP_TYPES)
    return StepRecords(**{name: frame[name].to_numpy() for name in STEP_TYPES})


@pytest.fixture(params=["as written", "shuffled"])
def steps(request: pytest.FixtureRequest) -> StepRecords:
    rows = ROWS if request.param == "as written" else [ROWS[place] for place in (3, 0, 4, 1, 5, 2)]
    return steps_of(rows)


def test_ranks_and_epochs_each_have_their_own_in_the_tables_order(steps: StepRecords) -> None:
    assert (steps.ranks, steps.epochs) == ((0, 1), (1, 2))
    assert [(rank, of_rank.step.tolist()) for rank, of_rank in steps.by_rank()] == [
        (0, [1, 2, 3]),
        (1, [1, 2, 3]),
    ]
    assert [(epoch, sorted(of_epoch.step.tolist())) for epoch, of_epoch in steps.by_epoch()] == [
        (1, [1, 1, 2, 2]),
        (2, [3, 3]),
    ]
    assert steps.first_rank.loss.tolist() == [2.0, 1.0, 0.5]


def test_what_is_shared_is_summed_step_by_step(steps: StepRecords) -> None:
    assert steps.sum_over_ranks(steps.samples).tolist() == [5, 5, 3]


def test_a_part_that_is_no_number_counts_for_nothing(steps: StepRecords) -> None:
    first = steps.first_rank
    assert first.busy_s == pytest.approx([0.6, 0.6, 0.4])
    assert first.ends_s == pytest.approx([0.6, 1.7, 2.4])
    assert first.sum_s("copy_s") == pytest.approx(0.4)


def test_no_steps_are_no_ranks_and_no_epochs() -> None:
    nothing = steps_of([])
    assert (
        nothing.ranks,
        list(nothing.by_epoch()),
        len(nothing.sum_over_ranks(nothing.samples)),
    ) == ((), [], 0)
    assert nothing.ends_s.shape == np.empty(0).shape
