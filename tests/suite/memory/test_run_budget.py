"""Runs in a memory budget: the schedule that is planned for a request, and the sentences for what
cannot be planned."""

from pathlib import Path

import pytest

from reference_impls import contract
from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.memory.resident import Resident
from suite.memory.run_budget import LEFT_FREE, network_of, recomputation
from suite.memory.sizes import parse_size
from tests.builders import Scenario, make_request

FRAMEWORK = Resident(300_000_000, "of this test")


def training(
    tmp_path: Path, workload: str, model: str, batch: int, classes: int = 10
) -> contract.Request:
    data = contract.DataSet(
        "generated", str(tmp_path), "imagefolder", classes, 1000, 100, False, True
    )
    return make_request(tmp_path, Scenario())._replace(
        workload=workload, model=model, global_batch_size=batch, data=data
    )


def planned(
    request: contract.Request, budget: str, framework: str = "pytorch", spill: Path | None = None
) -> contract.Recomputation:
    return recomputation(
        request, load_framework(framework), FRAMEWORK, parse_size(budget), spill=spill
    )


def test_a_roomy_budget_recomputes_nothing(tmp_path: Path) -> None:
    found = planned(training(tmp_path, "resnet18", "resnet18", 128), "4GB")
    assert found.planned_factor == 1
    assert len(found.actions) == 2 * len(found.blocks)
    assert found.planned_bytes < found.budget_bytes == 4_000_000_000


def test_a_tight_budget_is_kept_with_room_for_what_is_not_planned(tmp_path: Path) -> None:
    found = planned(training(tmp_path, "resnet18", "resnet18", 128), "800MB")
    assert found.planned_factor > 1
    assert found.planned_bytes <= (1 - LEFT_FREE) * found.budget_bytes


def test_the_last_layer_has_the_classes_of_the_runs_data(tmp_path: Path) -> None:
    own = network_of(training(tmp_path, "mobilenetv3", "mobilenetv3_large", 8, classes=20))
    assert own.operations[-1].channels == 20
    assert own.operations[-1].parameters == 1281 * 20


def test_the_budget_that_is_named_works(tmp_path: Path) -> None:
    request, budget = training(tmp_path, "resnet18", "resnet18", 128), "100MB"
    for _ in range(2):  # what is always there does not fit; then the activations do not
        with pytest.raises(SuiteError, match=r"--memory-budget [\d.]+[MG]B") as refusal:
            planned(request, budget)
        budget = str(refusal.value).split("--memory-budget ")[1].split()[0].rstrip(".")
    assert planned(request, budget).planned_factor > 1


@pytest.mark.parametrize("framework", ["tensorflow", "chainer", "fake", "pytorch_bf16"])
def test_other_frameworks_say_why_they_take_no_budget(framework: str, tmp_path: Path) -> None:
    with pytest.raises(
        SuiteError,
        match=r"takes no memory budget: .*use --framework pytorch, or leave --memory-budget out",
    ):
        planned(training(tmp_path, "lenet", "lenet5", 16), "1GB", framework)


def test_several_ranks_gpus_parts_16_bits_and_other_models_are_refused(tmp_path: Path) -> None:
    request = training(tmp_path, "lenet", "lenet5", 16)
    for other, sentence in (
        (request._replace(parallel=contract.Parallel(2, 1, "mpi", 1, True)), "one rank"),
        (request._replace(accelerator="cuda"), "not for a GPU's"),
        (
            request._replace(trains=contract.Trains(["fc3.*"], contract.FROZEN)),
            "trains a part of one; leave --memory-budget out",
        ),
        (request._replace(precision="bf16-mixed"), "planned for float32, not for bf16-mixed"),
        (request._replace(model="resnet50"), "the workload's model lenet5"),
    ):
        with pytest.raises(SuiteError, match=sentence):
            planned(other, "1GB")


def test_a_request_without_a_budget_has_no_key_for_it(tmp_path: Path) -> None:
    request = training(tmp_path, "lenet", "lenet5", 16)
    assert "recomputation" not in contract.request_to_dict(request)
    with_budget = request._replace(recomputation=planned(request, "1GB"))
    assert contract.request_from_dict(contract.request_to_dict(with_budget)) == with_budget
