"""`make test` and `make quick`: their phases, one after the other, each with its name and time;
Ctrl-C ends with one sentence.

Everything that a phase started has ended before this program does, also what has left its group.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from suite.errors import COULD_NOT
from suite.files.paths import repository_root
from tests.every_case import in_ci
from tools import framework_environments
from tools.descendants import adopt_orphans, end_everything, succeeds

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
    (
        ("ruff", "check", "-q", "."),
        ("ruff", "format", "-q", "--check", "."),
        ("tools.house_style",),
        ("mypy",),
    ),
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
    adopt_orphans()
    # each of a thousand programs would compile the suite anew
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        # elsewhere, tests that need a missing one are skipped
        if name == "test" and (code := framework_environments.main()) and in_ci():
            return code
        passed = [
            _passes(phase, f"{number} of {len(plan)}: {phase.name}")
            for number, phase in enumerate(plan, start=1)
        ]
    except KeyboardInterrupt:
        end_everything()
        print(
            "\nInterrupted: nothing is left running; type the same command to start again.",
            file=sys.stderr,
        )
        return INTERRUPTED
    end_everything()
    return int(not all(passed))


def _passes(phase: Phase, title: str) -> bool:
    print(title, flush=True)
    began_s = time.monotonic()
    ahead = [_start(phase.ahead, subprocess.DEVNULL)] if phase.ahead else []
    is_good = all(succeeds(_start(command), *ahead) for command in phase.commands)
    for process in ahead:
        succeeds(process)
    print(
        f"{title}: {'passed' if is_good else 'FAILED'} in {time.monotonic() - began_s:.0f} s",
        flush=True,
    )
    return is_good


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


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    code = main(sys.argv[1:])
    sys.exit(code if code in (0, 1, INTERRUPTED) else COULD_NOT)
