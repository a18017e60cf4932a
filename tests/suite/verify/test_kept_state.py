"""Training states that a run keeps: handed in for an audit, drawn, refused where they are not the
run's."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reference_impls.contract import FROZEN, UPDATED, Trains
from reference_impls.state_file import Progress, StateFile, write_state
from suite.bundle.layout import states_folder
from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.catalog.frameworks import load_framework, load_implementation
from suite.catalog.seeds import implementation_sha256
from suite.compliance.rules import audits
from suite.datasets.prepare import make_data_set
from suite.errors import FileError, SuiteError
from suite.execution import preflight
from suite.execution.kept_states import states_size_bytes
from suite.execution.preflight import refuse_full_disk
from suite.files.paths import repository_root, suite_home
from suite.metrics.counted_time import uncounted_intervals
from suite.metrics.epoch_draw import drawn_epoch
from suite.submission.folder_names import RunFolder
from suite.verify import kept_state, replay_audit, reviewing
from suite.verify.replay_audit import AuditOptions, audit
from suite.verify.replaying import Replayed, train_as_in_a_run
from suite.verify.reviewing import ReviewOptions, review_submission
from tests.builders import Scenario, make_bundle
from tests.conftest import Run, environment_of
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.keys import signing_key
from tests.faults.edits.log_edits import add_correct

EPOCHS = 3
KEPT = "--division open --device auto --workload lenet --data digits --keep-states"


@pytest.fixture(scope="module")
def kept_run(suite: Run, digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the test framework that kept its states."""
    path = tmp_path_factory.mktemp("kept") / "run"
    answer = suite.done(f"run {KEPT} --framework fake --epochs {EPOCHS} --output {path}")
    assert (
        f"The training states of at most {EPOCHS} epochs are kept in {path}.states and take at most"
        in answer.stderr
    )
    return path


def state_of(run: Path, epoch: int) -> Path:
    return states_folder(run) / f"epoch_{epoch}.npz"


def resealed(run: Path, path: Path, factor: float = 1.0, correct: int = 0) -> Path:
    """A copy with other losses from epoch 2's fourth step on, and more correct samples in its first
    evaluation; its states stay where they are."""
    bundle = EditableBundle(Path(shutil.copytree(run, path)))
    later = bundle.steps["epoch"] == 2
    bundle.steps.loc[bundle.steps.index[later][3:], "loss"] *= factor
    add_correct(0, correct)(bundle)
    bundle.save()
    return path


def test_states_are_kept_between_epochs_in_uncounted_time(kept_run: Path) -> None:
    bundle = Bundle(kept_run)
    log = bundle.log()
    assert sorted(path.name for path in states_folder(kept_run).iterdir()) == [
        f"epoch_{epoch}.npz" for epoch in range(1, EPOCHS + 1)
    ]
    intervals = uncounted_intervals(log)
    assert [(one.reason, one.epoch) for one in intervals] == [
        ("state", epoch) for epoch in range(1, EPOCHS + 1)
    ]
    figures = bundle.json("summary.json")["figures"]
    assert figures["uncounted_s"]["value"] == pytest.approx(sum(one.length_s for one in intervals))
    assert StateFile(str(state_of(kept_run, 2))).progress == (2, 180)


def test_a_run_that_kept_states_complies(suite: Run, kept_run: Path) -> None:
    suite.done(f"check {kept_run}")


def test_a_state_of_the_last_epoch_has_no_later_steps(suite: Run, kept_run: Path) -> None:
    audit = f"audit {kept_run} --state {state_of(kept_run, EPOCHS)} --epoch {EPOCHS}"
    assert f"state after epoch {EPOCHS} (self-drawn): agrees" in suite.done(audit).stdout
    value, _ = drawn(suite, kept_run, {EPOCHS})
    answer = suite.done(f"{audit} --value {value}")
    assert f"state after epoch {EPOCHS} (drawn with {value!r}): agrees" in answer.stdout


def test_a_drawn_state_agrees(suite: Run, kept_run: Path) -> None:
    value, epoch = drawn(suite, kept_run, set(range(1, EPOCHS)))
    said = suite.typed(f"audit draw {kept_run} --value {value}").stdout
    assert said == f"epoch {epoch} of {EPOCHS}\n"
    answer = suite.done(
        f"audit {kept_run} --state {state_of(kept_run, epoch)} --epoch {epoch} --value {value}"
        " --json"
    )
    state = json.loads(answer.stdout)["state"]
    assert state["value"] == value
    assert len(state["losses"]["recorded"]) == 10
    assert state["losses"]["recorded"] == state["losses"]["plain"]
    assert state["correct"] == state["replayed_correct"] > 0
    other = epoch % EPOCHS + 1
    refused = suite.refused(
        f"audit {kept_run} --state {state_of(kept_run, other)} --epoch {other} --value {value}"
    )
    assert (
        f"The value of the draw selects epoch {epoch} of {EPOCHS}, not epoch {other}"
        in refused.stderr
    )


def drawn(suite: Run, run: Path, epochs: Collection[int]) -> tuple[str, int]:
    """A value that draws one of these epochs, and the epoch."""
    for value in map(str, range(100)):
        answer = suite.done(f"audit draw {run} --value {value} --json")
        if (epoch := int(json.loads(answer.stdout)["epoch"])) in epochs:
            return value, epoch
    raise AssertionError(f"none of 100 values draws one of {epochs}")


def test_without_a_value_the_draw_says_self_drawn(suite: Run, kept_run: Path) -> None:
    assert "self-drawn" in suite.typed(f"audit draw {kept_run}").stdout


def test_values_draw_every_epoch_equally_often() -> None:
    drawn = Counter(drawn_epoch("f" * 64, f"value {number}", 5) for number in range(5000))
    assert set(drawn) == {1, 2, 3, 4, 5}
    assert max(drawn.values()) < 1.15 * min(drawn.values())


@pytest.mark.parametrize(("steps", "whole"), [(None, 3), (270, 3), (225, 2), (90, 1)])
def test_an_epoch_that_the_step_limit_cut_short_is_not_drawn(
    kept_run: Path, tmp_path: Path, steps: int | None, whole: int
) -> None:
    """Nothing can be replayed from its state, so a record may not name it either."""
    bundle = EditableBundle(Path(shutil.copytree(kept_run, tmp_path / "run")))
    bundle.request["steps"] = steps
    bundle.save()
    assert kept_state.draw_epoch(bundle.path, "a value").epochs == whole
    of_next: Any = SimpleNamespace(epoch=whole + 1, value=None)
    told = next(audits._state_differences(of_next, Bundle(bundle.path)))
    assert told == ("the epoch of the training state", f"1 to {whole}", f"{whole + 1}")


def test_a_run_without_a_whole_epoch_has_none_to_draw(good_bundle: Path) -> None:
    bundle = EditableBundle(good_bundle)
    bundle.request["steps"] = 12
    bundle.save()
    with pytest.raises(SuiteError, match="has no whole epoch"):
        kept_state.draw_epoch(good_bundle, None)


def test_a_state_of_another_epoch_is_refused(suite: Run, kept_run: Path) -> None:
    answer = suite.refused(f"audit {kept_run} --state {state_of(kept_run, 2)} --epoch 1")
    assert (
        "is not the state that the run logged after epoch 1: the parameter digest" in answer.stderr
    )


@pytest.mark.parametrize("name", ["parameter/weights", "velocity/weights"])
def test_an_edited_state_is_refused(suite: Run, kept_run: Path, tmp_path: Path, name: str) -> None:
    file = StateFile(str(state_of(kept_run, 2)))
    arrays = {key: bytearray(file[key]) for key in file}
    arrays[name][0] ^= 1
    write_state(
        str(tmp_path / "edited.npz"),
        {key: memoryview(value).cast("d") for key, value in arrays.items()},
        file.progress,
    )
    answer = suite.refused(f"audit {kept_run} --state {tmp_path}/edited.npz --epoch 2")
    assert f"the {name.partition('/')[0]} digest of rank 0" in answer.stderr


def test_a_state_that_says_another_step_is_refused(
    suite: Run, kept_run: Path, tmp_path: Path
) -> None:
    file = StateFile(str(state_of(kept_run, 2)))
    write_state(str(tmp_path / "state.npz"), file, file.progress._replace(step=179))
    answer = suite.refused(f"audit {kept_run} --state {tmp_path}/state.npz --epoch 2")
    assert "says that it was saved after epoch 2, step 179" in answer.stderr


@pytest.mark.parametrize(
    ("statistics", "words"),
    [
        (UPDATED, "each normalised only its own samples"),
        (FROZEN, "has no state_digests of epoch 99"),
    ],
)
def test_a_state_of_several_ranks_is_one_ranks_unless_their_statistics_were_local(
    statistics: str, words: str, tmp_path: Path
) -> None:
    """Frozen ones are the checkpoint's on every rank."""
    run = Bundle(make_bundle(tmp_path / "run", Scenario(ranks=2, nodes=1, division="open")))
    request = read_request(run.run(), "run.json")._replace(trains=Trains(["*"], statistics))
    file = tmp_path / "epoch_99.npz"
    mean = memoryview(bytes(8)).cast("d")
    write_state(str(file), {"statistic/bn1.running_mean": mean}, Progress(99, 1))
    with pytest.raises(SuiteError, match=words):
        kept_state.open_state(run, request, kept_state.HandedIn(file, 99, None))


@pytest.mark.proof
@pytest.mark.parametrize("lie", [{"factor": 1.02}, {"correct": 5}], ids=str)
def test_a_lie_in_a_later_epoch_is_contradicted(
    suite: Run, kept_run: Path, tmp_path: Path, lie: dict[str, float]
) -> None:
    """The first steps are true, so that only the state shows it."""
    forged = resealed(kept_run, tmp_path / "forged", **lie)  # type: ignore[arg-type]
    suite.done(f"audit {forged}")
    answer = suite.refused(f"audit {forged} --state {state_of(kept_run, 1)} --epoch 1", code=1)
    assert "state after epoch 1 (self-drawn): contradicts" in answer.stdout


PROGRAM = f"""
import sys
sys.path.insert(0, {str(repository_root())!r})
from reference_impls.fake.implementation import SoftmaxRegression, build
from reference_impls.main import main
"""
HALF = """
step = SoftmaxRegression.step
def half(self, batch, rate, share):
    return step(self, type(batch)(*(each[: len(each) // 2 + 1] for each in batch)), rate, share)
SoftmaxRegression.step = half
"""


def implementation(folder: Path, change: str = "") -> Path:
    """The test framework as an implementation outside the checkout."""
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM + change + "main(build)\n")
    (folder / "framework.toml").write_text(
        'name = "theirs"\ntitle = "Theirs"\ntrain = ["{python}", "train.py"]\n'
        'capabilities = ["training-states"]\n'
    )
    return folder


SEEN = """
import json, os, pathlib
options = [word for word in sys.argv if word.startswith("--")]
folder = pathlib.Path(sys.argv[2]).parent
shape = folder.name.split("-")[:2], os.path.relpath(sys.argv[4], folder)[:2], sys.argv[4][-7:]
told = [name for name in sorted(os.environ) if name.startswith(("EDGE_TRAINING_STEPS", "TF_"))]
pathlib.Path("build").mkdir(exist_ok=True)
with open("build/seen.jsonl", "a") as seen:
    seen.write(json.dumps([options, told, shape]) + "\\n")
"""
"""What a program may tell a timed run by; no digest covers what it writes into build."""


@pytest.fixture(scope="module")
def their_run(suite: Run, digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of an implementation outside the checkout that kept its states."""
    folder = tmp_path_factory.mktemp("theirs")
    program, run = implementation(folder / "program", SEEN), folder / "lenet-theirs"
    suite.done(f"run {KEPT} --implementation {program} --epochs 2 --output {run}")
    return run


@pytest.mark.proof
def test_the_program_that_made_a_run_confirms_it(suite: Run, their_run: Path) -> None:
    """It gets the run's own request, which says nothing of an audit, and is ended from outside."""
    answer = suite.done(
        f"audit {their_run} --framework fake --state {state_of(their_run, 1)} --epoch 1"
        f" --implementation {their_run.with_name('program')} --json"
    )
    state = json.loads(answer.stdout)["state"]
    assert state["program"] == state["epoch_after"] is not None


def test_a_replay_of_the_requested_model_contradicts_no_open_run_that_logs_another(
    their_run: Path, digits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Replayed((0.0,) * 10, None, {})
    monkeypatch.setattr(replay_audit, "replay_steps", lambda *of: other)
    monkeypatch.setattr(replay_audit, "replay_in_float64", lambda *of: (other.losses, False))
    with pytest.raises(SuiteError, match="model_trained = 'softmax_regression'"):
        audit(their_run, AuditOptions("pytorch", data=digits), str)


def test_a_program_that_trains_otherwise_than_its_run_says_is_refuted(
    suite: Run, their_run: Path, tmp_path: Path
) -> None:
    """The records are true of another program."""
    program = implementation(tmp_path / "program", HALF)
    audit = with_program(their_run, program, tmp_path)
    of_others = audit.replace(str(tmp_path / "forged"), str(their_run))
    assert "differ from those that made" in suite.refused(of_others).stderr
    answer = suite.refused(audit, code=1)
    assert "by the run's own program" in answer.stdout and ": contradicts" in answer.stdout


def test_a_program_that_ends_in_a_replay_is_named_and_the_other_replays_stand(
    suite: Run, their_run: Path, tmp_path: Path
) -> None:
    program = implementation(
        tmp_path / "program", "if len(sys.argv) > 3:\n    raise OSError('/home/jane/7')\n"
    )
    answer = suite.refused(with_program(their_run, program, tmp_path), code=2)
    assert (
        "epoch 1, ended with exit code 1: OSError: $HOME/7. The run's own program could not"
        in answer.stdout
    )
    assert "compared with" in answer.stdout and "by the run's own program," not in answer.stdout


def with_program(run: Path, program: Path, folder: Path) -> str:
    """The command that audits a copy of a run as if the program had made it."""
    bundle = EditableBundle(Path(shutil.copytree(run, folder / "forged")))
    digest = implementation_sha256(load_implementation(program))
    bundle.run["implementation"]["sha256"] = digest
    bundle.save()
    state = f"--state {state_of(run, 1)} --epoch 1"
    return f"audit {bundle.path} --framework fake {state} --implementation {program}"


def test_a_review_trains_with_the_program_that_made_the_run(
    their_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_data_set("digits", suite_home())
    folders = {"lenet/theirs/run_1": RunFolder(their_run, "lenet", "theirs")}
    monkeypatch.setattr(reviewing, "_complying", lambda submission: folders)
    monkeypatch.setattr(kept_state, "drawn_epoch", lambda *of: 1)
    monkeypatch.setattr(replay_audit, "replaying_framework", lambda *of: load_framework("fake"))
    options = ReviewOptions("lab", signing_key(), states_folder(their_run))
    options = replace(options, implementations=(their_run.with_name("program"),))
    _, record = review_submission(tmp_path, options, lambda sentence: None)
    (run,), (model,) = record.runs.values(), record.models.values()
    assert run.reason is None and run.audit is not None and run.audit.state is not None
    assert run.audit.state.program == run.audit.state.epoch_after
    lines = (their_run.with_name("program") / "build/seen.jsonl").read_text().splitlines()
    timed, *_, replayed = map(json.loads, lines)
    assert (*timed[0], "--start-state") == tuple(replayed[0]) and timed[1:] == replayed[1:]
    assert "Theirs has no probe" in str(model.reason)


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ("log.unlink()", "log.txt"),
        ("steps.unlink()", "steps.csv"),
        ("steps.write_text('epoch,loss\\n2,much\\n')", "steps.csv is not a readable table"),
        (
            "steps.write_text(','.join(STEP_COLUMNS) + '\\n')",
            "recorded no losses of epoch 2, or losses that are not finite",
        ),
    ],
)
def test_a_program_without_readable_records_is_one_sentence(
    their_run: Path, tmp_path: Path, records: str, words: str
) -> None:
    program = implementation(
        tmp_path / "program",
        "import json, pathlib\n"
        "from reference_impls.contract import STEP_COLUMNS, TOKEN\n"
        "place = pathlib.Path(json.load(open(sys.argv[2]))['output_directory'])\n"
        "log, steps = place / 'log.txt', place / 'steps.csv'\n"
        "steps.touch()\n"
        f"{records}\n"
        "if log.exists():\n"
        "    event = {'key': 'run_stop', 'time_ms': 1}\n"
        "    log.write_text(f'{log.read_text()}{TOKEN} {json.dumps(event)}\\n')\n"
        "sys.exit()\n",
    )
    request = read_request(Bundle(their_run).run(), "run.json")
    with pytest.raises(SuiteError, match=re.escape(words)) as raised:
        train_as_in_a_run(
            request, load_implementation(program), state_of(their_run, 1), epoch=2, steps=90
        )
    assert not isinstance(raised.value, FileError) and "/tmp" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--epoch 1", "Give --state and --epoch together"),
        ("--value x", "--value and --implementation need both of them"),
        ("--state nothing.npz --epoch 1", "cannot be read as a training state"),
        ("--state README.md --epoch 1", "cannot be read as a training state"),
    ],
)
def test_a_wrong_hand_in_is_one_sentence(
    suite: Run, kept_run: Path, options: str, words: str
) -> None:
    answer = suite.refused(f"audit {kept_run} {options}")
    assert words in answer.stderr and len(answer.stderr.splitlines()) == 1


def test_an_epoch_that_was_not_trained_is_named(suite: Run, kept_run: Path) -> None:
    answer = suite.refused(f"audit {kept_run} --state {state_of(kept_run, 1)} --epoch 9")
    assert "has no state_digests of epoch 9" in answer.stderr


def test_states_of_an_earlier_run_are_not_touched(
    suite: Run, kept_run: Path, tmp_path: Path
) -> None:
    run, states = tmp_path / "run", tmp_path / "run.states"
    states.mkdir()
    (states / "epoch_1.npz").write_bytes(b"years of work")
    answer = suite.refused(f"run {KEPT} --framework fake --epochs 1 --output {run}")
    assert f"{states} exists and is not empty" in answer.stderr
    assert (states / "epoch_1.npz").read_bytes() == b"years of work"


def test_a_run_is_kept_where_the_folder_of_states_is_refused(
    suite: Run, kept_run: Path, tmp_path: Path
) -> None:
    """--force replaces a run and its states, or nothing."""
    run = Path(shutil.copytree(kept_run, tmp_path / "run"))
    notes = states_folder(run) / "notes.txt"
    notes.parent.mkdir()
    notes.touch()
    answer = suite.refused(f"run {KEPT} --framework fake --epochs 1 --output {run} --force")
    assert f"{notes.parent} exists and is not empty" in answer.stderr
    assert Bundle(run).run().status == "finished"


def test_a_disk_that_is_too_small_is_refused_beforehand(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workload = SimpleNamespace(parameters=11_173_962)
    training = SimpleNamespace(epochs=10, steps=None)
    request = SimpleNamespace(workload=workload, training=training, ranks=1, resume=None)
    size = states_size_bytes(request)  # type: ignore[arg-type]
    assert size == pytest.approx(10 * 2 * 4 * 11_173_962, rel=0.03)
    monkeypatch.setattr(
        preflight.shutil, "disk_usage", lambda place: SimpleNamespace(free=size + 99)
    )
    refuse_full_disk(request, tmp_path, 99)  # type: ignore[arg-type]
    with pytest.raises(
        SuiteError,
        match=(
            r"need 862 MiB, and the run directory needs up to 0.0 MiB\. The disk that holds .* has"
            r" only 862 MiB free"
        ),
    ):
        refuse_full_disk(request, tmp_path, 100)  # type: ignore[arg-type]


@pytest.mark.proof
def test_a_framework_goes_on_from_its_own_state(
    framework: str, suite: Run, digits: Path, tmp_path: Path
) -> None:
    suite.done(f"env create {framework} --interpreter {environment_of(framework).interpreter}")
    run = tmp_path / "run"
    suite.done(f"run {KEPT} --framework {framework} --epochs 2 --output {run}")
    answer = suite.done(f"audit {run} --state {state_of(run, 1)} --epoch 1 --steps 6 --json")
    state = json.loads(answer.stdout)["state"]
    assert state["losses"]["recorded"] == pytest.approx(state["losses"]["plain"], abs=1e-6)
    assert state["correct"] == state["replayed_correct"]
    forged = suite.refused(
        f"audit {resealed(run, tmp_path / 'forged', 1.05)} --state"
        f" {state_of(run, 1)} --epoch 1 --steps 6 --json",
        code=1,
    )
    losses = json.loads(forged.stdout)["state"]["losses"]
    assert losses["float64"] == pytest.approx(losses["plain"], abs=1e-4)
