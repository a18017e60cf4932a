"""Starts an implementation in its framework's environment and ends it, whatever happens: no orphan is left."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from reference_impls import contract
from suite import mpi
from suite.config import RunRequest
from suite.environments import Environment
from suite.paths import repository_root

PR_SET_PDEATHSIG = 1
GRACE_S = 5.0
KEPT_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(sys.maxsize)}
"""glibc keeps what a step frees for the next one. By default it gives large arrays back to the kernel, which clears every page again when the
next step asks for them: a sixth of a step of MobileNetV3 in Chainer, more with larger mini-batches (docs/models.md)."""


@dataclass(frozen=True)
class Ending:
    """How an implementation ended: its exit code, negative for a signal, and its last words; of several
    ranks the first that named itself, and the one that mpirun holds to blame."""

    exit_code: int
    last_line: str
    blamed: mpi.Blamed | None


def command(request: RunRequest, environment: Environment, variables: Mapping[str, str]) -> list[str]:
    """What is started: the framework's module, with the request file that lies in the output directory, by mpirun where there are several ranks."""
    directory, ranks = Path(request.training.output_directory), request.training.parallel.ranks
    program = [str(environment.interpreter), "-m", request.framework.module, "--request", str(directory / contract.REQUEST_NAME)]
    if ranks == 1:
        return program
    watched = [str(environment.interpreter), "-m", "reference_impls.rank", *program, "--ranks", str(ranks)]
    return mpi.command(mpi.find_mpirun(environment.interpreter), request.placement, watched, variables, directory)


def surroundings(threads: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment variables of an implementation: thread counts of every BLAS and OpenMP, memory kept by the C library, output unbuffered."""
    counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
    kept = {name: value for name, value in base.items() if not name.startswith("PYTHON")}
    return {**kept, **counts, **KEPT_MEMORY, "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0"}


OURS = frozenset(surroundings(1, {}))
"""The names of the variables that every implementation gets, on whichever host."""


def start(request: RunRequest, environment: Environment, output: Path, extra: Mapping[str, str] = MappingProxyType({})) -> "subprocess.Popen[bytes]":
    """Start the implementation in a session of its own, its output appended to ``output``, ``extra`` added to its environment.

    The kernel ends it when the harness dies. Start it from the main thread, before any other thread exists: the parent-death
    signal belongs to the starting thread.
    """
    libc = ctypes.CDLL(None)
    variables = {**surroundings(request.training.threads), **extra}
    if request.training.parallel.ranks > 1:
        variables = mpi.allow_root(variables)

    def die_with_parent() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    with output.open("ab") as stream:
        return subprocess.Popen(
            command(request, environment, variables),
            cwd=repository_root(),
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )


def end(process: "subprocess.Popen[Any]") -> None:
    """Ask a program that leads a session, and all its children, to end, then make them; those too that are in others (mpirun's ssh)."""
    descendants = _descendants(process)
    for signal_number, wait_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        try:
            os.killpg(process.pid, signal_number)
        except ProcessLookupError:
            break
        try:
            process.wait(wait_s)
        except subprocess.TimeoutExpired:
            continue
    process.poll()
    for descendant in descendants:
        with suppress(psutil.NoSuchProcess):  # psutil knows a process from a later one with its number
            descendant.kill()


def _descendants(process: "subprocess.Popen[Any]") -> "list[psutil.Process]":
    """All that it started, however deep; none once it has ended, when its number may be another's."""
    try:
        return psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    except psutil.NoSuchProcess:
        return []


def ending(process: "subprocess.Popen[bytes]", output: Path) -> Ending:
    """How the implementation ended, in its own words and not mpirun's; its children are ended too."""
    exit_code = process.wait()
    end(process)
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines() if output.exists() else []
    return Ending(exit_code, mpi.last_words(lines) or "it said nothing", mpi.blamed(lines))
