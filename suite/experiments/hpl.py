"""HPL's input and output files, and the largest problem that fits memory and processes."""

import math
import re
from collections.abc import Sequence

from suite.errors import SuiteError
from suite.metrics.linpack_record import THRESHOLD, Problem, Solution, Triad, refuse_wrong

BLOCK = 128
MIN_ORDER = 4 * BLOCK
BEGIN, END = "Begin of HPL section.", "End of HPL section."
RESULT = re.compile(r"^W\S+\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s*$", re.MULTILINE)
VECTOR = re.compile(r"^STREAM_VectorSize=(\d{1,15})\s*$", re.MULTILINE)
MIN_ARRAY_BYTES = 32 * 2**20
"""STREAM's rule: four times the last cache; edge boards have at most 8 MiB."""
TRIAD = re.compile(r"^(Single|Star)STREAM_Triad=(\d+(?:\.\d+)?)\s*$", re.MULTILINE)
RESIDUAL = re.compile(r"^\|\|Ax-b\|\|_oo/.*=\s*(\S+) \.+ \S+\s*$", re.MULTILINE)


def plan_problem(
    ranks: int, available_bytes: int, size: int | None = None, copies: int = 1
) -> Problem:
    """N = 0.9 sqrt(0.75 memory / 8), or ``size`` if given, rounded down to a multiple of the block.
    ``copies`` of the matrix share the memory. Raises SuiteError if it is too small."""
    max_order = int(0.9 * math.sqrt(0.75 * available_bytes / copies / 8)) // BLOCK * BLOCK
    order = max_order if size is None else size // BLOCK * BLOCK
    if order < MIN_ORDER:
        raise SuiteError(
            f"LINPACK needs a matrix of at least order {MIN_ORDER}, but here the order would be"
            f" {order}: free memory, or choose a larger --size."
        )
    if order > max_order:
        raise SuiteError(
            f"Too little memory for LINPACK of order {order}: {available_bytes / 2**20:.0f} MiB are"
            f" free, enough for --size {max_order}."
        )
    return Problem(order, BLOCK, *process_grids(ranks)[0])


def process_grids(ranks: int) -> tuple[tuple[int, int], ...]:
    """Every process grid P x Q with P <= Q, the most square first."""
    return tuple(
        (rows, ranks // rows) for rows in range(math.isqrt(ranks), 0, -1) if ranks % rows == 0
    )


def problem_variants(problem: Problem, blocks: Sequence[int], ranks: int) -> tuple[Problem, ...]:
    """The problem with every block size and process grid; the order is a multiple of each block."""
    size = max(problem.size // math.lcm(*blocks), 1) * math.lcm(*blocks)
    return tuple(
        Problem(size, block, rows, columns)
        for block in blocks
        for rows, columns in process_grids(ranks)
    )


def hpl_input(problems: Sequence[Problem], to_file: bool) -> str:
    """HPL's 31 input lines with problems of one size; the results go to HPL.out (``to_file``) or to
    standard output.

    HPL solves every block size with every grid.
    """
    device = 8 if to_file else 6
    blocks = dict.fromkeys(each.block for each in problems)
    shapes = dict.fromkeys((each.rows, each.columns) for each in problems)
    block, rows, columns = (
        " ".join(map(str, each)) for each in (blocks, *zip(*shapes, strict=True))
    )
    values = [
        "edge-training-suite",
        "",
        "HPL.out",
        device,
        1,
        problems[0].size,
        len(blocks),
        block,
        0,
        len(shapes),
        rows,
        columns,
        THRESHOLD,
        1,
        2,
        1,
        4,
        1,
        2,
        1,
        1,
        1,
        1,
        1,
        1,
        2,
        64,
        0,
        0,
        1,
        8,
    ]
    return "".join(f"{value}\n" for value in values)


def hpcc_input(problems: Sequence[Problem]) -> str:
    """As HPL's input, with no further sizes for PTRANS. hpcc has no option that skips its other
    tests; tools/build_hpl.py builds one without them."""
    return hpl_input(problems, to_file=True) + "".join(f"{value}\n" for value in ("-", 0, 0, 0, 0))


def read_solutions(text: str, name: str) -> tuple[Solution, ...]:
    """HPL's results from its output file ``name``, in their order. Raises SuiteError without a
    result, or where one fails HPL's residual test."""
    results, residuals = RESULT.findall(text), RESIDUAL.findall(text)
    if not results or len(results) != len(residuals):
        raise SuiteError(f"HPL ended without a result; see its output file {name}.")
    return tuple(
        refuse_wrong(
            Solution(
                Problem(*map(int, result[:4])), float(result[4]), float(result[5]), float(residual)
            )
        )
        for result, residual in zip(results, residuals, strict=True)
    )


def read_triad(text: str) -> Triad | None:
    """STREAM's triad of one process and of all processes at once, as hpcc measured them; None where
    it did not.

    hpcc's arrays are as long as HPL's matrix allows: with a small matrix they fit the caches, and
    their bandwidth is not the memory's.
    """
    arrays = VECTOR.search(text)
    if arrays is None or int(arrays[1]) * 8 < MIN_ARRAY_BYTES:
        return None
    found = dict(TRIAD.findall(text))
    alone, together = (float(found.get(kind, 0)) for kind in ("Single", "Star"))
    return (
        Triad(alone, together)
        if math.isfinite(alone) and math.isfinite(together) and alone > 0 and together > 0
        else None
    )
