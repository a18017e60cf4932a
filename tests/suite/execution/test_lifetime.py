"""When the harness began to work for a run: by the kernel's record of its process, and of a process
that waited before it was executed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suite.bundle.lifetime import Lifetime, read_lifetime
from suite.bundle.reader import Bundle
from suite.execution import preparation
from suite.execution.preparation import begin_lifetime, process_start_ns
from suite.machine.process_tree import CLOCK_TICKS_PER_S
from tests.conftest import Run

TICK_NS = 10**9 // CLOCK_TICKS_PER_S
REPORT = (
    "import json; from suite.execution.preparation import begin_lifetime;"
    " print(json.dumps(begin_lifetime(True).to_dict()))"
)


def reported(command: list[str]) -> Lifetime:
    """The lifetime that a process started by this command reports."""
    found = read_lifetime(
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    )
    assert found is not None
    return found


def test_a_process_knows_when_it_was_started() -> None:
    before_ns = time.monotonic_ns()
    found = reported([sys.executable, "-c", REPORT])
    assert found.process_ns is not None
    assert before_ns - TICK_NS <= found.process_ns <= found.begin_ns <= time.monotonic_ns()


def test_a_program_that_waited_before_it_executed_the_suite_did_not_work_meanwhile() -> None:
    """A shell that sleeps and then becomes the program: the kernel counts its process from the
    shell's start. With one thread its CPU time is never longer than the time since it was
    executed."""
    found = reported(
        [
            "sh",
            "-c",
            'export OPENBLAS_NUM_THREADS=1; sleep 0.7; exec "$0" -c "$1"',
            sys.executable,
            REPORT,
        ]
    )
    assert found.process_ns is not None
    assert found.begin_ns - found.process_ns >= 650_000_000


def test_a_process_that_turns_to_a_run_begins_now() -> None:
    before_ns = time.monotonic_ns()
    found = begin_lifetime(since_process_start=False)
    assert found.process_ns is None
    assert before_ns <= found.begin_ns <= time.monotonic_ns()


@pytest.mark.parametrize(
    "stat",
    [
        "",
        "1 (suite) S",
        "1 (suite) S " + "x " * 40,
        "1 (suite) S " + str(2**62) + " " * 3 + f"{2**62} " * 40,
    ],
)
def test_a_kernel_that_does_not_tell_leaves_it_open(
    stat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation.os, "getpid", lambda: 1)
    (tmp_path / "proc/1").mkdir(parents=True)
    (tmp_path / "proc/1/stat").write_text(stat)
    assert process_start_ns(tmp_path) is None
    assert begin_lifetime(True, tmp_path).begin_ns <= time.monotonic_ns()


def test_a_run_records_its_harness_from_its_process_to_the_closing(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    before_ns = time.monotonic_ns()
    suite.done(
        "run --division open --workload lenet --framework fake --data digits --epochs 1"
        f" --baseload 0 --output {tmp_path}/run"
    )
    after_ns = time.monotonic_ns()
    bundle = Bundle(tmp_path / "run")
    found, log = read_lifetime(bundle.run().lifetime), bundle.log()
    start, stop = log.first("run_start"), log.first("run_stop")
    assert (
        found is not None
        and start is not None
        and stop is not None
        and start.mono_ns is not None
        and stop.mono_ns is not None
    )
    assert found.process_ns is not None and found.closed_ns is not None
    assert (
        before_ns - TICK_NS
        <= found.process_ns
        <= found.begin_ns
        < start.mono_ns
        < stop.mono_ns
        < found.closed_ns
        <= after_ns
    )
    assert found.idle_ns == ()
