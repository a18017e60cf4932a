"""Compares our all-reduce with PyTorch's DistributedDataParallel over Gloo: same ranks, model and mini-batches, alternating in one run.

usage: python benchmarks/allreduce.py [--ranks 2] [--namespaces] [--model vgg11] [--batch-size 8] [--steps 5] [--turns 7]

Four variants alternate in rotating order: no exchange (the cost of a step alone), ours overlapped with the backward pass, ours after it, and
DistributedDataParallel. A turn lasts as long as its slowest rank. Prints the medians and the ratio theirs / ours with its range (> 1: ours is
faster). ``--namespaces`` gives every rank a network namespace as its host (needs root), so that all traffic crosses a network
interface; without it all ranks are on this machine, where MPI uses shared memory and Gloo the loopback.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from suite.catalog.frameworks import load_framework
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import find
from suite.launch.mpirun import allow_root, find_mpirun, mpirun_command
from suite.launch.placement import Placement

sys.path.insert(0, str(repository_root()))  # the hosts are the tests'

from tests.namespaces import OVER_THE_WIRE, joined_hosts

TIMEOUT_S = 3600


def main() -> int:
    """Start the ranks and print rank 0's output."""
    arguments = parse()
    with tempfile.TemporaryDirectory() as folder:
        measure = in_namespaces if arguments.namespaces else on_this_machine
        answer = measure(arguments, Path(folder))
    print(answer.stdout, end="")
    print(answer.stderr if answer.returncode else "", end="", file=sys.stderr)
    return answer.returncode


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--namespaces", action="store_true", help="a network namespace for every rank")
    parser.add_argument("--model", default="vgg11")
    parser.add_argument("--side", type=int, default=32, help="pixels of a picture")
    parser.add_argument("--batch-size", type=int, default=8, help="samples of each rank")
    parser.add_argument("--steps", type=int, default=5, help="steps per turn")
    parser.add_argument("--turns", type=int, default=7)
    return parser.parse_args()


def command(arguments: argparse.Namespace, placement: Placement, variables: "dict[str, str]", folder: Path) -> list[str]:
    """The command that starts the ranks."""
    interpreter = find(load_framework("pytorch")).interpreter
    options = [word for name in ("ranks", "model", "side", "batch_size", "steps", "turns") for word in _option(name, getattr(arguments, name))]
    return mpirun_command(find_mpirun(interpreter), placement, [str(interpreter), "-m", "benchmarks.speed.exchange", *options], variables, folder)


def _option(name: str, value: object) -> tuple[str, str]:
    return f"--{name.replace('_', '-')}", str(value)


def on_this_machine(arguments: argparse.Namespace, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run all ranks on this machine."""
    variables = allow_root(child_environment(1))
    words = command(arguments, Placement((), arguments.ranks), variables, folder)
    return subprocess.run(words, cwd=repository_root(), env=variables, capture_output=True, text=True, timeout=TIMEOUT_S)


def in_namespaces(arguments: argparse.Namespace, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run every rank on a separate host; prints the bytes that crossed the wire."""
    with joined_hosts(arguments.ranks, folder) as cluster:
        variables = {**child_environment(1), **OVER_THE_WIRE, "GLOO_SOCKET_IFNAME": "eth0"}
        placement = Placement(tuple(host.name for host in cluster.hosts), 1, str(cluster.agent))
        words, first = command(arguments, placement, variables, folder), cluster.hosts[0]
        from_root = ("env", f"--chdir={repository_root()}")  # who enters a host begins at its root
        answer = cluster.run(first, *from_root, *words, variables=variables, timeout_s=TIMEOUT_S)
        print(f"{cluster.traffic(first).sent_bytes / 1e6:.0f} MB left the first host")
        return answer


if __name__ == "__main__":
    sys.exit(main())
