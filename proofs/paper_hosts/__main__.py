"""The runs of the Raspberry Pi paper's figure 1c on one, two and four hosts can be made and drawn:
`make prove paper-hosts`.

LeNet-5 trains on network namespaces of this machine; the runs are in build/proofs/paper-hosts, and
a finished set is begun anew. The hosts' links have 100 Mbit/s. The hosts share this machine's
cores: what comes out says how the suite draws such runs, and nothing of boards.
"""

import shlex
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from proofs.figures import hand_over
from proofs.proof import find_proof
from suite.bundle.reader import Bundle
from suite.catalog.papers import load_papers
from suite.files.paths import repository_root
from suite.metrics.summary import read_summary
from tests.hosts.training import SUITE
from tests.namespaces import joined_hosts

MEGABITS_PER_S, TIMEOUT_S = 100, 1800.0
OUTPUT = find_proof("paper-hosts").kept


def main(folder: Path = OUTPUT) -> int:
    """Run the registry's commands on four hosts; returns the exit code of one that failed, else
    0."""
    (runs,) = (runs for runs in load_papers().runs if runs.name == "nodes")
    commands = [command.replace("{runs}", str(folder)) for command in runs.commands]
    if folder == OUTPUT and all(Bundle(_output(command)).is_sealed for command in commands):
        shutil.rmtree(folder)
    with tempfile.TemporaryDirectory() as name, joined_hosts(4, Path(name)) as cluster:
        for host in cluster.hosts:
            cluster.shape(host, MEGABITS_PER_S)
        hostfile = cluster.hostfile(Path(name) / "hosts.txt")
        for command in commands:
            if Bundle(_output(command)).is_sealed:
                continue
            if folder == OUTPUT:
                shutil.rmtree(_output(command), ignore_errors=True)  # it was broken off
            words = [word.format(hosts=hostfile) for word in shlex.split(command)]
            words += ["--launch-agent", str(cluster.agent)]
            answer = cluster.run(
                cluster.hosts[0], SUITE, *words, cwd=repository_root(), timeout_s=TIMEOUT_S
            )
            print(answer.stdout, answer.stderr, sep="\n")
            if answer.returncode:
                return answer.returncode
    shown = _figures([_output(command) for command in commands])
    print("\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in shown.items()))
    hand_over(**shown)
    return 0


def _output(command: str) -> Path:
    words = shlex.split(command)
    return Path(words[words.index("--output") + 1])


def _figures(folders: list[Path]) -> dict[str, float]:
    """Throughput, and the share of an exchange's time that the links need, by the number of hosts:
    means over the runs."""
    found: dict[str, list[float]] = defaultdict(list)
    for folder in folders:
        hosts, figures = (
            len(set(Bundle(folder).log().value("nodes_of_ranks") or [""])),
            read_summary(Bundle(folder))["figures"],
        )
        for name in ("samples_per_s", "wire_limit_share"):
            value = figures.get(name, {}).get("value")
            if value is not None:
                found[f"{name}_on_{hosts}"].append(value)
    return {name: round(statistics.mean(values), 3) for name, values in found.items()}


if __name__ == "__main__":
    sys.exit(main(*(Path(word).absolute() for word in sys.argv[1:2])))
