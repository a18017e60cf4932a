"""A student and its teacher as a study of the site: figures from the raw records, a chart with its
table, no edited record."""

import json
from pathlib import Path

import pytest

from reporter.data.load import load_frames
from reporter.data.studies import find_studies
from reporter.figures import study_charts
from reporter.figures.chart import Context, Drawing
from suite.bundle.manifest import seal
from suite.extensions.viewpoint.record.results import FIGURES
from tests.extensions.viewpoint.good_folder import VIEWS, make_viewpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_viewpoint(tmp_path_factory.mktemp("viewpoints") / "good")


def test_it_is_a_study_with_a_part_per_view(folder: Path) -> None:
    (study,), broken = find_studies([folder])
    assert broken == ()
    figures = {(row.part, row.figure): row for row in study.figures.itertuples()}
    assert {part for part, _ in figures} == {*(f"{view} degrees" for view in VIEWS), "study"}
    assert [
        figures["60 degrees", name].value
        for name in ("teacher_accuracy", "accuracy_before", "accuracy_after")
    ] == [0.6, 0.1, 0.95]
    assert figures["study", "label_noise"].value == 0.04
    assert figures["study", "student_energy_j"].reason == "no power meter was read"
    assert study.notes == (
        (
            "The student had idle CPU time only (cpu.idle); other programs used 0.25 of 2 cores, "
            "and at least one task waited for a CPU 10% of the time."
        ),
    )


def test_the_chart_has_a_bar_per_view_and_model(folder: Path) -> None:
    (study,), _ = find_studies([folder])
    (chart,) = study_charts()[study.kind].make(study)
    drawn = chart.draw(None, Context(""))  # type: ignore[arg-type]
    assert isinstance(drawn, Drawing)
    assert drawn.figure.rows[6] == ("60", "teacher", "60.0", "38.7", "78.1")
    assert len(drawn.figure.rows) == 9 and all(
        len(row) == len(drawn.figure.headings) for row in drawn.figure.rows
    )


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
