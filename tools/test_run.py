"""`make test` and `make quick`: their phases, one after the other, each with its name and time;
Ctrl-C ends with one sentence.

Everything that a phase started has ended before this program does, also what has left its group.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import psutil

from suite.errors import COULD_NOT
from suite.files.paths import repository_root
from suite.launch.process import PR_SET_CHILD_SUBREAPER
from tools import framework_environments

GRACE_S = 10
INTERRUPTED = 130


@dataclass(frozen=True)
class Phase:
    """Modules with their words, run by the Python of this program; all must succeed. ``ahead`` runs
    beside them for the next one."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    ahead: tuple[str, ...] = ()


STYLE = Phase(
    "style and types",
    (("ruff", "check", "-q", "."), ("ruff", "format", "-q", "--check", "."), ("mypy",)),
)
COLLECT = ("pytest", "-q", "--collect-only")
"""What it compiles, tests with their assertions rewritten, is kept for the workers, which collect
all tests each."""
TESTS = Phase(
    "tests",
    (("pytest", "-q", "-o", "console_output_style=classic", "-n", "3", "--dist", "worksteal"),),
)
QUICK = Phase("tests of what changed", (("tools.changed_tests",),))
PLANS = {"test": (replace(STYLE, ahead=COLLECT), TESTS), "quick": (STYLE, QUICK), "lint": (STYLE,)}


def main(words: Sequence[str]) -> int:
    """``python -m tools.test_run PLAN``. Exit code 0: all passed, 1: not, 130: interrupted."""
    (name,) = words
    plan = PLANS[name]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # each of a thousand programs would compile the suite anew
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if name == "test" and (code := framework_environments.main()):
        return code
    failed: list[str] = []
    for number, phase in enumerate(plan, start=1):
        print(f"{number} of {len(plan)}: {phase.name}", flush=True)
        began_s = time.monotonic()
        try:
            ahead = [_start(phase.ahead, subprocess.DEVNULL)] if phase.ahead else []
            is_good = all(_succeeds(_start(command), *ahead) for command in phase.commands)
            for process in ahead:
                _succeeds(process)
        except KeyboardInterrupt:
            end_everything()
            print(
                f"\nInterrupted in {phase.name}: nothing is left running; type the same command to"
                " start again.",
                file=sys.stderr,
            )
            return INTERRUPTED
        print(
            f"{number} of {len(plan)}: {phase.name}: {'passed' if is_good else 'FAILED'} in"
            f" {time.monotonic() - began_s:.0f} s",
            flush=True,
        )
        failed += [] if is_good else [phase.name]
    end_everything()
    return 1 if failed else 0


def _start(command: Sequence[str], output: int | None = None) -> subprocess.Popen[bytes]:
    """Start a module in a session of its own, so that Ctrl-C reaches this program alone, which then
    ends all sessions."""
    return subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=repository_root(),
        start_new_session=True,
        stdout=output,
        stderr=output,
    )


def _succeeds(process: subprocess.Popen[bytes], *beside: subprocess.Popen[bytes]) -> bool:
    """Wait for its end. Those beside it may end before it. Orphans become children of this program,
    which reaps them: tests look whether a process has ended."""
    while process.returncode is None:
        ended, status = os.wait()
        for each in (process, *beside):
            if each.pid == ended:
                each.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode == 0


def end_everything() -> None:
    """End all descendants: those that were orphaned are this program's children by now."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    everybody = psutil.Process().children(recursive=True)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in everybody:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        psutil.wait_procs(everybody, GRACE_S)
        everybody = psutil.Process().children(recursive=True)
        if not everybody:
            return


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    code = main(sys.argv[1:])
    sys.exit(code if code in (0, 1, INTERRUPTED) else COULD_NOT)
