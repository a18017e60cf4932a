"""Prints what a workload's model computes on the inputs of `suite verify-model`, in float64, in
every framework.

``python -m tools.golden_values WORKLOAD``: the first outputs and the losses of the optimiser steps,
as ``[verification.golden]`` has them. They are written down where frameworks agree to the last
digits; nothing is judged.
"""

import sys

from suite.catalog.frameworks import load_frameworks
from suite.catalog.workloads import WIDE, load_workload
from suite.launch.environments import find_environment
from suite.verify.probing import build_probe, probe_in_precision
from suite.verify.verdict import golden_values


def main() -> None:
    """A block for each framework."""
    workload = load_workload(sys.argv[1])
    for framework in (framework for framework in load_frameworks() if framework.serves_closed):
        sys.stdout.write(f"# {framework.title}\n[verification.golden]\n")
        for name, values in golden_values(
            probe_in_precision(build_probe(framework, find_environment(framework)), workload, WIDE)
        ).items():
            sys.stdout.write(f"{name} = {[float(value) for value in values]}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
