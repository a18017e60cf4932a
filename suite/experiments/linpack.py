"""LINPACK on this machine: HPL as Debian's `hpcc` brings it, sized, started, its BLAS looked at while it runs, its answer read and sealed."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from suite import bundle
from suite.errors import SuiteError

RECORD, INPUT, OUTPUT = "linpack.json", "hpccinf.txt", "hpccoutf.txt"
BLOCK = 128
SMALLEST = 4 * BLOCK
THRESHOLD = 16.0
"""HPL's own: a scaled residual at or above it is a wrong answer."""

FAST = ("openblas", "libblis", "libatlas", "libmkl", "libarmpl", "libnvpl")
INSTALL = "sudo apt-get install hpcc libopenblas0-pthread"
RESULT = re.compile(r"^W\S+\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s*$", re.MULTILINE)
RESIDUAL = re.compile(r"^\|\|Ax-b\|\|_oo/.*=\s*(\S+) \.+ \S+\s*$", re.MULTILINE)
NO_WATTS = "HPL's phase has no power readings of its own: no meter records during it yet"


@dataclass(frozen=True)
class Problem:
    """The order of the matrix, a multiple of the block, and the grid of processes, P <= Q."""

    size: int
    block: int
    rows: int
    columns: int


@dataclass(frozen=True)
class Solution:
    """What HPL printed: the problem it solved, how long that took, and its scaled residual."""

    problem: Problem
    time_s: float
    gflops: float
    residual: float


@dataclass(frozen=True)
class Linpack:
    """``linpack.json``: one sealed LINPACK result of one machine."""

    schema: int
    program: str
    ranks: int
    threads_per_rank: int
    blas: str
    solution: Solution
    gflops_per_node: float
    gflops_per_watt: float | None
    gflops_per_watt_reason: str


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


def input_file(problem: Problem) -> str:
    """hpcc's input: HPL's 31 lines with one problem, then no further sizes for PTRANS. hpcc has no switch that leaves out its other tests."""
    values = [
        "edge-training-suite", "", "HPL.out", 8, 1, problem.size, 1, problem.block, 0, 1, problem.rows, problem.columns, THRESHOLD,
        1, 2, 1, 4, 1, 2, 1, 1, 1, 1, 1, 1, 2, 64, 0, 0, 1, 8, "-", 0, 0, 0, 0,
    ]  # fmt: skip
    return "".join(f"{value}\n" for value in values)


def read_solution(text: str) -> Solution:
    """HPL's result from hpcc's output. Raises SuiteError where there is none or where it fails HPL's residual test."""
    result, residual = RESULT.search(text), RESIDUAL.search(text)
    if result is None or residual is None:
        raise SuiteError(f"hpcc ended without a result of HPL; its {OUTPUT} says how far it came.")
    size, block, rows, columns = (int(result[i]) for i in range(1, 5))
    solution = Solution(Problem(size, block, rows, columns), float(result[5]), float(result[6]), float(residual[1]))
    if not solution.residual < THRESHOLD:  # NaN fails, too
        raise SuiteError(
            f"HPL's answer is wrong: its scaled residual is {solution.residual:g}, not below {THRESHOLD:g}; suspect the BLAS or the memory."
        )
    return solution


def choose_blas(mapped: Iterable[str]) -> str | None:
    """The BLAS among the files that a process has mapped: a fast one by name, else what calls itself libblas; None where none is seen."""
    paths = sorted(set(mapped))
    fast = [path for path in paths if any(name in Path(path).name for name in FAST)]
    plain = [path for path in paths if Path(path).name.startswith("libblas.so")]
    return next(iter(fast + plain), None)


def refuse_slow(blas: str | None) -> str:
    """The BLAS itself. Raises SuiteError for the reference BLAS, and where the BLAS is unknown."""
    if blas is None:
        raise SuiteError(f"Which BLAS hpcc uses could not be seen, so its rate says little; install OpenBLAS: {INSTALL}.")
    if not any(name in Path(blas).name for name in FAST):
        raise SuiteError(f"hpcc uses the reference BLAS ({blas}), many times slower than this machine; install OpenBLAS: {INSTALL}.")
    return blas


def measure(directory: Path, ranks: int, size: int | None) -> Linpack:
    """Run HPL with one thread per rank and seal record and raw output in ``directory``, which must not exist. Raises SuiteError."""
    import psutil

    mpirun, hpcc = (_found(name) for name in ("mpirun", "hpcc"))
    problem = plan(ranks, int(psutil.virtual_memory().available), size)
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        raise SuiteError(f"The LINPACK record cannot be made in {directory} ({error.strerror}): name another --output.") from error
    (directory / INPUT).write_text(input_file(problem), encoding="ascii")
    blas = _run([mpirun, "-np", str(ranks), hpcc], directory)
    output = directory / OUTPUT
    if not output.is_file():
        raise SuiteError(f"hpcc wrote no result; what it said is in {directory / bundle.OUTPUT}.")
    solution = read_solution(output.read_text(encoding="utf-8", errors="replace"))
    record = Linpack(1, hpcc, ranks, 1, blas, solution, solution.gflops, None, NO_WATTS)
    (directory / RECORD).write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")
    bundle.seal(directory)
    return record


def _found(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SuiteError(f"LINPACK needs {name}, which is not installed here: {INSTALL}.")
    return path


def _run(command: list[str], directory: Path) -> str:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    if os.geteuid() == 0:  # Open MPI refuses root unless told twice
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with (directory / bundle.OUTPUT).open("wb") as said:
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=said, stderr=said, start_new_session=True)
        try:
            blas = refuse_slow(_loaded_blas(process))
            code = process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)  # mpirun takes its ranks along
                process.wait()
    if code != 0:
        raise SuiteError(f"hpcc ended with exit code {code}; what it said is in {directory / bundle.OUTPUT}.")
    return blas


def _loaded_blas(process: "subprocess.Popen[bytes]") -> str | None:
    """What a rank has really mapped, whatever the linker's files promise; seen twice, since a rank looked at while it loads lacks libraries."""
    import psutil

    seen = None
    while process.poll() is None:
        try:
            ranks = [child for child in psutil.Process(process.pid).children(recursive=True) if child.name() == "hpcc"]
            blas = choose_blas(mapping.path for rank in ranks for mapping in rank.memory_maps())
        except psutil.Error:
            blas = None
        if blas is not None and blas == seen:
            return blas
        seen = blas or seen
        time.sleep(0.05)
    return seen
