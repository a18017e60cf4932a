"""The example in JAX and mistakes in it: `make prove jax-example`.

Its author had docs/implementing.md alone, of which docs/contract.md and docs/draws.md were a part
then: the example is a test of these pages. Its environment is
made from its requirements.txt. ``python -m proofs.jax_example [TEXT…]`` takes the mistakes whose
names contain one of the texts. Exit code 1 if a mistake is noticed by nothing, or the honest
example misses a tolerance or ends.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from proofs.jax_example.mistakes import EXAMPLE, MISTAKES
from proofs.proof import find_proof
from proofs.strangers.__main__ import table
from suite.catalog.frameworks import load_implementation
from suite.files.paths import repository_root
from suite.launch.environments import create_environment
from suite.verify.probing import build_probe


def main() -> int:
    """Make the environment and a copy of the example, and print the table."""
    environment = create_environment(load_implementation(repository_root() / EXAMPLE), print)
    with tempfile.TemporaryDirectory(prefix="jax-example-") as folder:
        copy = Path(folder) / EXAMPLE
        shutil.copytree(
            repository_root() / EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__")
        )
        implementation = build_probe(load_implementation(copy), environment)
        kept = find_proof("jax-example").kept
        return table(MISTAKES, implementation, Path(folder), sys.argv[1:], kept)


if __name__ == "__main__":
    sys.exit(main())
