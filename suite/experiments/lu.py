"""Solves LINPACK's system by SciPy's LU decomposition, in a separate process: `python -m
suite.experiments.lu SIZE`.

The fallback where there is no HPL: one node, the BLAS that SciPy was built with, HPL's residual. It
is labelled LU, not HPL.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass

from suite.metrics.linpack_record import Problem, Solution, operations

SEED = 42


@dataclass(frozen=True)
class Solved:
    """The process's output: the solution, and when solving began and ended (CLOCK_MONOTONIC,
    ns)."""

    solution: Solution
    start_ns: int
    stop_ns: int


def solve(size: int) -> Solved:
    """Factor and solve a random system of this order in float64; only these two steps are timed, as
    in HPL."""
    import numpy as np  # start-up: suite.experiments.linpack_run imports Solved
    from scipy.linalg import lu_factor, lu_solve  # type: ignore[import-untyped]  # start-up: as above

    random = np.random.RandomState(SEED)
    matrix, right = random.uniform(-0.5, 0.5, (size, size)), random.uniform(-0.5, 0.5, size)
    start_ns = time.monotonic_ns()
    answer = lu_solve(lu_factor(matrix, check_finite=False), right, check_finite=False)
    stop_ns = time.monotonic_ns()
    time_s = (stop_ns - start_ns) * 1e-9
    norms = float(np.abs(matrix).sum(axis=1).max()) * float(np.abs(answer).max()) + float(
        np.abs(right).max()
    )
    residual = float(np.abs(matrix @ answer - right).max()) / (
        float(np.finfo(np.float64).eps) * norms * size
    )
    return Solved(
        Solution(Problem(size, size, 1, 1), time_s, operations(size) / time_s / 1e9, residual),
        start_ns,
        stop_ns,
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(solve(int(sys.argv[1])))) + "\n")
