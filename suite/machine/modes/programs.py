"""Calls of NVIDIA's programs nvpmodel and jetson_clocks."""

import subprocess
from pathlib import Path

from suite.errors import SuiteError

TIMEOUT_S = 60


def call(root: Path, program: str, arguments: tuple[str, ...], lock: int) -> None:
    """Call a program and wait for its end; raises SuiteError with its last line where it fails.

    The program inherits ``lock``: when the suite is killed meanwhile, nobody puts settings back
    before the program has ended. Nothing is typed into it: nvpmodel asks before it restarts the
    board, and then changes nothing.
    """
    command = [str(root / program), *arguments]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            pass_fds=(lock,),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SuiteError(f"{' '.join(command)} did not work ({error}).") from error
    if done.returncode:
        lines = done.stdout.strip().splitlines() or ["it printed nothing"]
        raise SuiteError(
            f"{' '.join(command)} failed with exit code {done.returncode}: {lines[-1][:200]}"
        )
