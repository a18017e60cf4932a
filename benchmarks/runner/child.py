"""Child processes of benchmarks: none outlives the benchmark, and a failure names its last line of
output."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.process import terminate_session

TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Usage:
    """What a process and the children it waited for used: wall and CPU time in seconds, peak memory
    of the largest of them in MiB."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    exit_code: int


def output_of(command: Sequence[object], variables: Mapping[str, str] = os.environ) -> str:
    """Standard output of a command that is run from the repository's root; raises SuiteError when
    it fails. It keeps its bytecode, as an installed command does, where its caller keeps none."""
    kept = {name: text for name, text in variables.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        list(map(str, command)),
        cwd=repository_root(),
        env=kept,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    finally:
        terminate_session(process)
    if process.returncode != 0:
        raise SuiteError(failure(list(map(str, command)), process.returncode, err or out))
    return out


def failure(command: Sequence[str], exit_code: int, output: str) -> str:
    """A sentence: which command failed, how, and its last line of output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return (
        f"`{' '.join((Path(command[0]).name, *command[1:4]))} …` ended with {exit_code}:"
        f" {lines[-1][:300] if lines else 'no output'}"
    )


LAUNCHER = """
import json, os, subprocess, sys, time
start_s = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
wall_s = time.perf_counter() - start_s
print(json.dumps([wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, os.waitstatus_to_exitcode(status)]))
"""  # noqa: E501
"""Starts a command and prints what it used. The kernel counts the starting process's memory in the
peak of the new one; this process is small."""


def usage_of(command: Sequence[object], variables: Mapping[str, str] = os.environ) -> Usage:
    """Run a command to its end, its output discarded; what it used comes from the kernel
    (wait4)."""
    return Usage(
        *json.loads(output_of([sys.executable, "-S", "-c", LAUNCHER, *command], variables))
    )
