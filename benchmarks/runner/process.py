"""Runs one benchmark in its own process and collects its ratios as they come."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import IO

from benchmarks.runner.benchmark import Ratio, Skipped
from benchmarks.runner.child import failure
from benchmarks.runner.record import Entry, Outcome
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.files.schema import from_plain
from suite.launch.process import terminate_session

TIMEOUT_S = 1800.0
Report = Callable[[Ratio | Skipped], None]


def run_benchmark(
    entry: Entry, is_quick: bool, report: Report, timeout_s: float = TIMEOUT_S
) -> Entry:
    """Run the benchmark of an entry; ``report`` receives each ratio at once. Failure, time-out and
    Ctrl-C keep what was measured by then."""
    command = [
        sys.executable,
        "-m",
        f"benchmarks.{entry.name}",
        "--json",
        *(["--quick"] if is_quick else []),
    ]
    return run_command(entry, command, report, timeout_s)


def run_command(
    entry: Entry, command: Sequence[str], report: Report, timeout_s: float = TIMEOUT_S
) -> Entry:
    """The same for any command that prints results as JSON lines."""
    results: list[Ratio | Skipped] = []

    def keep(result: Ratio | Skipped) -> None:
        results.append(result)
        report(result)

    load_before, start_s = os.getloadavg()[0], time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        outcome, reason = _collect(command, keep, errors, timeout_s)
    ratios = tuple(result for result in results if isinstance(result, Ratio))
    skipped = tuple(result for result in results if isinstance(result, Skipped))
    if outcome is Outcome.COMPLETE and not ratios:
        outcome = Outcome.SKIPPED if skipped else Outcome.FAILED
        reason = None if skipped else "it printed no ratio"
    taken_s, load_after = round(time.monotonic() - start_s, 1), os.getloadavg()[0]
    return replace(
        entry,
        outcome=outcome,
        reason=reason,
        taken_s=taken_s,
        load_before=load_before,
        load_after=load_after,
        ratios=ratios,
        skipped=skipped,
    )


def _collect(
    command: Sequence[str], keep: Report, errors: IO[str], timeout_s: float
) -> tuple[Outcome, str | None]:
    """Read the results of the process to its end."""
    process = subprocess.Popen(
        command,
        cwd=repository_root(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )
    timed_out = threading.Event()
    timer = threading.Timer(timeout_s, lambda: (timed_out.set(), terminate_session(process)))
    timer.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            keep(_parse(line))
        exit_code = process.wait()
    except SuiteError as error:
        return Outcome.FAILED, str(error)
    except KeyboardInterrupt:
        return Outcome.INTERRUPTED, "Ctrl-C"
    finally:
        timer.cancel()
        terminate_session(process)
    if timed_out.is_set():
        return Outcome.FAILED, f"it was terminated after {timeout_s:g} s"
    if exit_code != 0:
        errors.seek(0)
        return Outcome.FAILED, failure(command, exit_code, errors.read())
    return Outcome.COMPLETE, None


def _parse(line: str) -> Ratio | Skipped:
    """A line of output; raises SuiteError if it is not a result."""
    try:
        ((kind, values),) = json.loads(line).items()
        return from_plain(values, {"ratio": Ratio, "skipped": Skipped}[kind], "")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise SuiteError(
            f"The benchmark printed a line that is no result: {line.strip()[:200]!r}; print to"
            " standard error instead."
        ) from error
