"""A run in namespaces or a container: it complies, trains as a bare one does, is an entry of its
own, and leaves no process."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

import reporter
from suite.bundle.reader import Bundle
from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.execution.implementation import implementation_command
from suite.execution.request import RunRequest
from suite.files.paths import repository_root
from suite.launch.isolation import Isolation, refuse_isolation
from tests.builders import Scenario, make_request
from tests.conftest import Run, interruptible

FAKE = "run --division open --workload lenet --framework fake --data digits"


@pytest.fixture(params=["namespace", "podman"])
def kind(request: pytest.FixtureRequest) -> str:
    """Isolations that this machine and user have."""
    try:
        refuse_isolation(Isolation(request.param))
    except SuiteError as error:
        pytest.skip(str(error))
    return str(request.param)


def test_an_isolated_run_complies_and_is_an_entry_of_its_own(
    suite: Run, digits: Path, tmp_path: Path, kind: str
) -> None:
    for one in (kind, "none"):
        suite.done(f"{FAKE} --epochs 2 --isolation {one} --output {tmp_path}/{one}")
        suite.done(f"check {tmp_path}/{one}")
    bare, isolated = Bundle(tmp_path / "none"), Bundle(tmp_path / kind)
    assert list(bare.steps_frame()["loss"]) == list(isolated.steps_frame()["loss"])
    record = isolated.run().isolation
    assert (
        record is not None
        and record["kind"] == kind
        and record["namespaces"] == ["mount", "uts", "ipc", "net", "pid"]
    )
    started_ns = next(event.mono_ns for event in isolated.log().events if event.key == "init_start")
    assert 0 < started_ns - record["released_ns"] < 60e9
    entries = reporter.load([tmp_path]).entries
    assert (
        sorted(entries["isolation"]) == sorted([kind, "none"])
        and len(set(entries["entry_id"])) == 2
    )


@pytest.mark.proof
def test_a_matrix_varies_isolation(suite: Run, digits: Path, tmp_path: Path, kind: str) -> None:
    shared = "--workload lenet --framework fake --data digits --epochs 2 --seeds 2"
    suite.done(f"sweep {shared} --vary isolation=none,{kind} --output {tmp_path}/matrix")
    frames = reporter.load([tmp_path / "matrix"])
    assert sorted(frames.points["isolation"]) == sorted([kind, kind, "none", "none"])
    assert sorted(frames.entries["isolation"]) == sorted([kind, "none"])
    (pair,) = reporter.compare(frames, by="isolation", figure="time_to_epoch_s")
    assert pair.low is not None and pair.low < pair.ratio < pair.high


@pytest.mark.proof
def test_an_interrupted_one_leaves_no_process(
    digits: Path, suite_home: Path, tmp_path: Path, kind: str
) -> None:
    command = f"{FAKE} --epochs 1500 --isolation {kind} --output {tmp_path}/run".split()
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
    assert any(one.name() in ("unshare", "conmon") for one in started)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    _, alive = psutil.wait_procs(started, timeout=60)
    assert alive == []


def test_a_container_reads_the_data_of_the_old_task(tmp_path: Path) -> None:
    """An adaptation evaluates what it costs there."""
    training = make_request(tmp_path, Scenario(framework="fake"))
    training = training._replace(old_task=training.data._replace(directory="/data/old"))
    fake, device = load_framework("fake"), load_device("generic")
    request = RunRequest("run", load_workload("lenet"), device, "", fake, training)
    environment: Any = SimpleNamespace(interpreter=Path(sys.executable))
    words = implementation_command(replace(request, isolation=Isolation.PODMAN), environment, {})
    assert "--volume=/data/old:/data/old:ro" in words
