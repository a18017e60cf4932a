"""Experiments with training beside inference as studies of the site: figures from the raw records,
charts with tables, no edited record."""

import json
from pathlib import Path

import pytest

from reporter.data.load import load_frames
from reporter.data.studies import find_studies
from suite.bundle.manifest import seal
from suite.extensions.concurrent.command.measure import _row
from suite.extensions.concurrent.page import _batch_size_rows
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals
from suite.extensions.concurrent.record.calculated import (
    Interference,
    inference_figures,
    training_figures,
)
from suite.extensions.concurrent.record.layout import FIGURES
from suite.extensions.concurrent.record.results import BatchResult
from tests.extensions.concurrent.conftest import Simulated
from tests.extensions.concurrent.good_folder import make_experiment


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_experiment(tmp_path_factory.mktemp("experiments") / "good")


def test_an_edited_record_is_not_shown(tmp_path: Path) -> None:
    folder = make_experiment(tmp_path / "edited")
    content = json.loads((folder / FIGURES).read_text())
    content["batches"][0]["beside"]["latency_s"]["value"] *= 0.5
    (folder / FIGURES).write_text(json.dumps(content))
    seal(folder)
    studies, (problem,) = find_studies([folder])
    assert (
        studies == ()
        and "disagrees with its runs in batches[0].beside.latency_s.value" in problem["reason"]
    )


def test_it_may_be_given_beside_runs(experiment: Path, good_bundle: Path) -> None:
    assert len(load_frames([good_bundle, experiment]).runs) == 1


def test_the_queueing_of_images_that_never_left_the_queue_is_unknown(simulated: Simulated) -> None:
    """Those that wait longest are missing in the mean of the others."""
    found = simulated(Arrivals(ArrivalKind.UNIFORM, 100, 40), 1, 0.02, leave_s=72)
    figures = inference_figures(found)
    result = BatchResult(1, figures, figures, training_figures(found), Interference(None, None))
    (queueing,) = (row for row in _batch_size_rows(result) if row["figure"] == "queueing_s")
    assert queueing["value"] is None and "images were not finished" in str(queueing["reason"])
    assert _row(result).split()[:5] == ["1", "unstable", "-", "-", "-"]


def test_an_unknown_figure_has_a_reason_of_its_own(simulated: Simulated) -> None:
    """Of twelve batches with a deadline, without training; two images were left in the queue."""
    found = simulated(Arrivals(ArrivalKind.UNIFORM, 1, 14), 1, 0.02, deadline_s=1, leave_s=11.5)
    figures = inference_figures(found)
    result = BatchResult(1, figures, figures, training_figures(found), Interference(None, None))
    reasons = {row["figure"]: row["reason"] for row in _batch_size_rows(result)}
    assert "2 of 14 images were not finished" in str(reasons["latency_s"])
    assert reasons["queue_growth"] == "12 batches; the test needs 18"
    assert reasons["training_samples_per_s"] == (
        "too few measured inference batches or training steps"
    )
