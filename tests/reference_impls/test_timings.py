"""Both timings in every framework: what is submitted and read at the end of an epoch trains bit for
bit as what is waited for in every step.

On a CPU, where nothing is left to wait for: the order of the work and the reading of losses and
counts are tested, the speed of a GPU is not.
"""

from pathlib import Path

import pytest

from reference_impls.contract import ASYNCHRONOUS, WAITING, DataSet
from suite.bundle.reader import Bundle
from tests.conftest import train


@pytest.mark.proof
def test_asynchronous_timing_trains_as_synchronised(
    framework: str, digits: Path, tmp_path: Path
) -> None:
    """Of three mini-batches an update, so that each method that submits is called."""
    data = DataSet("digits", str(digits), "idx", 10, 1438, 359, False, False)
    shared = {"epochs": 2, "target_accuracy": None, "global_batch_size": 96, "accumulation": 3}
    waited, submitted = (
        train(framework, tmp_path / timing, data, timing=timing, **shared)
        for timing in (WAITING, ASYNCHRONOUS)
    )
    assert submitted.losses == waited.losses and len(submitted.losses) == 2 * 15
    results = [
        [(event.value, event.metadata["correct"]) for event in each.log.all("eval_accuracy")]
        for each in (waited, submitted)
    ]
    assert results[0] == results[1] and all(type(correct) is int for _, correct in results[1])
    assert [event.value for event in submitted.log.all("state_digests")] == [
        event.value for event in waited.log.all("state_digests")
    ]
    assert (
        Bundle(tmp_path / WAITING).steps().is_split
        and not Bundle(tmp_path / ASYNCHRONOUS).steps().is_split
    )
