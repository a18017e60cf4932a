"""A vendor's probe is any program that honours the request; whatever else it does ends in one sentence."""

import sys
from pathlib import Path

import numpy as np
import pytest

from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.verify.probing import ProbedImplementation, probe

START = "import json, sys\nimport numpy as np\nrequest = json.load(open(sys.argv[2]))\n"


def run(body: str, folder: Path, precision: str = "float64") -> dict[str, np.ndarray]:
    """Probe a program with this body."""
    program = folder / "program"
    program.write_text(f"#!{sys.executable}\nimport sys\ndel sys.argv[1:3]  # what Python itself would take: -m their.probe\n" + body)
    program.chmod(0o755)
    return dict(probe(ProbedImplementation("theirs", program, "their.probe"), load_workload("lenet"), precision))


def test_the_request_is_complete(tmp_path: Path) -> None:
    body = START + "np.savez(request['output'], losses=np.array(request['learning_rates']), seed=request['seed'])\n"
    found = run(body, tmp_path)
    assert list(found["losses"]) == list(load_workload("lenet").verification.learning_rates)


def test_one_step_is_requested_in_float32(tmp_path: Path) -> None:
    body = START + "np.savez(request['output'], rates=np.array(request['learning_rates']))\n"
    assert list(run(body, tmp_path, "float32")["rates"]) == [load_workload("lenet").verification.learning_rates[0]]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise SystemExit('no such model')", "ended with 1: no such model"),
        ("pass", "wrote no readable archive"),
        (START + "open(request['output'], 'w').write('not an archive')", "wrote no readable archive"),
        (START + "np.savez(request['output'], a=np.array([object()]))", "wrote no readable archive"),
    ],
)
def test_a_probe_that_does_something_else_is_named(body: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=words) as caught:
        run(body, tmp_path)
    assert "theirs" in str(caught.value)


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="cannot be started"):
        probe(ProbedImplementation("theirs", tmp_path / "python", "their.probe"), load_workload("lenet"), "float64")
