"""What rules share: how values are compared, which severities and divisions a rule has, and what is
known of a node."""

from types import SimpleNamespace
from typing import Any

from suite.compliance.agreement import is_same
from suite.compliance.updates import ends_update
from tests import checks_alone


def test_equal_values_are_of_one_type() -> None:
    assert is_same(1, 1) and is_same(4, 4.0) and is_same(None, None) and is_same([1], [1])
    for value, expected in ((4.0, 4), (True, 1), (1, True), (True, 1.0), ("1", 1), ([1], (1,))):
        assert not is_same(value, expected)


def test_after_some_mini_batches_of_an_epoch_and_after_its_last_the_parameters_change() -> None:
    """Five mini-batches an epoch, of which two are an update."""
    request: Any = SimpleNamespace(
        data=SimpleNamespace(train_samples=17), global_batch_size=4, accumulation=2, steps=None
    )
    steps = checks_alone.steps([1] * 5 + [2] * 5)
    epoch = [False, True, False, True, True]
    assert ends_update(request, steps).tolist() == epoch * 2
    request.steps = 8
    assert ends_update(request, steps).tolist()[5:] == [False, True, True, True, True]
