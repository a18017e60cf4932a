"""Entries that learn faster than the reference, by hand."""

from types import SimpleNamespace
from typing import Any

import pytest

from suite.catalog.reference_points import frozen_points
from suite.catalog.rounds import current_round
from suite.catalog.scoring import load_scoring
from suite.compliance.rules.submission_entries import _faster

TOLERANCE = load_scoring().rate_tolerance


@pytest.mark.parametrize(
    ("factor", "as_reference"),
    [(1.0, True), (1 + 0.9 * TOLERANCE, True), (1 - 0.9 * TOLERANCE, True), (1.1, False)],
)
def test_a_rate_within_the_tolerance_is_the_reference_s(factor: float, as_reference: bool) -> None:
    """As it is for the epochs that the entry is scored at."""
    point = frozen_points(current_round(), "lenet")[0]
    request = {
        "division": "closed",
        "global_batch_size": point.batch_size,
        "optimizer": {"base_learning_rate": factor * point.base_learning_rate},
    }
    runs = [SimpleNamespace(request=request, epochs_to_target=1.0)] * 5
    entries = {("lenet", "pytorch", ""): runs}
    context: Any = SimpleNamespace(entries=lambda: entries, round=current_round())
    found = [bool(list(_faster(each, context))) for each in (True, False)]
    assert found == [as_reference, not as_reference]
