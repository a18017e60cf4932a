"""The gate: the command starts at its release, in the same process, and never without one."""

import os
import resource
import select
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from suite.files.paths import repository_root
from suite.launch.process import (
    close_gate,
    release_process,
    start_process,
    terminate_session,
    wait_for_exit,
)
from suite.meters.meter import MeteredProcess
from suite.meters.sources.event_counts import CountersMeter
from tests.launchers import waits_at_its_gate
from tests.suite.conftest import Eventually

PROGRAM = (
    "/bin/sh",
    "-c",
    'test -e "$1" && echo $$ && readlink /proc/$$/fd/0 && ls /proc/$$/fd',
    "program",
)
TWO_BUSY_RANKS = """
import os, time
for _ in range(2):
    if os.fork() == 0:
        while time.process_time() < 0.3:
            pass
        os._exit(0)
os.wait(), os.wait()
"""


def test_the_command_starts_at_its_release_in_the_same_process(
    tmp_path: Path, eventually: Eventually
) -> None:
    process = start_process([*PROGRAM, str(tmp_path / "attached")], {}, tmp_path / "output")
    eventually(lambda: waits_at_its_gate(process.pid))
    (tmp_path / "attached").touch()
    release_process(process)
    assert wait_for_exit(process, tmp_path / "output").exit_code == 0
    assert (tmp_path / "output").read_text().split() == [
        str(process.pid),
        "/dev/null",
        "0",
        "1",
        "2",
    ]


def test_without_a_release_the_command_never_starts(tmp_path: Path, eventually: Eventually) -> None:
    process = start_process(["/bin/echo", "started"], {}, tmp_path / "output")
    eventually(lambda: waits_at_its_gate(process.pid))
    close_gate(process)
    assert process.wait(120) == 1
    assert (tmp_path / "output").read_text() == ""


def test_a_process_that_ended_at_its_gate_can_be_released(tmp_path: Path) -> None:
    process = start_process(["/bin/true"], {}, tmp_path / "output")
    terminate_session(process)
    release_process(process)
    assert process.returncode != 0


def test_a_command_that_does_not_exist_is_named_in_the_output(tmp_path: Path) -> None:
    process = start_process(["/no/such/program"], {}, tmp_path / "output")
    release_process(process)
    report = wait_for_exit(process, tmp_path / "output")
    assert report.exit_code == 127 and "/no/such/program" in report.last_line


HARNESSES = {
    "the suite's": (
        "from suite.launch.process import start_process; from pathlib import Path; process ="
        " start_process(['/bin/echo'], {}, Path(sys.argv[1]))"
    ),
    "one whose death the kernel does not report": (
        "from suite.launch.process import gated; process = subprocess.Popen(gated(['/bin/echo']),"
        " stdin=subprocess.PIPE, stdout=open(sys.argv[1], 'wb'), start_new_session=True)"
    ),
}


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_harness_that_is_killed_before_the_release_leaves_no_orphan(
    harness: str, tmp_path: Path
) -> None:
    script = (
        f"import subprocess, sys; {HARNESSES[harness]}; print(process.pid, flush=True);"
        " sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "output")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=repository_root()
    ) as killed:
        assert killed.stdout is not None
        ended = os.pidfd_open(int(killed.stdout.readline()))
        killed.send_signal(signal.SIGKILL)
    assert select.select([ended], [], [], 10)[0], "the gate still waits"
    os.close(ended)
    assert (tmp_path / "output").read_bytes() == b""


def test_counters_that_are_attached_at_the_gate_count_the_processes_of_all_ranks(
    tmp_path: Path, eventually: Eventually
) -> None:
    """What the gate itself used before they were attached is not in them."""
    meter = CountersMeter()
    if not meter.availability().available:
        pytest.skip(f"no such meter here: {meter.availability().reason}")
    before_s = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = start_process([sys.executable, "-c", TWO_BUSY_RANKS], {}, tmp_path / "output")
    eventually(lambda: waits_at_its_gate(process.pid))
    gate_s = int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0]) * 1e-9
    meter.open(MeteredProcess(process.pid, tmp_path))
    release_process(process)
    assert process.wait(60) == 0
    counted_s = (
        next(reading.value for reading in meter.read() if reading.channel.startswith("task_clock"))
        * 1e-9
    )
    meter.close()
    after_s = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = after_s.ru_utime + after_s.ru_stime - before_s.ru_utime - before_s.ru_stime - gate_s
    assert used_s > 0.5
    assert counted_s == pytest.approx(used_s, rel=0.05)


def test_nothing_of_the_gate_is_left(tmp_path: Path) -> None:
    """The command has no parent but the harness, and no child."""
    process = start_process(["/bin/sleep", "60"], {}, tmp_path / "output")
    release_process(process)
    try:
        assert psutil.Process(process.pid).ppid() == os.getpid()
        assert psutil.Process(process.pid).children() == []
    finally:
        terminate_session(process)
