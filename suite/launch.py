"""Starts an implementation in its framework's environment and ends it, whatever happens: no orphan is left."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reference_impls import contract
from suite.config import RunRequest
from suite.environments import Environment
from suite.paths import repository_root

PR_SET_PDEATHSIG = 1
GRACE_S = 5.0
KEPT_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(sys.maxsize)}
"""glibc keeps what a step frees for the next one. By default it gives large arrays back to the kernel, which clears every page again when the
next step asks for them: up to an eighth of a step in Chainer and PyTorch, and never the same (docs/models.md)."""


@dataclass(frozen=True)
class Ending:
    """How an implementation ended: its exit code, negative for a signal, and its last words."""

    exit_code: int
    last_line: str


def command(request: RunRequest, environment: Environment) -> list[str]:
    """What is started: the framework's module, with the request file that lies in the output directory."""
    request_file = Path(request.training.output_directory) / contract.REQUEST_NAME
    return [str(environment.interpreter), "-m", request.framework.module, "--request", str(request_file)]


def surroundings(threads: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment variables of an implementation: thread counts of every BLAS and OpenMP, memory kept by the C library, output unbuffered."""
    counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
    kept = {name: value for name, value in base.items() if not name.startswith("PYTHON")}
    return {**kept, **counts, **KEPT_MEMORY, "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0"}


def start(request: RunRequest, environment: Environment, output: Path) -> "subprocess.Popen[bytes]":
    """Start the implementation in a session of its own, its output appended to ``output``.

    The kernel ends it when the harness dies. Start it from the main thread, before any other thread exists: the parent-death
    signal belongs to the starting thread.
    """
    libc = ctypes.CDLL(None)

    def die_with_parent() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    with output.open("ab") as stream:
        return subprocess.Popen(
            command(request, environment),
            cwd=repository_root(),
            env=surroundings(request.training.threads),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ask the implementation and all its children to end, then make them."""
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


def ending(process: "subprocess.Popen[bytes]", output: Path) -> Ending:
    """How the implementation ended, with the last line of its output; its children are ended too."""
    exit_code = process.wait()
    end(process)
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines() if output.exists() else []
    return Ending(exit_code, lines[-1][:300] if lines else "it said nothing")
