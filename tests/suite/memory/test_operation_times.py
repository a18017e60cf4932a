"""Measured times of operations: what plans are made with."""

from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.memory.chain import Times, network_chain, updated_at_once
from suite.memory.network import load_network
from suite.memory.operation_times import known_times, measure_times
from suite.memory.optimal import fastest_schedule
from suite.memory.schedule import simulate_schedule
from suite.memory.schedulers import keep_all
from tests.conftest import environment_of


@pytest.mark.proof
@pytest.mark.pytorch
def test_times_are_measured_once_and_kept(tmp_path: Path) -> None:
    environment_of("pytorch")
    network = load_network("workload-lenet")
    assert known_times(network, 28, tmp_path) is None
    found = measure_times(network, 28, 4, tmp_path)
    assert known_times(network, 28, tmp_path) == found
    assert len(found.forward) == len(found.backward) == len(network.operations)
    assert sum(found.forward) > 0 and sum(found.backward) > 0
    with pytest.raises(SuiteError, match="the smallest is 1"):
        measure_times(network, 28, 0, tmp_path)


def test_a_schedule_runs_again_what_took_least_time() -> None:
    """With times that make one block dear, its forward run is not repeated and nothing dear of it
    is left out."""
    network = load_network("resnet18")
    plain = network_chain(network, 224, 224, 8)
    dear = plain[3]
    forward = [
        1000.0 if dear.first <= index <= dear.last else 1.0
        for index in range(len(network.operations))
    ]
    blocks = updated_at_once(
        network_chain(
            network, 224, 224, 8, Times(tuple(forward), tuple(2 * each for each in forward))
        )
    )
    ordinary = simulate_schedule(keep_all(len(blocks)), blocks)
    found = fastest_schedule(blocks, ordinary.peak_bytes * 8 // 10)
    assert found is not None
    assert 0 < found.cost.time - ordinary.time < 8 * 1000
