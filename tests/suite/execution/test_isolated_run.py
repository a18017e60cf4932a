"""A run in namespaces: it complies, trains as a bare one does, is an entry of its own, and leaves no process behind when it is interrupted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import reporter
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.isolation import Isolation, refuse_isolation
from tests.conftest import Run, interruptible

FAKE = ("run", "--division", "open", "--workload", "lenet", "--framework", "fake", "--data", "digits")


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    try:
        refuse_isolation(Isolation.NAMESPACE)
    except SuiteError as error:
        pytest.skip(str(error))


def test_an_isolated_run_complies_and_is_an_entry_of_its_own(suite: Run, digits: Path, tmp_path: Path) -> None:
    for kind in ("namespace", "none"):
        ran = suite(*FAKE, "--epochs", 2, "--isolation", kind, "--output", tmp_path / kind)
        assert ran.returncode == 0, ran.stderr
        judged = suite("check", tmp_path / kind)
        assert judged.returncode == 0, judged.stdout
    bare, isolated = Bundle(tmp_path / "none"), Bundle(tmp_path / "namespace")
    assert list(bare.steps_frame()["loss"]) == list(isolated.steps_frame()["loss"])
    record = isolated.run().isolation
    assert record is not None and record["kind"] == "namespace" and record["namespaces"] == ["mount", "uts", "ipc", "net", "pid"]
    started_ns = next(event.mono_ns for event in isolated.log().events if event.key == "init_start")
    assert 0 < started_ns - record["released_ns"] < 60e9
    entries = reporter.load([tmp_path]).entries
    assert sorted(entries["isolation"]) == ["namespace", "none"] and len(set(entries["entry_id"])) == 2


@pytest.mark.slow
def test_a_matrix_varies_isolation(suite: Run, digits: Path, tmp_path: Path) -> None:
    shared = ("--workload", "lenet", "--framework", "fake", "--data", "digits", "--epochs", 2, "--seeds", 2)
    ran = suite("sweep", *shared, "--vary", "isolation=none,namespace", "--output", tmp_path / "matrix")
    assert ran.returncode == 0, ran.stderr
    frames = reporter.load([tmp_path / "matrix"])
    assert sorted(frames.points["isolation"]) == ["namespace", "namespace", "none", "none"]
    assert sorted(frames.entries["isolation"]) == ["namespace", "none"]
    (pair,) = reporter.compare(frames, by="isolation", figure="time_to_epoch_s")
    assert pair.low is not None and pair.low < pair.ratio < pair.high


@pytest.mark.slow
def test_an_interrupted_one_leaves_no_process(digits: Path, suite_home: Path, tmp_path: Path) -> None:
    command = [*FAKE, "--epochs", "5000", "--isolation", "namespace", "--output", str(tmp_path / "run")]
    process = subprocess.Popen(
        [sys.executable, "-c", "from suite.cli.app import main; main()", *command],
        cwd=repository_root(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "SUITE_HOME": str(suite_home)},
        preexec_fn=interruptible,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("epoch 1/"):
            break
    started = psutil.Process(process.pid).children(recursive=True)
    assert any("unshare" in one.name() for one in started)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    _, alive = psutil.wait_procs(started, timeout=60)
    assert alive == []
