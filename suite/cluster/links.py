"""Measures the links between nodes over MPI, as a run uses them: reference_impls.links, started by
the same launcher."""

import json
import queue
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.mpirun import (
    allow_root,
    failed_process,
    find_mpirun,
    last_output_line,
    mpirun_command,
    rank_output,
)
from suite.launch.placement import Placement
from suite.launch.process import describe_signal, terminate_session

START_S, START_PER_RANK_S, PER_LINK_S = 60.0, 0.3, 15.0
"""How long nothing need be heard until the first link is measured, and then of each further one. A
Raspberry Pi needs 0.3 s of its processors to open a connection of ssh."""


@dataclass(frozen=True)
class LinkMeasure:
    """The link from the first host to another: round trip, bandwidth, and the offset of its clocks
    (theirs less the first's)."""

    rank: int
    node: str
    round_trip_s: float
    bandwidth_mbit_s: float
    message_bytes: int
    monotonic_offset_ns: int
    wall_offset_ns: int
    uncertainty_ns: int


@dataclass(frozen=True)
class LinkMeasures:
    """The measures up to the first link that failed, and why it failed (None: all were
    measured)."""

    measures: tuple[LinkMeasure, ...]
    problem: str | None


def measure_links(placement: Placement, interpreter: Path, quick: bool = False) -> LinkMeasures:
    """Measure from the placement's first host to each of the others, ``quick`` with small messages;
    raises SuiteError when there is no mpirun."""
    variables = allow_root(child_environment(1))
    program = [str(interpreter), "-m", "reference_impls.links", "--ranks", str(placement.ranks)]
    program += ["--quick"] if quick else []
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("w+", errors="replace") as said,
    ):
        command = mpirun_command(
            find_mpirun(interpreter), placement, program, variables, Path(folder)
        )
        process = subprocess.Popen(
            command,
            cwd=repository_root(),
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        output, silent_s = _lines_of(process, START_S + START_PER_RANK_S * placement.ranks)
        said.seek(0)
        errors = said.read() if silent_s is None else f"no output within {silent_s:g} s"
    measures = tuple(
        found for line in output.splitlines() if (found := _parse_measure(line)) is not None
    )
    if len(measures) == placement.ranks - 1:
        return LinkMeasures(measures, None)
    return LinkMeasures(
        measures,
        _cause(output, errors, placement.ranks) or f"mpirun ended with {process.returncode}",
    )


def _lines_of(process: "subprocess.Popen[str]", first_s: float) -> tuple[str, float | None]:
    """What a process prints until it ends, or until it printed nothing for so long, which is the
    second value; it is ended then."""
    assert process.stdout is not None
    lines, found, wait_s = queue.SimpleQueue[str | None](), list[str](), first_s

    def read(stream: IO[str]) -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, args=(process.stdout,), daemon=True).start()
    try:
        while (line := lines.get(timeout=wait_s)) is not None:
            found.append(line)
            # libraries of MPI print lines of their own
            wait_s = PER_LINK_S if _parse_measure(line) else wait_s
        process.wait()
    except queue.Empty:
        return "".join(found), wait_s
    finally:
        terminate_session(process)
    return "".join(found), None


def _cause(output: str, errors: str, ranks: int) -> str | None:
    """Why a job of MPI failed: the signal that ended one of its processes, else the line that says
    most."""
    failed = failed_process(output.splitlines(), ranks)
    # which ends reference_impls.links in time
    if failed is not None and failed.signal == signal.SIGALRM:
        return "a message did not arrive in time"
    if failed is not None and failed.signal is not None:
        where = "" if failed.host is None else f" on {failed.host}"
        return f"a process of MPI{where} was ended by {describe_signal(failed.signal)}"
    lines = errors.splitlines()
    last = last_output_line(lines)
    return (
        last
        if last is None or rank_output(lines)
        else f"mpirun ended, and no rank printed a reason; mpirun's last line: {last}"
    )


def _parse_measure(line: str) -> LinkMeasure | None:
    """The measure in a line; None for what a shell's start-up files print."""
    try:
        return LinkMeasure(**json.loads(line))
    except (ValueError, TypeError):
        return None
