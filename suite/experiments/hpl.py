"""What HPL is told and what it says: its input, its output, and the problem that fits memory and processes."""

import math
import re

from suite.errors import SuiteError
from suite.metrics.linpack import THRESHOLD, Problem, Solution, refuse_wrong

BLOCK = 128
SMALLEST = 4 * BLOCK
BEGIN, END = "Begin of HPL section.", "End of HPL section."
RESULT = re.compile(r"^W\S+\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s*$", re.MULTILINE)
RESIDUAL = re.compile(r"^\|\|Ax-b\|\|_oo/.*=\s*(\S+) \.+ \S+\s*$", re.MULTILINE)


def plan(ranks: int, available_bytes: int, size: int | None = None) -> Problem:
    """N = 0.9 sqrt(0.75 memory / 8), or ``size`` at most, as a multiple of the block. Raises SuiteError where the memory holds no such matrix."""
    most = int(0.9 * math.sqrt(0.75 * available_bytes / 8)) // BLOCK * BLOCK
    order = most if size is None else size // BLOCK * BLOCK
    if order < SMALLEST:
        raise SuiteError(f"LINPACK needs a matrix of order {SMALLEST} or more, here it would be {order}: free memory, or ask for a larger --size.")
    if order > most:
        raise SuiteError(f"Too little memory for LINPACK of order {order}: {available_bytes / 2**20:.0f} MiB are free, enough for --size {most}.")
    rows = max(divisor for divisor in range(1, math.isqrt(ranks) + 1) if ranks % divisor == 0)
    return Problem(order, BLOCK, rows, ranks // rows)


def hpl_input(problem: Problem, to_file: bool) -> str:
    """HPL's 31 lines with one problem; the answer goes to HPL.out (``to_file``) or to standard output."""
    device = 8 if to_file else 6
    values = [
        "edge-training-suite", "", "HPL.out", device, 1, problem.size, 1, problem.block, 0, 1, problem.rows, problem.columns, THRESHOLD,
        1, 2, 1, 4, 1, 2, 1, 1, 1, 1, 1, 1, 2, 64, 0, 0, 1, 8,
    ]  # fmt: skip
    return "".join(f"{value}\n" for value in values)


def hpcc_input(problem: Problem) -> str:
    """As HPL's, then no further sizes for PTRANS. hpcc has no switch that leaves out its other tests."""
    return hpl_input(problem, to_file=True) + "".join(f"{value}\n" for value in ("-", 0, 0, 0, 0))


def read_solution(text: str, name: str) -> Solution:
    """HPL's result from its output, the file ``name``. Raises SuiteError where there is none or where it fails HPL's residual test."""
    result, residual = RESULT.search(text), RESIDUAL.search(text)
    if result is None or residual is None:
        raise SuiteError(f"HPL ended without a result; its {name} says how far it came.")
    size, block, rows, columns = (int(result[i]) for i in range(1, 5))
    return refuse_wrong(Solution(Problem(size, block, rows, columns), float(result[5]), float(result[6]), float(residual[1])))
