"""Studies: found below the paths, verified against their runs, with a page each."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

import reporter
from reporter.data.discovery import declarations
from reporter.data.frames import STUDIED
from reporter.data.studies import StudyKind, StudyRecord, find_studies, study_kinds
from reporter.figures import stall_analysis as drawn
from reporter.figures import study_charts
from reporter.figures.chart import Context, Drawing
from reporter.pages import templates
from reporter.pages.shared import make_contents
from reporter.pages.studies import study_pages
from reporter.site import build_site
from suite.bundle import stall_folder
from suite.metrics import stall_analysis
from tests.builders import Scenario, make_bundle, run_id
from tests.reporter.conftest import edit_json

CONTEXT = Context("../", {"pytorch": 0})
NAME = f"stalls-{run_id('analysed')}"


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as written by `suite run --stall-analysis`; tests must not change it."""
    folder = tmp_path_factory.mktemp("studies") / "stalls"
    for source, step_s in (("cold", 0.00075), ("warm", 0.0005), ("synthetic", 0.00025)):
        batches = "synthetic" if source == "synthetic" else "read"
        scenario = Scenario(
            name=f"analysed-{source}",
            division="open",
            step_s=step_s,
            batches=batches,
            drop_cache=source == "cold",
            jitter=0.02,
            seed=1,
        )
        make_bundle(folder / source, scenario)
    stall_analysis.STALLS.write(folder, stall_analysis.analyse_stalls(folder))
    return folder


@pytest.fixture
def own_copy(analysed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(analysed, tmp_path / "stalls")


def the_study(folder: Path) -> StudyRecord:
    (study,), broken = find_studies([folder])
    assert not broken
    return study


def test_a_study_is_found_at_any_depth_and_named_after_its_runs(analysed: Path) -> None:
    study = the_study(analysed.parent)
    assert study.name == NAME and study.place == "stalls"
    assert study.runs == tuple(
        (source, run_id(f"analysed-{source}")) for source in ("cold", "warm", "synthetic")
    )
    row = study.figures.set_index(["part", "figure"]).loc[("study", "read_stall_s")]
    # a tenth of a step that is a millisecond shorter
    assert row["value"] == pytest.approx(0.1e-3 * 469, rel=0.05) and row["unit"] == "s"


def test_runs_of_a_stall_analysis_are_on_no_leaderboard(analysed: Path, tmp_path: Path) -> None:
    frames = reporter.load([analysed.parent])
    assert set(frames.runs["state"]) == {STUDIED} and frames.accepted().entries.empty
    build_site([analysed.parent], tmp_path / "site")
    assert not list((tmp_path / "site").glob("boards/*"))


def test_a_study_has_a_page_that_links_to_its_runs(analysed: Path, tmp_path: Path) -> None:
    site = build_site([analysed.parent], tmp_path / "site").parent
    page = (site / "studies" / f"{NAME}.html").read_text()
    assert f'href="{NAME}.html"' in (site / "studies" / "index.html").read_text()
    for part in ("cold", "warm", "synthetic"):
        assert f'href="../runs/{run_id(f"analysed-{part}")}/index.html#time_to_epoch_s"' in page
        assert (site / "runs" / run_id(f"analysed-{part}") / "index.html").is_file()
    assert "<title>Stalls of LeNet-5 in PyTorch" in page, "names as people say them"
    numbers = re.findall(r'<td class="n">(\S+) s <small>± (\S+)</small>', page)
    assert len(numbers) > 10 and all(
        len(value.partition(".")[2]) == len(spread.partition(".")[2]) for value, spread in numbers
    )
    assert page.count("<svg") == 4, "two figures, each for wide and narrow screens"
    assert (site / "figures" / f"{NAME}-stall-runs.svg").is_file()
    assert (site / "studies" / f"{NAME}.json").read_bytes() == (
        analysed / stall_folder.RECORD
    ).read_bytes()
    for target in re.findall(r'href="(\.\./[^"#]+)', page):
        assert (site / "studies" / target).resolve().is_file(), target


def test_a_run_that_could_not_be_read_has_a_cell_in_every_column(analysed: Path) -> None:
    """A script sorts by them."""
    frames = reporter.load([analysed / "cold", analysed / "warm"])
    contents = make_contents(frames, (), (the_study(analysed),))
    pages = {page.place: str(page.content) for page in study_pages(contents, templates())}
    page = pages[f"studies/{NAME}.html"]
    rows = re.findall(r"<tr>.*?</tr>", page[page.index('<section id="runs">') :])
    assert ": could not be read</td>" in rows[-1]
    assert len(rows) == 4 and len({len(re.findall("<t[dh]", row)) for row in rows}) == 1


def test_a_difference_without_significance_is_noted(analysed: Path) -> None:
    figures = the_study(analysed).figures.copy()
    figures["significant"] = figures["significant"].astype(object)
    figures.loc[figures["figure"] == "read_stall_s", "significant"] = False
    _, chart = drawn.charts(figures, {})
    drawing = chart.draw(reporter.load([analysed]), CONTEXT)
    assert (
        isinstance(drawing, Drawing)
        and drawing.figure.note == "Not significantly different from 0: reading."
    )
    assert drawing.figure.rows[0][3] == "no"


@pytest.mark.parametrize(
    ("recorded", "shown"), [(True, "yes"), (False, "no"), (None, "not tested")]
)
def test_significance_is_read_from_its_field(
    analysed: Path, recorded: bool | None, shown: str
) -> None:
    figures = the_study(analysed).figures.copy()
    figures["method"] = "not significant (within twice its standard error)"
    figures["significant"] = pandas.Series([recorded] * len(figures), dtype=object)
    _, chart = drawn.charts(figures, {})
    drawing = chart.draw(reporter.load([analysed]), CONTEXT)
    assert isinstance(drawing, Drawing) and [row[3] for row in drawing.figure.rows] == [
        shown,
        shown,
    ]


def _edit_record(folder: Path) -> None:
    record = folder / stall_folder.RECORD
    values = json.loads(record.read_text())
    values["figures"]["read_stall_s"]["value"] = 0.0
    record.write_text(json.dumps(values))


def _set_schema_1(folder: Path) -> None:
    record = folder / stall_analysis.RECORD
    record.write_text(json.dumps({**json.loads(record.read_text()), "schema": 1}))


def _name_a_run_outside(folder: Path) -> None:
    edit_json(folder / "cold", "run.json", lambda run: run.update(run_id="x/../../out"))
    stall_analysis.STALLS.write(folder, stall_analysis.analyse_stalls(folder))


def _edit_seal(folder: Path) -> None:
    manifest = folder / "MANIFEST.sha256"
    manifest.write_text(manifest.read_text().replace("  cold/", "  warm/"))


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (_edit_record, "disagrees with its runs"),
        (_set_schema_1, "has schema 1"),
        (_edit_seal, "several lines for one"),
        (
            lambda folder: (folder / "MANIFEST.sha256").unlink(),
            "MANIFEST.sha256 is not as it was sealed",
        ),
        (lambda folder: (folder / stall_folder.RECORD).write_text("[1"), "stalls.json"),
        (lambda folder: shutil.rmtree(folder / "warm"), "run.json"),
        (_name_a_run_outside, "cannot be a file name"),
    ],
    ids=[
        "figure changed",
        "of an earlier version",
        "seal changed",
        "no seal",
        "no JSON",
        "a run missing",
        "a run id that is a way out",
    ],
)
def test_a_study_that_disagrees_with_its_runs_is_listed_as_broken(
    own_copy: Path, break_it: Callable[[Path], object], said: str
) -> None:
    break_it(own_copy)
    studies, broken = find_studies([own_copy.parent])
    assert (
        not studies
        and len(broken) == 1
        and said in broken[0]["reason"]
        and str(own_copy) not in broken[0]["reason"]
    )


def test_a_site_with_a_broken_study_is_still_built(own_copy: Path, tmp_path: Path) -> None:
    _edit_record(own_copy)
    site = build_site([own_copy.parent], tmp_path / "site").parent
    assert "disagrees with its runs" in (site / "index.html").read_text()


def test_every_kind_of_study_has_charts_and_the_other_way_round() -> None:
    assert study_kinds().keys() == study_charts().keys() >= {"stalls", "sweep"}


def test_a_declaration_of_another_type_is_refused_with_its_module() -> None:
    with pytest.raises(
        TypeError,
        match=(
            r"reporter\.data\.study_kinds\.\w+ declares a STUDY_KIND that is a StudyKind, not a"
            r" StudyRecord"
        ),
    ):
        declarations("reporter.data.study_kinds", "page", "STUDY_KIND", StudyRecord)
    assert len(declarations("reporter.data.study_kinds", "page", "STUDY_KIND", StudyKind)) == len(
        study_kinds()
    )
