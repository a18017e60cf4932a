"""A student and its teacher as a study of the site: figures from the raw records, a chart with its
table, no edited record."""

import json
from pathlib import Path

import pytest

from reporter.data.load import load_frames
from reporter.data.studies import find_studies
from suite.bundle.manifest import seal
from suite.extensions.viewpoint.record.results import FIGURES
from tests.extensions.viewpoint.good_folder import make_viewpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_viewpoint(tmp_path_factory.mktemp("viewpoints") / "good")


def test_an_edited_record_is_not_shown(tmp_path: Path) -> None:
    folder = make_viewpoint(tmp_path / "edited")
    content = json.loads((folder / FIGURES).read_text())
    content["views"][2]["after"]["value"] = 1.0
    (folder / FIGURES).write_text(json.dumps(content))
    seal(folder)
    studies, (problem,) = find_studies([folder])
    assert studies == () and "disagrees with its runs in views[2].after.value" in problem["reason"]


def test_it_may_be_given_beside_runs(folder: Path, good_bundle: Path) -> None:
    assert len(load_frames([good_bundle, folder]).runs) == 1
