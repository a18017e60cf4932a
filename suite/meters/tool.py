"""Runs the programs with which a board's vendor reads its sensors."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

FOLDERS = ("usr/bin", "usr/sbin", "bin", "opt/vc/bin")


def find_tool(root: Path, name: str) -> Path | None:
    """The program below ``root``; None when it is missing or not executable."""
    found = shutil.which(name, path=os.pathsep.join(str(root / folder) for folder in FOLDERS))
    return Path(found) if found else None


def start_tool(command: Sequence[str]) -> "subprocess.Popen[str]":
    """Start a program whose output, errors included, is read."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def wait_for_end(process: "subprocess.Popen[str]") -> float:
    """Wait until the program has ended; returns its CPU time, s, which Popen.wait does not."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def run_tool(command: Sequence[str]) -> tuple[str, float]:
    """A program's output and its CPU time, s; raises OSError with the end of its output when it
    fails."""
    with start_tool(command) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        cost_s = wait_for_end(process)
    if process.returncode != 0:
        raise OSError(
            f"{Path(command[0]).name} ended with {process.returncode}: {text.strip()[-200:]}"
        )
    return text, cost_s
