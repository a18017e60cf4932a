"""A vendor's probe is any program that honours the request; whatever else it does ends in one
sentence."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_impls.contract import Parallel
from reference_impls.probe import random_value
from suite.catalog.frameworks import load_implementation
from suite.catalog.workloads import NARROW, WIDE, load_workload
from suite.errors import SuiteError
from suite.launch.environments import find_environment
from suite.verify import probing
from suite.verify.probing import ProbedImplementation, build_probe, probe_in_precision
from suite.verify.verdict import judge_implementation

START = "import json, sys\nimport numpy as np\nrequest = json.load(open(sys.argv[2]))\n"


def run(body: str, folder: Path, precision: str = "float64") -> dict[str, np.ndarray]:
    """Probe a program with this body."""
    program = folder / "program"
    program.write_text(
        f"#!{sys.executable}\nimport sys\ndel sys.argv[1:3]  # what Python itself would take: -m"
        " their.probe\n" + body
    )
    program.chmod(0o755)
    return dict(
        probe_in_precision(
            ProbedImplementation("theirs", program, "their.probe"),
            load_workload("lenet"),
            precision,
        )
    )


def test_the_request_is_complete(tmp_path: Path) -> None:
    body = (
        START + "np.savez(request['output'], losses=np.array(request['learning_rates']),"
        " seed=request['seed'])\n"
    )
    found = run(body, tmp_path)
    assert list(found["losses"]) == list(load_workload("lenet").verification.learning_rates)


def test_one_step_is_requested_in_float32(tmp_path: Path) -> None:
    body = START + "np.savez(request['output'], rates=np.array(request['learning_rates']))\n"
    assert list(run(body, tmp_path, "float32")["rates"]) == [
        load_workload("lenet").verification.learning_rates[0]
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise SystemExit('no such model')", "ended with 1: no such model"),
        ("pass", "wrote no readable archive"),
        (
            START + "open(request['output'], 'w').write('not an archive')",
            "wrote no readable archive",
        ),
        (
            START + "np.savez(request['output'], a=np.array([object()]))",
            "wrote no readable archive",
        ),
    ],
)
def test_a_probe_that_does_something_else_is_named(body: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=words) as caught:
        run(body, tmp_path)
    assert "theirs" in str(caught.value)


def test_of_several_ranks_the_reason_is_named_and_not_the_launchers_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "error: it cannot; leave --collective native out."
    aborted = "Abort(2) on node 0 (rank 0 in comm 0): application called MPI_Abort"
    script = f"printf '%s\\n%s\\n' '{said}' '{aborted}' >&2; exit 2"
    monkeypatch.setattr(probing, "find_mpirun", lambda interpreter: None)
    monkeypatch.setattr(probing, "mpirun_command", lambda *_: ["sh", "-c", script])
    theirs = ProbedImplementation("theirs", tmp_path, "their.probe")
    request: Any = SimpleNamespace(threads=1, parallel=Parallel(2, 1, "native", 1, True))
    with pytest.raises(SuiteError, match="ended with 2: error: it cannot; leave --collective"):
        probing._run_probe(theirs, request, tmp_path / "request.json", [], tmp_path)


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="cannot be started"):
        probe_in_precision(
            ProbedImplementation("theirs", tmp_path / "python", "their.probe"),
            load_workload("lenet"),
            "float64",
        )


def of_files(body: str, folder: Path) -> dict[str, np.ndarray]:
    """Probe an implementation outside the checkout, whose program has this body, with one
    parameter."""
    (folder / "framework.toml").write_text(
        'name = "theirs"\ntitle = "Theirs"\ntrain = ["true"]\nprobe = ["{python}", "probe.py",'
        ' "{dtype}"]\n'
    )
    (folder / "probe.py").write_text(
        "import json, pathlib, sys\nimport numpy as np\nrequest = json.load(open(sys.argv[3]))\n"
        + body
    )
    framework = load_implementation(folder)
    implementation = build_probe(framework, find_environment(framework))
    return dict(
        probe_in_precision(
            implementation,
            load_workload("lenet"),
            "float64",
            shapes={"parameter/fc1.weight": (2, 3)},
        )
    )


def test_a_probe_outside_the_checkout_gets_its_inputs_as_files(tmp_path: Path) -> None:
    body = (
        "inputs, output = (pathlib.Path(request[name]) for name in ('inputs', 'output'))\nfor name"
        " in ('parameter/fc1.weight', 'images_0'):\n    np.save(output /"
        " f'parameter/{pathlib.Path(name).name}.npy', np.load(inputs /"
        " f'{name}.npy'))\nnp.save(output / 'logits.npy', np.load(inputs / 'labels_4.npy'))\n"
    )
    found, settings = of_files(body, tmp_path), load_workload("lenet").verification
    assert set(found) == {"logits", "parameter/fc1.weight", "parameter/images_0"}
    np.testing.assert_array_equal(
        found["parameter/fc1.weight"], random_value("fc1.weight", (2, 3), settings.seed)
    )
    assert found["parameter/images_0"].shape == (settings.batch_size, *settings.image_shape)
    assert found["logits"].dtype == np.int64


def test_a_verdict_names_the_command_and_no_interpreter(tmp_path: Path) -> None:
    """The verdict is handed in: an expanded command names a home folder."""
    (tmp_path / "framework.toml").write_text(
        'name = "theirs"\ntitle = "Theirs"\ntrain = ["true"]\nprobe = ["{python}", "probe.py",'
        ' "{dtype}"]\n'
    )
    framework, arrays = load_implementation(tmp_path), {"loss": np.ones(())}
    implementation = build_probe(framework, find_environment(framework))
    found = dict.fromkeys((WIDE, NARROW), arrays)
    verdict = judge_implementation(implementation, load_workload("lenet"), found, found)
    assert verdict.module == "{python} probe.py {dtype}"
    assert implementation.interpreter.is_absolute()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise SystemExit('no such model')", "ended with 1: no such model"),
        ("pass", "wrote no .npy file"),
        (
            "pathlib.Path(request['output'], 'logits.npy').write_text('no array')",
            "wrote logits.npy, which is not an array",
        ),
        (
            (
                "np.save(pathlib.Path(request['output'], 'logits.npy'), np.array([object()]),"
                " allow_pickle=True)"
            ),
            "wrote logits.npy, which is not an array",
        ),
        (
            "pathlib.Path(request['output'], 'a.npy').symlink_to('/etc/hostname')",
            "not a regular file",
        ),
        ("import os; os.mkfifo(pathlib.Path(request['output'], 'a.npy'))", "not a regular file"),
        ("np.save(pathlib.Path(request['output'], 'a.npy'), 'text')", "values of the type <U4"),
        (
            (
                "file = pathlib.Path(request['output'], 'a.npy')\nnp.save(file, 1.0)\n"
                "import os; os.truncate(file, 2**40)"
            ),
            "more than 1024 MiB",
        ),
        (
            (
                "header = {'descr': '<f8', 'fortran_order': False, 'shape': (10**12,)}\n"
                "with open(pathlib.Path(request['output'], 'a.npy'), 'wb') as file:\n"
                "    np.lib.format.write_array_header_1_0(file, header)"
            ),
            "wrote a.npy, which is not an array",
        ),
    ],
)
def test_files_that_are_no_arrays_are_named(body: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=words):
        of_files(body, tmp_path)
