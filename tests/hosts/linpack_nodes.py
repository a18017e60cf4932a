"""Makes the LINPACK study on one, two and four hosts (``make linpack-hosts``): network namespaces of this machine, one rank on each.

A host's commands are started by nsenter, not by an SSH server, so that all ranks descend from the study: its watch for other programs counts none
of them, and the study runs without --allow-busy on a machine that is quiet.
"""

import sys
import tempfile
from pathlib import Path

from suite.files.paths import repository_root
from tests.hosts.training import SUITE
from tests.namespaces import Cluster, joined_hosts

TIMEOUT_S = 3600.0
OUTPUT = "runs/linpack-study"


def make(*options: str) -> int:
    """Run the study with more of its options; returns its exit code."""
    with tempfile.TemporaryDirectory() as name, joined_hosts(4, Path(name)) as cluster:
        words = ["sweep", "--study", "linpack", "--hostfile", cluster.hostfile(Path(name) / "hosts.txt"), "--ranks-per-node", 1]
        words += ["--launch-agent", _entering(cluster, Path(name) / "enter"), "--output", repository_root() / OUTPUT, *options]
        answer = cluster.run(cluster.hosts[0], SUITE, *words, cwd=repository_root(), timeout_s=TIMEOUT_S)
    print(answer.stdout, answer.stderr, sep="\n")
    return answer.returncode


def _entering(cluster: Cluster, path: Path) -> Path:
    """A launch agent, called as ssh is, whose commands are its children."""
    hosts = "".join(f"{host.name}) process={host.pid};;\n" for host in cluster.hosts)
    command = 'exec nsenter --target "$process" --mount --net --uts -- sh -c "$*"'
    path.write_text(f'#!/bin/sh\nhost=$1; shift\ncase "$host" in\n{hosts}*) echo "there is no $host" >&2; exit 1;;\nesac\n{command}\n')
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    sys.exit(make(*sys.argv[1:]))
