"""What is kept for the backward pass when a part of MobileNetV3 is trained."""

import pytest

from suite.extensions.memory_study.measuring.kept_parts import kept_parts
from suite.memory.network import load_network

pytestmark = pytest.mark.pytorch


@pytest.mark.proof
def test_mobilenetv3_at_a_mini_batch_of_8() -> None:
    """Training biases alone saves nothing: PyTorch keeps what the weights' gradients would need.
    Only cutting the backward pass short does."""
    parts = kept_parts(load_network("workload-mobilenetv3"), 224, 8)
    assert [round(part.kept_bytes / 2**20, 1) for part in parts] == [353.7, 349.0, 55.6, 1.1]
    assert [part.trained for part in parts] == [4_462_075, 30_963, 3_669_587, 1_490_123]
