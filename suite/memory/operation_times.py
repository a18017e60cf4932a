"""Times of a network's operations, measured in PyTorch's environment on this machine and kept: what
schedules are planned on."""

from pathlib import Path

from suite.errors import SuiteError
from suite.files.json_file import read_json
from suite.memory.chain import Times
from suite.memory.network import Network, traced_model
from suite.memory.programs import answers_of, keep_result, kept_place

PROGRAM = "reference_impls.pytorch.operation_times"
REPEATS = 3


def known_times(network: Network, image: int, folder: Path | None = None) -> Times | None:
    """The measured times for pictures of this size, per picture; None where none were measured in
    this environment."""
    path = _place(network, image, folder)
    if path is None or not path.is_file():
        return None
    values = read_json(path)
    return Times(tuple(values["forward"]), tuple(values["backward"]))


def measure_times(network: Network, image: int, batch: int, folder: Path | None = None) -> Times:
    """Measure CPU times of forward and backward runs with one thread, and keep them. Raises
    SuiteError without the environment, and for batch 0."""
    if batch < 1:
        raise SuiteError(f"A mini-batch of {batch} samples trains nothing", "the smallest is 1")
    request = {
        "model": traced_model(network),
        "image": [network.image[0], image, image],
        "batch": batch,
        "threads": 1,
        "repeats": REPEATS,
    }
    answer = answers_of(
        PROGRAM, request, "", f"Measuring the operations of {network.title}", in_budget=False
    )[0]
    found = Times(
        tuple(each / batch for each in answer["forward"]),
        tuple(each / batch for each in answer["backward"]),
    )
    keep_result(
        _place(network, image, folder),
        {"forward": found.forward, "backward": found.backward, "batch": batch},
    )
    return found


def _place(network: Network, image: int, folder: Path | None) -> Path | None:
    """The file of this network's times in this environment; None without an environment."""
    return kept_place(
        folder, f"times-{network.name}-{image}-", [str(each) for each in network.operations]
    )
