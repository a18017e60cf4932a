"""Experiments with training beside inference as studies of the site: figures from the raw records,
charts with tables, no edited record."""

import json
from pathlib import Path

import pytest

from reporter.data.load import load_frames
from reporter.data.studies import find_studies
from reporter.figures import study_charts
from reporter.figures.chart import Context, Drawing
from suite.bundle.manifest import seal
from suite.extensions.concurrent.record.layout import FIGURES
from tests.extensions.concurrent.good_folder import make_experiment


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_experiment(tmp_path_factory.mktemp("experiments") / "good")


def test_an_experiment_is_a_study_with_a_part_per_batch_size(experiment: Path) -> None:
    (study,), broken = find_studies([experiment])
    assert broken == ()
    stored = json.loads((experiment / FIGURES).read_text())["batches"][0]["beside"]
    figures = {row.figure: row.value for row in study.figures.itertuples()}
    assert set(study.figures["part"]) == {"batch 4"}
    assert figures["latency_s"] == stored["latency_s"]["value"]
    assert figures["model_latency_s"] == stored["prediction"]["latency_s"]
    assert study.notes == ("batch 4: the queue is stable",)


def test_every_chart_is_drawn_with_its_table(experiment: Path) -> None:
    (study,), _ = find_studies([experiment])
    for chart in study_charts()[study.kind].make(study):
        drawn = chart.draw(None, Context(""))  # type: ignore[arg-type]
        assert isinstance(drawn, Drawing) and drawn.figure.rows
        assert all(len(row) == len(drawn.figure.headings) for row in drawn.figure.rows)


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
