"""What boards with an old Python can run: JetPack 4 has 3.6, 5 has 3.8, 6 has 3.10, 7 has 3.12
(docs/environments.md)."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reference_impls import contract
from suite.bundle.log import read_log
from suite.files.paths import repository_root
from tests.builders import Scenario, make_request
from tests.conftest import environment_of, printed_in
from tests.every_case import some

PROGRAMS = sorted(
    path.relative_to(repository_root()).as_posix()
    for path in repository_root().glob("extensions/*/programs")
)
JETPACKS = {4: "3.6", 5: "3.8", 6: "3.10", 7: "3.12"}
NEWER_BUT_OPTIONAL = {
    ("contract.py", "'time.monotonic_ns' member"),
    ("node.py", "'importlib.metadata' module"),
    ("admission.py", "'importlib.metadata' module"),
}
"""Used only where Python has them."""


def newer_than(version: str) -> set[tuple[str, str]]:
    """What vermin finds in reference_impls and programs of extensions that needs a later Python:
    file and feature."""
    command = [
        sys.executable,
        "-c",
        "from vermin.main import main; main()",
        "--eval-annotations",
        "--format",
        "parsable",
        "--violations",
    ]
    answer = subprocess.run(
        [*command, f"-t={version}-", "reference_impls", *PROGRAMS],
        cwd=repository_root(),
        capture_output=True,
        text=True,
    )
    assert answer.stderr == ""
    parts = [line.split(":") for line in answer.stdout.splitlines()]
    return {(Path(file).name, feature) for file, _, _, _, _, feature, *_ in parts if feature}


def python_of(version: str) -> str:
    """An interpreter of this version; skips without one."""
    found = [shutil.which(f"python{version}")]
    found += [
        str(path)
        for path in (
            Path(os.environ.get("PYENV_ROOT", "~/.pyenv"))
            .expanduser()
            .glob(f"versions/{version}.*/bin/python")
        )
    ]
    script = f"import sys; assert sys.version_info[:2] == {tuple(map(int, version.split('.')))}"
    for each in found:
        if each and subprocess.run([each, "-c", script], capture_output=True).returncode == 0:
            return each
    pytest.skip(f"needs a Python {version} on PATH")


@pytest.mark.parametrize("jetpack", some(JETPACKS))
@pytest.mark.usefixtures("starts_programs")
def test_every_implementation_is_written_for_its_python(jetpack: int) -> None:
    assert newer_than(JETPACKS[jetpack]) <= NEWER_BUT_OPTIONAL


@pytest.mark.usefixtures("starts_programs")
def test_a_feature_of_a_later_python_is_found() -> None:
    assert newer_than("3.5"), "annotations of variables came with 3.6"


@pytest.mark.parametrize("jetpack", JETPACKS)
def test_every_file_compiles(jetpack: int) -> None:
    script = (
        "import sys\nfor name in sys.argv[1:]: compile(open(name, encoding='utf-8').read(), name,"
        " 'exec')"
    )
    files = sorted((repository_root() / "reference_impls").rglob("*.py"))
    answer = subprocess.run(
        [python_of(JETPACKS[jetpack]), "-c", script, *files], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("jetpack", some(JETPACKS))
def test_a_board_of_each_generation_trains_and_describes_itself(
    jetpack: int, digits: Path, tmp_path: Path
) -> None:
    python = python_of(JETPACKS[jetpack])
    request = make_request(tmp_path, Scenario(framework="fake", division="open", data="digits"))
    request = request._replace(epochs=1, data=request.data._replace(directory=str(digits)))
    (tmp_path / "request.json").write_text(json.dumps(contract.request_to_dict(request)))
    command = [python, "-m", "reference_impls.fake", "--request", tmp_path / "request.json"]
    answer = subprocess.run(command, cwd=repository_root(), capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    log = read_log(tmp_path / "log.txt")
    assert log.problems == () and log.first("run_stop") is not None
    described = subprocess.run(
        [python, "-m", "reference_impls.node", '{"data": [], "peer": null}'],
        cwd=repository_root(),
        capture_output=True,
        text=True,
    )
    facts = json.loads(described.stdout)
    assert facts["python"].startswith(JETPACKS[jetpack]) and "pip" in facts["packages"]


@pytest.mark.pytorch
def test_pytorch_of_jetpack_4_exchanges_gradients_and_takes_no_memory_budget() -> None:
    gradient, sentence = printed_in(
        "pytorch", "-m", "tests.reference_impls.older_pytorch"
    ).splitlines()
    assert gradient == "[0.25, 0.5, 0.75]"
    assert "needs PyTorch 2.1 or later" in sentence and "leave --memory-budget out" in sentence


@pytest.mark.proof
@pytest.mark.pytorch
def test_no_model_drops_out_where_torchvision_ignores_the_argument() -> None:
    """JetPack 4's torchvision takes any argument and keeps its own dropout."""
    script = (
        "from torch import nn; from reference_impls.pytorch.models import mobilenetv3_large\nfrom"
        " reference_impls.pytorch.vision import import_torchvision\nmodels ="
        " import_torchvision().models; new = models.mobilenet_v3_large\nmodels.mobilenet_v3_large ="
        " lambda num_classes, **ignored: new(num_classes=num_classes)\nprint([module.p for module"
        " in mobilenetv3_large(10).modules() if isinstance(module, nn.Dropout)])"
    )
    command = [str(environment_of("pytorch").interpreter), "-c", script]
    answer = subprocess.run(command, cwd=repository_root(), capture_output=True, text=True)
    assert (answer.stdout, answer.returncode) == ("[0.0]\n", 0), answer.stderr[-500:]
