"""`suite verify-model` over every framework, and over implementations with one mistake each."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import GoldenValues, load_workload
from suite.cli.app import app
from suite.experiments.conformance.examples import Language, example_folder
from suite.files.paths import suite_home
from suite.verify import probing, replaying
from suite.verify.array_differences import Arrays
from suite.verify.probing import ProbedImplementation
from suite.verify.verdict import judge_implementation, probe_both, verify_implementations
from tests.conftest import FRAMEWORKS, Run, environment_of
from tests.suite.verify.warm_frameworks import WarmFrameworks

pytestmark = pytest.mark.agreement
MISTAKEN = "tests.reference_impls.mistaken_probe"
MISTAKES = {
    "other_momentum": "statistic",
    "biased_variance": "statistic",
    "biased_variance_in_float32": "statistic",
    "other_epsilon": "logits",
    "asymmetric_padding": "logits",
    "momentum_of_keras": "parameter",
    "decoupled_weight_decay": "parameter",
}
"""Each mistake and the quantity that must miss its tolerance."""

QUANTITIES = {
    *(
        ("float64", name)
        for name in (
            "parameter count",
            "golden logits",
            "golden losses",
            "logits",
            "loss",
            "gradient",
            "losses",
            "statistic",
            "parameter",
        )
    ),
    *(("float32", name) for name in ("logits", "loss", "statistic")),
}
"""Of a model, by precision."""


OF_LARGE_IMAGES = GoldenValues(
    (
        -1.92545441738515,
        0.0577778290450533,
        0.554049524670656,
        0.582217923060524,
        -4.03775863147786,
        0.504037254055154,
        -2.97575637069376,
        -2.36268441818255,
        0.28546779690691,
        1.0375038866902,
    ),
    (2.80802316648391, 9.74025428888985, 18.9749987572704, 23.28906563328, 12.1538799515093),
)
"""Of ResNet-50 with the stem for large images, as rules/workloads/*.toml have them of the
workloads: computed by Chainer in float64."""


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Probes and trainings are forked from processes that have imported their frameworks."""
    frameworks = WarmFrameworks()
    for module in (probing, replaying):
        monkeypatch.setattr(module, "run_to_end", frameworks.run_to_end)
    yield
    frameworks.close()


@pytest.mark.usefixtures("warm")
def test_every_framework_computes_the_same(tmp_path: Path) -> None:
    """LeNet-5; `make prove verify-full` verifies every workload."""
    for framework in FRAMEWORKS:
        environment_of(framework)
    record = tmp_path / "probe.json"
    answer = CliRunner().invoke(app, ["verify-model", "lenet", "--json", "--output", str(record)])
    assert answer.exit_code == 0, answer.output
    verdict = json.loads(answer.stdout)
    assert {subject["name"] for subject in verdict["subjects"]} == set(FRAMEWORKS)
    assert verdict == {"format": "verify-model/1", **json.loads(record.read_text())}
    steps = load_workload("lenet").verification.timed
    assert steps is not None
    for subject in verdict["subjects"]:
        found = {(one["precision"], one["quantity"]) for one in subject["differences"]}
        assert found >= QUANTITIES or subject["name"] == verdict["reference"]
        assert {quantity for _, quantity in found} >= set(steps.tolerances.by_quantity()), (
            "the reference's own steps are compared with the referee's, too"
        )
    assert (verdict["accelerator"], verdict["timed_batch_size"]) == ("cpu", steps.batch_size)


@pytest.mark.proof
def test_steps_in_another_precision_bear_its_name_and_differ(suite: Run) -> None:
    """So that no submission shows them as float32's."""
    environment_of("pytorch")
    answer = suite.refused(
        "verify-model lenet --framework pytorch --precision bf16-mixed --json",
        SUITE_HOME=str(suite_home()),
        code=1,
    )
    (subject,), steps = (
        json.loads(answer.stdout)["subjects"],
        load_workload("lenet").verification.timed,
    )
    assert steps is not None
    mixed = {
        one["quantity"]: one["passed"]
        for one in subject["differences"]
        if one["precision"] == "bf16-mixed"
    }
    assert set(mixed) == set(steps.tolerances.by_quantity())
    assert not mixed["timed update"] and not mixed["timed losses"]


@pytest.mark.proof
def test_an_accelerator_that_is_not_there_is_one_sentence(suite: Run) -> None:
    environment_of("pytorch")
    answer = suite.typed(
        "verify-model lenet --framework pytorch --accelerator cuda", SUITE_HOME=str(suite_home())
    )
    if answer.returncode == 2:
        assert "a CUDA device was requested" in answer.stderr
        assert "--accelerator cpu" in answer.stderr
    else:
        assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.proof
def test_resnet50_for_large_images_is_the_same_too() -> None:
    """The network that folders of pictures are trained on, which no workload has by default:
    another stem, and max-pooling at stride 2."""
    workload = load_workload("resnet50")
    settings = replace(workload.verification, image_shape=(3, 64, 64), golden=OF_LARGE_IMAGES)
    changed = replace(
        workload, model="resnet50_imagenet", parameters=23_528_522, verification=settings
    )
    probes = {
        name: ProbedImplementation(
            name, environment_of(name).interpreter, f"{load_framework(name).module}.probe"
        )
        for name in FRAMEWORKS
    }
    verdict = verify_implementations(
        changed, probes["pytorch"], list(probes.values()), lambda words: None
    )
    assert [
        (each.name, one)
        for each in verdict.subjects
        for _, one in each.differences
        if not one.passed
    ] == []


@pytest.fixture(scope="module")
def resnet18() -> dict[str, Arrays]:
    """What PyTorch computes of ResNet-18, by precision."""
    return probe_both(
        ProbedImplementation(
            "pytorch", environment_of("pytorch").interpreter, "reference_impls.pytorch.probe"
        ),
        load_workload("resnet18"),
    )


@pytest.mark.proof
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noticed_where_it_is_made(
    mistake: str, resnet18: dict[str, Arrays], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTAKE", mistake)
    mistaken, workload = (
        ProbedImplementation(MISTAKEN, environment_of("pytorch").interpreter, MISTAKEN),
        load_workload("resnet18"),
    )
    verdict = judge_implementation(mistaken, workload, resnet18, probe_both(mistaken, workload))
    missed = {one.quantity for _, one in verdict.differences if not one.passed}
    assert MISTAKES[mistake] in missed
    if MISTAKES[mistake] != "logits":
        assert "logits" not in missed
    assert not verdict.passed


@pytest.mark.proof
def test_a_vendors_program_with_a_mistake_gives_exit_code_1(suite: Run, tmp_path: Path) -> None:
    """The example in NumPy with Keras's momentum: a mistake that any model shows."""
    shutil.copytree(
        example_folder(Language.PYTHON),
        tmp_path / "theirs",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    model = tmp_path / "theirs/model.py"
    text = model.read_text()
    model.write_text(
        text.replace("weights -= rate * velocity", "weights -= velocity").replace(
            "+= self.gradients", "+= rate * self.gradients"
        )
    )
    assert model.read_text() != text
    environment_of("pytorch")
    answer = suite.refused(
        f"verify-model lenet --implementation {tmp_path}/theirs --json",
        SUITE_HOME=str(suite_home()),
        code=1,
    )
    (subject,) = json.loads(answer.stdout)["subjects"]
    assert not subject["passed"]
    missed = {one["quantity"] for one in subject["differences"] if not one["passed"]}
    assert {"losses", "golden losses", "parameter", "timed losses", "timed path"} <= missed
    assert "logits" not in missed
