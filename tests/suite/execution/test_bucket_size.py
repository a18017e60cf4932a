"""How large the buckets are in which gradients are summed."""

import pytest

from reference_impls.communication import plan_buckets
from suite.catalog.workloads import load_workload
from suite.execution.parallel import bucket_bytes
from suite.execution.request import FLOAT_BYTES

LENET = [150, 6, 2400, 16, 48_000, 120, 10_080, 84, 840, 10]
"""Weights and biases of LeNet-5's two convolutions and three linear layers."""


@pytest.mark.parametrize("workload", ["vgg11", "resnet18", "resnet50"])
def test_large_models_have_buckets_of_4_mib(workload: str) -> None:
    assert bucket_bytes(load_workload(workload).parameters * FLOAT_BYTES) == 4 * 2**20


def test_the_linear_layers_of_lenet_are_exchanged_during_the_backward_pass_through_its_convolutions() -> (  # noqa: E501
    None
):
    assert sum(LENET) == load_workload("lenet").parameters
    plan = plan_buckets(LENET, FLOAT_BYTES, bucket_bytes(sum(LENET) * FLOAT_BYTES))
    assert plan.members == [[9, 8, 7, 6, 5, 4], [3, 2, 1, 0]]
    assert plan.lengths == [59_134, 2_572]
