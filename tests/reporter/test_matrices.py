"""Matrices in frames and on pages: no leaderboard takes their runs, settings are columns, and
values of a setting are compared."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import reporter
from reporter.board.making import make_boards
from reporter.data.entries import make_labels
from reporter.data.frames import STUDIED, Frames, rows_of
from reporter.data.studies import find_studies
from reporter.data.study_kinds.matrix import read
from reporter.figures import study_points
from reporter.figures.chart import Context, Drawing
from reporter.figures.entries import entry_groups
from reporter.site import build_site
from suite.bundle import manifest
from suite.bundle.layout import MATRIX, RUN
from suite.bundle.study_mark import MAX_LENGTH, READ_MB_S, StudyMark, read_mark
from suite.errors import SuiteError
from suite.files.json_file import read_json, write_json
from suite.metrics.board_spread import outliers
from suite.metrics.matrix_record import (
    MATRICES,
    MatrixPointPlan,
    VariedSetting,
    analyse_matrix,
    read_matrix,
)
from tests.sweeps import make_matrix

pytestmark = pytest.mark.usefixtures("builds_a_site")

TIMES_S = {
    ("pytorch", "16"): 0.010,
    ("pytorch", "32"): 0.018,
    ("tensorflow", "16"): 0.020,
    ("tensorflow", "32"): 0.018,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as written by `suite sweep --vary`; tests must not change it."""
    folder = tmp_path_factory.mktemp("matrices") / "matrix"
    make_matrix(folder, TIMES_S)
    return folder


@pytest.fixture(scope="module")
def frames(made: Path) -> Frames:
    return reporter.load([made])


def test_the_runs_of_a_matrix_are_on_no_leaderboard(frames: Frames) -> None:
    assert set(frames.runs["state"]) == {STUDIED} and set(frames.runs["study"]) == {
        "Frameworks and batches"
    }
    assert make_boards(frames) == []
    assert frames.accepted().runs.empty and frames.measured().runs.empty, (
        "what these bundles hold contradicts itself"
    )
    assert len(frames.entries) == 4, "points are entries of their own"


def test_points_that_differ_in_a_limit_are_in_no_line_together(frames: Frames) -> None:
    names = list(frames.entries["entry_id"])
    entries = frames.entries.assign(batch_size=[16, 32, 16, 32])
    limited = entries.assign(other_settings=[*["cpu_quota 0.5"] * 2, "none", "none"])
    sizes = [
        [
            len(group)
            for group in entry_groups(replace(frames, entries=each), names, ("batch_size",))
        ]
        for each in (entries, limited)
    ]
    assert sizes == [[4], [2, 2]]
    labels = make_labels(list(rows_of(limited)))
    assert sum("cpu_quota 0.5" in label for label in labels.values()) == 2


def test_the_documented_line_gives_a_mean_for_every_point(frames: Frames) -> None:
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^steps = (.*)$", page, re.MULTILINE)
    steps = eval(line, {"frames": frames})  # noqa: S307 - a line of our own documentation
    described = steps.groupby(["framework", "batch_size"])["value"].describe()
    assert list(described["count"]) == [3.0] * 4 and described["mean"].notna().all()
    assert described["mean"]["pytorch", 16] == pytest.approx(0.010, rel=0.03)


def test_a_setting_is_compared_where_the_others_are_the_same(frames: Frames) -> None:
    slower, equal = reporter.compare(frames, by="framework", figure="step_s")
    assert (slower.where, slower.value, slower.base, slower.runs) == (
        "batch_size 16",
        "pytorch",
        "tensorflow",
        3,
    )
    assert (
        slower.ratio == pytest.approx(0.5, rel=0.05)
        and slower.low is not None
        and slower.low < 0.5 < (slower.high or 0)
        and slower.differs
    )
    assert equal.ratio == pytest.approx(1, rel=0.05) and equal.differs is False
    assert None not in (slower.p, slower.p_corrected, equal.p, equal.p_corrected)
    assert slower.p_corrected == pytest.approx(2 * (slower.p or 0)) and (
        equal.p_corrected or 0
    ) >= (equal.p or 0)
    assert {pair.where for pair in reporter.compare(frames, by="batch_size")} == {
        "framework pytorch",
        "framework tensorflow",
    }


def test_what_cannot_be_compared_says_why(frames: Frames) -> None:
    with pytest.raises(SuiteError, match="these sweeps vary framework, batch_size"):
        reporter.compare(frames, by="threads")
    with pytest.raises(SuiteError, match="No run has the figure 'steps_s'"):
        reporter.compare(frames, by="framework", figure="steps_s")
    assert all(
        pair.ratio is None and pair.reason
        for pair in reporter.compare(frames, by="framework", figure="energy_j")
    )


def test_the_page_has_each_points_difference_from_the_first_with_its_interval(made: Path) -> None:
    study = read(made / "matrix.json", "matrix")
    found = [note for note in study.notes if note.startswith("Time of an epoch, ")]
    assert found and all(
        re.search(
            r" over .*: [0-9.]+ \(95 % interval [0-9.]+ to [0-9.]+; \d+ and \d+ runs\): ", note
        )
        for note in found
    )


def test_a_matrix_has_a_page(made: Path, tmp_path: Path) -> None:
    (study,), broken = find_studies([made])
    assert (
        broken == ()
        and study.title == "Frameworks and batches: LeNet-5"
        and ("batch size", "16, 32") in study.facts
    )
    page = (
        build_site([made], tmp_path / "site").parent / "studies" / f"{study.name}.html"
    ).read_text()
    assert (
        'id="matrix-throughput"' in page
        and 'id="matrix-step"' in page
        and "framework pytorch, batch size 16" in page
    )


@pytest.mark.parametrize(
    ("most", "note"),
    [
        (3, "3 of 4 points are drawn: the fastest ones whose throughput is known."),
        (4, ""),
    ],
)
def test_a_chart_without_every_point_of_a_matrix_says_so(
    made: Path, frames: Frames, most: int, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_points, "MAX_POINTS", most)
    for chart in study_points.of_matrix(read_matrix(made)):
        drawing = chart.draw(frames, Context("../"))
        assert isinstance(drawing, Drawing)
        assert (len(drawing.figure.rows), drawing.figure.note) == (most, note)


def test_settings_are_shown_in_words_and_with_units() -> None:
    point = MatrixPointPlan(
        "5",
        (
            VariedSetting(READ_MB_S, "5"),
            VariedSetting("batch_size", "16"),
            VariedSetting("cpu_quota", "0.5"),
        ),
    )
    assert point.words == "emulated reads 5 MB/s, batch size 16, CPU quota 0.5 cores"
    assert point.label == "read_mb_s 5, batch_size 16, cpu_quota 0.5", "as it is typed"


def test_a_step_by_part_adds_up(made: Path) -> None:
    for point in read_matrix(made).points:
        step, fetch, compute = (
            figure.value
            for figure in (
                point.figures.step_s,
                point.figures.step_fetch_stall_s,
                point.figures.step_compute_s,
            )
        )
        assert step is not None and fetch == 0.0 and compute == pytest.approx(step), (
            "these bundles wait for nothing and exchange nothing"
        )


def test_what_no_run_has_is_said_once_in_place_of_empty_columns(made: Path, tmp_path: Path) -> None:
    (study,), _ = find_studies([made])
    page = (
        build_site([made], tmp_path / "site").parent / "studies" / f"{study.name}.html"
    ).read_text()
    parts = page.split('id="parts"')[1].split("</section>")[0]
    assert (
        "fetch stall of a step" in parts.split("</thead>")[0]
        and "energy of the run" not in parts.split("</thead>")[0]
    )
    assert re.search(r"Unknown in every part: .*energy of the run.*\(", parts)
    runs = page.split('id="runs"')[1].split("</section>")[0]
    assert ">step<" in runs and "—" not in runs.split("</tbody>")[0]


def test_runs_of_a_study_are_on_its_page_and_their_own(
    made: Path, frames: Frames, tmp_path: Path
) -> None:
    site = build_site([made], tmp_path / "site").parent
    pages = {
        page.relative_to(site)
        for page in site.rglob("*.html")
        if any(name in page.read_text() for name in frames.runs["run_id"])
    }
    assert {page.parts[0] for page in pages} == {"studies", "runs", "entries", "search.html"}
    assert not list(site.glob("boards/*.html"))


def test_a_matrix_that_disagrees_with_its_runs_is_not_shown(tmp_path: Path) -> None:
    folder = tmp_path / "matrix"
    make_matrix(folder, TIMES_S)
    record = json.loads((folder / MATRIX).read_text())
    record["points"][0]["figures"]["step_s"]["value"] *= 0.9
    (folder / MATRIX).write_text(json.dumps(record))
    studies, (broken,) = find_studies([folder])
    assert studies == () and "disagrees with its runs in points" in broken["reason"]


def test_a_fleet_names_the_board_that_stands_out_and_the_one_without_a_run(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    steps_s = {(str(board), "16"): 0.010 for board in range(1, 6)} | {("4", "16"): 0.020}
    plan = make_matrix(folder, steps_s, names=("board", "batch_size"), seeds=1).plan
    boards = tuple(replace(point, settings=point.settings[:1]) for point in plan.points)
    of_fleet = replace(plan, variables=("board",), points=boards)
    MATRICES.write(folder, analyse_matrix(folder, of_fleet, {boards[1].name: "it was lost"}))
    fleet = read_matrix(folder)
    assert fleet.missing == {boards[1].name: "it was lost"} and fleet.boards is not None
    step = fleet.boards[0]
    assert (step.figure, step.count) == ("step_s", 4) and step.variation == pytest.approx(
        0.4, rel=0.1
    )
    assert [(one.board, round(one.to_median)) for one in step.outliers] == [("board 4", 2)]
    (study,), _ = find_studies([folder])
    page = (
        build_site([folder], tmp_path / "site").parent / "studies" / f"{study.name}.html"
    ).read_text()
    assert "board 2: it was lost." in page and "board 4 stands out: its step is " in page
    assert "Variability between boards" in page


@pytest.mark.parametrize("count", [3, 4, 10])
def test_equal_boards_do_not_stand_out_and_a_slow_one_does(count: int) -> None:
    noise = np.random.default_rng(1)
    draws = noise.normal(1.0, 0.01, (400, count))
    assert not any(len(outliers(draw, 0.05, 0.02)) for draw in draws)
    slow = draws * ([1.5] + [1.0] * (count - 1))
    assert np.mean([list(outliers(draw, 0.05, 0.02)) == [0] for draw in slow]) > 0.95
    loud = noise.normal(1.0, 0.1, (400, count))
    assert np.mean([len(outliers(draw, 0.05, 0.02)) > 0 for draw in loud]) < 0.15


def test_several_boards_may_stand_out_but_none_of_two() -> None:
    mixed = np.array([1.0, 1.01, 0.99, 1.02, 1.0, 0.98, 1.5, 1.6])
    assert outliers(mixed, 0.05, 0.02) == (6, 7)
    assert outliers(np.array([1.0, 9.0]), 0.05, 0.02) == ()
    # of five values Student's t of 4 degrees of freedom at a fifth of 5 %: 4.604 times the floor
    equal = [100.0] * 4
    assert outliers(np.array([*equal, 104.59]), 0.05, 0.01) == ()
    assert outliers(np.array([95.39, *equal]), 0.05, 0.01) == (0,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda record: record["plan"]["points"][0].update(name="../../etc"),
            "such names may have only",
        ),
        (lambda record: record["points"].pop(), "does not list the runs of its plan"),
        (
            lambda record: record["plan"]["points"][0]["settings"].pop(),
            "a point whose settings are not those that the matrix varies",
        ),
        (lambda record: record["plan"].update(seedz=3), "did you mean 'seeds'"),
    ],
)
def test_a_matrix_is_an_untrusted_file(
    made: Path, tmp_path: Path, change: object, words: str
) -> None:
    record = json.loads((made / MATRIX).read_text())
    change(record)  # type: ignore[operator]
    (tmp_path / MATRIX).write_text(json.dumps(record))
    with pytest.raises(SuiteError, match=words):
        read_matrix(tmp_path)


def test_a_matrix_whose_run_id_is_a_way_out_of_the_site_is_not_shown(tmp_path: Path) -> None:
    run = make_and_list(tmp_path)[0].parent
    write_json(run / RUN, {**read_json(run / RUN), "run_id": "x/../../out"})
    manifest.seal(run)
    folder = tmp_path / "matrix"
    MATRICES.write(folder, analyse_matrix(folder, read_matrix(folder).plan))
    studies, (broken,) = find_studies([tmp_path])
    assert not studies and "cannot be a file name" in broken["reason"]


@pytest.mark.parametrize(
    "mark",
    [
        {},
        {"settings": {"a": 1}, "title": "t", "warm_up_steps": 5},
        {"settings": {}, "title": "t" * (MAX_LENGTH + 1)},
    ],
)
def test_a_mark_that_the_suite_does_not_write_is_refused(
    mark: dict[str, object], made: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="the mark of a study"):
        read_mark(mark)
    run = next(path.parent for path in make_and_list(tmp_path))
    write_json(run / RUN, {**read_json(run / RUN), "study": mark})
    manifest.seal(run)
    frames = reporter.load([tmp_path])
    assert any("a file of the bundle is malformed" in reason for reason in frames.broken["reason"])


def test_a_limited_medium_says_that_it_is_emulated(made: Path, tmp_path: Path) -> None:
    run = next(path.parent for path in make_and_list(tmp_path))
    record = read_json(run / RUN)
    write_json(
        run / RUN, {**record, "study": StudyMark("Storage", ((READ_MB_S, "20"),), 0).to_dict()}
    )
    manifest.seal(run)
    media = reporter.load([tmp_path]).runs.set_index("run_id")["storage_medium"]
    assert (
        media.pop(record["run_id"]).endswith(", emulated 20 MB/s")
        and not media.str.contains("emulated").any()
    )


def make_and_list(folder: Path) -> list[Path]:
    make_matrix(folder / "matrix", {("pytorch", "16"): 0.01}, seeds=2)
    return sorted((folder / "matrix").glob("*/run.json"))
