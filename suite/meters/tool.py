"""Runs the programs with which a board's vendor reads its sensors."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("usr/bin", "usr/sbin", "bin", "opt/vc/bin")


def find_tool(root: Path, name: str) -> Path | None:
    """The program below ``root``; None when it is missing or not executable."""
    found = shutil.which(name, path=os.pathsep.join(str(root / folder) for folder in FOLDERS))
    return Path(found) if found else None


@dataclass(frozen=True)
class ToolOutput:
    """A program's output and its CPU time."""

    text: str
    cost_s: float


def run_tool(command: Sequence[str]) -> ToolOutput:
    """Run a program to its end; raises OSError with the end of its output when it fails."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        # for the child's CPU time, which Popen.wait does not return
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise OSError(
            f"{Path(command[0]).name} ended with {process.returncode}: {text.strip()[-200:]}"
        )
    return ToolOutput(text, usage.ru_utime + usage.ru_stime)
