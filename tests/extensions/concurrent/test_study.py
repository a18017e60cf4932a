"""Experiments with training beside inference as studies of the site: figures from the raw records,
charts with tables, no edited record."""

import json
from pathlib import Path

import pytest

from reporter.data.load import load_frames
from reporter.data.studies import find_studies
from suite.bundle.manifest import seal
from suite.extensions.concurrent.record.layout import FIGURES
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
