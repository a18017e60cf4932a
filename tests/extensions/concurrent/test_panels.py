"""Figures of training beside inference: what they draw is what the records hold."""

from pathlib import Path

import numpy as np
import pytest

from reporter.figures.model import Plane
from reporter.papers.items import DrawnItem, draw_item, source_of
from reporter.papers.measures import FoundValue
from reporter.papers.render import render_figure
from reporter.papers.style import PaperLook
from suite.catalog.papers import Measure, load_papers
from suite.errors import SuiteError
from suite.extensions.concurrent.figures.panels import (
    FIGURES,
    MEASURES,
    PAPER_RECORD,
    over_time,
    sawtooth,
    throughput,
)
from suite.extensions.concurrent.record.calculated import latencies_s, training_figures
from suite.extensions.concurrent.record.layout import beside, training_alone
from suite.extensions.concurrent.record.records import read_recording
from suite.extensions.concurrent.record.results import EXPERIMENT
from suite.extensions.concurrent.record.series import INTERVALS
from tests.extensions.concurrent.good_folder import make_experiment


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Batches of four of 40 images/s for ten seconds."""
    return make_experiment(tmp_path_factory.mktemp("experiments") / "good")


def panel(figure: object) -> Plane:
    (found,) = figure.panels  # type: ignore[attr-defined]
    assert isinstance(found, Plane)
    return found


def test_the_sawtooth_has_every_image_of_the_first_six_seconds(experiment: Path) -> None:
    found = read_recording(beside(experiment, 4))
    (line,) = panel(sawtooth(experiment)).lines
    images = int((found.intended_ns < 6e9).sum())
    assert [x for x, _ in line.points] == list(range(images))
    assert [one.value for _, one in line.points] == pytest.approx(latencies_s(found)[:images] * 1e3)


def test_latency_over_time_has_the_mean_of_all_images(experiment: Path) -> None:
    found = read_recording(beside(experiment, 4))
    (line,) = panel(over_time(experiment)).lines
    assert line.label == "batch 4"
    images, _ = np.histogram(
        found.intended_ns, np.linspace(0, found.setting.window_ns, INTERVALS + 1)
    )
    weighted = np.average([one.value for _, one in line.points], weights=images[images > 0])
    assert weighted == pytest.approx(latencies_s(found).mean() * 1e3)


def test_throughput_stands_beside_that_of_the_training_alone(experiment: Path) -> None:
    drawn = panel(throughput(experiment))
    alone, both = (
        training_figures(read_recording(folder)).steps_per_s
        for folder in (training_alone(experiment), beside(experiment, 4))
    )
    assert alone and both
    beside_it, thin = (line.points[0][1].value for line in drawn.lines)
    assert beside_it == both.value < alone.value == thin


@pytest.mark.parametrize("number", FIGURES)
def test_every_figure_is_drawn_and_the_same_records_give_the_same_bytes(
    number: str, experiment: Path
) -> None:
    pytest.importorskip("matplotlib")
    title, draw = FIGURES[number]
    one, again = (render_figure(draw(experiment), title, PaperLook(), "svg") for _ in range(2))
    assert one == again and one.startswith(b"<?xml")


def test_a_folder_without_an_experiment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SuiteError, match="holds no measurement of simultaneous training and inference"
    ):
        sawtooth(tmp_path)


def test_the_interval_of_a_ratio_holds_the_uncertainty_of_both(experiment: Path) -> None:
    found = MEASURES["latency-ratio"](Measure(batch=4, other=4), experiment)
    assert isinstance(found, FoundValue) and found.value == pytest.approx(1)
    assert found.low is not None and found.high is not None and found.low < 1 < found.high
    assert found.low == pytest.approx(1 / found.high)


def test_an_experiment_is_drawn_and_held_against_the_paper(experiment: Path) -> None:
    registry = load_papers()
    item = registry.item("concurrent-1b")
    source = source_of(item, registry.runs_of(item), [experiment])
    drawn = draw_item(registry, item, source)
    assert isinstance(drawn, DrawnItem)
    assert "batches of 64 were not measured" in {one.why for one in drawn.compared}


def test_an_experiment_is_drawn_for_a_paper_as_it_was_sealed_or_not_at_all(tmp_path: Path) -> None:
    """An interrupted one has no figures and no seal."""
    folder = make_experiment(tmp_path / "edited")
    assert PAPER_RECORD.read([folder]) == folder
    (folder / "notes.txt").touch()
    with pytest.raises(SuiteError, match=r"edited/notes\.txt is not as it was sealed"):
        PAPER_RECORD.read([folder])
    (folder / EXPERIMENT.file).unlink()
    assert PAPER_RECORD.read([folder]) is None
