"""Runs LINPACK and seals the record: HPL (hpcc or xhpl) on one or several nodes, or SciPy's LU on
this one."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from suite.bundle import layout
from suite.errors import SuiteError
from suite.experiments import hpl
from suite.experiments.linpack_power import PowerRecording, unknown_power
from suite.experiments.lu import Solved
from suite.experiments.machine_load import LoadWatch, MachineLoad, measure_load
from suite.files.paths import checkout, suite_home
from suite.files.schema import from_plain
from suite.launch.mpirun import allow_root, find_mpirun, last_output_line, mpirun_command
from suite.launch.placement import Placement, is_this_machine
from suite.launch.process import output_lines, terminate_session
from suite.launch.remote_shell import remote_command
from suite.machine.identify import identify
from suite.machine.system import cpu_model
from suite.metrics.linpack_record import (
    FAST,
    LINPACK,
    SCHEMA,
    Linpack,
    OtherLoad,
    Problem,
    refuse_wrong,
)

HPCC_INPUT, HPCC_OUTPUT, XHPL_INPUT = "hpccinf.txt", "hpccoutf.txt", "HPL.dat"
INSTALL = "sudo apt-get install hpcc libopenblas0-pthread"
POLL_S = 0.05
BLAS_S = 10.0
"""How long the BLAS of the user's program is looked for, which takes time from the ranks: one that
is built in is never found."""
OWN_HPCC = "hpl/hpcc"
"""Below the suite's home: hpcc with HPL and STREAM alone, which tools/build_hpl.py builds."""
LOAD_S, MAX_FOREIGN_SHARE = 2.0, 0.05
ANSWER_TIMEOUT_S = 30.0
SEVERAL = (
    "several block sizes and process grids were tried one after the other, and the energy"
    " of the best one alone was not measured"
)


@dataclass(frozen=True)
class LinpackRequest:
    """Where and with which program LINPACK runs. ``xhpl`` is a program that the user built;
    ``size`` is the matrix order (None: by memory). ``with_scipy``: SciPy's LU in place of HPL
    (None: on one node without hpcc).

    ``blocks`` are HPL's block sizes; several, or ``every_grid``, are all tried in one run of the
    program, and the fastest counts. ``grid`` is the process grid P, Q (None: the most square).
    ``allow_busy``: other programs may use the machine meanwhile.
    """

    placement: Placement
    xhpl: Path | None = None
    size: int | None = None
    with_scipy: bool | None = None
    blocks: tuple[int, ...] = (hpl.BLOCK,)
    every_grid: bool = False
    grid: tuple[int, int] | None = None
    allow_busy: bool = False


@dataclass(frozen=True)
class _Ran:
    """A finished program: the BLAS that its process had mapped, when it solved the system
    (CLOCK_MONOTONIC, ns), and the machine's load."""

    blas: str | None
    window_ns: tuple[int, int]
    load: OtherLoad


def measure_linpack(directory: Path, request: LinpackRequest) -> Linpack:
    """Run LINPACK and seal record and raw output in ``directory``, which must not exist.

    Raises SuiteError; so it does when other programs used more than a twentieth of this machine's
    cores before or meanwhile.
    """
    with_scipy = request.with_scipy
    if not with_scipy:
        refuse_other_first_host(request.placement)
    if with_scipy is None:
        with_scipy = request.xhpl is None and request.placement.nodes == 1 and _hpcc() is None
    before = _measured_load(request.allow_busy)
    if with_scipy:
        # the factors are a copy of the matrix
        available = int(psutil.virtual_memory().available)
        problem = hpl.plan_problem(1, available, request.size, copies=2)
        return _seal(directory, _with_scipy(_made(directory), problem, before, request.allow_busy))
    programs = (
        _found("mpirun"),
        str(_executable_xhpl(request.xhpl)) if request.xhpl else _hpcc() or _found("hpcc"),
    )
    problems = planned_problems(
        request, smallest_available_bytes(request.placement) * request.placement.nodes
    )
    return _seal(directory, _with_hpl(_made(directory), request, programs, problems, before))


def refuse_other_first_host(placement: Placement) -> None:
    """Raise SuiteError where the first host is another machine: the record would have its rate, and
    this one's name, load and power."""
    hosts = placement.hosts
    if hosts and not is_this_machine(hosts[0]):
        raise SuiteError(
            f"The hostfile's first host is {hosts[0]}; it must be this machine, because this"
            " machine's processor, load and power are recorded. Write this machine's name first, or"
            f" start LINPACK on {hosts[0]}."
        )


def planned_problems(request: LinpackRequest, available_bytes: int) -> tuple[Problem, ...]:
    """The problems that HPL solves; all have one size. Raises SuiteError where memory is too small,
    or the grid is not of as many ranks."""
    ranks = request.placement.ranks
    problem = hpl.plan_problem(ranks, available_bytes, request.size)
    if request.grid is not None and (
        request.grid[0] * request.grid[1] != ranks or min(request.grid) < 1
    ):
        raise SuiteError(
            f"A process grid of {request.grid[0]} x {request.grid[1]} does not fit {ranks} ranks;"
            " choose another grid, or other --ranks."
        )
    every = hpl.problem_variants(problem, request.blocks, ranks)
    wanted = request.grid or (problem.rows, problem.columns)
    return (
        every
        if request.every_grid
        else tuple(each for each in every if (each.rows, each.columns) == wanted)
    )


def smallest_available_bytes(placement: Placement) -> int:
    """Free memory of the node that has the least; raises SuiteError for a host that does not
    answer."""
    return min(
        int(psutil.virtual_memory().available),
        *(_available_there(host, placement.agent) for host in placement.hosts[1:]),
        2**62,
    )


def _available_there(host: str, agent: str | None) -> int:
    command = remote_command(host, agent, "cat /proc/meminfo")
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SuiteError(
            f"The memory of {host} could not be read ({error}); `suite cluster doctor` says what"
            f" {host} lacks."
        ) from error
    found = re.search(r"^MemAvailable:\s*(\d+)", answer.stdout, re.MULTILINE)
    if found is None:
        said = (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[-1][:200]
        raise SuiteError(
            f"The memory of {host} could not be read ({said}); `suite cluster doctor` says what"
            f" {host} lacks."
        )
    return int(found[1]) * 1024


def _measured_load(allow_busy: bool) -> MachineLoad:
    """What other programs take of this machine now; raises SuiteError where that would lower the
    rate."""
    load = measure_load(LOAD_S)
    if not allow_busy and load.foreign + load.stolen > MAX_FOREIGN_SHARE * load.cores:
        busiest = (
            ", ".join(
                f"{name} (process {pid}, {cores:.2f} cores)" for name, pid, cores in load.programs
            )
            or "no single program"
        )
        raise SuiteError(
            f"This machine is busy: other programs use {load.foreign:.2f} and the hypervisor"
            f" {load.stolen:.2f} of {load.cores} cores ({busiest}), so LINPACK's rate would be too"
            " low. End the other programs, or run LINPACK nevertheless with --allow-busy."
        )
    return load


def _refuse_busy(load: OtherLoad, allow_busy: bool, directory: Path) -> None:
    if not allow_busy and load.during > MAX_FOREIGN_SHARE * load.cores:
        shutil.rmtree(directory)
        raise SuiteError(
            f"Other programs used {load.during:.2f} of {load.cores} cores while LINPACK ran, so its"
            f" rate would be too low, and {directory} was removed: end these programs and run"
            " LINPACK again, or run it with --allow-busy."
        )


def _hpcc() -> str | None:
    """hpcc with HPL and STREAM alone, where it was built, else the whole one."""
    own = suite_home() / OWN_HPCC
    return str(own) if os.access(own, os.X_OK) else shutil.which("hpcc")


def _made(directory: Path) -> Path:
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        raise SuiteError(
            f"The LINPACK record cannot be made in {directory} ({error.strerror}): choose another"
            " --output."
        ) from error
    return directory


def _found(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SuiteError(f"LINPACK needs {name}, which is not installed here: {INSTALL}.")
    return path


def _executable_xhpl(xhpl: Path) -> Path:
    if not xhpl.is_file() or not os.access(xhpl, os.X_OK):
        raise SuiteError(
            f"--xhpl {xhpl} is not an executable file; give the path of the xhpl that you built."
        )
    return xhpl.absolute()


def _with_hpl(
    directory: Path,
    request: LinpackRequest,
    programs: tuple[str, str],
    problems: Sequence[Problem],
    before: MachineLoad,
) -> Linpack:
    mpirun, program = programs
    own, placement = request.xhpl is not None, request.placement
    name, text = (
        (XHPL_INPUT, hpl.hpl_input(problems, to_file=False))
        if own
        else (HPCC_INPUT, hpl.hpcc_input(problems))
    )
    (directory / name).write_text(text, encoding="ascii")
    output = directory / (layout.OUTPUT if own else HPCC_OUTPUT)
    variables = allow_root({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
    command = mpirun_command(find_mpirun(Path(mpirun)), placement, [program], variables, directory)
    power = PowerRecording(directory, placement)
    ran = _run(
        command,
        variables,
        directory,
        power,
        None if own else output,
        needs_blas=not own,
        before=before,
    )
    _refuse_busy(ran.load, request.allow_busy, directory)
    if not output.is_file():
        raise SuiteError(
            f"hpcc wrote no result here; what it printed is in {directory / layout.OUTPUT}. The"
            " first host writes the result: name this machine first in the hostfile."
        )
    printed = output.read_text(encoding="utf-8", errors="replace")
    solutions = hpl.read_solutions(printed, output.name)
    best = max(solutions, key=lambda solution: solution.gflops)
    several = solutions if len(solutions) > 1 else ()
    watts = power.figures(best.gflops, ran.window_ns) if not several else unknown_power(SEVERAL)
    return Linpack(
        SCHEMA,
        "HPL",
        program,
        *_machine(),
        placement.nodes,
        placement.ranks,
        1,
        ran.blas,
        best,
        best.gflops / placement.nodes,
        watts,
        output.name,
        several,
        hpl.read_triad(printed),
        ran.load,
    )


def _with_scipy(
    directory: Path, problem: Problem, before: MachineLoad, allow_busy: bool
) -> Linpack:
    threads = psutil.cpu_count(logical=False) or 1
    variables = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    power = PowerRecording(directory, Placement())
    command = [sys.executable, "-m", "suite.experiments.lu", str(problem.size)]
    ran = _run(command, variables, directory, power, None, needs_blas=True, before=before)
    _refuse_busy(ran.load, allow_busy, directory)
    solved = read_lu((directory / layout.OUTPUT).read_text(encoding="utf-8", errors="replace"))
    watts = power.figures(solved.solution.gflops, (solved.start_ns, solved.stop_ns))
    return Linpack(
        SCHEMA,
        "LU",
        "SciPy",
        *_machine(),
        1,
        1,
        threads,
        ran.blas,
        solved.solution,
        solved.solution.gflops,
        watts,
        layout.OUTPUT,
        load=ran.load,
    )


def read_lu(text: str) -> Solved:
    """The result that SciPy's LU printed; raises SuiteError without one, or where the residual test
    fails."""
    try:
        found = from_plain(json.loads(text.strip().splitlines()[-1]), Solved, "output.txt: ")
    except (ValueError, IndexError) as error:
        raise SuiteError("SciPy's LU ended without a result; see its output.txt.") from error
    refuse_wrong(found.solution)
    return found


def _machine() -> tuple[str, str | None]:
    """The device profile's name and the processor."""
    return identify().device.name, cpu_model()


def _seal(directory: Path, record: Linpack) -> Linpack:
    LINPACK.write(directory, asdict(record))
    return record


def _run(
    command: Sequence[str],
    variables: dict[str, str],
    directory: Path,
    power: PowerRecording,
    sections: Path | None,
    needs_blas: bool,
    before: MachineLoad,
) -> _Ran:
    """Run the program to its end. HPL's solving time is read from the output file ``sections``, if
    given. Raises SuiteError for a slow BLAS."""
    environment = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1", **variables}
    if sys.executable == command[0] and (root := checkout()):
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(root), os.environ.get("PYTHONPATH")))
        )
    with (directory / layout.OUTPUT).open("wb") as output:
        process = subprocess.Popen(
            list(command),
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            with power.recording(process.pid):
                watch, began_ns = LoadWatch(), time.monotonic_ns()
                blas = _loaded_blas(process, power, None if needs_blas else BLAS_S)
                _refuse_failed(process, command[0], directory)
                if needs_blas or blas is not None:
                    refuse_slow(blas)
                window_ns = _follow(process, sections, began_ns, power)
                during = watch.foreign_cores()
        finally:
            terminate_session(process)
    _refuse_failed(process, command[0], directory)
    return _Ran(blas, window_ns, OtherLoad(before.cores, before.foreign + before.stolen, during))


def _refuse_failed(process: "subprocess.Popen[bytes]", program: str, directory: Path) -> None:
    """Raise SuiteError, with the last line of its output, where the program has ended with an
    error."""
    if process.poll():
        output = directory / layout.OUTPUT
        raise SuiteError(
            f"{Path(program).name} ended with exit code {process.returncode}:"
            f" {last_output_line(output_lines(output)) or 'no output'}; its output is in {output}."
        )


def _follow(
    process: "subprocess.Popen[bytes]", sections: Path | None, began_ns: int, power: PowerRecording
) -> tuple[int, int]:
    """Wait for the end; returns when HPL's section of the output began and ended, or else the
    program."""
    start_ns = stop_ns = None
    while True:
        ended = process.poll() is not None
        text = (
            sections.read_text(encoding="utf-8", errors="replace")
            if sections is not None and sections.is_file()
            else ""
        )
        if start_ns is None and hpl.BEGIN in text:
            start_ns = time.monotonic_ns()
        if stop_ns is None and hpl.END in text:
            stop_ns = time.monotonic_ns()
        if ended:
            return start_ns or began_ns, stop_ns or time.monotonic_ns()
        power.tick()
        time.sleep(POLL_S)


def choose_blas(mapped: Iterable[str]) -> str | None:
    """The BLAS among a process's mapped files: a fast one by name, SciPy's before NumPy's, else
    libblas.so."""
    paths = sorted(set(mapped), key=lambda path: ("numpy.libs" in path, path))
    fast = [path for path in paths if any(name in Path(path).name for name in FAST)]
    plain = [path for path in paths if Path(path).name.startswith("libblas.so")]
    return next(iter(fast + plain), None)


def is_fast(blas: str) -> bool:
    """By its name or that of its folder: OpenBLAS's own libblas.so.3 of Debian is in
    ``openblas-pthread``."""
    return any(name in part for part in Path(blas).parts[-2:] for name in FAST)


def refuse_slow(blas: str | None) -> str:
    """The BLAS itself. Raises SuiteError for the reference BLAS, and where the BLAS is unknown."""
    if blas is None:
        raise SuiteError(
            "LINPACK's BLAS could not be identified, so LINPACK's rate would mean little; install"
            f" OpenBLAS: {INSTALL}."
        )
    if not is_fast(blas):
        raise SuiteError(
            f"LINPACK uses the reference BLAS ({blas}), which is many times slower than this"
            f" machine can compute; install OpenBLAS: {INSTALL}."
        )
    return blas


def _loaded_blas(
    process: "subprocess.Popen[bytes]", power: PowerRecording, limit_s: float | None
) -> str | None:
    """The BLAS that a process has mapped, found twice in a row: a process that is still loading has
    not mapped all its libraries. None where there is none within ``limit_s``, or until its end."""
    seen, began_s = None, time.monotonic()
    while process.poll() is None and (limit_s is None or time.monotonic() - began_s < limit_s):
        power.tick()
        try:
            root = psutil.Process(process.pid)
            blas = choose_blas(
                mapping.path
                for one in (root, *root.children(recursive=True))
                for mapping in one.memory_maps()
            )
        except psutil.Error:
            blas = None
        if blas is not None and blas == seen:
            return blas
        seen = blas or seen
        time.sleep(POLL_S)
    return seen
