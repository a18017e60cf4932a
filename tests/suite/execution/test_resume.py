"""An interrupted run is resumed from its last kept state: the losses are those of a run that
nothing interrupted; lost time counts."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reference_impls.state_file import StateFile, write_state
from suite.bundle.layout import states_folder
from suite.bundle.reader import Bundle
from suite.bundle.resumption import read_resumption
from suite.compliance.checker import check_bundle
from suite.compliance.finding import Severity
from suite.files.paths import repository_root
from tests.conftest import Run, environment_of, interruptible
from tests.every_case import some
from tests.faults.edits.editable_bundle import EditableBundle

EPOCHS = 4
OPTIONS = (
    f"--division open --workload lenet --framework fake --data digits --epochs {EPOCHS}"
    " --batch-size 96"
)


@pytest.fixture(scope="module")
def whole_run(suite: Run, digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    path = tmp_path_factory.mktemp("whole") / "run"
    suite.done(f"run {OPTIONS} --output {path} --baseload 0")
    return path


@pytest.fixture(scope="module")
def interrupted(suite_home: Path, digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that kept its states and was interrupted after its first epochs."""
    path = tmp_path_factory.mktemp("interrupted") / "run"
    interrupt_after(path, 1, suite_home, OPTIONS)
    return path


def interrupt_after(path: Path, epoch: int, home: Path, options: str) -> None:
    """Start a run that keeps its states; end its harness, and with it the training, as soon as the
    state of ``epoch`` is whole."""
    words = f"run {options} --keep-states --baseload 0 --output {path}"
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("suite")), *words.split()],
        env={**os.environ, "SUITE_HOME": str(home)},
        cwd=repository_root(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=interruptible,
    )
    kept, deadline_s = states_folder(path) / f"epoch_{epoch}.npz", time.monotonic() + 120
    while not kept.exists() and process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.01)
    process.kill()
    _, said = process.communicate()
    assert kept.exists(), said


def resumed(suite: Run, run: Path, output: Path) -> Path:
    suite.done(f"run {OPTIONS} --resume {run} --output {output} --baseload 0")
    return output


def losses(run: Path) -> dict[int, float]:
    steps = Bundle(run).steps_frame()
    return dict(zip(steps["step"], steps["loss"], strict=True))


@pytest.fixture(scope="module")
def again(suite: Run, interrupted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interrupted run, resumed to its end."""
    return resumed(suite, interrupted, tmp_path_factory.mktemp("again") / "run")


def test_the_losses_are_those_of_a_run_without_a_break(
    suite: Run, whole_run: Path, again: Path
) -> None:
    bundle = Bundle(again)
    record = read_resumption(bundle.run().resumed)
    assert record is not None and 1 <= record.epoch < EPOCHS
    found, wanted = losses(again), losses(whole_run)
    assert found == {step: loss for step, loss in wanted.items() if step > record.epoch * 15}
    accuracies = [
        {event.epoch: event.value for event in Bundle(run).log().all("eval_accuracy")}
        for run in (again, whole_run)
    ]
    assert accuracies[0] == {
        epoch: value
        for epoch, value in accuracies[1].items()
        if epoch is not None and epoch >= record.epoch
    }
    restored = bundle.log().first("state_restored")
    assert restored is not None and restored.value == dict(record.state)
    assert record.reason and record.ranks == 1
    suite.done(f"check {again}")
    energy = bundle.json("summary.json")["figures"]["energy_j"]
    assert energy["value"] is None and "resumed after epoch" in energy["reason"]


@pytest.mark.proof
def test_a_resumed_run_is_resumed_again(
    suite: Run, suite_home: Path, whole_run: Path, interrupted: Path, again: Path, tmp_path: Path
) -> None:
    """After later epochs than the first, too, the losses are those of a run without a break."""
    second, third = tmp_path / "second", tmp_path / "third"
    first = read_resumption(Bundle(again).run().resumed)
    assert first is not None
    interrupt_after(second, first.epoch + 1, suite_home, f"{OPTIONS} --resume {interrupted}")
    record = read_resumption(Bundle(resumed(suite, second, third)).run().resumed)
    assert record is not None and record.epoch > first.epoch
    assert losses(third) == {
        step: loss for step, loss in losses(whole_run).items() if step > record.epoch * 15
    }
    assert (record.began_time_ms, record.began_mono_ns) == (
        first.began_time_ms,
        first.began_mono_ns,
    )
    assert record.run_id == Bundle(second).run().run_id


def test_a_closed_interrupted_run_can_be_resumed(
    suite: Run, interrupted: Path, tmp_path: Path
) -> None:
    closed = Path(shutil.copytree(interrupted, tmp_path / "run"))
    shutil.copytree(states_folder(interrupted), states_folder(closed))
    suite.done(f"finish {closed}")
    resumed(suite, closed, tmp_path / "again")


def test_a_run_that_was_cut_off_after_its_last_epoch_is_evaluated_and_complies(
    suite: Run, suite_home: Path, digits: Path, tmp_path: Path
) -> None:
    """The resumed run has no steps."""
    cut_off = tmp_path / "run"
    interrupt_after(cut_off, EPOCHS, suite_home, OPTIONS)
    log = cut_off / "log.txt"
    lines = log.read_text().splitlines(keepends=True)
    states = [place for place, line in enumerate(lines) if '"state_digests"' in line]
    log.write_text("".join(lines[: states[-1] + 1]))
    again = resumed(suite, cut_off, tmp_path / "again")
    assert not losses(again)
    suite.done(f"check {again}")


def test_a_run_that_finished_is_not_resumed(suite: Run, whole_run: Path, tmp_path: Path) -> None:
    answer = suite.refused(f"run {OPTIONS} --resume {whole_run} --output {tmp_path}/again")
    assert "finished; there is nothing to resume" in answer.stderr


def with_edited_states(interrupted: Path, copy: Path) -> Path:
    """A copy of the run; a bit of its last state's velocity is another one, and it keeps no other
    state."""
    shutil.copytree(interrupted, copy)
    states_folder(copy).mkdir()
    path = max(states_folder(interrupted).glob("epoch_*.npz"))
    file = StateFile(str(path))
    arrays = {name: bytearray(file[name]) for name in file}
    arrays["velocity/weights"][0] ^= 1
    write_state(
        str(states_folder(copy) / path.name),
        {name: memoryview(value).cast("d") for name, value in arrays.items()},
        file.progress,
    )
    return copy


def with_damaged_states(interrupted: Path, copy: Path) -> Path:
    """A copy of the run whose last state is no archive, and that keeps no other state."""
    shutil.copytree(interrupted, copy)
    states_folder(copy).mkdir()
    (states_folder(copy) / max(states_folder(interrupted).glob("epoch_*.npz")).name).write_bytes(
        b"PK"
    )
    return copy


@pytest.mark.proof
@pytest.mark.parametrize("spoiled", some([with_edited_states, with_damaged_states]))
def test_where_the_only_state_is_spoiled_the_run_is_made_anew(
    spoiled: Callable[[Path, Path], Path], suite: Run, interrupted: Path, tmp_path: Path
) -> None:
    copy = spoiled(interrupted, tmp_path / "copy")
    command = f"run {OPTIONS} --baseload 0 --output {tmp_path}/again"
    answer = suite.refused(f"{command} --resume {copy}")
    assert answer.stderr.count("\n") == 1
    assert "; run again without --resume: no state of an earlier epoch was kept." in answer.stderr
    suite.done(command)


@pytest.mark.proof
@pytest.mark.parametrize("spoiled", some([with_damaged_states, with_edited_states]))
def test_where_a_state_is_spoiled_the_one_before_goes_on(
    spoiled: Callable[[Path, Path], Path],
    suite: Run,
    suite_home: Path,
    digits: Path,
    tmp_path: Path,
) -> None:
    interrupt_after(tmp_path / "run", 2, suite_home, OPTIONS)
    copy = spoiled(tmp_path / "run", tmp_path / "copy")
    (wrong,) = states_folder(copy).iterdir()
    shutil.copy(states_folder(tmp_path / "run") / "epoch_1.npz", states_folder(copy))
    answer = suite.refused(f"run {OPTIONS} --resume {copy} --output {tmp_path}/again")
    assert (
        f"{wrong.name}" in answer.stderr
        and "; remove this file to continue from the state of the epoch before." in answer.stderr
    )
    wrong.unlink()
    record = read_resumption(Bundle(resumed(suite, copy, tmp_path / "again")).run().resumed)
    assert record is not None and record.epoch == 1


@pytest.mark.parametrize("name", ["link/run", "folder/../run"])
def test_a_run_is_not_replaced_by_the_one_that_resumes_it(
    name: str, suite: Run, interrupted: Path, tmp_path: Path
) -> None:
    """Whatever name its directory is given by."""
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "folder").mkdir()
    run = Path(shutil.copytree(interrupted, tmp_path / "run"))
    shutil.copytree(states_folder(interrupted), states_folder(run))
    before = sorted(tmp_path.glob("run*/*"))
    answer = suite.refused(
        f"run {OPTIONS} --keep-states --resume {run} --output {tmp_path}/{name} --force"
    )
    assert f"{run} is the run to resume" in answer.stderr
    assert sorted(tmp_path.glob("run*/*")) == before


def test_the_closed_division_resumes_nothing(suite: Run, interrupted: Path, tmp_path: Path) -> None:
    answer = suite.refused(
        f"run {OPTIONS} --division closed --allow-invalid --resume {interrupted}"
        f" --output {tmp_path}/again"
    )
    assert "to resume this training, give --division open" in answer.stderr


def test_a_resumed_run_is_not_audited(suite: Run, again: Path) -> None:
    answer = suite.refused(f"audit {again}")
    assert "is a resumed run" in answer.stderr


@pytest.mark.parametrize(("uncounted_s", "refused"), [(700.0, []), (1000.0, ["resumed-agrees"])])
def test_a_run_before_left_no_more_out_than_every_run_may(
    uncounted_s: float, refused: list[str], again: Path, tmp_path: Path
) -> None:
    """It began an hour earlier than it did: 5 %, 5 % and 10 % of the time, and seconds that are
    free, are states, witnesses and pauses."""
    shutil.copytree(again, tmp_path / "run")
    bundle = EditableBundle(tmp_path / "run")
    record, hour_s = bundle.run["resumed"], 3600
    earlier = {
        "began_time_ms": record["began_time_ms"] - 1000 * hour_s,
        "began_mono_ns": max(0, record["began_mono_ns"] - 10**9 * hour_s),
    }
    record.update(earlier, boot=None, uncounted_s=uncounted_s)
    bundle.save(recomputed=True)
    assert [
        finding.check
        for finding in check_bundle(bundle.path).findings
        if finding.severity is Severity.INVALID
    ] == refused


@pytest.mark.proof
@pytest.mark.pytorch
def test_fewer_ranks_go_on(suite: Run, digits: Path, tmp_path: Path) -> None:
    """LeNet-5 on two ranks of this machine: on two ranks again, with the same losses, and on the
    one that is left."""
    home = {"SUITE_HOME": str(environment_of("pytorch").interpreter.parents[3])}
    options = OPTIONS.replace("fake", "pytorch").replace("digits", f"digits={digits}")
    options += " --threads 1 --ranks-per-node 2"
    interrupt_after(tmp_path / "run", 1, Path(home["SUITE_HOME"]), options)
    whole, again, alone = (tmp_path / name for name in ("whole", "again", "alone"))
    for output, more in (
        (whole, ""),
        (again, f"--resume {tmp_path}/run"),
        (alone, f"--resume {tmp_path}/run --ranks-per-node 1"),
    ):
        suite.done(f"run {options} {more} --output {output} --baseload 0", **home)
    record = read_resumption(Bundle(again).run().resumed)
    assert record is not None and (record.ranks, record.nodes) == (2, 1)
    both, wanted = (
        Bundle(run).steps_frame().sort_values(["step", "rank"]) for run in (again, whole)
    )
    assert list(both["loss"]) == list(wanted[wanted["step"] > record.epoch * 15]["loss"])
    accuracies = [
        {event.epoch: event.value for event in Bundle(run).log().all("eval_accuracy")}
        for run in (alone, whole)
    ]
    assert accuracies[0][record.epoch] == accuracies[1][record.epoch]
    for run in (again, alone):
        suite.done(f"check {run}")
