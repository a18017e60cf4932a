"""Starts `suite run` over hosts, as a person on the first of them types it."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from suite.bundle import Bundle
from suite.paths import repository_root
from tests.namespaces import Cluster

SUITE = Path(sys.executable).with_name("suite")


@dataclass(frozen=True)
class Trainer:
    """LeNet on the digits, on all hosts of a cluster, into ``output``."""

    cluster: Cluster
    digits: Path
    hostfile: Path

    def words(self, framework: str, output: Path, *more: object) -> list[object]:
        """What is typed."""
        what = ["--division", "open", "--workload", "lenet", "--framework", framework, "--data", f"digits={self.digits}", "--threads", 1]
        return [SUITE, "run", *what, "--output", output, "--hostfile", self.hostfile, "--launch-agent", self.cluster.agent, *more]

    def start(self, framework: str, output: Path, *more: object) -> "subprocess.Popen[str]":
        """Begin to train."""
        return self.cluster.start(self.cluster.hosts[0], *self.words(framework, output, *more), cwd=repository_root())

    def train(self, framework: str, output: Path, *more: object) -> Bundle:
        """Train to the end."""
        answer = self.cluster.run(self.cluster.hosts[0], *self.words(framework, output, *more), cwd=repository_root(), timeout_s=300)
        assert answer.returncode == 0, answer.stderr
        return Bundle(output)
