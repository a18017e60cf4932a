"""Starts `suite run` over hosts, as a person on the first of them types it."""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.files.paths import repository_root
from suite.launch.environments import adopt_interpreter
from suite.launch.mpirun import Flavour, find_mpirun
from tests.conftest import environment_of
from tests.every_case import in_ci
from tests.namespaces import Cluster

SUITE = Path(sys.executable).with_name("suite")
OVER_OPEN_MPI = pytest.mark.parametrize(
    "trainer", [Flavour.OPEN_MPI], indirect=True, ids=["open-mpi"]
)
OVER_BOTH = pytest.mark.parametrize(
    "trainer", list(Flavour), indirect=True, ids=["mpich", "open-mpi"]
)


@dataclass(frozen=True)
class Trainer:
    """LeNet on the digits, on all hosts of a cluster; ``variables`` are the child_environment that
    choose an MPI and send it over the wire."""

    cluster: Cluster
    digits: Path
    hostfile: Path
    variables: Mapping[str, str]

    def words(self, framework: str, output: Path, *more: object) -> list[object]:
        """What is typed."""
        what = f"run --division open --workload lenet --framework {framework} --threads 1".split()
        where = ["--data", f"digits={self.digits}", "--output", output]
        hosts = ["--hostfile", self.hostfile, "--launch-agent", self.cluster.agent]
        return [SUITE, *what, *where, *hosts, *more]

    def typed(self, words: Sequence[object]) -> "subprocess.CompletedProcess[str]":
        """The answer to what is typed on the first host."""
        return self.cluster.run(
            self.cluster.hosts[0],
            *words,
            variables=self.variables,
            cwd=repository_root(),
            timeout_s=300,
        )

    def start(self, framework: str, output: Path, *more: object) -> "subprocess.Popen[str]":
        """Begin to train."""
        words = self.words(framework, output, *more)
        return self.cluster.start(
            self.cluster.hosts[0], *words, variables=self.variables, cwd=repository_root()
        )

    def train(self, framework: str, output: Path, *more: object) -> Bundle:
        """Train to the end."""
        answer = self.typed(self.words(framework, output, *more))
        assert answer.returncode == 0, answer.stderr
        return Bundle(output)


def adopt_open_mpi(home: Path) -> None:
    """The system's Open MPI is used by an environment that brings no MPI: make one for PyTorch
    below ``home``."""
    refuse_without_open_mpi()
    whole = environment_of("pytorch").interpreter
    subprocess.run([str(whole), "-m", "venv", "--without-pip", str(home / "bare")], check=True)
    (packages,) = whole.parent.parent.glob("lib/python3*/site-packages")
    (bare,) = home.glob("bare/lib/python3*/site-packages")
    (bare / "whole.pth").write_text(f"{packages}\n")
    environment = adopt_interpreter(load_framework("pytorch"), home / "bare/bin/python", home)
    assert find_mpirun(environment.interpreter).flavour is Flavour.OPEN_MPI


def refuse_without_open_mpi() -> None:
    """Skip where the system has none; in CI that is a failure."""
    found = shutil.which("mpirun")
    if found is None or find_mpirun(Path("/nowhere/python")).flavour is not Flavour.OPEN_MPI:
        (pytest.fail if in_ci() else pytest.skip)(
            "needs the system's Open MPI: sudo apt-get install openmpi-bin"
        )
