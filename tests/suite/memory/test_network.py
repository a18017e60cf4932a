"""Stored networks: parameters, shapes, blocks, and what they keep for the backward pass."""

from itertools import pairwise

import pytest

from suite.catalog.workloads import load_workloads
from suite.errors import SuiteError
from suite.memory.chain import WORD_BYTES, kept_words, network_chain
from suite.memory.network import Network, Operation, load_network, stored_names
from suite.memory.shapes import operation_shapes

PARAMETERS = {
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
}
"""Of torchvision's networks, as its documentation states them."""

MEASURED_MIB = {
    "resnet18": 21.19,
    "resnet34": 30.79,
    "resnet50": 82.13,
    "resnet101": 121.38,
    "resnet152": 169.79,
}
"""What autograd's hooks counted for one picture of 224x224 in PyTorch, in MiB; the statistics of
normalisations included, which are not planned."""


@pytest.mark.parametrize(("name", "count"), PARAMETERS.items())
def test_resnets_have_torchvisions_parameters(name: str, count: int) -> None:
    assert load_network(name).parameters == count


@pytest.mark.parametrize("workload", load_workloads(), ids=lambda workload: workload.name)
def test_workloads_have_their_parameters_and_multiply_adds(workload) -> None:  # type: ignore[no-untyped-def]
    network = load_network(f"workload-{workload.name}")
    assert network.parameters == workload.parameters
    found = sum(entry.macs for entry in operation_shapes(network, *network.image[1:]))
    assert found == pytest.approx(workload.forward_macs, rel=0.01)


@pytest.mark.parametrize(("name", "expected"), MEASURED_MIB.items())
def test_what_is_kept_is_what_autograd_keeps(name: str, expected: float) -> None:
    assert kept_words(load_network(name), 224, 224) * WORD_BYTES / 2**20 == pytest.approx(
        expected, rel=0.005
    )


def test_a_resnet_has_a_block_per_residual_block() -> None:
    blocks = network_chain(load_network("resnet152"), 224, 224, 1)
    assert len(blocks) == 52
    assert [block.name for block in blocks[:3]] == ["conv1", "layer1.0", "layer1.1"]


@pytest.mark.parametrize("name", stored_names())
def test_blocks_join_and_cover_the_network(name: str) -> None:
    network = load_network(name)
    blocks = network_chain(network, *network.image[1:], 2)
    assert [block.first for block in blocks[1:]] == [block.last + 1 for block in blocks[:-1]]
    assert blocks[-1].last == len(network.operations) - 1
    assert all(earlier.output_bytes == later.input_bytes for earlier, later in pairwise(blocks))
    assert all(
        block.kept_bytes >= block.output_bytes and block.backward_bytes >= block.output_bytes
        for block in blocks
    )
    assert sum(block.gradient_bytes for block in blocks) == network.parameters * WORD_BYTES


def test_a_picture_that_is_too_small_is_refused_by_name() -> None:
    with pytest.raises(SuiteError, match="2x2 is too small for LeNet"):
        operation_shapes(load_network("workload-lenet"), 2, 2)


def test_a_fixed_head_takes_one_size() -> None:
    with pytest.raises(SuiteError, match="fc1 takes 400 features"):
        operation_shapes(load_network("workload-lenet"), 32, 32)


def test_in_place_operations_share_a_tensor() -> None:
    """A normalisation keeps its input, a ReLU its output; in place, that output is the
    normalisation's."""
    rows = (
        Operation("x", "input", ()),
        Operation("a", "conv", ("x",), module="a", channels=4, parameters=12),
        Operation("n", "batch_norm", ("a",), module="n", parameters=8),
        Operation("r", "relu", ("n",), in_place=True),
        Operation("b", "conv", ("r",), module="b", channels=4, parameters=16),
    )
    network = Network("four", "four", "", (3, 10, 10), rows)
    # the picture, a's output, the ReLU's output
    assert kept_words(network, 10, 10) == 300 + 400 + 400
    assert [(block.first, block.last) for block in network_chain(network, 10, 10, 1)] == [
        (1, 3),
        (4, 4),
    ]
