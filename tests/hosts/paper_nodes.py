"""Makes the runs of pi-1c (``make paper-hosts``): LeNet-5 on one, two and four hosts, network namespaces of this machine.

The hosts' links have 100 Mbit/s. The hosts share this machine's cores: what comes out says how the suite draws such runs, and nothing of boards.
"""

import shlex
import sys
import tempfile
from pathlib import Path

from suite.catalog.papers import load_papers
from suite.files.paths import repository_root
from tests.hosts.training import SUITE
from tests.namespaces import joined_hosts

MEGABITS_PER_S, TIMEOUT_S = 100, 1800.0


def make(folder: Path) -> int:
    """Run the registry's command on four hosts; returns its exit code."""
    (runs,) = (runs for runs in load_papers().runs if runs.name == "nodes")
    with tempfile.TemporaryDirectory() as name, joined_hosts(4, Path(name)) as cluster:
        for host in cluster.hosts:
            cluster.shape(host, MEGABITS_PER_S)
        hostfile = cluster.hostfile(Path(name) / "hosts.txt")
        for command in runs.commands:
            words = [word.format(runs=folder, hosts=hostfile) for word in shlex.split(command)]
            words += ["--launch-agent", str(cluster.agent)]
            answer = cluster.run(cluster.hosts[0], SUITE, *words, cwd=repository_root(), timeout_s=TIMEOUT_S)
            print(answer.stdout, answer.stderr, sep="\n")
            if answer.returncode:
                return answer.returncode
    return 0


if __name__ == "__main__":
    sys.exit(make(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/papers/nodes").absolute()))
