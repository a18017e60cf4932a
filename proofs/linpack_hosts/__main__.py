"""The LINPACK study on one, two and four hosts can be made and drawn: `make prove linpack-hosts`.

The hosts are network namespaces of this machine, one rank on each. The study is in
build/proofs/linpack-hosts; a finished one is begun anew. A host's commands are started by nsenter,
not by an SSH server, so that all ranks descend from the study: its watch for other programs counts
none of them, and the study runs without --allow-busy on a machine that is quiet.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from proofs.figures import hand_over
from proofs.proof import find_proof
from suite.bundle.layout import LINPACK_STUDY_RECORD
from suite.files.paths import repository_root
from suite.metrics.linpack_study_record import read_linpack_study
from tests.hosts.training import SUITE
from tests.namespaces import entering_agent, joined_hosts

TIMEOUT_S = 3600.0
OUTPUT = find_proof("linpack-hosts").kept


def main(*options: str) -> int:
    """Run the study with more of its options; returns its exit code."""
    if (OUTPUT / LINPACK_STUDY_RECORD).exists():
        shutil.rmtree(OUTPUT)
    with tempfile.TemporaryDirectory() as name, joined_hosts(4, Path(name)) as cluster:
        words = [
            "sweep",
            "--study",
            "linpack",
            "--hostfile",
            cluster.hostfile(Path(name) / "hosts.txt"),
            "--ranks-per-node",
            1,
        ]
        words += [
            "--launch-agent",
            entering_agent(cluster.hosts, Path(name) / "enter"),
            "--output",
            OUTPUT,
            *options,
        ]
        answer = cluster.run(
            cluster.hosts[0], SUITE, *words, cwd=repository_root(), timeout_s=TIMEOUT_S
        )
    print(answer.stdout, answer.stderr, sep="\n")
    if not answer.returncode:
        points = read_linpack_study(OUTPUT).points
        hand_over(**{f"gflops_on_{point.nodes}": point.gflops.value for point in points})
    return answer.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
