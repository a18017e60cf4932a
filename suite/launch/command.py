"""Programs that are run to their end, with their output captured."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from suite.errors import SuiteError

QUERY_TIMEOUT_S = 60.0


def last_line(output: str, otherwise: str = "no output") -> str:
    """The last line that a program wrote; ``otherwise`` where it wrote nothing."""
    lines = output.strip().splitlines()
    return lines[-1][:300] if lines else otherwise


def answer_of(*command: str) -> str:
    """What a program prints that is asked for its version, or the like."""
    return subprocess.run(
        command, capture_output=True, text=True, timeout=QUERY_TIMEOUT_S
    ).stdout.strip()


def run_to_end(
    command: Sequence[str],
    folder: Path,
    what: str,
    timeout_s: float,
    *,
    if_missing: str,
    if_slow: str,
    if_failed: str = "",
    variables: Mapping[str, str] | None = None,
    reason_in: Callable[[Sequence[str]], str | None] | None = None,
) -> None:
    """Run a program in ``folder``; raises SuiteError, which names it as ``what``, where it does not
    end well.

    The other texts end the sentence, and say what to do. ``reason_in`` finds the line of its errors
    that says why it ended (default: the last one).
    """
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
        )
    except OSError as error:
        raise SuiteError(
            f"{command[0]} cannot be started ({error.strerror}); {if_missing}."
        ) from error
    except subprocess.TimeoutExpired:
        raise SuiteError(f"{what} did not finish within {timeout_s:g} s; {if_slow}") from None
    if done.returncode != 0:
        said = reason_in(done.stderr.splitlines()) if reason_in else None
        said = said or last_line(done.stderr, last_line(done.stdout))
        raise SuiteError(f"{what} ended with {done.returncode}: {said}{if_failed}")
