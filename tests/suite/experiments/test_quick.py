"""`suite quick`: a few epochs under the workload's own schedule, and what they say."""

from pathlib import Path

from suite.catalog.workloads import load_workload
from suite.cli.quick import sentence
from suite.execution.request import RunRequest
from suite.experiments.quick import look, shortened
from tests.builders import Scenario, make_request
from tests.conftest import Run
from tests.reference_losses import learn_as_the_reference

EPOCHS = 4


def request(folder: Path) -> RunRequest:
    """LeNet-5's, as `suite run` would resolve it; nothing of the machine is used."""
    training = make_request(folder, Scenario())
    return RunRequest("a-run", load_workload("lenet"), None, "", None, training)  # type: ignore[arg-type]


def test_the_run_ends_after_its_epochs_and_keeps_the_schedule(tmp_path: Path) -> None:
    whole = request(tmp_path)
    short = shortened(whole, EPOCHS)
    assert short.training.steps == EPOCHS * -(-60000 // whole.training.global_batch_size)
    assert short.training._replace(steps=None) == whole.training


def test_a_run_is_projected_and_said_in_words(good_bundle: Path, tmp_path: Path) -> None:
    found = look(request(tmp_path), EPOCHS, lambda short: learn_as_the_reference(good_bundle))
    assert found.projection is not None and found.reason is None
    said = sentence(found)
    assert "projected: " in said and "of 18 reference runs" in said and str(good_bundle) in said


def test_a_workload_whose_data_are_missing_is_said_and_the_others_are_tried(suite: Run) -> None:
    answer = suite("quick", "lenet", "vgg11", "--framework", "fake")
    assert answer.returncode == 2
    assert "lenet: The data set 'mnist' is not prepared" in answer.stderr and "vgg11: The data set 'cifar10' is not prepared" in answer.stderr
