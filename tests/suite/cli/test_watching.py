"""Progress of a run: the bar by steps, the time that is left, and `suite watch`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reference_impls.contract import Request
from reference_impls.shown_steps import ShownSteps
from suite.bundle.layout import states_folder
from suite.bundle.log import LogEvent, parse_line
from suite.bundle.reader import Bundle
from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.cli.app import app
from suite.cli.results import ending_of
from suite.cli.watching import LineWatcher, Pace, sparkline, watcher
from suite.execution.events import CostEstimated, RunStarted
from suite.execution.request import RunRequest
from suite.execution.run_directory import RunLock
from suite.execution.shown_steps import find_counter, steps_done
from suite.files.paths import repository_root
from suite.launch.step_counter import step_counter
from tests.builders import Scenario, make_request

S = 10**9


def of_steps(steps: int, epochs: int, limit: int | None = None) -> Request:
    """A training of epochs of N steps, without evaluations."""
    training = make_request(Path("run"), Scenario())
    data = training.data._replace(train_samples=steps, eval_samples=0)
    return training._replace(data=data, global_batch_size=1, epochs=epochs, steps=limit)


def happened(key: str, at_s: float, epoch: int | None = None, value: object = None) -> LogEvent:
    """An event of the log."""
    numbered = "" if epoch is None else f', "epoch_num": {epoch}'
    text = (
        ':::MLLOG {"namespace": "edge", "time_ms": 0, "event_type": "POINT_IN_TIME", "key": '
        f'"{key}", "value": {"null" if value is None else value}, "metadata": {{"mono_ns": '
        f"{int(at_s * S)}{numbered}}}}}"
    )
    found = parse_line(1, text)
    assert found is not None
    return found


def test_the_time_that_is_left_is_estimated_from_the_first_steps_on() -> None:
    pace = Pace(of_steps(100, epochs=2))
    pace.event(happened("run_start", 0))
    pace.event(happened("epoch_start", 0, 1))
    assert pace.left_s(S) is None
    pace.steps = 10
    assert (pace.left_s(20 * S), pace.share) == (pytest.approx(380), 0.05)
    pace.event(happened("epoch_stop", 150, 1))
    assert pace.left_s(150 * S) == pytest.approx(150)


def test_a_resumed_run_is_estimated_from_its_own_steps_and_a_limited_one_to_its_limit() -> None:
    resumed, limited = Pace(of_steps(100, epochs=4)), Pace(of_steps(100, epochs=4, limit=20))
    for pace, epoch, steps in ((resumed, 4, 350), (limited, 1, 10)):
        pace.event(happened("run_start", 0))
        pace.event(happened("epoch_start", 0, epoch))
        pace.steps = steps
        assert pace.left_s(50 * S) == pytest.approx(50)


def test_a_step_limit_beyond_the_last_epoch_limits_nothing() -> None:
    pace = Pace(of_steps(100, epochs=2, limit=1000))
    pace.event(happened("run_start", 0))
    pace.event(happened("epoch_start", 0, 1))
    pace.steps = 50
    assert (pace.share, pace.left_s(50 * S)) == (0.25, pytest.approx(150))


def test_an_evaluation_takes_its_share_of_the_time_that_is_left() -> None:
    """30 samples are evaluated in the time of ten steps of one sample; so does an epoch."""
    training = of_steps(10, epochs=3)
    training = training._replace(data=training.data._replace(eval_samples=30))
    pace, resumed, limited = Pace(training), Pace(training), Pace(training._replace(steps=15))
    pace.event(happened("run_start", 0))
    for key in ("epoch_start", "epoch_stop", "eval_stop"):
        pace.event(happened(key, 40, 1))
    assert (pace.share, pace.left_s(40 * S)) == (pytest.approx(20 / 60), pytest.approx(80))
    resumed.event(happened("run_start", 0))
    resumed.event(happened("epoch_start", 0, 3))
    resumed.steps = 25
    assert (resumed.share, resumed.left_s(10 * S)) == (pytest.approx(45 / 60), pytest.approx(30))
    limited.event(happened("run_start", 0))
    limited.event(happened("epoch_start", 0, 1))
    limited.steps = 5
    assert (limited.share, limited.left_s(10 * S)) == (pytest.approx(5 / 25), pytest.approx(40))


def test_the_last_twelve_accuracies_are_drawn(tmp_path: Path) -> None:
    lines = LineWatcher(of_steps(100, epochs=20), tmp_path, moving=False)
    for epoch, accuracy in enumerate(
        [0.9, *(0.1 * step for step in range(1, 9)), 0.5, 0.6, 0.7, 0.8]
    ):
        lines.event(happened("eval_accuracy", 60, epoch + 1, accuracy))
    assert "accuracy 80.0% ▁▂▃▄▅▆▇█▅▆▇█" in lines.line(60 * S, 200)


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (
            120,
            "lenet [############....] 75%, at most 30 s to go, epoch 2 of at most 2, step 50"
            " of 100, accuracy 75.0% ▁█, 1 min 30 s",
        ),
        (80, "lenet 75%, at most 30 s to go, epoch 2, step 50, accuracy 75.0% ▁█"),
        (60, "lenet 75%, at most 30 s to go, epoch 2, accuracy 75.0% ▁█"),
        (30, "75%, at most 30 s to go"),
        (9, ""),
    ],
)
def test_the_line_leaves_out_the_least_important_words_of_a_narrow_terminal(
    columns: int, line: str, tmp_path: Path
) -> None:
    lines = LineWatcher(of_steps(100, epochs=2), tmp_path, moving=False)
    for event in (
        *(happened("run_start", 0), happened("epoch_start", 0, 1), happened("epoch_stop", 60, 1)),
        *(happened("eval_accuracy", 60, 1, 0.2), happened("eval_accuracy", 60, 1, 0.75)),
        happened("epoch_start", 60, 2),
    ):
        lines.event(event)
    lines._pace.steps = 150
    assert lines.line(90 * S, columns) == line
    assert sparkline([0.5]) == "▁"


def test_a_run_without_a_target_does_not_end_before_its_last_epoch(tmp_path: Path) -> None:
    training = of_steps(100, epochs=2)._replace(target_accuracy=None)
    lines = LineWatcher(training, tmp_path, moving=False)
    for event in (
        *(happened("run_start", 0), happened("epoch_start", 0, 1), happened("epoch_stop", 60, 1)),
        happened("epoch_start", 60, 2),
    ):
        lines.event(event)
    assert "about 1 min to go, epoch 2 of 2" in lines.line(60 * S, 200)


def test_ctrl_c_ends_the_watching_and_not_the_run(
    good_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("suite.cli.watch.time.sleep", interrupted)
    answer = str(CliRunner().invoke(app, ["watch", str(good_bundle)]).exception)
    assert answer == (
        f"Interrupted; the run {good_bundle} continues. To watch it again: suite watch"
        f" {good_bundle}"
    )


@pytest.mark.parametrize(("is_trial", "titles"), [(False, 1), (True, 0)])
def test_trial_steps_have_no_title_of_their_own(
    is_trial: bool, titles: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    training = make_request(tmp_path, Scenario())
    defined = load_workload("lenet"), load_device("generic"), "", load_framework("pytorch")
    with watcher(is_trial=is_trial) as show:
        show(RunStarted(RunRequest("run", *defined, training)))
    assert capsys.readouterr().err.count("LeNet-5 on MNIST") == titles


@pytest.mark.parametrize(("epoch", "accuracy"), [(1, 0.99), (2, 0.5)])
def test_no_time_is_left_once_the_target_or_the_last_epoch_is_reached(
    epoch: int, accuracy: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    training = of_steps(100, epochs=2)._replace(target_accuracy=0.9)
    lines = LineWatcher(training, tmp_path, moving=False)
    for event in (
        *(happened("run_start", 0), happened("epoch_start", 0, epoch)),
        *(happened("epoch_stop", 60, epoch), happened("eval_accuracy", 60, epoch, accuracy)),
    ):
        lines.event(event)
    assert capsys.readouterr().err == f"epoch {epoch}/2: accuracy {accuracy:.2%}\n"
    lines.event(happened("run_stop", 60))
    said = f"lenet: sealing the bundle, accuracy {accuracy:.1%} ▁, 1 min 30 s"
    assert lines.line(90 * S, 80) == said


def test_steps_are_counted_in_memory_that_a_watcher_finds_by_the_runs_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunLock(tmp_path), step_counter() as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        ShownSteps().show(37)
        counter = find_counter(tmp_path)
        assert steps_done(counter) == 37
    assert steps_done(counter) is None and find_counter(tmp_path / "no run") is None
    monkeypatch.setenv(next(iter(variables)), "/proc/self/exe")  # another machine's process
    ShownSteps().show(1)


def test_a_run_is_made_without_a_counter_where_python_has_no_such_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("os.memfd_create")
    with step_counter() as variables:
        assert variables == {}


def test_a_run_that_is_over_is_told_in_its_sentence(good_bundle: Path) -> None:
    answer = CliRunner().invoke(app, ["watch", str(good_bundle)])
    assert answer.exit_code == 0 and ending_of(Bundle(good_bundle)) in answer.output
    assert "epoch 1/" in answer.stderr and "to go" not in answer.stderr, "of past epochs"
    figures = json.loads(CliRunner().invoke(app, ["watch", str(good_bundle), "--json"]).stdout)
    assert (figures["format"], figures["status"]) == ("run/1", "finished")


def test_a_run_of_the_first_round_is_told_in_its_sentence() -> None:
    run = repository_root() / "submissions/v0.1/reference/lenet/tensorflow/run_2"
    said = CliRunner().invoke(app, ["watch", str(run)]).stdout
    assert said.startswith("99.05 % after 5 epochs, in ") and "target reached" in said


@pytest.mark.parametrize("value", ["null", '"much"', "[1]", "1e400"])
def test_an_accuracy_that_is_no_number_does_not_end_the_progress(
    value: str, tmp_path: Path
) -> None:
    lines = LineWatcher(of_steps(100, epochs=2), tmp_path, moving=False)
    lines.event(happened("eval_accuracy", 60, 1, value))
    assert "accuracy" not in lines.line(60 * S, 80)


def test_a_record_that_no_run_can_have_is_a_sentence(good_bundle: Path) -> None:
    record = json.loads((good_bundle / "run.json").read_text())
    record["request"]["global_batch_size"] = 0
    (good_bundle / "run.json").write_text(json.dumps(record))
    answer = CliRunner().invoke(app, ["watch", str(good_bundle)])
    assert "run.json: global_batch_size" in str(answer.exception)


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        ("running", None, "{run} has the status running, but no process on this machine trains it"),
        ("finished", None, "{run} finished, but its bundle is not sealed"),
        ("interrupted", "interrupted by the user", "{run} ended: interrupted by the user."),
        ("failed", "rank 1 was ended by SIGKILL.", "{run} ended: rank 1 was ended by SIGKILL."),
    ],
)
def test_an_unclosed_run_says_what_ended_it_and_what_to_do(
    status: str, message: str | None, said: str, good_bundle: Path
) -> None:
    (good_bundle / "MANIFEST.sha256").unlink()
    record = json.loads((good_bundle / "run.json").read_text())
    record |= {"status": status, "message": message}
    record["request"]["division"] = "open"
    (good_bundle / "run.json").write_text(json.dumps(record))
    states = states_folder(good_bundle)
    states.mkdir()
    (states / "epoch_1.npz").touch()
    answer = str(CliRunner().invoke(app, ["watch", str(good_bundle)]).exception)
    assert answer.startswith(said.format(run=good_bundle))
    assert f"`suite finish {good_bundle}` seals " in answer
    assert (f"`--resume {good_bundle}`" in answer) == (status in ("interrupted", "failed"))


WALL = ("--covers", "wall")


def test_a_run_that_was_ended_and_closed_is_no_finished_one(good_bundle: Path) -> None:
    record = json.loads((good_bundle / "run.json").read_text())
    record |= {"status": "interrupted", "message": "it was killed."}
    (good_bundle / "run.json").write_text(json.dumps(record))
    answer = str(CliRunner().invoke(app, ["watch", str(good_bundle)]).exception)
    ended = ending_of(Bundle(good_bundle))
    assert answer == f"{good_bundle} ended: it was killed. {ended}"
    (good_bundle / "log.txt").write_text("")
    answer = str(CliRunner().invoke(app, ["watch", str(good_bundle)]).exception)
    assert "summary.json has an accuracy, but the log has no evaluation; `suite check" in answer
    (good_bundle / "summary.json").unlink()  # as of one that ended before its first record
    answer = str(CliRunner().invoke(app, ["watch", str(good_bundle)]).exception)
    assert answer == f"{good_bundle} ended: it was killed."
    answer = str(
        CliRunner().invoke(app, ["power", "attach", str(good_bundle), "x", *WALL]).exception
    )
    assert f"{good_bundle} did not finish (status interrupted)" in answer


def test_the_cost_of_the_runs_that_are_left_is_said_in_people_s_units(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with watcher() as show:
        show(CostEstimated(8, 5400.0, 36_000.0, "from 2 finished runs"))
    said = capsys.readouterr().err
    assert said == "8 runs to make: about 1 h 30 min and 36 kJ (from 2 finished runs)\n"
