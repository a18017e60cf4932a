"""A whole run through the command line, with the framework of the standard library: done, judged,
drawn, broken off, refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from suite.bundle.data_record import DATA
from suite.bundle.layout import LOCK, RUN, SYSTEM
from suite.bundle.limits import MAX_EPOCHS
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.execution.interrupts import INTERRUPTS
from suite.execution.run_directory import make_output
from suite.files.paths import repository_root
from suite.launch.environments import adopt_interpreter, environment_folder
from tests.conftest import Run, interruptible
from tests.every_case import some
from tests.interpreters import make_interpreter

FAKE = "run --division open --workload lenet --framework fake --data digits"


def test_run_check_report(suite: Run, digits: Path, tmp_path: Path) -> None:
    """MLPerf logging's own parser reads the log, too."""
    from mlperf_logging.compliance_checker.mlp_parser import parse_file

    ran = suite.done(f"{FAKE} --epochs 3 --output {tmp_path}/run --json")
    assert json.loads(ran.stdout)["figures"]["time_to_epoch_s"]["count"] == 2
    assert Bundle(tmp_path / "run").log().value("cache_clear") is True
    judged = suite.done(f"check {tmp_path}/run --json")
    (verdict,) = json.loads(judged.stdout)["verdicts"]
    assert {finding["rule"] for finding in verdict["findings"]} <= {"foreign-load"}, (
        "a busy machine"
    )
    events, errors = parse_file(str(tmp_path / "run" / "log.txt"), ruleset="4.1.0")
    assert errors == []
    assert {"run_start", "epoch_stop", "eval_accuracy", "run_stop"} <= {
        event.key for event in events
    }
    suite.done(f"report {tmp_path}/run --output {tmp_path}/site")
    run_id = Bundle(tmp_path / "run").run().run_id
    assert f"runs/{run_id}" in "".join(
        page.read_text() for page in (tmp_path / "site" / "entries").glob("*.html")
    )


def test_a_runs_software_is_what_its_interpreter_has_as_it_begins(
    suite: Run, digits: Path, suite_home: Path, tmp_path: Path
) -> None:
    """It was upgraded since it was adopted."""
    fake = load_framework("fake")
    adopt_interpreter(fake, make_interpreter(tmp_path / "python", numpy="1.17.4"), suite_home)
    try:
        make_interpreter(tmp_path / "python", numpy="1.24.4")
        suite.done(f"{FAKE} --steps 20 --output {tmp_path}/run")
    finally:
        shutil.rmtree(environment_folder(fake, suite_home))
    system = Bundle(tmp_path / "run").json(SYSTEM)
    assert (system["python"], system["libraries"]) == ("3.8.10", {"numpy": "1.24.4"})


def test_the_same_seed_gives_the_same_losses(suite: Run, digits: Path, tmp_path: Path) -> None:
    losses = []
    for name, seed in (("one", 7), ("two", 7), ("three", 8)):
        suite.done(f"{FAKE} --steps 20 --seed {seed} --output {tmp_path}/{name}")
        losses.append(list(Bundle(tmp_path / name).steps_frame()["loss"]))
    assert losses[0] == losses[1] != losses[2]
    assert len(losses[0]) == 20


def test_a_run_that_a_step_limit_cut_short_complies_with_the_open_division(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    """No evaluation is asked of an epoch that was not finished; results on generated data are
    shown, and on no leaderboard."""
    suite.done("data prepare mnist --synthetic --samples 100")
    suite.done(f"{FAKE} --data synthetic --steps 9 --output {tmp_path}/run")
    assert Bundle(tmp_path / "run").log().finished_epochs() == (1, 2)
    suite.done(f"check {tmp_path}/run")
    suite.done(f"report {tmp_path}/run --output {tmp_path}/site")
    front = (tmp_path / "site" / "index.html").read_text()
    assert "Generated data" in front and "No run is on a leaderboard" in front
    assert not (tmp_path / "site" / "boards").exists()


def test_a_closed_run_that_cannot_comply_is_refused_before_it_starts(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    answer = suite.refused(f"{FAKE} --division closed --output {tmp_path}/run", code=1)
    assert "closed-data" in answer.stdout and "--allow-invalid" in answer.stderr
    assert not (tmp_path / "run").exists()


def test_gradients_are_accumulated_in_the_open_division_only(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    answer = suite.refused(
        f"{FAKE} --division closed --accumulate 4 --output {tmp_path}/run", code=1
    )
    assert (
        "closed-gradients" in answer.stdout
        and "and --accumulate out, or run in the open division" in " ".join(answer.stdout.split())
    )
    suite.done(f"{FAKE} --batch-size 32 --accumulate 4 --epochs 2 --output {tmp_path}/run")
    suite.done(f"check {tmp_path}/run")


@pytest.mark.proof
def test_both_timings_train_alike_and_one_splits_the_steps(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    """The fake framework keeps what is submitted until it is waited for: the whole pipeline in both
    timings, without a GPU."""
    for timing in ("synchronised", "asynchronous"):
        suite.done(f"{FAKE} --epochs 3 --timing {timing} --output {tmp_path}/{timing}")
    judged = {
        name: suite.typed(f"check {tmp_path}/{name}") for name in ("synchronised", "asynchronous")
    }
    assert [answer.returncode for answer in judged.values()] == [0, 0], judged
    assert (
        "about the parts of steps, which asynchronous timing does not record"
        in judged["asynchronous"].stdout
    )
    assert "were not applied" not in judged["synchronised"].stdout
    split, whole = (
        Bundle(tmp_path / "synchronised").steps(),
        Bundle(tmp_path / "asynchronous").steps(),
    )
    assert split.loss.tolist() == whole.loss.tolist()
    assert split.is_split and not whole.is_split
    suite.done(f"report {tmp_path}/synchronised {tmp_path}/asynchronous --output {tmp_path}/site")
    boards = "".join(page.read_text() for page in (tmp_path / "site" / "boards").glob("*.html"))
    assert "asynchronous timing" in boards and "synchronised timing" in boards


def test_a_dry_run_prints_the_request_and_runs_nothing(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    answer = suite.typed(f"{FAKE} --seed 3 --output {tmp_path}/run --dry-run")
    (request,) = json.loads(answer.stdout)["rows"]
    assert request["request"]["seed"] == 3
    assert not (tmp_path / "run").exists()


def test_an_existing_output_is_not_touched(suite: Run, digits: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("years of work")
    suite.refused(f"{FAKE} --output {tmp_path}/run")
    suite.refused(f"{FAKE} --output {tmp_path}/run --force")
    assert (tmp_path / "run" / "thesis.txt").read_text() == "years of work"


def test_what_a_run_left_that_was_killed_as_it_began_is_replaced(tmp_path: Path) -> None:
    for name in (LOCK, DATA, f".{RUN}.0a1b2c3d"):
        (tmp_path / name).touch()
    make_output(tmp_path, force=True)
    assert not list(tmp_path.iterdir())
    (tmp_path / LOCK).touch()
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(SuiteError, match=r"is not a run directory .*Choose another --output"):
        make_output(tmp_path, force=True)


def test_truncated_data_are_named(suite: Run, digits: Path, tmp_path: Path) -> None:
    broken = tmp_path / "data"
    broken.mkdir()
    for file in digits.iterdir():
        (broken / file.name).write_bytes(
            file.read_bytes()[:-1] if file.name.startswith("t10k-images") else file.read_bytes()
        )
    answer = suite.refused(f"run --division open --workload lenet --framework fake --data {broken}")
    assert str(broken) in answer.stderr and "expected 47040016" in answer.stderr


class Live:
    """A run that goes on until somebody ends it."""

    def __init__(self, path: Path, home: Path, *more: str) -> None:
        self.path = path
        command = [
            str(Path(sys.executable).with_name("suite")),
            *FAKE.split(),
            "--epochs",
            str(MAX_EPOCHS),
            "--output",
            str(path),
            *more,
        ]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "SUITE_HOME": str(home)},
            cwd=repository_root(),
            preexec_fn=interruptible,
        )
        self._wait(lambda: '"epoch_stop"' in self.log())
        self.implementation = psutil.Process(self.process.pid).children()[0]

    def log(self) -> str:
        log = self.path / "log.txt"
        return log.read_text() if log.exists() else ""

    def _wait(self, condition: object) -> None:
        limit_s = time.monotonic() + 60
        while not condition():  # type: ignore[operator]
            assert time.monotonic() < limit_s and self.process.poll() is None, (
                "the run did not start"
            )
            time.sleep(0.05)

    def assert_every_finished_epoch_reads_back(self) -> None:
        bundle = Bundle(self.path)
        finished = bundle.log().finished_epochs()
        assert finished
        assert set(bundle.steps_frame()["epoch"]) == set(finished)
        assert (bundle.steps_frame().groupby("epoch").size() == 90).all()

    def assert_nothing_runs(self) -> None:
        _, alive = psutil.wait_procs([self.implementation], timeout=120)
        assert not alive


@pytest.fixture
def live(digits: Path, suite_home: Path, tmp_path: Path) -> Live:
    return Live(tmp_path / "run", suite_home)


def assert_check_says_so_in_one_finding(suite: Run, path: Path, status: str) -> None:
    answer = suite.refused(f"check {path} --json", code=1)
    assert not answer.stderr
    (verdict,) = json.loads(answer.stdout)["verdicts"]
    (finding,) = verdict["findings"]
    assert finding["rule"] == "run-complete" and repr(status) in finding["observed"]


def test_a_killed_harness_leaves_every_finished_epoch_and_no_orphan(live: Live, suite: Run) -> None:
    live.process.kill()
    live.process.wait()
    live.assert_nothing_runs()
    live.assert_every_finished_epoch_reads_back()
    assert_check_says_so_in_one_finding(suite, live.path, "running")


@pytest.mark.proof
def test_a_killed_implementation_leaves_every_finished_epoch(live: Live, suite: Run) -> None:
    live.implementation.kill()
    _, errors = live.process.communicate(timeout=60)
    assert live.process.returncode == 2
    assert "signal 9" in errors and "Traceback" not in errors
    live.assert_every_finished_epoch_reads_back()
    assert_check_says_so_in_one_finding(suite, live.path, "failed")


def test_a_run_whose_directory_is_removed_ends_and_says_so(live: Live) -> None:
    shutil.rmtree(live.path)
    _, errors = live.process.communicate(timeout=60)
    assert live.process.returncode == 2
    assert (
        f"The run directory {live.path} was removed or emptied while the run went on" in errors
        and "--output" in errors
    )
    assert "Traceback" not in errors
    live.assert_nothing_runs()


@pytest.mark.parametrize("asked", some(INTERRUPTS), ids=lambda asked: asked.name)
def test_every_interrupt_ends_it_with_one_sentence_and_loses_nothing(
    live: Live, suite: Run, asked: signal.Signals
) -> None:
    live.process.send_signal(asked)
    assert_interrupted(live, suite)


@pytest.mark.proof
def test_an_interrupt_that_is_repeated_until_the_process_ends_is_one(
    live: Live, suite: Run
) -> None:
    """Somebody keeps Ctrl-C pressed."""
    while live.process.poll() is None:
        live.process.send_signal(signal.SIGINT)
        time.sleep(0.03)  # as quickly as a keyboard repeats
    assert_interrupted(live, suite)


def assert_interrupted(live: Live, suite: Run) -> None:
    _, errors = live.process.communicate(timeout=60)
    assert live.process.returncode == 2
    assert errors.splitlines()[-1].startswith("error: Interrupted;") and "Traceback" not in errors
    # the folder of this run is refused
    assert "To run again: suite run " in errors and f"--output {live.path}-2" in errors
    live.assert_nothing_runs()
    live.assert_every_finished_epoch_reads_back()
    assert_check_says_so_in_one_finding(suite, live.path, "interrupted")


@pytest.mark.proof
@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system of its own needs root")
def test_a_full_disk_is_one_sentence_and_keeps_what_was_written(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=72m", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.strip()}")
    try:
        ballast = disk / "ballast"
        ballast.write_bytes(b"\0" * (71 * 2**20))
        refused = suite.refused(f"{FAKE} --output {disk}/run")
        assert "MiB free" in refused.stderr
        ballast.unlink()
        process = Live(disk / "run", digits.parent.parent)
        ballast.touch()
        with ballast.open("wb") as stream:
            try:
                while stream.write(b"\0" * 65536):
                    stream.flush()
            except OSError:
                pass
        _, errors = process.process.communicate(timeout=120)
        assert process.process.returncode == 2
        assert "full" in errors.splitlines()[-1] or "No space left" in errors.splitlines()[-1]
        assert "Traceback" not in errors
        assert Bundle(disk / "run").run().status == "failed"
        ballast.unlink()
        assert Bundle(disk / "run").log().finished_epochs()
        finished = suite.done(f"finish {disk}/run")
        assert "sealed as failed" in finished.stdout and Bundle(disk / "run").is_sealed
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
