"""`suite quick`: a few epochs under the workload's own schedule, and what they say."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from suite import api
from suite.api import Division, RunOptions
from suite.catalog.workloads import load_workload
from suite.cli.quick import quick as quick_command
from suite.cli.quick import quick_sentence
from suite.errors import Reported, SuiteError
from suite.execution.request import RunRequest
from suite.experiments import quick
from suite.experiments.quick import EVALUATION_OF_STEP, look_within, quick_look, shorten_request
from suite.metrics.epoch_from_steps import MIN_STEPS
from tests.builders import Scenario, make_request
from tests.conftest import Run
from tests.every_case import some
from tests.reference_losses import learning_as_the_reference

EPOCHS = 4


def request(folder: Path) -> RunRequest:
    """LeNet-5's, as `suite run` would resolve it; nothing of the machine is used."""
    training = make_request(folder, Scenario())
    return RunRequest("a-run", load_workload("lenet"), None, "", None, training)  # type: ignore[arg-type]


def test_the_run_ends_after_its_epochs_and_keeps_the_schedule(tmp_path: Path) -> None:
    whole = request(tmp_path)
    short = shorten_request(whole, EPOCHS)
    assert short.training.steps == EPOCHS * -(-60000 // whole.training.global_batch_size)
    assert short.training._replace(steps=None) == whole.training


def test_a_run_is_projected_and_said_in_words(tmp_path: Path) -> None:
    run = learning_as_the_reference(tmp_path / "run")
    found = quick_look(request(tmp_path), EPOCHS, lambda short: run)
    assert found.projection is not None and found.reason is None
    said = quick_sentence(found)
    assert "projected: " in said and "from 13 reference runs" in said and str(run) in said


@dataclass
class World:
    """What the runs of a quick look did: their directories and steps, and the seconds that they
    took, whatever the machine needs.

    A step takes a second, in a run of at most MIN_STEPS ``slow_s`` of them; starting and ending a
    run takes nothing.
    """

    made: list[tuple[Path, int]] = field(default_factory=list)
    slow_s: float = 1.0
    now_s: float = 0.0

    def step_s(self, steps: int) -> float:
        return self.slow_s if steps <= MIN_STEPS else 1.0

    def run(self, asked: RunRequest) -> Path:
        steps = asked.training.steps or 0
        self.made.append((Path(asked.training.output_directory), steps))
        self.now_s += steps * self.step_s(steps)
        return api.run(asked).path

    def look(self, within_s: float, folder: Path, batch_size: int | None = None) -> quick.QuickLook:
        """At LeNet-5 on the digits in the fake framework."""
        options = RunOptions(
            Division.OPEN, "generic", "lenet", "fake", data="digits", batch_size=batch_size
        )
        request = api.resolve(options, folder / "run", baseload_s=0.0)
        return look_within(request, EPOCHS, within_s, self.run, clock=lambda: self.now_s)


@pytest.fixture
def world(digits: Path, suite_home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setenv("SUITE_HOME", str(suite_home))
    monkeypatch.setattr(
        quick, "intervals_s", lambda steps: steps.compute_s * 0 + made.step_s(len(steps.first_rank))
    )
    return made


@pytest.mark.proof
@pytest.mark.parametrize("epochs", some([3, 9]))
def test_as_many_epochs_as_there_is_time_for(epochs: int, world: World, tmp_path: Path) -> None:
    """Three or four; more than --epochs are not asked for. The trial is removed."""
    within_s = MIN_STEPS + epochs * (90 + EVALUATION_OF_STEP * 23) + 1
    found = world.look(within_s, tmp_path)
    assert world.made == [
        (tmp_path / "run.trial", MIN_STEPS),
        (tmp_path / "run", min(epochs, EPOCHS) * 90),
    ]
    assert (found.epochs, found.estimate, found.run) == (
        min(epochs, EPOCHS),
        None,
        tmp_path / "run",
    )
    assert not (tmp_path / "run.trial").exists()


@pytest.mark.parametrize(
    ("seconds", "steps", "epochs"),
    some(
        [
            (MIN_STEPS + 195, 180, 2),
            (0, MIN_STEPS, 0),
            (MIN_STEPS + 40, 40, 0),
            (MIN_STEPS + 200, 184, 2),
        ]
    ),
)
def test_steps_where_there_is_no_time_for_three_epochs(
    seconds: float, steps: int, epochs: int, world: World, tmp_path: Path
) -> None:
    """At least MIN_STEPS; the evaluations of whole epochs take their time: two epochs of 90 steps
    with theirs take 195.3 s."""
    found = world.look(seconds, tmp_path)
    assert (world.made[-1], found.epochs) == ((tmp_path / "run", steps), epochs)
    assert found.estimate is not None and found.estimate.steps == steps
    assert (
        found.projection is None and found.reason is not None and f"{steps} steps" in found.reason
    )
    said = quick_sentence(replace(found, most_epochs=30))
    assert (
        f"lenet: {steps} steps; at their speed an epoch takes " in said
        and "for all 30 epochs, without evaluations" in said
    )


@pytest.mark.proof
def test_a_second_trial_where_it_costs_little_because_first_steps_are_slow(
    world: World, tmp_path: Path
) -> None:
    """An epoch of 719 steps and its evaluation take 779 s; at the first trial's three seconds a
    step, 3000 s would be one epoch and some steps."""
    world.slow_s = 3.0
    found = world.look(MIN_STEPS * world.slow_s + 3000, tmp_path, batch_size=2)
    assert world.made == [
        (tmp_path / "run.trial", MIN_STEPS),
        (tmp_path / "run.trial", 100),
        (tmp_path / "run", 3 * 719),
    ]
    assert (found.epochs, found.estimate) == (3, None)


def test_the_time_of_all_workloads_is_a_duration(suite: Run) -> None:
    answer = suite.refused("quick lenet --within 'ten minutes'")
    assert "--within 'ten minutes' is not a duration" in answer.stderr
    for command in ("quick", "night"):
        assert "--within 0s leaves no time" in suite.refused(f"{command} lenet --within 0s").stderr
    answer = suite.refused("quick lenet --within 8")
    assert "write its unit: 8h for hours, 8m for minutes, 8s for seconds." in answer.stderr


def test_one_projected_workload_is_enough_and_missing_data_are_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def resolve(options: RunOptions, *_: object, **__: object) -> RunRequest:
        if options.workload != "lenet":
            raise SuiteError("There are no pictures.")
        return request(tmp_path)

    found = quick.QuickLook("lenet", tmp_path, 3, 1.0, 3.0, None, "it was reached", 10)
    monkeypatch.setattr(api, "resolve", resolve)
    monkeypatch.setattr("suite.cli.quick.quick_look", lambda *_: found)
    quick_command(["lenet", "vgg11"])
    shown = capsys.readouterr()
    assert "3 s to the target" in shown.out and "left out: vgg11: There are no" in shown.err
    for dry_run, reason in ((False, "reason"), (True, "left_out")):
        quick_command(["lenet", "vgg11"], json=True, dry_run=dry_run)
        lenet, vgg11 = json.loads(capsys.readouterr().out)["rows"]
        assert vgg11 == dict.fromkeys(lenet) | {
            "workload": "vgg11",
            reason: "There are no pictures.",
        }
    quick_command(["lenet", "vgg11"], within="8m", dry_run=True)
    assert (
        capsys.readouterr().out
        == "lenet: at most 8 min; up to 4 epochs of 1875 steps; its data set is not prepared\n"
    )


def test_a_workload_that_cannot_be_trained_is_said_and_the_others_are_tried(suite: Run) -> None:
    answer = suite.refused("quick lenet vgg11 --framework fake")
    assert (
        "lenet: The data set 'mnist' is not prepared" in answer.stderr
        and "vgg11: Fake (standard library only) reads data in the layout idx" in answer.stderr
    )


def test_the_time_is_shared_by_those_that_can_be_trained_and_the_others_are_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shares: list[float] = []

    def resolve(options: RunOptions, *_: object, **__: object) -> RunRequest:
        if options.workload != "lenet":
            raise SuiteError("There are no pictures.")
        return request(tmp_path)

    def train_nothing(
        _request: RunRequest, _epochs: int, within_s: float, _run: object
    ) -> quick.QuickLook:
        shares.append(within_s)
        said = capsys.readouterr().err.splitlines()
        assert said[0] == "left out: vgg11, resnet18: There are no pictures.", "one problem, once"
        assert len(said) == 2
        raise SuiteError("Nothing is trained in this test.")

    monkeypatch.setattr(api, "resolve", resolve)
    monkeypatch.setattr("suite.cli.quick.look_within", train_nothing)
    with pytest.raises(
        Reported, match=r"(?s)^vgg11, resnet18: There are.*lenet: Nothing is trained"
    ):
        quick_command(["vgg11", "lenet", "resnet18"], within="10h")
    assert shares == [pytest.approx(36000, rel=0.1)]


def test_a_workload_that_is_named_twice_is_refused_before_anything_is_trained(suite: Run) -> None:
    answer = suite.typed("quick lenet vgg11 lenet --framework fake")
    assert (answer.returncode, answer.stderr.strip()) == (
        2,
        "error: The workload 'lenet' is named twice; name each once.",
    )


@pytest.mark.parametrize("epochs", [11, 99])
def test_more_epochs_than_a_workload_trains_are_refused_not_cut(epochs: int, suite: Run) -> None:
    answer = suite.typed(f"quick vgg11 lenet --framework fake --epochs {epochs}")
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert (
        f"--epochs {epochs} exceeds the maximum of lenet; type --epochs 10 or"
        " fewer." in answer.stderr
    )


@pytest.mark.parametrize(
    ("taken", "within"),
    some([("lenet.trial", "--within 1m"), ("vgg11", ""), ("vgg11", "--within 1m")]),
)
def test_a_folder_that_is_taken_is_said_first_with_a_remedy_that_works(
    taken: str, within: str, suite: Run, tmp_path: Path
) -> None:
    """There is no --force; after the remedy, the command goes on to what else is missing: the data
    sets."""
    command = f"quick lenet vgg11 --framework fake --output {tmp_path} {within}"
    (tmp_path / taken).mkdir()
    left = tmp_path / taken / "run.json"
    left.write_text("{}")
    expected = (
        f"error: {tmp_path / taken} exists and is not empty; choose another --output, or remove it."
    )
    assert suite.refused(command).stderr.strip() == expected
    left.unlink()
    assert "lenet: The data set 'mnist' is not prepared" in suite.typed(command).stderr
