"""Training that begins with a checkpoint and trains a part of the model, in every framework."""

import fnmatch
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_impls import contract, initial_weights
from reference_impls.contract import (
    FROZEN,
    UPDATED,
    DataSet,
    Optimizer,
    Preprocessing,
    Start,
    Trains,
)
from reference_impls.state_file import Progress, write_state
from suite.bundle.log import Log, read_log
from suite.catalog.data_sets import load_data_set
from suite.catalog.frameworks import load_framework
from suite.catalog.rounds import current_round, pin_workload
from suite.catalog.workloads import load_workload
from suite.compliance.rule import OfBundle, OfRequest, RequestContext
from suite.compliance.rules.adaptation import RULES
from suite.datasets.synthetic import WRITERS
from suite.errors import SuiteError
from suite.execution.resolve import requested_part
from suite.metrics.summary import old_task_figures
from tests.builders import Scenario, make_request
from tests.conftest import printed_in
from tests.every_case import some

PROGRAM = "tests.reference_impls.adapted_steps"
FRESH, TRAINED = {"lenet": "fc3.*", "resnet18": "fc.*"}, {"lenet": "fc?.*", "resnet18": "layer4.*"}


def adapted(framework: str, name: str, statistics: str, folder: Path) -> dict[str, np.ndarray]:
    """What PROGRAM finds of a request of this workload that begins with a checkpoint of random
    numbers."""
    workload, definition = load_workload(name), load_data_set(load_workload(name).data)
    WRITERS[definition.layout](folder, definition, 24, 5, 1)
    request = make_request(folder, Scenario(framework=framework))._replace(
        model=workload.model,
        seed=3,
        initial_weights=workload.initial_weights,
        global_batch_size=8,
        threads=1,
        optimizer=Optimizer("sgd", 0.05, 0.9, 0.01, "constant"),
        data=DataSet(workload.data, str(folder), definition.layout, 10, 24, 5, False, True),
        preprocessing=Preprocessing(
            list(workload.preprocessing.mean), list(workload.preprocessing.std), "none"
        ),
        start=Start("random", str(folder / "checkpoint.npz"), [FRESH[name]]),
        trains=Trains([TRAINED[name], FRESH[name]], statistics),
        old_task=DataSet("old", str(folder), definition.layout, 10, 24, 5, False, True),
    )
    write_state(str(folder / "checkpoint.npz"), checkpoint_of(workload.model), Progress(1, 1))
    path = folder / contract.REQUEST_NAME
    path.write_text(json.dumps(contract.request_to_dict(request)), encoding="utf-8")
    assert contract.read_request(str(path)) == request
    printed_in(framework, "-m", PROGRAM, load_framework(framework).module, path, folder)
    return dict(np.load(folder / "found.npz"))


def checkpoint_of(model: str) -> dict[str, np.ndarray]:
    """A state of random numbers, of which no frozen one is what a seed would draw."""
    every = json.loads(Path(__file__).with_name("parameters.json").read_text(encoding="utf-8"))
    stream, state = np.random.RandomState(7), {}
    for name, axes in every[model].items():
        scale = np.sqrt(1 / np.prod(axes[1:])) if len(axes) > 1 else 0.1
        centre = 1.0 if name.endswith(".weight") and len(axes) == 1 else 0.0
        values = stream.normal(centre, scale, axes).astype(np.float32)
        state[f"parameter/{name}"], state[f"velocity/{name}"] = values, values
        if centre:
            layer = name.removesuffix(".weight")
            state[f"statistic/{layer}.running_mean"] = stream.normal(0, 0.1, axes).astype("f")
            state[f"statistic/{layer}.running_var"] = stream.uniform(0.5, 1.5, axes).astype("f")
    return state


@pytest.mark.parametrize(
    ("name", "statistics"), some([("lenet", FROZEN), ("resnet18", FROZEN), ("resnet18", UPDATED)])
)
def test_a_part_is_trained_from_a_checkpoint(
    framework: str, name: str, statistics: str, tmp_path: Path
) -> None:
    found = adapted(framework, name, statistics, tmp_path)
    workload = load_workload(name)
    checkpoint = checkpoint_of(workload.model)
    shapes = {
        each.partition("/")[2]: value.shape
        for each, value in checkpoint.items()
        if each.startswith("parameter/")
    }
    drawn = initial_weights.make(workload.initial_weights, shapes, 3, "fresh/")
    for each in shapes:
        is_fresh = fnmatch.fnmatchcase(each, FRESH[name])
        start = found[f"start/parameter/{each}"]
        assert np.array_equal(start, drawn[each] if is_fresh else checkpoint[f"parameter/{each}"])
        assert not found[f"start/velocity/{each}"].any()
        end, expected = found[f"end/parameter/{each}"], found[f"expected/parameter/{each}"]
        if each in found["trained"]:
            assert not np.array_equal(end, start)
            # by norm: where rounding decides a ReLU, single numbers differ by several percent
            assert np.linalg.norm(end - expected) < 2e-2 * np.linalg.norm(expected - start)
        else:
            assert np.array_equal(end, start) and np.array_equal(expected, start.astype(float))
    for each in (each for each in checkpoint if each.startswith("statistic/")):
        assert np.array_equal(found[f"start/{each}"], checkpoint[each])
        is_same = np.array_equal(found[f"end/{each}"], checkpoint[each])
        assert is_same == (statistics == FROZEN)
    assert found["losses"] == pytest.approx(found["expected losses"], rel=1e-4)
    before, after = found["frozen"]
    assert before == after
    assert len(found["old task"]) == 2
    assert found["gradients"] >= len(found["trained"]), "several ranks compare them"


SYNCHRONISED_AFTER_FREEZING = """
from torch import nn
from reference_impls.pytorch.normalisation import freeze_statistics, synchronise
model = nn.Sequential(nn.BatchNorm2d(2))
freeze_statistics(model)
synchronise(model, None)
print(type(model[0]).__name__)
"""


@pytest.mark.pytorch
def test_ranks_that_synchronise_their_normalisation_leave_frozen_statistics_alone() -> None:
    assert printed_in("pytorch", "-c", SYNCHRONISED_AFTER_FREEZING) == "FrozenBatchNorm\n"


def logged(folder: Path, *accuracies: float) -> Log:
    """The log of an adaptation whose old task was evaluated so."""
    writer = contract.LogWriter(contract.RecordFile(str(folder / "log.txt")))
    writer.point("started_from", "0" * 64)
    for accuracy in accuracies:
        writer.point("old_task_accuracy", accuracy)
    writer.close()
    return read_log(folder / "log.txt")


@pytest.mark.parametrize(
    ("accuracies", "lost", "reason"),
    [
        ((0.99, 0.75), 0.24, None),
        ((0.99,), None, "the run was not finished"),
        ((), None, "the data set of the old task was not prepared"),
    ],
)
def test_the_accuracy_lost_is_that_before_less_that_after(
    accuracies: tuple[float, ...], lost: float | None, reason: str | None, tmp_path: Path
) -> None:
    found = old_task_figures(logged(tmp_path, *accuracies))["old_task_accuracy_lost"]
    assert found.value == (lost if lost is None else pytest.approx(lost))
    assert found.reason == reason


def test_a_part_that_the_workload_does_not_name_is_refused_with_those_that_it_does() -> None:
    with pytest.raises(SuiteError, match=r"'head'\? choose head, head-and-biases,"):
        requested_part("heads", load_workload("lenet-adapt"))
    with pytest.raises(SuiteError, match="this workload trains the whole model"):
        requested_part("head", load_workload("lenet"))


def test_a_workload_of_a_round_is_pinned_with_its_start_and_part() -> None:
    adapted = load_workload("lenet-adapt")
    assert adapted.start is not None and adapted.trains is not None
    others = (
        replace(adapted, start=replace(adapted.start, sha256="0" * 64)),
        replace(adapted, trains=replace(adapted.trains, statistics=UPDATED)),
    )
    assert len({pin_workload(each).definition for each in (adapted, *others)}) == 3


def test_a_closed_request_of_another_part_says_which_one_and_which_the_workload_trains(
    tmp_path: Path,
) -> None:
    workload = load_workload("lenet-adapt")
    request = make_request(tmp_path, Scenario())._replace(start=workload.requested_start)
    judged = RequestContext(
        request._replace(trains=Trains(["fc3.*"], UPDATED)),
        workload,
        current_round(),
        "run.json",
    )
    (check,) = (each for rule in RULES for each in rule.checks if isinstance(each, OfRequest))
    (found,) = check.find(judged)
    assert "'fc1.*', 'fc2.*', 'fc3.*'" in found.expected and "'fc3.*'" in found.observed


HONEST = {
    "started_from": (load_workload("lenet-adapt").start.sha256,),  # type: ignore[union-attr]
    "trained": ({"names": ["fc1.weight", "fc3.bias"], "parameters": 59134},),
    "frozen": ("0" * 64, "0" * 64),
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"frozen": (5, 5)}, ["a SHA-256", "a SHA-256"]),
        ({"started_from": ("1" * 64,)}, ["of the checkpoint lenet-mnist"]),
        ({"started_from": ()}, ["of the checkpoint lenet-mnist"]),
        ({"trained": ({"names": ["conv2.bias"], "parameters": 59134},)}, ["names of the form"]),
        ({"trained": ({"names": ["fc3.bias"], "parameters": 10},)}, ["59134 parameters"]),
        ({"frozen": ("0" * 64, "1" * 64)}, ["the digest before training"]),
        ({"frozen": ("0" * 64,)}, ["twice, before and after training"]),
    ],
)
def test_a_log_of_another_checkpoint_or_part_is_found(
    changes: dict[str, tuple[object, ...]], expected: list[str], tmp_path: Path
) -> None:
    workload = load_workload("lenet-adapt")
    request = make_request(tmp_path, Scenario())._replace(
        start=workload.requested_start, trains=workload.requested_part
    )
    writer = contract.LogWriter(contract.RecordFile(str(tmp_path / "log.txt")))
    for key, values in {**HONEST, **changes}.items():
        for value in values:
            writer.point(key, value)
    writer.close()
    context: Any = SimpleNamespace(
        workload=workload,
        request=request,
        run=SimpleNamespace(status="finished"),
        logs=lambda: [(0, read_log(tmp_path / "log.txt"))],
    )
    checks = [check for rule in RULES for check in rule.checks if isinstance(check, OfBundle)]
    found = [violation.expected for check in checks for violation in check.find(context)]
    assert len(found) == len(expected)
    assert all(part in text for part, text in zip(expected, found, strict=True))
