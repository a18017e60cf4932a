"""A run whose implementation waits at its gate: the meters are attached first, and Ctrl-C or a
killed harness leaves nothing behind."""

import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from suite import api
from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.execution.implementation import start_implementation
from suite.execution.interrupts import HeldBack
from suite.execution.recorder import Recorder
from suite.execution.run import _close
from suite.execution.run_directory import RunLock
from suite.execution.training import Training
from suite.experiments import one_run
from suite.files.paths import repository_root
from suite.launch.process import ExitReport, wait_for_exit
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading
from tests.launchers import waits_at_its_gate, with_ctrl_c

OPTIONS = api.RunOptions(
    division=api.Division.OPEN,
    device="auto",
    workload="lenet",
    framework="fake",
    data="digits",
    epochs=1,
)


class GateMeter:
    """Attached to the process at its gate: calls ``then`` with its pid."""

    name, period_s, description, opens_first = "gate", 0.5, "what waits", True

    def __init__(self, then: Callable[[int], object]) -> None:
        self._then = then
        self.pid, self.waited, self.attached_ns = 0, False, 0

    def availability(self) -> MeterAvailability:
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        self.pid = process.pid
        deadline_s = time.monotonic() + 120
        while not waits_at_its_gate(process.pid) and time.monotonic() < deadline_s:
            time.sleep(0.002)
        self.waited = waits_at_its_gate(process.pid)
        self._then(process.pid)
        self.attached_ns = time.monotonic_ns()

    def read(self) -> list[Reading]:
        return []

    def close(self) -> None:
        pass


@pytest.fixture
def metered(
    digits: Path, suite_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Any], None]:
    """Let runs in this process have this meter alone."""
    monkeypatch.setenv("SUITE_HOME", str(suite_home))
    return lambda meter: monkeypatch.setattr(one_run, "chosen_meters", lambda left_out: (meter,))


def test_the_implementation_starts_after_its_meters_are_attached_and_before_anything_is_timed(
    metered: Callable[[Any], None], tmp_path: Path
) -> None:
    meter = GateMeter(lambda pid: None)
    metered(meter)
    api.run(api.resolve(OPTIONS, tmp_path / "run", baseload_s=0))
    bundle = Bundle(tmp_path / "run")
    first = bundle.log().first("init_start")
    assert meter.waited
    assert first is not None and first.mono_ns is not None and meter.attached_ns < first.mono_ns
    assert first.mono_ns < bundle.steps_frame()["start_ns"].min()


def test_ctrl_c_at_the_gate_is_an_interrupted_run(
    metered: Callable[[Any], None], tmp_path: Path
) -> None:
    def interrupt(pid: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        psutil.Process(pid).wait(120)

    meter = GateMeter(interrupt)
    metered(meter)
    with with_ctrl_c(), pytest.raises(api.Interrupted, match="run keeps 0 finished epochs; `"):
        api.run(api.resolve(OPTIONS, tmp_path / "run", baseload_s=0))
    assert meter.waited and not psutil.pid_exists(meter.pid)
    assert Bundle(tmp_path / "run").run().status == "interrupted"
    assert (tmp_path / "run" / "output.txt").read_bytes() == b""


def test_ctrl_c_while_the_process_starts_is_an_interrupted_run(
    metered: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before any meter is read."""
    started = []

    def start(*arguments: Any) -> "subprocess.Popen[bytes]":
        signal.raise_signal(signal.SIGINT)
        started.append(start_implementation(*arguments))
        return started[0]

    metered(GateMeter(lambda pid: None))
    monkeypatch.setattr("suite.execution.training.start_implementation", start)
    with with_ctrl_c(), pytest.raises(api.Interrupted):
        api.run(api.resolve(OPTIONS, tmp_path / "run", baseload_s=0))
    assert started[0].poll() is not None
    assert Bundle(tmp_path / "run").run().status == "interrupted"


def test_a_signal_that_ends_the_implementation_after_its_training_leaves_a_finished_run(
    metered: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """systemd and job schedulers signal all processes of a run, and this one was exiting."""
    follow = Training.follow

    def signalled(*arguments: Any) -> None:
        follow(*arguments)
        signal.raise_signal(signal.SIGINT)

    def ended(*arguments: Any) -> ExitReport:
        return replace(wait_for_exit(*arguments), exit_code=-signal.SIGTERM)

    metered(GateMeter(lambda pid: None))
    monkeypatch.setattr(Training, "follow", signalled)
    monkeypatch.setattr("suite.execution.ending.wait_for_exit", ended)
    with with_ctrl_c(), pytest.raises(api.Interrupted, match=r"already finished .* is sealed"):
        api.run(api.resolve(OPTIONS, tmp_path / "run", baseload_s=0))
    bundle = Bundle(tmp_path / "run")
    record = bundle.run()
    assert (record.status, record.exit_code, bundle.is_sealed) == ("finished", None, True)


def test_an_interrupted_run_that_failed_is_not_said_to_be_sealed(good_bundle: Path) -> None:
    """It came while the record was written."""
    record, lock = replace(Bundle(good_bundle).run(), status="failed"), RunLock(good_bundle)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        _close(good_bundle, record, lock, HeldBack(happened=True))
    assert str(interrupted.value) == ""


def test_what_ends_a_run_at_the_gate_is_in_its_record(
    metered: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With what its meters did until then."""

    def refuse(*_: object) -> None:
        raise SuiteError("A neighbour makes no steps", "choose fewer neighbours")

    metered(GateMeter(lambda pid: None))
    monkeypatch.setattr("suite.execution.training.neighbour_trainings", refuse)
    with pytest.raises(SuiteError, match=r"^A neighbour makes no steps; choose fewer neighbours\."):
        api.run(api.resolve(OPTIONS, tmp_path / "run", baseload_s=0))
    record = Bundle(tmp_path / "run").run()
    assert record.status == "failed"
    assert record.message == "A neighbour makes no steps; choose fewer neighbours."
    assert [meter["name"] for meter in record.meters] == ["gate", "recorder"]


def test_a_disk_that_is_full_after_the_training_leaves_a_run_that_finished(
    metered: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    metered(GateMeter(lambda pid: None))
    with monkeypatch.context() as patch:
        patch.setattr("suite.execution.ending.amend_system", full)
        with pytest.raises(SuiteError, match="is full"):
            api.run(api.resolve(OPTIONS, tmp_path / "run", baseload_s=0))
    (finished,) = api.finish(tmp_path / "run")
    assert finished.status == "finished"


def test_ctrl_c_before_the_record_is_begun_leaves_nothing_to_seal(
    metered: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While the digests of the data are computed: `suite finish` would find no run."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    metered(GateMeter(lambda pid: None))
    monkeypatch.setattr("suite.execution.preparation.digest_data", interrupt)
    with pytest.raises(api.Interrupted, match=r"^the run in .*/run had not begun to train$"):
        api.run(api.resolve(OPTIONS, tmp_path / "run", baseload_s=0))
    assert not (tmp_path / "run" / RUN).exists()


KILLED = """
import sys
from suite.experiments import one_run
from tests.suite.execution.test_gated_run import OPTIONS, GateMeter
from suite import api
def tell(pid):
    print(pid, flush=True)
    sys.stdin.read()
one_run.chosen_meters = lambda left_out: (GateMeter(tell),)
api.run(api.resolve(OPTIONS, sys.argv[1], baseload_s=0))
"""


def test_a_harness_that_is_killed_at_the_gate_leaves_no_orphan(
    digits: Path, suite_home: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "run")]
    variables = {**os.environ, "SUITE_HOME": str(suite_home)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables, cwd=repository_root()
    ) as killed:
        assert killed.stdout is not None
        ended = os.pidfd_open(int(killed.stdout.readline()))
        killed.send_signal(signal.SIGKILL)
    assert select.select([ended], [], [], 10)[0], "the gate still waits"
    os.close(ended)
    assert Bundle(tmp_path / "run").run().status == "running"
    assert (tmp_path / "run" / "output.txt").read_bytes() == b""


def test_a_meter_that_is_not_attached_in_time_is_recorded_and_stops_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    released = threading.Event()
    meter = SlowMeter(released)
    recorder = Recorder([meter], tmp_path)
    recorder.start(MeteredProcess(process.pid, tmp_path))
    assert meter.asked.wait(120)
    recorder.wait_until_attached(0.01)
    released.set()
    recorder.wait_until_attached()
    record, *_ = recorder.stop()
    process.communicate(b"\n")
    assert record.failures == 1 and "was not attached within 0.01 s" in (record.last_error or "")


class SlowMeter(GateMeter):
    """Waits as it is opened."""

    def __init__(self, released: threading.Event) -> None:
        super().__init__(lambda pid: None)
        self.asked, self._released = threading.Event(), released

    def open(self, process: MeteredProcess) -> None:
        self.asked.set()
        self._released.wait(120)


class LateMeter(SlowMeter):
    """One that need not be attached."""

    name, opens_first = "late", False


def test_the_implementation_waits_for_no_other_meter(tmp_path: Path) -> None:
    released = threading.Event()
    late = LateMeter(released)
    recorder = Recorder([late], tmp_path)
    recorder.start(MeteredProcess(os.getpid(), tmp_path))
    recorder.wait_until_attached()
    assert not released.is_set()
    released.set()
    assert [record.failures for record in recorder.stop()] == [0, 0]
