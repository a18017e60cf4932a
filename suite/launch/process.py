"""Child processes, each started in a new session and terminated with all its descendants: no orphan
is left."""

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from reference_impls.communication import JOIN_TIMEOUT_S
from suite.files.paths import repository_root
from suite.launch.mpirun import (
    FailedProcess,
    RefusedHost,
    closed_host,
    failed_process,
    last_output_line,
    rank_output,
    refused_host,
)

GATE = ("/bin/sh", "-c", 'read -r release && exec "$@" </dev/null', "gate")
"""A shell that waits for its release, and then becomes the command (exec), in the same process.
Meters are attached to it while it waits: nothing that the command starts is missed. When the
harness dies before the release, its end of the pipe closes, and the shell exits with 1 without
starting the command."""


def gated(command: Sequence[str]) -> list[str]:
    """The command behind a gate; start it with a pipe as its standard input. The command itself
    reads /dev/null."""
    return [*GATE, *command]


def release_process(process: "subprocess.Popen[Any]") -> None:
    """Let a gated process become its command; does nothing for one that has ended."""
    if process.stdin is not None and not process.stdin.closed:
        with suppress(OSError):
            process.stdin.write(b"\n")
            process.stdin.flush()
    close_gate(process)


def close_gate(process: "subprocess.Popen[Any]") -> None:
    """Close the pipe: a process that was not released exits."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


PHRASES = (
    "out of memory",
    "memoryerror",
    "unable to allocate",
    "can't allocate memory",
    "cannot allocate memory",
    "resourceexhausted",
    "oom when allocating",
    "bad_alloc",
)
"""Parts of the error messages of PyTorch, TensorFlow, NumPy, CUDA and the C++ library, in lower
case."""


def says_out_of_memory(text: str) -> bool:
    """Whether a program's output has such a message."""
    lowered = text.lower()
    return any(phrase in lowered for phrase in PHRASES)


PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GRACE_S = 5.0
MEANINGS = {
    signal.SIGKILL: (
        "which the kernel sends when memory is short (a batch system or a person can send it, too)"
    ),
    signal.SIGTERM: "which mpirun sends when it ends (a batch system or a person can send it, too)",
    signal.SIGBUS: "caused by a full /dev/shm or a truncated mapped file",
    signal.SIGSEGV: "an invalid memory access",
    signal.SIGILL: (
        "an instruction that this processor lacks: a library was built for another processor"
    ),
    signal.SIGABRT: "with which a library ended the program",
    signal.SIGFPE: "an arithmetic error",
    signal.SIGALRM: (
        "which ends a rank that has not exchanged its first messages with all others over MPI"
        f" within {JOIN_TIMEOUT_S} s; compare the MPI libraries of the hosts, also those in"
        " LD_LIBRARY_PATH"
    ),
}
"""What commonly sends these signals. Before SIGABRT, a library writes why; what was written before
any other has nothing to do with it."""


@dataclass(frozen=True)
class ExitReport:
    """How a job ended: its exit code (negative for a signal), its last output line, and what mpirun
    and ssh report.

    Of several ranks, the output line is that of the first rank which reported an error by name.
    ``is_ranks_own`` is False where no rank wrote anything, and the line is the launcher's.
    ``failed`` is the process that failed first, ``refused`` a host that ssh could not connect to,
    ``closed_host`` one that closed its SSH connection.
    """

    exit_code: int
    last_line: str
    is_ranks_own: bool
    failed: FailedProcess | None
    refused: RefusedHost | None
    closed_host: str | None

    @property
    def reason(self) -> str:
        """Exit code or signal, and the last output line where it may say why."""
        if self.exit_code >= 0:
            return f"ended with exit code {self.exit_code}: {self.last_line}"
        return f"was ended by {describe_signal(-self.exit_code)}{self.said_before(-self.exit_code)}"

    def said_before(self, number: int) -> str:
        """The last output line where this signal ended the job's first process and it says why, to
        be added to the sentence; else empty."""
        return (
            f"; its last output: {self.last_line}"
            if number == signal.SIGABRT and self.is_ranks_own
            else ""
        )


def signal_name(number: int) -> str:
    """A signal with its number and name: "signal 9 (SIGKILL)"."""
    with suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"


def describe_signal(number: int) -> str:
    """A signal's name, and what commonly sends it."""
    known = {int(each): text for each, text in MEANINGS.items()}
    return signal_name(number) + (f", {known[number]}" if number in known else "")


def start_process(
    command: Sequence[str],
    variables: Mapping[str, str],
    output: Path,
    inherited: tuple[int, ...] = (),
    folder: Path | None = None,
    adopts: bool = False,
) -> "subprocess.Popen[bytes]":
    """Start ``command`` in ``folder`` (default: the repository's root) and a new session.

    Its output is appended to ``output``; it inherits the open files ``inherited``. With ``adopts``
    it becomes the parent of its descendants that lose theirs, as a container's do.

    The process waits until :func:`suite.launch.process.release_process`, and then becomes the
    command. The kernel kills it when the harness dies. Call this from the main thread, before any
    other thread exists: the parent-death signal is sent when the thread that started the process
    exits.
    """
    libc = ctypes.CDLL(None)

    def die_with_parent() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if adopts:
            libc.prctl(PR_SET_CHILD_SUBREAPER, 1)

    with output.open("ab") as stream:
        return subprocess.Popen(
            gated(command),
            cwd=folder or repository_root(),
            env=variables,
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=inherited,
            preexec_fn=die_with_parent,
        )


def terminate_session(process: "subprocess.Popen[Any]") -> None:
    """Terminate a session leader and all its descendants, those in other sessions included
    (mpirun's ssh): SIGTERM, then SIGKILL."""
    descendants = _descendants(process)
    close_gate(process)
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_number)
        except ProcessLookupError:
            break
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
    process.poll()
    for descendant in descendants:
        # psutil distinguishes a process from a later one with the same pid
        with suppress(psutil.NoSuchProcess):
            descendant.kill()


def wait_for_exit(process: "subprocess.Popen[bytes]", output: Path, ranks: int = 1) -> ExitReport:
    """Wait for the process, a launcher of ``ranks`` or the one rank, terminate its remaining
    descendants, and report how it ended."""
    exit_code = process.wait()
    terminate_session(process)
    return exit_report(exit_code, output_lines(output), ranks)


def output_lines(output: Path) -> list[str]:
    """The lines that a process has written; empty where there is no file."""
    if not output.exists():
        return []
    return output.read_text(encoding="utf-8", errors="replace").splitlines()


def exit_report(exit_code: int, lines: Sequence[str], ranks: int) -> ExitReport:
    """How a job ended, by its exit code and output."""
    said = last_output_line(lines) or "no output"
    return ExitReport(
        exit_code,
        said,
        bool(rank_output(lines)),
        failed_process(lines, ranks),
        refused_host(lines),
        closed_host(lines),
    )


def _descendants(process: "subprocess.Popen[Any]") -> "list[psutil.Process]":
    """All its descendants; empty once it has exited, when its pid may belong to another process."""
    try:
        return (
            psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        )
    except psutil.NoSuchProcess:
        return []
