"""``linpack.json``: one sealed LINPACK result, its reader and its formulas."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from suite.bundle.layout import LINPACK_RECORD
from suite.errors import SuiteError
from suite.files.json_file import read_as
from suite.files.tree import files_below
from suite.metrics.sealed_record import SealedRecord

SCHEMA = 3
READABLE = (2, SCHEMA)
THRESHOLD = 16.0
"""HPL's threshold: a scaled residual at or above it is a wrong answer."""

FAST = ("openblas", "libblis", "libatlas", "libmkl", "libarmpl", "libnvpl")
TRAINING_PASSES = 3
"""A training step has about three times the operations of a forward pass: forward, backward to
inputs, backward to weights."""


@dataclass(frozen=True)
class Problem:
    """Order of the matrix, block size, and process grid, P <= Q."""

    size: int
    block: int
    rows: int
    columns: int


@dataclass(frozen=True)
class Solution:
    """The solved problem, the time for it, and the scaled residual of the answer."""

    problem: Problem
    time_s: float
    gflops: float
    residual: float


@dataclass(frozen=True)
class Triad:
    """Memory bandwidth by STREAM's triad, GB/s for each process: one process ``alone``, and the
    mean of all of them ``together``."""

    alone_gb_s: float
    together_gb_s: float


@dataclass(frozen=True)
class OtherLoad:
    """Cores that other programs and the hypervisor took from this machine, means: ``before`` the
    program and ``during`` it; of ``cores``."""

    cores: int
    before: float
    during: float


@dataclass(frozen=True)
class LinpackPower:
    """Energy of the ``time_s`` seconds of solving; ``gflops_per_watt`` uses their mean power. All
    None, with a ``reason``, if not measured.

    ``low_j`` and ``high_j`` bound the energy's 95 % interval; None where no coverage is claimed.
    """

    energy_j: float | None
    time_s: float | None
    gflops_per_watt: float | None
    method: str | None
    reason: str | None
    low_j: float | None = None
    high_j: float | None = None


@dataclass(frozen=True)
class Linpack:
    """One LINPACK result. ``kind`` is HPL, or LU for SciPy's LU decomposition on one node, which is
    not HPL.

    ``blas`` is None if no known library was loaded; ``output`` is the file from which the
    solution was read. ``tried`` are the solutions of all block sizes and process grids, if several
    were tried; ``solution`` is the fastest. ``triad`` and ``load`` are None in records of schema 2,
    ``triad`` also where the program has no STREAM.
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
    power: LinpackPower
    output: str
    tried: tuple[Solution, ...] = ()
    triad: Triad | None = None
    load: OtherLoad | None = None


def operations(size: int) -> float:
    """HPL's number of floating-point operations for order N: 2/3 N^3 + 3/2 N^2."""
    return 2 / 3 * size**3 + 3 / 2 * size**2


def share_reached(forward_macs: int, samples_per_s: float, gflops: float) -> float:
    """Training rate as a share of LINPACK's: 3 x 2 x forward multiply-adds x samples per second,
    over GFLOPS."""
    return TRAINING_PASSES * 2 * forward_macs * samples_per_s / (gflops * 1e9)


def refuse_wrong(solution: Solution) -> Solution:
    """Return the solution; raises SuiteError if it fails HPL's residual test."""
    if not solution.residual < THRESHOLD:  # NaN fails, too
        raise SuiteError(
            f"LINPACK's answer is wrong: its scaled residual is {solution.residual:g}, not below"
            f" {THRESHOLD:g}; check the BLAS and the memory."
        )
    return solution


def read_linpack(directory: Path) -> Linpack:
    """Read the record in a directory; raises FileError if it is missing or malformed."""
    path = directory / LINPACK_RECORD
    return read_as(path, Linpack, *READABLE)


def find_linpacks(path: Path) -> Iterator[Path]:
    """The directories with a record, at or below ``path``; symbolic links are not followed."""
    return (file.parent for file in files_below(path, LINPACK_RECORD))


LINPACK = SealedRecord(LINPACK_RECORD, "run `suite linpack` again")
