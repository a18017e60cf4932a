"""HPL's input and output files, and the largest problem that fits memory and processes."""

import math
import re

from suite.errors import SuiteError
from suite.metrics.linpack import THRESHOLD, Problem, Solution, refuse_wrong

BLOCK = 128
MIN_ORDER = 4 * BLOCK
BEGIN, END = "Begin of HPL section.", "End of HPL section."
RESULT = re.compile(r"^W\S+\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s*$", re.MULTILINE)
RESIDUAL = re.compile(r"^\|\|Ax-b\|\|_oo/.*=\s*(\S+) \.+ \S+\s*$", re.MULTILINE)


def plan(ranks: int, available_bytes: int, size: int | None = None) -> Problem:
    """N = 0.9 sqrt(0.75 memory / 8), or ``size`` if given, rounded down to a multiple of the block. Raises SuiteError if memory is too small."""
    max_order = int(0.9 * math.sqrt(0.75 * available_bytes / 8)) // BLOCK * BLOCK
    order = max_order if size is None else size // BLOCK * BLOCK
    if order < MIN_ORDER:
        raise SuiteError(f"LINPACK needs a matrix of order {MIN_ORDER} or more, here it would be {order}: free memory, or choose a larger --size.")
    if order > max_order:
        raise SuiteError(
            f"Too little memory for LINPACK of order {order}: {available_bytes / 2**20:.0f} MiB are free, enough for --size {max_order}."
        )
    rows = max(divisor for divisor in range(1, math.isqrt(ranks) + 1) if ranks % divisor == 0)
    return Problem(order, BLOCK, rows, ranks // rows)


def hpl_input(problem: Problem, to_file: bool) -> str:
    """HPL's 31 input lines with one problem; the result goes to HPL.out (``to_file``) or to standard output."""
    device = 8 if to_file else 6
    values = [
        "edge-training-suite", "", "HPL.out", device, 1, problem.size, 1, problem.block, 0, 1, problem.rows, problem.columns, THRESHOLD,
        1, 2, 1, 4, 1, 2, 1, 1, 1, 1, 1, 1, 2, 64, 0, 0, 1, 8,
    ]  # fmt: skip
    return "".join(f"{value}\n" for value in values)


def hpcc_input(problem: Problem) -> str:
    """As HPL's input, with no further sizes for PTRANS. hpcc has no option that skips its other tests."""
    return hpl_input(problem, to_file=True) + "".join(f"{value}\n" for value in ("-", 0, 0, 0, 0))


def read_solution(text: str, name: str) -> Solution:
    """HPL's result from its output file ``name``. Raises SuiteError without a result, or where it fails HPL's residual test."""
    result, residual = RESULT.search(text), RESIDUAL.search(text)
    if result is None or residual is None:
        raise SuiteError(f"HPL ended without a result; see its output file {name}.")
    size, block, rows, columns = (int(result[i]) for i in range(1, 5))
    return refuse_wrong(Solution(Problem(size, block, rows, columns), float(result[5]), float(result[6]), float(residual[1])))
