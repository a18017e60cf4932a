"""The examples train, conform and compute LeNet-5; an implementation with mistakes fails the points
of its mistakes, and no others."""

import json
import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from reference_impls import contract
from reference_impls.definitions import request_facts
from suite.bundle.log import read_log
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import (
    Framework,
    load_framework,
    load_implementation,
    requirements_file,
)
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.experiments.conformance import examples, points
from suite.experiments.conformance.examples import Language, copy_example, example_folder
from suite.experiments.conformance.points import ContractPoint, Trained, check_conformance
from suite.files.paths import repository_root
from suite.launch.building import build_implementation
from suite.launch.environments import Environment, find_environment
from suite.verify.probing import build_probe
from suite.verify.verdict import verify_implementations
from tests.conftest import Run, environment_of
from tests.faults.edits.editable_bundle import EditableBundle

LANGUAGES = (
    pytest.param(
        Language.C,
        marks=pytest.mark.skipif(
            shutil.which("cc") is None, reason="needs a C compiler: sudo apt-get install gcc"
        ),
    ),
    Language.PYTHON,
)
OF_THE_REFERENCE = {"probe", "first-steps"}
"""Points that are not tested where PyTorch is not installed."""


def silent(what: object) -> None:
    pass


def failed(folder: Path) -> dict[str, ContractPoint]:
    return {
        point.name: point
        for point in check_conformance(folder, "lenet", silent)
        if point.passed is False
    }


@pytest.mark.proof
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_example_conforms(language: Language, tmp_path: Path) -> None:
    copy_example("theirs", language, tmp_path)
    found = check_conformance(tmp_path / "theirs", "lenet", silent)
    assert {point.name for point in found if not point.passed} <= OF_THE_REFERENCE
    assert not [point for point in found if point.passed is False]


def test_the_example_in_jax_is_refused_without_jax(tmp_path: Path) -> None:
    """`make prove jax-example` trains it."""
    folder = repository_root() / "examples/lenet_resnet_jax"
    framework = load_implementation(folder)
    assert (framework.title, framework.keeps_states) == ("LeNet-5 and ResNet-18 in JAX", True)
    assert requirements_file(framework).read_text().startswith("jax==")
    with pytest.raises(SuiteError, match="no environment for LeNet-5 and ResNet-18 in JAX"):
        find_environment(framework, tmp_path)
    with pytest.raises(SuiteError, match=r"lacks the package 'jax', which .*requirements"):
        build_implementation(
            framework, Environment(framework.name, Path("python3"), {"numpy": "2.4.6"})
        )


@pytest.mark.proof
@pytest.mark.agreement
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_example_computes_lenet(language: Language) -> None:
    environment_of("pytorch")
    reference, implementation = (
        load_framework("pytorch"),
        load_implementation(example_folder(language)),
    )
    subjects = [build_probe(implementation, find_environment(implementation))]
    assert verify_implementations(
        load_workload("lenet"),
        build_probe(reference, find_environment(reference)),
        subjects,
        silent,
    ).passed


MISTAKES = {
    "train.py": {
        'log.event("init_start")': 'request["seed"] = 1; log.event("init_start")',
        "known:\n            sys.exit": 'known and key != "model":\n            sys.exit',
        'if step + 1 == request["steps"]:': "if False:",
        "if start[1] != start[0] * steps_of_epoch(request):": "if False:",
        "correct / samples, epoch_num": "0.5 + correct / samples / 2, epoch_num",
    },
    "records.py": {"CHAIN + self._chain + ": 'CHAIN + "0" * 64 + '},
}
"""The seed is ignored, any model is accepted, the limit of steps is ignored, a run continues from a
state within an epoch, accuracies are improved, and the chain is no chain."""


@pytest.mark.proof
def test_mistakes_fail_their_points(tmp_path: Path) -> None:
    copy_example("theirs", Language.PYTHON, tmp_path)
    for name, changes in MISTAKES.items():
        path = tmp_path / "theirs" / name
        text = path.read_text()
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
    found = set(failed(tmp_path / "theirs")) - OF_THE_REFERENCE
    of_records = {"accuracy-counts", "log-chain"}
    assert found == of_records | {"other-seed", "refusal", "step-limit", "training-states"}


def changed(key: str, value: object) -> Callable[[EditableBundle], None]:
    return lambda bundle: bundle.event(key).update(value=value)


def no_losses(bundle: EditableBundle) -> None:
    bundle.steps = bundle.steps.drop(columns="loss")


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        (lambda bundle: None, set()),
        (lambda bundle: bundle.remove("ranks"), {"steps-complete"}),
        (changed("learning_rates", [9.0, 9.0, 9.0]), {"log-agrees"}),
        (changed("peak_rss_of_ranks", "big"), {"memory-fits"}),
        (changed("framework_version", 1.0), {"system-agrees"}),
        (
            lambda bundle: bundle.event("run_stop")["metadata"].update(status="aborted"),
            {"ends-as-asked"},
        ),
        (no_losses, {"bundle-readable"}),
    ],
    ids=["honest", "ranks", "rates", "peaks", "version", "status", "losses"],
)
def test_a_point_of_a_rule_passes_if_the_run_breaks_none_of_its_checks(
    edit: Callable[[EditableBundle], None], rules: set[str], good_bundle: Path, tmp_path: Path
) -> None:
    bundle = EditableBundle(Path(shutil.copytree(good_bundle, tmp_path / "run")))
    edit(bundle)
    bundle.save()
    found = {point.name: point.passed for point in points._judged(bundle.path)}
    assert {name for name, passed in found.items() if passed is False} == rules
    assert (found["log-form"] is None) == ("bundle-readable" in rules)


READER = """
#include <stdio.h>
#include "request.h"

int main(int count, char **arguments) {
    char text[24];
    text_of(read_text(arguments[count - 1]), NULL, "output_directory", text, sizeof text);
    return puts(text) < 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_example_in_c_reads_every_path(tmp_path: Path) -> None:
    folder, program = example_folder(Language.C), tmp_path / "reader"
    program.with_suffix(".c").write_text(READER)
    compiled = [program.with_suffix(".c"), folder / "request.c", "-o", program]
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-I", folder, *compiled], check=True)
    for text, refusal in (
        ("/srv/né/日本/\U0001f331", ""),
        ('/srv/a "b" \\', ""),
        ("/srv/a\nb", "has characters that this reader does not know"),
        ("/srv/" + "é" * 10, "is too long"),
    ):
        (tmp_path / "request.json").write_text(json.dumps({"output_directory": text}))
        answer = subprocess.run(
            [program, tmp_path / "request.json"], capture_output=True, encoding="utf-8"
        )
        assert answer.stdout == ("" if refusal else f"{text}\n")
        assert refusal in answer.stderr


def test_a_folder_without_a_manifest_ends_the_test(tmp_path: Path) -> None:
    (point,) = check_conformance(tmp_path, "lenet", silent)
    assert point.name == "manifest"
    assert point.passed is False
    assert "docs/implementing.md" in point.observed


def test_a_program_that_ends_at_once_ends_the_test(tmp_path: Path) -> None:
    (tmp_path / "framework.toml").write_text(
        'name = "theirs"\ntitle = "Theirs"\ntrain = ["sh", "-c", "echo no GPU; exit 3"]\n'
    )
    *_, point = check_conformance(tmp_path, "lenet", silent)
    assert (point.name, point.passed) == ("training", False)
    assert "exit code 3: no GPU" in point.observed


OWN = """
import json, pathlib, sys
request = json.loads(pathlib.Path(sys.argv[2]).read_text())
folder = pathlib.Path(request["output_directory"])
if not (folder / "log.txt").is_file():
    sys.exit("no log was begun")
print("training", flush=True)
sys.exit("error: out of memory")
"""


@pytest.fixture
def failing(tmp_path: Path) -> tuple[Framework, contract.Request]:
    """A program that fails where the steps are limited, and a request for it."""
    (tmp_path / "train.py").write_text(OWN)
    (tmp_path / "framework.toml").write_text(
        'name = "theirs"\ntitle = "Theirs"\ntrain = ["{python}", "train.py"]\n'
    )
    training = points._request(tmp_path, "lenet", tmp_path).training
    return load_implementation(tmp_path), training._replace(steps=points.LIMIT)


def test_a_point_says_why_the_program_failed(
    failing: tuple[Framework, contract.Request], tmp_path: Path
) -> None:
    """As a run's sentence does; its log was begun by the harness, as a run's is."""
    framework, training = failing
    trained = points._train(framework, find_environment(framework), training, tmp_path / "limit")
    point = points._limit(trained)
    assert point.passed is False
    assert "it ended with exit code 1: error: out of memory" in point.observed
    assert (tmp_path / "limit/output.txt").read_text() == "training\nerror: out of memory\n"
    assert [event.key for event in read_log(tmp_path / "limit/log.txt").events] == [
        key for key, _ in request_facts(training)
    ]


def test_a_cut_epoch_that_is_evaluated_fails_the_limits_point(tmp_path: Path) -> None:
    """`suite check` allows no evaluation there (`events-in-order`)."""
    log = contract.LogWriter(contract.RecordFile(str(tmp_path / "log.txt")))
    log.point("run_stop")
    assert points._limit(Trained([1.0] * points.LIMIT, read_log(tmp_path / "log.txt"))).passed
    log.point("eval_accuracy", 0.5, epoch_num=1, correct=5)
    log.close()
    point = points._limit(Trained([1.0] * points.LIMIT, read_log(tmp_path / "log.txt")))
    assert (point.passed, "1 evaluation," in point.observed) == (False, True)


@pytest.mark.parametrize(
    ("body", "is_refusal"),
    [("sys.exit('error: no such model')", True), ("", False), ("os.abort()", False)],
)
def test_only_an_error_is_a_refusal(
    failing: tuple[Framework, contract.Request], tmp_path: Path, body: str, is_refusal: bool
) -> None:
    """None of these programs trains a step."""
    framework, training = failing
    (tmp_path / "train.py").write_text(f"import os, sys\n{body}\n")
    point = points._refusal(
        points._train(framework, find_environment(framework), training, tmp_path / "model")
    )
    assert point.passed is is_refusal, point.observed


@pytest.mark.parametrize(
    ("same", "other", "passed"),
    [
        (-2.0, -2.1, [True, True]),
        (-2.0 * (1 - 0.9e-4), -2.0 * (1 + 1.1e-4), [True, True]),
        (-2.0 * (1 + 1.1e-4), -2.0 * (1 + 0.9e-4), [False, False]),
        (None, None, [False, False]),  # a training that failed shows neither
    ],
)
def test_the_first_loss_follows_from_the_seed_and_from_nothing_else(
    same: float | None,
    other: float | None,
    passed: list[bool],
    failing: tuple[Framework, contract.Request],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    framework, training = failing

    def train(_: object, __: object, asked: contract.Request, *___: object) -> Trained:
        loss = same if asked.seed == training.seed else other
        return Trained([] if loss is None else [loss, 1.0])

    monkeypatch.setattr(points, "_train", train)
    monkeypatch.setattr(points, "replay_steps", lambda *_: Trained([-2.0, 1.0]))
    bundle = SimpleNamespace(steps=lambda: SimpleNamespace(loss=[-2.0, 9.0]))
    run = SimpleNamespace(training=training)
    found = points._repeated(framework, None, run, tmp_path, bundle)  # type: ignore[arg-type]
    assert [each.passed for each in found if each.name.endswith("seed")] == passed


@pytest.mark.parametrize(
    ("losses", "passed"),
    [([2.0, 1.0], True), ([2.0, 1.1], False), ([2.0], False), ([2.0, math.nan], False)],
)
def test_every_first_step_is_the_references(
    losses: list[float], passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "replay_steps", lambda *_: Trained([2.0, 1.0]))
    point = points._like_reference(None, Trained(losses))  # type: ignore[arg-type]
    assert point.passed is passed


def no_rows(bundle: EditableBundle) -> None:
    bundle.steps = bundle.steps[:0]


@pytest.mark.parametrize("edit", [no_rows, no_losses])
def test_a_training_without_step_records_fails_its_point(
    edit: Callable[[EditableBundle], None], good_bundle: Path, tmp_path: Path
) -> None:
    bundle = EditableBundle(Path(shutil.copytree(good_bundle, tmp_path / "run")))
    edit(bundle)
    bundle.save()
    (point,) = points._repeated(None, None, None, tmp_path, Bundle(bundle.path))  # type: ignore[arg-type]
    assert (point.name, point.passed) == ("same-seed", False)
    assert "no step records" in point.observed


def test_output_keeps_what_the_test_wrote(suite: Run, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/framework.toml").write_text(
        'name = "theirs"\ntitle = "Theirs"\ntrain = ["sh", "-c", "echo no GPU; exit 3"]\n'
    )
    command = f"implementation test {tmp_path}/theirs --output {tmp_path}/kept"
    assert suite.typed(command).returncode == 1
    assert "no GPU" in (tmp_path / "kept/run/output.txt").read_text()
    again = suite.typed(command)
    assert (again.returncode, "not a run directory" in again.stderr) == (2, True)


def test_a_new_implementation_is_written_once(suite: Run, tmp_path: Path) -> None:
    answer = suite.done(f"implementation new our-lenet --language c --output {tmp_path} --json")
    assert str(tmp_path / "our-lenet/framework.toml") in json.loads(answer.stdout)["files"]
    assert load_implementation(tmp_path / "our-lenet").name == "our-lenet"
    again = suite.typed(f"implementation new our-lenet --language c --output {tmp_path}")
    assert (again.returncode, "exists" in again.stderr) == (2, True)


def test_a_copy_that_fails_says_why_and_is_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: a file of the example cannot be copied."""
    (tmp_path / "example").mkdir()
    (tmp_path / "example" / "model.py").symlink_to("nowhere")
    monkeypatch.setattr(examples, "example_folder", lambda _: tmp_path / "example")
    with pytest.raises(SuiteError, match=r"ours cannot be written: .*No such file or directory"):
        copy_example("ours", Language.PYTHON, tmp_path)
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("name", ["pytorch", "Ours", "a b", "", "../ours"])
def test_a_name_that_is_taken_or_not_allowed(name: str, tmp_path: Path) -> None:
    with pytest.raises(SuiteError):
        copy_example(name, Language.PYTHON, tmp_path)
    assert not list(tmp_path.iterdir())
