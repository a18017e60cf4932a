"""Every framework computes the same model at the workloads' own batch sizes, on one rank and on
several: `make prove verify-full`.

``python -m proofs.verify_full [ACCELERATOR]``: what the implementations compute on, cpu or cuda.
First the golden values of real data, then every model against the reference, then several ranks
against one.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from proofs.figures import hand_over
from suite.errors import COULD_NOT
from suite.files.paths import repository_root

SUITE = str(Path(sys.executable).with_name("suite"))
GOLDEN = (
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-m",
    "real",
    "tests/reference_impls/test_golden_values.py",
)
ON_RANKS = ("lenet", "vgg11", "resnet18")
EQUIVALENT, NOT_EQUIVALENT = 0, 1


def main(accelerator: str = "cpu") -> int:
    """Exit code 0: all are equivalent; 1: one is not; 2: one could not be verified."""
    codes = Counter[int]()
    for command in commands(accelerator):
        print(f"\n$ {' '.join((Path(command[0]).name, *command[1:]))}", flush=True)
        codes[subprocess.run(command, cwd=repository_root(), check=False).returncode] += 1
    others = codes.total() - codes[EQUIVALENT] - codes[NOT_EQUIVALENT]
    print(
        f"\n{codes[EQUIVALENT]} of {codes.total()} verifications passed, {codes[NOT_EQUIVALENT]}"
        f" did not, {others} could not be made."
    )
    hand_over(
        verifications=codes.total(),
        passed=codes[EQUIVALENT],
        not_equivalent=codes[NOT_EQUIVALENT],
        accelerator=accelerator,
    )
    return NOT_EQUIVALENT if codes[NOT_EQUIVALENT] else COULD_NOT if others else EQUIVALENT


def commands(accelerator: str) -> Iterator[tuple[str, ...]]:
    """What is run, one after the other, with the same exit codes."""
    yield GOLDEN
    for path in sorted((repository_root() / "rules/workloads").glob("*.toml")):
        yield SUITE, "verify-model", path.stem, "--full", "--accelerator", accelerator
    for workload in ON_RANKS:
        yield SUITE, "verify-ranks", workload
    yield SUITE, "verify-ranks", "resnet18", "--normalisation", "synchronised"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
