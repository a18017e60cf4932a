"""The training state: its digests, and that every framework returns it in the canonical form."""

import array
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from reference_impls import contract, initial_weights
from reference_impls.contract import DataSet, Preprocessing
from reference_impls.training_state import KINDS, digests
from suite.catalog.data_sets import load_data_set
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.datasets.synthetic import WRITERS
from tests.builders import Scenario, make_request
from tests.conftest import printed_in
from tests.every_case import some

RATE, SEED = 0.125, 3

TRAIN_AND_GO_ON = """
import importlib, json, sys
import numpy as np
from reference_impls.communication import World
from reference_impls.contract import read_request
from reference_impls.state_file import Progress, StateFile, write_state
from reference_impls.training_state import digests
request, folder = read_request(sys.argv[2]), sys.argv[3]
built, other = (importlib.import_module(sys.argv[1] + ".implementation").build(request, World()) for _ in range(2))
first, second, batch = built.implementation, other.implementation, next(iter(built.pipeline.training(1)))
def steps(implementation, rates):
    return [implementation.step(implementation.to_device(batch), rate, 1.0).loss for rate in rates]
np.savez(folder + "/before.npz", **first.training_state())
steps(first, [0.125])
np.savez(folder + "/after.npz", **first.training_state())
steps(first, [0.02])
write_state(folder + "/state.npz", first.training_state(), Progress(2, 2))
second.restore(StateFile(folder + "/state.npz").of_rank(0))
found = {"restored": [digests(one.training_state()) for one in (first, second)]}
found["correct"] = [one.count_correct(one.to_device(batch)) for one in (first, second)]
found["losses"] = [steps(one, [0.03, 0.01, 0.01]) for one in (first, second)]
found["trained"] = [digests(one.training_state()) for one in (first, second)]
json.dump(found, open(folder + "/found.json", "w"))
"""  # noqa: E501


def test_a_digest_is_over_names_formats_shapes_and_bytes_in_the_order_of_names() -> None:
    values = np.array([[1.0, 2.0]], np.float32)
    text = hashlib.sha256(
        b"parameter/a f 1,2\n" + values.tobytes() + b"parameter/b d 1\n" + np.float64(3).tobytes()
    ).hexdigest()
    assert (
        digests({"parameter/b": array.array("d", [3.0]), "parameter/a": values})["parameter"]
        == text
    )


@pytest.mark.parametrize(
    "other",
    [
        {"parameter/a": np.array([2.0, 1.0], np.float32)},
        {"parameter/a": np.array([[1.0, 2.0]], np.float32)},
        {"parameter/a": np.array([1.0, 2.0])},
        {"parameter/b": np.array([1.0, 2.0], np.float32)},
    ],
    ids=["values", "shape", "precision", "name"],
)
def test_any_difference_is_another_digest(other: dict[str, np.ndarray]) -> None:
    own = digests({"parameter/a": np.array([1.0, 2.0], np.float32)})
    assert set(own) == set(KINDS)
    assert digests(other)["parameter"] != own["parameter"]
    assert digests(other)["velocity"] == own["velocity"]


def train_and_go_on(framework: str, name: str, tmp_path: Path) -> None:
    """Run TRAIN_AND_GO_ON with the framework's interpreter on a request of this workload, with
    eight samples and one thread."""
    workload, definition = load_workload(name), load_data_set(load_workload(name).data)
    WRITERS[definition.layout](tmp_path, definition, 8, 5, 1)
    request = make_request(tmp_path, Scenario(framework=framework))._replace(
        model=workload.model,
        seed=SEED,
        initial_weights=workload.initial_weights,
        global_batch_size=8,
        threads=1,
        data=DataSet(workload.data, str(tmp_path), definition.layout, 10, 8, 5, False, True),
        preprocessing=Preprocessing(
            list(workload.preprocessing.mean),
            list(workload.preprocessing.std),
            workload.preprocessing.augmentation,
        ),
    )
    (tmp_path / contract.REQUEST_NAME).write_text(json.dumps(contract.request_to_dict(request)))
    module, path = load_framework(framework).module, tmp_path / contract.REQUEST_NAME
    printed_in(framework, "-c", TRAIN_AND_GO_ON, module, path, tmp_path)


@pytest.mark.parametrize("name", some(["lenet", "resnet18"]))
def test_a_framework_returns_the_canonical_state_and_goes_on_from_it_bit_for_bit(
    framework: str, name: str, tmp_path: Path
) -> None:
    """Before training, the seed's weights, velocities 0, statistics 0 and 1; after one step,
    velocities that moved the parameters.

    Then a state, kept and restored, goes on with the same losses, counts and digests. One process
    does all: most of its time is the start.
    """
    workload = load_workload(name)
    train_and_go_on(framework, name, tmp_path)
    before, after = (dict(np.load(tmp_path / f"{when}.npz")) for when in ("before", "after"))
    names = [each.partition("/")[2] for each in before if each.startswith("parameter/")]
    expected = initial_weights.make(
        workload.initial_weights, {each: before[f"parameter/{each}"].shape for each in names}, SEED
    )
    assert sum(value.size for value in expected.values()) == workload.parameters
    for each, value in expected.items():
        assert np.array_equal(before[f"parameter/{each}"], value)
        assert not before[f"velocity/{each}"].any()
        assert after[f"velocity/{each}"].any()
        moved = value - RATE * after[f"velocity/{each}"]
        # approx would compare one by one
        np.testing.assert_allclose(
            after[f"parameter/{each}"], moved, rtol=0, atol=1e-5, equal_nan=False
        )
    statistics = {each: value for each, value in before.items() if each.startswith("statistic/")}
    assert bool(statistics) is (name == "resnet18")
    assert all(np.all(value == each.endswith("running_var")) for each, value in statistics.items())
    assert set(before) == set(after)
    found = json.loads((tmp_path / "found.json").read_text())
    for what in ("restored", "correct", "losses", "trained"):
        went_on, restored = found[what]
        assert went_on == restored, what
    assert found["restored"][0] != found["trained"][0]
