"""Sweeps: measured points, perfect scaling, models and projections, verified against their runs."""

import json
import math
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reporter
from reporter.data.frames import Frames
from reporter.data.studies import find_studies, frames_of_study
from reporter.figures import study_points, sweep_scaling
from reporter.figures.chart import Context, Drawing
from reporter.figures.model import Missing
from reporter.site import build_site
from suite.bundle import layout, manifest
from suite.bundle.layout import STUDY
from suite.files.json_file import read_json, write_json
from suite.metrics.figure import Figure, unknown_figure
from suite.metrics.scaling_model import Algorithm, Observation, Scaling, fit_scaling
from suite.metrics.study import (
    SWEEP,
    PointFigures,
    Study,
    StudyPoint,
    StudyRun,
    analyse_study,
    read_study,
)
from tests.builders import Scenario, make_bundle
from tests.sweeps import bundle_of, make_sweep, plan

pytestmark = pytest.mark.usefixtures("builds_a_site")

CONTEXT = Context("../", {"pytorch": 0})
NO_FRAMES: Frames = None  # type: ignore[assignment]
"""Charts of one study read its record alone."""
RANKS = ("1", "2", "4", "8")
ACROSS, UP = (70, 870), (342, 40)
"""The ends of the axes of a plane: x left to right, y bottom to top."""
Spot = tuple[float, float]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders as written by `suite sweep`, one of strong scaling and one of threads; tests must not
    change them."""
    folder = tmp_path_factory.mktemp("sweeps")
    make_sweep(folder / "strong", Scaling.STRONG)
    make_sweep(folder / "threads", None, ("1", "2"))
    return folder


@pytest.fixture
def own_copy(swept: Path, tmp_path: Path) -> Path:
    return shutil.copytree(swept / "strong", tmp_path / "strong")


def answer(study: Study, quantity: sweep_scaling.Quantity) -> Drawing | Missing:
    charts = {chart.name: chart for chart in sweep_scaling.charts(study)}
    return charts[quantity.name].draw(NO_FRAMES, CONTEXT)


def drawn(study: Study, quantity: sweep_scaling.Quantity = sweep_scaling.STEP) -> Drawing:
    drawing = answer(study, quantity)
    assert isinstance(drawing, Drawing), drawing
    return drawing


def paths(drawing: Drawing, style: str) -> list[list[Spot]]:
    """The points of every path of exactly this style."""
    found = re.findall(rf'<path d="M([^"]*)" class="{style}"', drawing.svg)
    return [spots_of(way) for way in found]


def spots_of(way: str) -> list[Spot]:
    """The points of what stands behind a path's M: places, or one place and steps from there, or
    the other end of a level or upright line."""
    if straight := re.fullmatch(r"(\S+) (\S+)([HV])(\S+)", way):
        x, y, _, end = straight.groups()
        other = (end, y) if straight[3] == "H" else (x, end)
        return [(float(x), float(y)), (float(other[0]), float(other[1]))]
    places, _, steps = way.rstrip("Z").partition("l")
    spots = [(float(x), float(y)) for x, y in (spot.split(" ") for spot in places.split("L"))]
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", steps)]
    for across, down in zip(numbers[::2], numbers[1::2], strict=True):
        spots.append((spots[-1][0] + across, spots[-1][1] + down))
    return spots


def dots(drawing: Drawing) -> list[Spot]:
    return [
        (float(x), float(y))
        for x, y in re.findall(r'<circle cx="([^"]*)" cy="([^"]*)"', drawing.svg)
    ]


def study_of(
    times: list[tuple[int, float, float]], scaling: Scaling = Scaling.STRONG, modelled: bool = True
) -> Study:
    """A study without bundles, from (ranks, compute, communication) of a step in seconds; 64
    samples and 1 kB of gradients."""
    share = 64.0 if scaling is Scaling.WEAK else None
    seen = [
        Observation(ranks, share or 64 / ranks, 1000, own, said)
        for ranks, own, said in times
        for _ in range(2)
    ]
    alone = times[0][1] + times[0][2]
    points = []
    for ranks, own, said in times:
        efficiency = alone / (own + said) / (ranks if scaling is Scaling.STRONG else 1)
        step, part = (
            Figure(own + said, "s", "", 2, spread=0.01 * own),
            Figure(said / (own + said), "ratio", "", 2),
        )
        figures = PointFigures(
            step, step, step, step, part, step, Figure(efficiency, "ratio", "", 2, spread=0.5)
        )
        points.append(
            StudyPoint(
                str(ranks),
                ranks,
                (
                    StudyRun(f"{ranks}-r1", f"run-{ranks}", ""),
                    StudyRun(f"{ranks}-r2", f"run-{ranks}b", ""),
                ),
                figures,
            )
        )
    model = fit_scaling(seen, scaling) if modelled else None
    return Study(
        1,
        plan(tuple(str(ranks) for ranks, _, _ in times), scaling),
        tuple(points),
        model,
        None if modelled else "too few points",
        (),
    )


def with_steps(study: Study, change: Callable[[Figure], Figure]) -> Study:
    """The study with other figures for its steps."""
    changed = (
        replace(point, figures=replace(point.figures, step_s=change(point.figures.step_s)))
        for point in study.points
    )
    return replace(study, points=tuple(changed))


def test_a_sweep_has_a_page_with_its_points_its_figures_and_its_record(
    swept: Path, tmp_path: Path
) -> None:
    site = build_site([swept], tmp_path / "site").parent
    page = (site / "studies" / "sweep-strong-1-r1.html").read_text()
    said = read_study(swept / "strong")
    least, most = (rf"[\d]+ ± \d+ samples/s \(nodes {ranks}\)" for ranks in (1, 8))
    assert re.search(f"<h1>Scaling: LeNet-5 in PyTorch: throughput {least} to {most} <", page)
    for name in ("scaling-step", "scaling-efficiency", "scaling-communication"):
        assert (
            f'id="{name}"' in page
            and (site / "figures" / f"sweep-strong-1-r1-{name}.svg").is_file()
        )
    assert re.findall(r'<tr><th scope="row">nodes (\d+)</th><td class="n">', page) == list(RANKS)
    for point in said.points:
        for run in point.runs:
            assert (
                f'href="../runs/{run.run_id}/index.html"' in page
                and (site / "runs" / run.run_id / "index.html").is_file()
            )
    assert said.model is not None and all(
        note.replace("'", "&#39;") in page for note in said.model.notes
    )
    assert "latency of one message (ring)" in page
    assert (site / "studies" / "sweep-strong-1-r1.json").read_bytes() == (
        swept / "strong" / STUDY
    ).read_bytes()
    for target in re.findall(r'href="(\.\./[^"#]+)', page):
        assert (site / "studies" / target).resolve().is_file(), target


def test_a_study_shows_only_its_own_runs(swept: Path, tmp_path: Path) -> None:
    """Another run of the entry outside the study: the entry has one run more, the study has not."""
    shutil.copytree(swept / "threads", tmp_path / "threads")
    template = make_bundle(tmp_path / "template", Scenario(division="open"))
    bundle_of(template, tmp_path / "later" / "again", 1, 0.02, 0.0)
    shutil.rmtree(template)
    (study,), _ = find_studies([tmp_path])
    frames = reporter.load([tmp_path])
    (entry,), shown = set(frames.runs["entry_id"]), frames_of_study(frames, study)
    assert len(frames.runs) == 5 and set(frames.entry_figures["runs"]) == {0, 5}
    assert (
        set(shown.runs["run_id"]) == {run for _, run in study.runs}
        and len(shown.epochs) == len(frames.epochs) * 4 / 5
    )
    assert (
        list(shown.entries["entry_id"]) == [entry]
        and list(shown.entries["runs"]) == [4]
        and set(shown.entry_figures["runs"]) == {0, 4}
    )
    assert (
        "later-again"
        not in (
            build_site([tmp_path], tmp_path / "site").parent / "studies" / f"{study.name}.html"
        ).read_text()
    )


def test_other_variables_are_drawn_as_throughput_with_spread(swept: Path) -> None:
    study = read_study(swept / "threads")
    (chart,) = study_points.of_sweep(study)
    drawing = chart.draw(NO_FRAMES, CONTEXT)
    assert chart.name == "sweep-throughput" and isinstance(drawing, Drawing)
    assert [row[0] for row in drawing.figure.rows] == ["1", "2"]
    for row, point in zip(drawing.figure.rows, study.points, strict=True):
        rate = point.figures.samples_per_s
        assert rate.value is not None and rate.spread is not None
        assert (float(row[1]), float(row[2])) == (
            pytest.approx(rate.value, rel=5e-3),
            pytest.approx(rate.spread, rel=5e-2),
        )


def test_perfect_scaling_halves_the_step_and_ends_at_the_edge() -> None:
    drawing = drawn(study_of([(1, 0.064, 0.0), (2, 0.040, 0.002), (4, 0.030, 0.004)]))
    (perfect,), points = paths(drawing, "join"), dots(drawing)
    assert perfect[0] == pytest.approx(points[0], abs=0.1)
    assert perfect[-1][1] == pytest.approx(UP[0], abs=0.1) and perfect[-1][0] < ACROSS[1]
    ticks = list(map(float, re.findall(r'<text x="([^"]*)" y="360" class="tick m', drawing.svg)))
    # an axis of logarithms: from 64 ms to 42 ms, so to 32 ms
    down = math.log(2) * (points[1][1] - points[0][1]) / math.log(64 / 42)
    slope = (perfect[-1][1] - perfect[0][1]) / (perfect[-1][0] - perfect[0][0])
    assert slope * (ticks[1] - ticks[0]) == pytest.approx(down, rel=0.02)


@pytest.mark.parametrize("scaling", Scaling)
def test_projections_are_dashed_and_shaded(scaling: Scaling) -> None:
    drawing = drawn(study_of([(1, 0.064, 0.0), (2, 0.040, 0.002), (4, 0.030, 0.004)], scaling))
    last = dots(drawing)[-1][0]
    for algorithm, style in sweep_scaling.STYLES.items():
        (whole,), (dashed,) = (
            paths(drawing, f"l{style} curve"),
            paths(drawing, f"l{style} curve projected"),
        )
        assert max(x for x, _ in whole) <= last + 0.1 and min(x for x, _ in dashed) >= last - 0.1
        rows = [row for row in drawing.figure.rows if row[1].startswith(algorithm.value)]
        assert all(("projection" in row[1]) == (int(row[0]) > 4) for row in rows) and rows[-1][
            0
        ] in ("64", "512")
    assert f'<rect x="{last:.1f}"' in drawing.svg and "projection (not measured)" in drawing.svg


def test_measured_efficiencies_above_the_limit_are_shown() -> None:
    # caches: twice the ranks, more than twice as fast
    study = study_of([(1, 0.064, 0.0), (2, 0.020, 0.001), (4, 0.010, 0.002)])
    drawing = drawn(study, sweep_scaling.EFFICIENCY)
    assert float(drawing.figure.rows[1][2]) == pytest.approx(152, abs=1)
    assert len({y for _, y in dots(drawing)}) == 3 and all(
        UP[1] < y < UP[0] for _, y in dots(drawing)
    )


def test_a_single_run_has_no_spread_and_a_missing_model_has_a_reason() -> None:
    study = study_of([(1, 0.064, 0.0), (2, 0.040, 0.002), (4, 0.030, 0.004)], modelled=False)
    drawing = drawn(with_steps(study, lambda figure: replace(figure, spread=None, count=1)))
    assert (
        drawing.figure.note == "No model: too few points"
        and "±" not in drawing.svg
        and drawing.figure.rows[0][3:5] == ("", "")
    )
    assert "projection (not measured)" not in drawing.svg and not paths(drawing, "l0 curve")
    nothing = with_steps(study, lambda _: unknown_figure("s", "", "not recorded"))
    assert answer(nothing, sweep_scaling.STEP) == Missing("not recorded")


times = st.floats(1e-6, 10.0)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(Scaling),
    st.lists(st.tuples(times, times), min_size=4, max_size=4),
    st.sampled_from(sweep_scaling.QUANTITIES),
)
def test_everything_is_drawn_inside_the_chart(
    scaling: Scaling, pairs: list[Spot], quantity: sweep_scaling.Quantity
) -> None:
    study = study_of(
        [(2**power, own, said if power else 0.0) for power, (own, said) in enumerate(pairs)],
        scaling,
    )
    drawing = drawn(study, quantity)
    assert drawing.svg == drawn(study, quantity).svg
    assert ElementTree.fromstring(drawing.svg).get("role") == "graphics-document"
    ways = [
        way for path in re.findall(r'<path d="M([^"]*)', drawing.svg) for way in path.split("M")
    ]
    spots = [spot for way in ways for spot in spots_of(way)] + dots(drawing)
    assert len(dots(drawing)) == 4
    assert all(
        ACROSS[0] - 0.1 <= x <= ACROSS[1] + 0.1 and UP[1] - 0.1 <= y <= UP[0] + 0.1
        for x, y in spots
    )
    heights = [y for _, y in dots(drawing)]
    values = [quantity.of_point(point.figures).value or 0.0 for point in study.points]
    by_value = sorted(range(4), key=lambda index: values[index])
    assert all(heights[one] >= heights[other] - 0.1 for one, other in pairwise(by_value))


def _edit(change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        values = json.loads((folder / STUDY).read_text())
        change(values)
        (folder / STUDY).write_text(json.dumps(values))

    return edit


def _stop_time(folder: Path) -> None:
    """Sealed runs without any duration, below an unchanged study."""
    for run in sorted(folder.glob("*-r*")):
        template = run.rename(folder.parent / run.name)
        bundle_of(template, run, 1, 0.0, 0.0)


def _name_a_run_outside(folder: Path) -> None:
    run = folder / "1-r1"
    write_json(run / layout.RUN, {**read_json(run / layout.RUN), "run_id": "x/../../out"})
    manifest.seal(run)
    SWEEP.write(folder, analyse_study(folder, read_study(folder).plan))


def _rename_seal(folder: Path) -> None:
    manifest = folder / layout.MANIFEST
    manifest.write_text(
        "".join(line for line in manifest.read_text().splitlines(True) if STUDY not in line)
    )


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (
            _edit(lambda values: values["points"][1]["figures"]["efficiency"].update(value=0.99)),
            "disagrees with its runs in points[1]",
        ),  # type: ignore[index]
        (
            _edit(
                lambda values: values["model"]["fits"][0]["projections"][-1]["step_s"].update(
                    value=1e-3
                )
            ),
            "disagrees with its runs in model",
        ),  # type: ignore[index]
        (
            _edit(lambda values: values["plan"].update(values=["../strong/1", "2", "4", "8"])),
            "such names may have only",
        ),  # type: ignore[attr-defined]
        (_edit(lambda values: values["plan"].update(repetitions=1)), "does not list the runs"),  # type: ignore[attr-defined]
        (_edit(lambda values: values.update(points=[])), "does not list the runs"),
        (_edit(lambda values: values.update(schema=9)), "schema 9"),
        (_stop_time, "a bundle of the study is malformed (ZeroDivisionError"),
        (_rename_seal, "expected a line in MANIFEST.sha256, found none"),
        (lambda folder: shutil.rmtree(folder / "2-r1"), "2-r1"),
        (_name_a_run_outside, "cannot be a file name"),
    ],
    ids=[
        "figure",
        "projection",
        "a way out",
        "fewer runs",
        "no points",
        "schema",
        "no time",
        "seal",
        "a run missing",
        "a run id that is a way out",
    ],
)
def test_a_sweep_that_disagrees_with_its_runs_is_listed_as_broken(
    own_copy: Path, break_it: Callable[[Path], object], said: str
) -> None:
    break_it(own_copy)
    studies, broken = find_studies([own_copy])
    assert not studies and len(broken) == 1 and said in broken[0]["reason"]


def test_notes_are_those_of_this_version(own_copy: Path) -> None:
    said = read_study(own_copy)
    assert said.model is not None
    worded = replace(
        said,
        notes=("It scales.",),
        model=replace(said.model, notes=("Worded by an older suite.",)),
    )
    SWEEP.write(own_copy, worded)
    (study,), broken = find_studies([own_copy])
    assert not broken and study.notes == said.model.notes


def test_fits_may_differ_in_their_last_digits(own_copy: Path) -> None:
    said = read_study(own_copy)
    assert said.model is not None and said.model.fits[0].algorithm is Algorithm.RING
    first, second = said.model.fits
    other = replace(
        first,
        parameters=tuple(replace(one, value=one.value * (1 + 1e-11)) for one in first.parameters),
    )
    changed = replace(said, model=replace(said.model, fits=(other, second)))
    SWEEP.write(own_copy, changed)
    (study,), broken = find_studies([own_copy])
    assert study.kind == "sweep" and not broken
