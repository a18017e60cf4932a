"""``linpack.json``: one sealed LINPACK result, how it is read back, and what of it follows from what."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json
from suite.files.toml_file import from_plain

RECORD = "linpack.json"
SCHEMA = 2
THRESHOLD = 16.0
"""HPL's own: a scaled residual at or above it is a wrong answer."""

FAST = ("openblas", "libblis", "libatlas", "libmkl", "libarmpl", "libnvpl")
TRAINING_PASSES = 3
"""A training step costs about three forward passes: forward, and backward to inputs and to weights."""


@dataclass(frozen=True)
class Problem:
    """The order of the matrix and its block, and the grid of processes, P <= Q."""

    size: int
    block: int
    rows: int
    columns: int


@dataclass(frozen=True)
class Solution:
    """The problem that was solved, how long that took, and the scaled residual of the answer."""

    problem: Problem
    time_s: float
    gflops: float
    residual: float


@dataclass(frozen=True)
class Power:
    """The energy of ``time_s`` in which the system was solved; ``gflops_per_watt`` is over its mean power. None, with a reason, if not measured."""

    energy_j: float | None
    time_s: float | None
    gflops_per_watt: float | None
    method: str | None
    reason: str | None


@dataclass(frozen=True)
class Linpack:
    """One LINPACK result. ``kind`` is HPL or LU: HPL proper, or SciPy's LU decomposition on one node, which is not to be called HPL.

    ``blas`` is None where the program carries its own; ``output`` is the file that the solution was read from.
    """

    schema: int
    kind: str
    program: str
    device: str
    cpu_model: str | None
    nodes: int
    ranks: int
    threads_per_rank: int
    blas: str | None
    solution: Solution
    gflops_per_node: float
    power: Power
    output: str


def operations(size: int) -> float:
    """HPL's count of floating-point operations for a system of this order: 2/3 N^3 + 3/2 N^2."""
    return 2 / 3 * size**3 + 3 / 2 * size**2


def share_reached(forward_macs: int, samples_per_s: float, gflops: float) -> float:
    """The share of LINPACK's rate that a training reaches: 3 x 2 x forward multiply-adds x samples per second, over GFLOPS."""
    return TRAINING_PASSES * 2 * forward_macs * samples_per_s / (gflops * 1e9)


def refuse_wrong(solution: Solution) -> Solution:
    """The solution itself; raises SuiteError where it fails HPL's residual test."""
    if not solution.residual < THRESHOLD:  # NaN fails, too
        raise SuiteError(
            f"LINPACK's answer is wrong: its scaled residual is {solution.residual:g}, not below {THRESHOLD:g}; suspect the BLAS or the memory."
        )
    return solution


def read_linpack(directory: Path) -> Linpack:
    """The record in a directory; raises FileError or SuiteError where it is missing or not what the suite writes."""
    path = directory / RECORD
    if path.is_symlink() or not path.is_file():
        raise FileError(path, "is missing")
    values = read_json(path)
    if values.get("schema") != SCHEMA:
        raise FileError(path, f"has schema {values.get('schema')!r}; this version of the suite reads schema {SCHEMA}")
    return from_plain(values, Linpack, f"{path}: ")


def find_linpacks(path: Path) -> Iterator[Path]:
    """The directories at or below ``path`` that hold a record, links not followed."""
    found = path.rglob(RECORD) if path.is_dir() else iter(())
    return (file.parent for file in sorted(found) if file.is_file() and not file.is_symlink())
