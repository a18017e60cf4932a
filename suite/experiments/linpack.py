"""Runs LINPACK and seals the record: HPL (hpcc or xhpl) on one or several nodes, or SciPy's LU on this one."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from suite.bundle import layout, manifest
from suite.errors import SuiteError
from suite.experiments import hpl
from suite.experiments.linpack_power import PowerRecording
from suite.experiments.lu import Solved
from suite.files.json_file import write_json
from suite.files.paths import checkout
from suite.files.toml_file import from_plain
from suite.launch.mpirun import allow_root, find_mpirun, mpirun_command
from suite.launch.placement import Placement
from suite.launch.process import terminate
from suite.machine.identify import identify
from suite.machine.system import cpu_model
from suite.metrics.linpack import FAST, RECORD, SCHEMA, Linpack, Problem, Solution, refuse_wrong

HPCC_INPUT, HPCC_OUTPUT, XHPL_INPUT = "hpccinf.txt", "hpccoutf.txt", "HPL.dat"
INSTALL = "sudo apt-get install hpcc libopenblas0-pthread"
POLL_S = 0.05


@dataclass(frozen=True)
class LinpackRequest:
    """Where and with which program LINPACK runs. ``xhpl`` is a program that the user built; ``size`` is the matrix order (None: by memory)."""

    placement: Placement
    xhpl: Path | None = None
    size: int | None = None
    with_scipy: bool = False


@dataclass(frozen=True)
class _Ran:
    """A finished program: the BLAS that its process had mapped, and when it solved the system (CLOCK_MONOTONIC, ns)."""

    blas: str | None
    window_ns: tuple[int, int]


def measure(directory: Path, request: LinpackRequest) -> Linpack:
    """Run LINPACK and seal record and raw output in ``directory``, which must not exist. Raises SuiteError."""
    with_scipy = request.with_scipy or (request.xhpl is None and request.placement.nodes == 1 and shutil.which("hpcc") is None)
    available = int(psutil.virtual_memory().available) * request.placement.nodes
    if with_scipy:
        problem = hpl.plan(1, available // 2, request.size)  # the factors are a copy of the matrix
        return _seal(directory, _with_scipy(_made(directory), problem))
    programs = (_found("mpirun"), str(_own(request.xhpl)) if request.xhpl else _found("hpcc"))
    problem = hpl.plan(request.placement.ranks, available, request.size)
    return _seal(directory, _with_hpl(_made(directory), request, programs, problem))


def _made(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        raise SuiteError(f"The LINPACK record cannot be made in {directory} ({error.strerror}): choose another --output.") from error
    return directory


def _found(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SuiteError(f"LINPACK needs {name}, which is not installed here: {INSTALL}.")
    return path


def _own(xhpl: Path) -> Path:
    if not xhpl.is_file() or not os.access(xhpl, os.X_OK):
        raise SuiteError(f"--xhpl {xhpl} is not an executable file; give the path of the xhpl that you built.")
    return xhpl.absolute()


def _with_hpl(directory: Path, request: LinpackRequest, programs: tuple[str, str], problem: Problem) -> Linpack:
    mpirun, program = programs
    own = request.xhpl is not None
    name, text = (XHPL_INPUT, hpl.hpl_input(problem, to_file=False)) if own else (HPCC_INPUT, hpl.hpcc_input(problem))
    (directory / name).write_text(text, encoding="ascii")
    output = directory / (layout.OUTPUT if own else HPCC_OUTPUT)
    variables = allow_root({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
    command = mpirun_command(find_mpirun(Path(mpirun)), request.placement, [program], variables, directory)
    power = PowerRecording(directory, request.placement.nodes)
    ran = _run(command, variables, directory, power, None if own else output, needs_blas=not own)
    if not output.is_file():
        raise SuiteError(f"hpcc wrote no result; its output is in {directory / layout.OUTPUT}. The folder must exist on the first host, too.")
    solution = hpl.read_solution(output.read_text(encoding="utf-8", errors="replace"), output.name)
    placement = request.placement
    watts = power.figures(solution.gflops, ran.window_ns)
    return Linpack(
        SCHEMA, "HPL", program, *_machine(), placement.nodes, placement.ranks, 1, ran.blas, *_rates(solution, placement.nodes), watts, output.name
    )


def _with_scipy(directory: Path, problem: Problem) -> Linpack:
    threads = psutil.cpu_count(logical=False) or 1
    variables = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    power = PowerRecording(directory, 1)
    command = [sys.executable, "-m", "suite.experiments.lu", str(problem.size)]
    ran = _run(command, variables, directory, power, None, needs_blas=True)
    solved = read_lu((directory / layout.OUTPUT).read_text(encoding="utf-8", errors="replace"))
    watts = power.figures(solved.solution.gflops, (solved.start_ns, solved.stop_ns))
    return Linpack(SCHEMA, "LU", "SciPy", *_machine(), 1, 1, threads, ran.blas, *_rates(solved.solution, 1), watts, layout.OUTPUT)


def read_lu(text: str) -> Solved:
    """The result that SciPy's LU printed; raises SuiteError without one, or where the residual test fails."""
    try:
        found = from_plain(json.loads(text.strip().splitlines()[-1]), Solved, "output.txt: ")
    except (ValueError, IndexError) as error:
        raise SuiteError("SciPy's LU ended without a result; see its output.txt.") from error
    refuse_wrong(found.solution)
    return found


def _machine() -> tuple[str, str | None]:
    """The device profile's name and the processor."""
    return identify().device.name, cpu_model()


def _rates(solution: Solution, nodes: int) -> tuple[Solution, float]:
    return solution, solution.gflops / nodes


def _seal(directory: Path, record: Linpack) -> Linpack:
    write_json(directory / RECORD, record)
    manifest.seal(directory)
    return record


def _run(command: Sequence[str], variables: dict[str, str], directory: Path, power: PowerRecording, sections: Path | None, needs_blas: bool) -> _Ran:
    """Run the program to its end. HPL's solving time is read from the output file ``sections``, if given. Raises SuiteError for a slow BLAS."""
    environment = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1", **variables}
    if sys.executable == command[0] and (root := checkout()):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    with (directory / layout.OUTPUT).open("wb") as output:
        process = subprocess.Popen(
            list(command), cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        try:
            with power.recording(process.pid):
                began_ns = time.monotonic_ns()
                blas = _loaded_blas(process)
                if needs_blas or blas is not None:
                    refuse_slow(blas)
                window_ns = _follow(process, sections, began_ns)
        finally:
            terminate(process)
    if process.returncode != 0:
        raise SuiteError(f"{Path(command[0]).name} ended with exit code {process.returncode}; its output is in {directory / layout.OUTPUT}.")
    return _Ran(blas, window_ns)


def _follow(process: "subprocess.Popen[bytes]", sections: Path | None, began_ns: int) -> tuple[int, int]:
    """Wait for the end; returns when HPL's section of the output began and ended, or else the program."""
    start_ns = stop_ns = None
    while True:
        ended = process.poll() is not None
        text = sections.read_text(encoding="utf-8", errors="replace") if sections is not None and sections.is_file() else ""
        if start_ns is None and hpl.BEGIN in text:
            start_ns = time.monotonic_ns()
        if stop_ns is None and hpl.END in text:
            stop_ns = time.monotonic_ns()
        if ended:
            return start_ns or began_ns, stop_ns or time.monotonic_ns()
        time.sleep(POLL_S)


def choose_blas(mapped: Iterable[str]) -> str | None:
    """The BLAS among a process's mapped files: a fast one by name, SciPy's before NumPy's, else libblas.so."""
    paths = sorted(set(mapped), key=lambda path: ("numpy.libs" in path, path))
    fast = [path for path in paths if any(name in Path(path).name for name in FAST)]
    plain = [path for path in paths if Path(path).name.startswith("libblas.so")]
    return next(iter(fast + plain), None)


def refuse_slow(blas: str | None) -> str:
    """The BLAS itself. Raises SuiteError for the reference BLAS, and where the BLAS is unknown."""
    if blas is None:
        raise SuiteError(f"LINPACK's BLAS could not be identified, so its rate means little; install OpenBLAS: {INSTALL}.")
    if not any(name in Path(blas).name for name in FAST):
        raise SuiteError(f"LINPACK uses the reference BLAS ({blas}), many times slower than this machine; install OpenBLAS: {INSTALL}.")
    return blas


def _loaded_blas(process: "subprocess.Popen[bytes]") -> str | None:
    """The BLAS that a process has mapped, found twice in a row: a process that is still loading has not mapped all its libraries."""
    seen = None
    while process.poll() is None:
        try:
            root = psutil.Process(process.pid)
            blas = choose_blas(mapping.path for one in (root, *root.children(recursive=True)) for mapping in one.memory_maps())
        except psutil.Error:
            blas = None
        if blas is not None and blas == seen:
            return blas
        seen = blas or seen
        time.sleep(POLL_S)
    return seen
