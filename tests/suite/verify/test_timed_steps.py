"""The steps of the program that is timed: what it is asked for, and what is compared."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_impls import contract
from reference_impls.definitions import request_facts
from suite.bundle.log import read_log
from suite.catalog.frameworks import load_implementation
from suite.catalog.workloads import OF_STATES, Workload, load_workload, load_workloads
from suite.errors import SuiteError
from suite.launch.environments import find_environment
from suite.verify import timed_steps
from suite.verify.array_differences import Arrays
from suite.verify.probing import ProbedImplementation, build_probe
from suite.verify.state_changes import BIAS_PATH, INITIAL, PATH, UPDATE, WAY
from suite.verify.timed_steps import (
    CORRECT,
    FIRST_LOSS,
    LOSSES,
    TimedReference,
    VerifyOptions,
    ragged,
    timed_differences,
    timed_reference,
    whole_evaluation,
)

ROUNDED = np.array([2.3, 2.2, 2.1, 2.0, 1.9, 1.8, 1.7, 1.6, 1.5, 1.4])


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Iterator[TimedReference]:
    """LeNet-5's, with a referee that says what it is told: a fifth, two fifths … of fifty are
    correct."""
    arrays = {
        FIRST_LOSS: ROUNDED[:1],
        LOSSES: ROUNDED,
        CORRECT: np.cumsum([10.0, 20.0, 30.0, 40.0, 50.0]),
        f"{INITIAL}/w.bias": np.ones(1),
        f"{UPDATE}/w.bias": np.full(1, -0.25),
        f"{WAY}/w.bias": np.full(1, -1.0),
        PATH: np.ones(1),
        BIAS_PATH: np.ones(1),
    }

    def referee(request: contract.Request, folder: Path) -> Arrays:
        return arrays

    monkeypatch.setattr(timed_steps, "_referee", referee)
    settings = load_workload("lenet").verification.timed
    assert settings is not None
    with timed_reference(
        load_workload("lenet"), settings, VerifyOptions("cuda"), lambda line: None
    ) as made:
        yield made


PROGRAM = """
import json, os, pathlib, sys
request = json.loads(pathlib.Path(sys.argv[2]).read_text())
sys.path.insert(0, {root!r})
from reference_impls import contract
folder = pathlib.Path(request["output_directory"])
pathlib.Path({seen!r}).write_text(json.dumps(request))
pathlib.Path({seen!r}).with_name("override").write_text(str(os.environ.get("NVIDIA_TF32_OVERRIDE")))
pathlib.Path({seen!r}).with_name("begun").write_text((folder / "log.txt").read_text())
(folder / "steps.csv").write_text("loss\\n" + "".join(f"{{loss}}\\n" for loss in {losses}))
log = contract.LogWriter(contract.RecordFile(str(folder / "log.txt"), exists=True))
for epoch, correct in enumerate({correct}, start=1):
    log.point("eval_accuracy", correct / 50, epoch_num=epoch, correct=correct)
log.close()
if "--keep-states" in sys.argv:
    import numpy
    epoch, w = (1, {first}) if request["steps"] else (request["epochs"], {last})
    kept = pathlib.Path(sys.argv[sys.argv.index("--keep-states") + 1]) / f"epoch_{{epoch}}.npz"
    numpy.savez(kept, **{{"parameter/w.bias": [w], "progress": [epoch, 1]}})
"""


def trained(
    folder: Path, losses: list[float], correct: list[int], first: float = 0.75, last: float = 0.0
) -> ProbedImplementation:
    """An implementation outside the checkout that says that it trained so; ``first`` and ``last``
    are its parameter after the first step and after all."""
    root = str(Path(contract.__file__).parent.parent)
    (folder / "train.py").write_text(
        PROGRAM.format(
            root=root,
            seen=str(folder / "seen.json"),
            losses=[*map(str, losses)],
            correct=correct,
            first=first,
            last=last,
        )
    )
    (folder / "framework.toml").write_text(
        'name = "theirs"\ntitle = "Theirs"\ntrain = ["{python}", "train.py"]\nprobe = ["true"]\n'
    )
    framework = load_implementation(folder)
    return build_probe(framework, find_environment(framework))


def missed(
    folder: Path, reference: TimedReference, losses: list[float], correct: list[int]
) -> set[str]:
    return {
        one.quantity
        for one in timed_differences(trained(folder, losses, correct), reference)
        if not one.passed
    }


def test_what_is_asked_for(reference: TimedReference, tmp_path: Path) -> None:
    """A training like a run's: a whole and a smaller mini-batch in each epoch, all the schedule,
    another seed than the model probe's."""
    assert missed(tmp_path, reference, ROUNDED.tolist(), [10, 20, 30, 40, 50]) == set()
    request = contract.request_from_dict(json.loads((tmp_path / "seen.json").read_text()))
    workload = load_workload("lenet")
    assert (request.framework, request.accelerator, request.steps, request.eval_every_epochs) == (
        "theirs",
        "cuda",
        None,
        1,
    )
    assert request.epochs * 2 > 32, "one update in 32 that is left out would show"
    assert request.data.eval_samples > 250, (
        "an evaluation that counts a part of a mini-batch would show"
    )
    assert request.preprocessing.std == [pytest.approx(workload.preprocessing.std[0] / 10)]
    assert (request.global_batch_size, request.data.train_samples) == (16, 16 + ragged(16))
    assert 1 < ragged(16) < 8 < request.global_batch_size, (
        "a gradient from eight samples of the mini-batch would show"
    )
    assert request.seed != workload.verification.seed
    data, said = request.data, json.dumps(contract.request_to_dict(request))
    assert (request.division, data.verified, data.synthetic) == ("closed", True, False)
    assert Path(request.output_directory).name.startswith("lenet-theirs-2")
    assert "timed" not in said and "verify" not in said.replace("verified", "")
    assert request.optimizer.schedule == workload.optimizer.schedule
    assert request.optimizer.weight_decay > 0
    assert request.initial_weights == workload.initial_weights, (
        "an implementation outside the checkout may know no other"
    )


def test_the_log_is_begun_with_the_facts_of_the_request(
    reference: TimedReference, tmp_path: Path
) -> None:
    """As in a run, whose program appends to it."""
    assert missed(tmp_path, reference, ROUNDED.tolist(), [10, 20, 30, 40, 50]) == set()
    begun = read_log(tmp_path / "begun").events
    request = contract.request_from_dict(json.loads((tmp_path / "seen.json").read_text()))
    assert [(event.key, event.value) for event in begun] == request_facts(request)


@pytest.mark.parametrize(
    ("declared", "timing"), [("", "synchronised"), ('asynchronous_on = ["cuda"]\n', "asynchronous")]
)
def test_the_timing_is_that_of_a_run_on_this_accelerator(
    declared: str, timing: str, reference: TimedReference, tmp_path: Path
) -> None:
    trained(tmp_path, ROUNDED.tolist(), [10, 20, 30, 40, 50])
    with (tmp_path / "framework.toml").open("a", encoding="utf-8") as manifest:
        manifest.write(declared)
    framework = load_implementation(tmp_path)
    timed_differences(build_probe(framework, find_environment(framework)), reference)
    assert (
        contract.request_from_dict(json.loads((tmp_path / "seen.json").read_text())).timing
        == timing
    )


@pytest.mark.parametrize(("precision", "override"), [("float32", "0"), ("tf32", "None")])
def test_tf32_is_off_unless_the_steps_are_to_be_in_it(
    precision: str, override: str, reference: TimedReference, tmp_path: Path
) -> None:
    theirs = trained(tmp_path, ROUNDED.tolist(), [10, 20, 30, 40, 50])
    timed_differences(
        theirs, replace(reference, request=reference.request._replace(precision=precision))
    )
    assert (tmp_path / "override").read_text() == override


@pytest.mark.parametrize(
    ("losses", "correct", "quantities"),
    [
        ([2.33, *ROUNDED[1:]], [10, 20, 30, 40, 50], {FIRST_LOSS, LOSSES}),
        ([*ROUNDED[:9], 1.41], [10, 20, 30, 40, 50], {LOSSES}),
        (ROUNDED.tolist(), [10, 21, 30, 40, 50], {CORRECT}),
        (ROUNDED.tolist()[:9], [10, 20, 30, 40, 50], {LOSSES}),
        (ROUNDED.tolist(), [10, 20, 30, 40], {CORRECT}),
        ([*ROUNDED[:9], float("nan")], [10, 20, 30, 40, 50], {LOSSES}),
        ([], [], {FIRST_LOSS, LOSSES, CORRECT}),
    ],
    ids=[
        "first loss",
        "last loss",
        "one more correct",
        "a step less",
        "an evaluation less",
        "not a number",
        "nothing",
    ],
)
def test_what_misses_its_tolerance(
    losses: list[float],
    correct: list[int],
    quantities: set[str],
    reference: TimedReference,
    tmp_path: Path,
) -> None:
    assert missed(tmp_path, reference, [float(loss) for loss in losses], correct) == quantities


@pytest.mark.parametrize(
    ("first", "last", "quantities"),
    [
        (0.75, 0.0, set()),
        (0.875, 0.0, {"timed update"}),
        (0.75, 0.125, {"timed path", "timed bias path"}),
    ],
    ids=["honest", "half of the first update", "an update of eight left out"],
)
def test_states_of_an_implementation_outside_the_checkout_are_compared(
    first: float, last: float, quantities: set[str], reference: TimedReference, tmp_path: Path
) -> None:
    trained(tmp_path, ROUNDED.tolist(), [10, 20, 30, 40, 50], first, last)
    with (tmp_path / "framework.toml").open("a", encoding="utf-8") as manifest:
        manifest.write('capabilities = ["training-states"]\n')
    framework = load_implementation(tmp_path)
    found = timed_differences(build_probe(framework, find_environment(framework)), reference)
    assert {one.quantity for one in found if not one.passed} == quantities
    assert {one.quantity for one in found} == set(reference.tolerances)


def test_states_that_are_not_handed_over_are_not_compared(
    reference: TimedReference, tmp_path: Path
) -> None:
    compared = {
        one.quantity
        for one in timed_differences(
            trained(tmp_path, ROUNDED.tolist(), [10, 20, 30, 40, 50]), reference
        )
    }
    assert compared == set(reference.tolerances) - set(OF_STATES)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise SystemExit('no memory')", "ended with 1: no memory"),
        ("pass", "wrote no readable records"),
        (
            (
                "import json, sys\nfolder ="
                " json.load(open(sys.argv[2]))['output_directory']\nopen(folder + '/steps.csv',"
                " 'w').write('loss\\nmuch\\n')"
            ),
            "no readable",
        ),
    ],
)
def test_a_program_that_does_something_else_is_named(
    body: str, words: str, reference: TimedReference, tmp_path: Path
) -> None:
    implementation = trained(tmp_path, [], [])
    (tmp_path / "train.py").write_text(body)
    with pytest.raises(SuiteError, match=words) as caught:
        timed_differences(implementation, reference)
    assert "theirs" in str(caught.value)


@pytest.mark.parametrize(
    "workload",
    [one for one in load_workloads() if one.verification.timed],
    ids=lambda workload: workload.name,
)
def test_the_small_mini_batch_has_more_than_eight_samples(workload: Workload) -> None:
    timed = workload.verification.timed
    assert timed is not None
    assert timed.batch_size > 8
    assert 0 < timed.tolerances.first_loss <= 1e-3


def test_steps_of_a_runs_size_come_with_whole_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every workload: readers evaluate 250 samples at once, and LeNet-5's timed steps alone
    always have more."""
    monkeypatch.setattr(timed_steps, "_referee", lambda request, folder: {})
    workload = load_workload("vgg11")
    settings = workload.verification.timed
    assert settings is not None
    for batch_size, expected in (
        (None, (settings.batch_size, settings.evaluated)),
        (128, (128, 250 + 63)),
    ):
        with timed_reference(
            workload, settings, VerifyOptions(batch_size=batch_size), lambda line: None
        ) as made:
            assert (made.request.global_batch_size, made.request.data.eval_samples) == expected


def test_photographs_are_evaluated_fewer_at_once() -> None:
    assert (whole_evaluation("idx"), whole_evaluation("gld23k")) == (250 + 63, 32 + 9)


def test_the_training_of_one_step_may_have_a_rate_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ResNet-50's ten steps have a rate at which one step shows no weight decay; the referee's
    first update is proportional to it."""
    workload = load_workload("resnet50")
    settings = workload.verification.timed
    assert settings is not None
    assert settings.first_base_learning_rate is not None

    def referee(request: contract.Request, folder: Path) -> Arrays:
        return {
            "timed update/w": np.array([request.optimizer.base_learning_rate]),
            "path/w": np.array([request.optimizer.base_learning_rate]),
        }

    monkeypatch.setattr(timed_steps, "_referee", referee)
    with timed_reference(workload, settings, VerifyOptions(), lambda line: None) as made:
        assert (made.request.steps, made.first.steps) == (None, 1)
        assert made.first.optimizer.base_learning_rate == settings.first_base_learning_rate
        assert made.arrays["timed update/w"] == pytest.approx(settings.first_base_learning_rate)
        assert made.arrays["path/w"] == settings.base_learning_rate


@pytest.mark.parametrize(("schedule", "rate"), [("linear", 0.5), ("one_cycle", 0.02)])
def test_weights_decay_at_the_first_rate_of_the_schedule(schedule: str, rate: float) -> None:
    optimizer = contract.Optimizer("sgd", 0.5, 0.9, 0.01, schedule)
    request: Any = SimpleNamespace(optimizer=optimizer, epochs=4, trains=None)
    weights = {"w": np.array([1.0, -2.0]), "v": np.ones(1)}
    decayed = timed_steps._decayed(request, weights)
    assert decayed["w"] == pytest.approx([-0.01 * rate, 0.02 * rate]) and decayed["v"].any()
    request.trains = contract.Trains(["w"], contract.FROZEN)
    part = timed_steps._decayed(request, weights)
    assert part["w"].tolist() == decayed["w"].tolist() and not part["v"].any(), "v is frozen"
