"""Every figure: deterministic, with a text alternative, and with a note on omitted entries."""

import importlib
import pkgutil
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reporter
import reporter.figures
from reporter.data.frames import ENTRY_FIGURES, Frames, make_frame, records
from reporter.data.timeline import (
    INTERVALS,
    Series,
    Timeline,
    TimelineSpan,
    TimeSeries,
    _time_series,
    _watts,
    read_timeline,
)
from reporter.figures import (
    accuracy,
    adaptation,
    all_charts,
    charts_for,
    energy,
    for_papers,
    over_time,
    radar,
    scaling,
)
from reporter.figures.chart import Chart, Context, Drawing
from reporter.figures.labels import text_width
from reporter.figures.model import Missing, PaperFigure, Plot, Rows
from reporter.figures.radar import AXES, MIN_AXES, RadarAxis, share_of_axis
from suite.bundle.reader import Bundle
from suite.catalog import extensions
from suite.catalog.extensions import ExtensionPart
from suite.catalog.power import Coverage, PowerRule, Tier
from tests.builders import Scenario, make_bundle
from tests.kept_outputs import in_short, kept
from tests.reporter.conftest import MACHINE

CONTEXT = Context("../", {"chainer": 0, "pytorch": 1, "tensorflow": 2})
DRAWN_NUMBER = re.compile(r"-?\d*\.?\d+")
TABLES = ("runs", "figures", "epochs", "entries", "entry_figures", "linpacks")
every_chart = pytest.mark.parametrize("chart", all_charts(), ids=lambda chart: chart.name)


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory, make_linpack: Callable[..., Path]) -> Path:
    """Runs for the figures of batch sizes, workers, counters and LINPACK."""
    more = tmp_path_factory.mktemp("more")
    make_linpack(more / "linpack")
    for size in (16, 20, 24):
        make_bundle(
            more / f"{size}",
            Scenario(
                name=f"batch-{size}",
                batch_size=size,
                step_s=0.0005,
                power_w=3.0,
                learning_rate=0.01,
            ),
        )
    for workers in (1, 4):
        make_bundle(
            more / f"workers-{workers}",
            Scenario(
                name=f"workers-{workers}",
                batch_size=16,
                workers=workers,
                step_s=0.0004,
                learning_rate=0.01,
            ),
        )
    make_bundle(
        more / "counted",
        Scenario(name="counted", framework="fake", division="open", step_s=0.000125, counted=True),
    )
    return more


@pytest.fixture(scope="module")
def frames(runs: Path, more: Path) -> Frames:
    """All runs and the LINPACK record."""
    return reporter.load([runs, more]).accepted()


@pytest.fixture(scope="module")
def timeline(more: Path) -> Timeline:
    """The timeline of a run with a power meter."""
    return timeline_of(more / "16")


def timeline_of(path: Path) -> Timeline:
    return read_timeline(Bundle(path), Bundle(path).log())


def over(timeline: Timeline, baseload_w: float | None = None) -> list[Drawing | Missing]:
    """Power and load of a run."""
    found = [
        (caption, describe(CONTEXT))
        for caption, describe in over_time.described(timeline, baseload_w)
    ]
    return [
        Drawing(caption, figure) if isinstance(figure, Plot) else figure
        for caption, figure in found
    ]


def drawn(chart: Chart, frames: Frames) -> Drawing:
    drawing = chart.draw(frames, CONTEXT)
    assert isinstance(drawing, Drawing), drawing
    return drawing


def by_name(name: str) -> Chart:
    return next(chart for chart in all_charts() if chart.name == name)


def with_nodes(frames: Frames) -> Frames:
    """The frames with another number of nodes, of a rank each, for each of three batch sizes: 10
    samples per rank."""
    sizes = frames.entries["batch_size"]
    ranks = sizes.map({16: 1, 20: 2, 24: 4})
    nodes = ranks.fillna(1).astype(int)
    changed = {
        "nodes": nodes,
        "ranks": nodes,
        "collective": nodes.map(lambda number: "mpi" if number > 1 else "none"),
        "batch_size": (10 * ranks).fillna(sizes).astype(int),
    }
    return replace(frames, entries=frames.entries.assign(**changed))


def frames_for(chart: Chart, frames: Frames) -> Frames:
    """The frames with what the chart compares: numbers of nodes, or rounds."""
    if chart.name == "scaling":
        return with_nodes(frames)
    if chart.name == "rounds":
        rounds = frames.entries["framework"].map({"chainer": "v0.2"})
        return replace(
            frames, entries=frames.entries.assign(round=rounds.fillna(frames.entries["round"]))
        )
    return frames


def test_rounds_share_a_line_only_in_one_precision(frames: Frames) -> None:
    chart = by_name("rounds")
    several = frames_for(chart, frames)
    is_older = several.entries["round"] == "v0.2"
    precisions = is_older.map({True: "float32", False: "bf16-mixed"})
    other = replace(several, entries=several.entries.assign(precision=precisions))
    assert isinstance(chart.describe(several, CONTEXT), Plot)
    assert isinstance(chart.describe(other, CONTEXT), Missing)


def written(svg: str) -> dict[str, Any]:
    """The texts of a drawing with their places in whole pixels; of its other elements, by tag and
    class, the number and the sum of all numbers in their attributes."""
    sums: dict[str, list[int]] = {}
    texts = [[ElementTree.fromstring(svg).get("aria-label")]]
    for element in ElementTree.fromstring(svg).iter():
        tag = element.tag.rpartition("}")[2]
        drawn_by = [value for name, value in element.attrib.items() if name != "href"]
        numbers = [float(one) for one in DRAWN_NUMBER.findall(" ".join(drawn_by))]
        if tag in ("text", "title"):
            texts.append([element.text, *map(round, numbers[:2])])
            continue
        held = sums.setdefault(f"{tag} {element.get('class', '')}", [0, 0])
        held[0], held[1] = held[0] + 1, held[1] + sum(map(round, numbers))
    return {"texts": texts, "sums": sums}


def test_what_every_figure_shows_and_draws(frames: Frames, timeline: Timeline) -> None:
    drawings = {chart.name: drawn(chart, frames_for(chart, frames)) for chart in all_charts()}
    drawings |= {
        drawing.caption.name: drawing
        for drawing in over(timeline, baseload_w=1.5)
        if isinstance(drawing, Drawing)
    }
    for name, drawing in drawings.items():
        note = in_short(drawing.figure.note)
        shown = {
            "rows": [drawing.figure.headings, *drawing.figure.rows],
            "note": note,
            **written(drawing.svg),
        }
        kept("site-figures", shown, name)


@every_chart
def test_the_same_frames_give_the_same_figure(chart: Chart, frames: Frames) -> None:
    chosen = frames_for(chart, frames)
    shuffled = replace(
        chosen, **{name: getattr(chosen, name).sample(frac=1, random_state=1) for name in TABLES}
    )
    assert drawn(chart, chosen) == drawn(chart, shuffled)


@every_chart
def test_without_data_there_is_a_reason(chart: Chart, frames: Frames) -> None:
    answer = chart.draw(frames.of_entries(frames.entries.iloc[:0]), CONTEXT)
    assert isinstance(answer, Missing) and answer.reason


@pytest.mark.parametrize(
    ("timing", "ends"),
    [
        ("synchronised", "two epochs"),
        ("asynchronous", "in synchronised timing, which times the parts of an epoch"),
    ],
)
def test_a_figure_of_parts_says_which_timing_takes_them(
    timing: str, ends: str, frames: Frames
) -> None:
    without = replace(
        frames,
        entry_figures=frames.entry_figures.iloc[:0],
        epochs=frames.epochs.iloc[:0],
        entries=frames.entries.assign(timing=timing),
    )
    for name in ("stacked-epoch", "first-stall"):
        answer = by_name(name).draw(without, CONTEXT)
        assert isinstance(answer, Missing) and answer.reason.endswith(ends), name


def test_names_and_positions_are_unique() -> None:
    of_runs = [caption for caption, _ in over_time.described(Timeline(), None)]
    names = [chart.name for chart in (*all_charts(), *of_runs)]
    assert len(set(names)) == len(names)
    assert len({chart.position for chart in all_charts()}) == len(all_charts())


def test_every_chart_of_a_module_is_found_and_shown_in_the_order_of_positions() -> None:
    modules = [
        *(
            importlib.import_module(f"reporter.figures.{one.name}")
            for one in pkgutil.iter_modules(reporter.figures.__path__)
        ),
        *(module for _, module in extensions.extension_modules(ExtensionPart.FIGURES)),
    ]
    written = {
        chart.name
        for module in modules
        for value in vars(module).values()
        for chart in (value if isinstance(value, tuple) else (value,))
        if isinstance(chart, Chart)
    }
    assert written == {chart.name for chart in all_charts()} and len(written) > 10
    for page in ("board", "comparison", "device", "machine", "study"):
        positions = [chart.position for chart in charts_for(page)]
        assert positions and positions == sorted(positions)


def test_energies_of_different_sensors_are_not_compared(runs: Path, tmp_path: Path) -> None:
    make_bundle(
        tmp_path / "usb", Scenario(name="usb", batch_size=16, power_w=1.0, power_meter="um25c")
    )
    frames = reporter.load([runs, tmp_path]).accepted()
    drawing = drawn(by_name("time-energy"), frames)
    assert "1 entry with another kind of sensor" in drawing.figure.note and not any(
        "batch 16" in row[0] for row in drawing.figure.rows
    )
    kinds = {row[4] for row in drawn(by_name("energy-per-epoch"), frames).figure.rows}
    assert kinds == {"meter at the wall", "meter at the board's input"}


def test_a_pareto_front_is_drawn_in_steps(frames: Frames) -> None:
    svg = drawn(by_name("time-energy"), frames).svg
    path = next(
        element for element in ElementTree.fromstring(svg).iter() if element.get("class") == "front"
    )
    corners = [tuple(map(float, pair.split())) for pair in str(path.get("d"))[1:].split("L")]
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(corners))


def crowd_of(frames: Frames, count: int) -> Frames:
    """``count`` entries, every second one of another framework that is a hundred times slower."""

    def many(frame: pandas.DataFrame) -> pandas.DataFrame:
        first = frame[frame["entry_id"] == frames.entries["entry_id"].iloc[0]]
        return pandas.concat([_of_crowd(first, index) for index in range(count)], ignore_index=True)

    return replace(frames, entries=many(frames.entries), entry_figures=many(frames.entry_figures))


def _of_crowd(rows: pandas.DataFrame, index: int) -> pandas.DataFrame:
    other = rows.assign(entry_id=f"e{index:03d}")
    if "framework" in other:
        return other.assign(framework="slow" if index % 2 else "quick")
    return other.assign(value=other["value"] * (100.0 if index % 2 else 1.0) * (1 + index / 1000))


def test_more_entries_than_fit_share_a_row_of_their_framework(frames: Frames) -> None:
    drawing = drawn(by_name("stacked-epoch"), crowd_of(frames, 60))
    assert (
        len(drawing.figure.rows) == 60
        and "38 of 60 entries have their own row" in drawing.figure.note
    )
    assert drawing.svg.count("11 more · quick") and drawing.svg.count("11 more · slow")


def test_each_kind_of_sensor_has_its_note_on_rows_that_entries_share(frames: Frames) -> None:
    crowd = crowd_of(frames, 60)
    figures = crowd.entry_figures.assign(tier="wall meter")
    covers = (figures["entry_id"] < "e030").map({True: "wall", False: "board"})
    figures = figures.assign(covers=covers)
    figures.loc[figures["figure"] == energy.ENERGY, ["value", "reason"]] = [5.0, None]
    found = drawn(by_name("energy-per-epoch"), replace(crowd, entry_figures=figures)).figure
    assert found.note.count("18 of 30 entries have their own row") == 2
    assert all(
        f"Energies by meter at the {place}: 18" in found.note for place in ("wall", "board's input")
    )


@pytest.mark.parametrize(
    "name", ["stacked-epoch", "time-to-epoch", "first-epoch", "time-to-target"]
)
def test_no_framework_is_left_out_of_a_figure_with_few_rows(frames: Frames, name: str) -> None:
    drawing = by_name(name).draw(crowd_of(frames, 104), replace(CONTEXT, max_rows=12))
    assert isinstance(drawing, Drawing) and len(drawing.figure.rows) == 104
    assert all(f"47 more · {framework}" in drawing.svg for framework in ("quick", "slow"))


def test_runs_beyond_the_lines_of_the_accuracy_figure_have_a_dot(frames: Frames) -> None:
    """A framework that comes last by run id is drawn, too."""
    rows = [
        frames.runs.iloc[[0]].assign(run_id=f"{framework}-{index:03d}", framework=framework)
        for framework in ("a", "z")
        for index in range(52)
    ]
    epochs = frames.epochs[frames.epochs["run_id"] == frames.runs["run_id"].iloc[0]]
    runs = pandas.concat(rows, ignore_index=True)
    crowd = replace(
        frames,
        runs=runs,
        epochs=pandas.concat(
            [epochs.assign(run_id=name) for name in runs["run_id"]], ignore_index=True
        ),
    )
    drawing = drawn(by_name("accuracy"), crowd)
    assert len(drawing.figure.rows) == 104
    assert "faint dot only, at the last evaluation: 46 of 104 runs;" in drawing.figure.note
    assert [drawing.svg.count(f"({framework}-") for framework in ("a", "z")] == [29, 29]


def test_a_resumed_run_has_no_curve_of_accuracy(frames: Frames) -> None:
    """It would begin at 0 s: the epochs before it are in another bundle."""
    resumed = replace(
        frames,
        runs=frames.runs.assign(resumed=(frames.runs["framework"] == "chainer").astype(int)),
        entries=frames.entries.assign(resumed=frames.entries["framework"] == "chainer"),
    )
    on_page, printed = drawn(by_name("accuracy"), resumed).figure, accuracy.for_paper(resumed)
    assert not [row for row in on_page.rows if row[0].startswith("Chainer")]
    why = "Not drawn, because resumed or without a finished evaluation: 3 of "
    assert on_page.note.startswith(why)
    assert isinstance(printed, PaperFigure) and printed.notes[-1].startswith("Runs that were resum")
    of_chainer = frames.entries[frames.entries["framework"] == "chainer"]["entry_id"]
    assert not set(of_chainer) & set(printed.ids)


def test_the_lines_of_a_paper_s_scaling_figure_are_those_of_the_highest_speed_ups(
    frames: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(for_papers, "MAX_LINES", 0)
    figure = scaling.for_paper(with_nodes(frames))
    assert isinstance(figure, PaperFigure)
    assert "the entry with the highest value of each framework" in figure.notes[0]


def test_scaling_compares_equal_ranks_threads_collective_and_batch(frames: Frames) -> None:
    lines = drawn(by_name("scaling"), with_nodes(frames)).figure.rows
    assert [row[1] for row in lines] == ["1", "2", "4"] and all(
        "weak, batch 10 per rank" in row[0] for row in lines
    )
    several = with_nodes(frames)
    for column, value in (
        ("threads", 7),
        ("ranks", 8),
        ("batch_size", 48),
        ("workers", 3),
        ("power_mode", "MAXN"),
    ):
        entries = several.entries.copy()
        entries.loc[entries["nodes"] > 1, column] = value
        answer = by_name("scaling").draw(replace(several, entries=entries), CONTEXT)
        drawn_nodes = [row[1] for row in answer.figure.rows] if isinstance(answer, Drawing) else []
        assert "2" not in drawn_nodes or column in ("batch_size",), column


def test_two_ranks_on_one_machine_are_no_nodes(frames: Frames) -> None:
    entries = with_nodes(frames).entries.assign(nodes=1)
    assert isinstance(by_name("scaling").draw(replace(frames, entries=entries), CONTEXT), Missing)


def test_a_long_label_is_written_on_two_lines(frames: Frames) -> None:
    svg = ElementTree.fromstring(drawn(by_name("workers"), frames).svg)
    names = [
        [text.text for text in link if text.tag.endswith("text")]
        for link in svg.iter()
        if link.tag.endswith("}a")
    ]
    assert [f"PyTorch · {MACHINE}", "batch 16 · 1 worker"] in names or [
        f"PyTorch · {MACHINE} · batch 16",
        "1 worker",
    ] in names
    assert not [line for lines in names for line in lines if line and line.endswith("…")]


def test_values_that_span_a_decade_have_a_logarithmic_axis(frames: Frames) -> None:
    """Entries of which half are a hundred times slower: marks are spread over the axis, stacked
    bars are shares with their times beside them."""
    crowd = crowd_of(frames, 8)
    for name in ("time-to-epoch", "time-to-target", "first-epoch"):
        svg = ElementTree.fromstring(drawn(by_name(name), crowd).svg)
        ticks = [
            float(str(text.text).replace("\u202f", ""))
            for text in svg.iter()
            if text.get("class") == "tick middle"
        ]
        assert ticks[-1] / ticks[0] >= 100, name
    stacked = drawn(by_name("stacked-epoch"), crowd).svg
    assert (
        "% of an epoch" in stacked
        and "% of an epoch" not in drawn(by_name("stacked-epoch"), crowd_of(frames, 1)).svg
    )


def test_each_kind_of_sensor_has_a_scale_of_its_own(frames: Frames) -> None:
    """A figure of two sensors, of which one shows a thousand times as much: the longest bars of
    both are as long as the axis, and as one another."""
    found = frames.entry_figures.copy()
    energies = found.index[found["figure"] == "energy_per_epoch_j"]
    known = [
        index
        for index in energies
        if found.loc[index, "value"] == found.loc[index, "value"]
        and found.loc[index, "value"] is not None
    ]
    for place, index in enumerate(known):
        kind = (1.0, "wall meter", "wall") if place % 2 else (1000.0, "on-board sensor", "module")
        found.loc[index, ["value", "tier", "covers"]] = [kind[0] * (10 + place), *kind[1:]]
    svg = drawn(by_name("energy-per-epoch"), replace(frames, entry_figures=found)).svg
    assert svg.index("meter at the wall") < svg.index("on-board sensor of the module"), (
        "the best instrument comes first"
    )
    longest = sorted(
        float(bar.get("width", 0))
        for bar in ElementTree.fromstring(svg).iter()
        if bar.tag.endswith("rect")
    )[-2:]
    assert all(500 < each <= 560.1 for each in longest)


def test_frameworks_differ_in_the_shape_of_their_marks(frames: Frames) -> None:
    svg = ElementTree.fromstring(drawn(by_name("time-to-target"), frames).svg)
    marks = {
        element.get("class"): element.tag.split("}")[1]
        for element in svg.iter()
        if element.tag.endswith(("circle", "path"))
    }
    corners = {
        name: str(element.get("d")).count("L")
        for name in marks
        for element in svg.iter()
        if element.get("class") == name
    }
    assert (marks["c0"], corners["c1"], corners["c2"]) == ("circle", 3, 2)


def test_labels_of_the_front_cover_no_point_and_no_other_label(frames: Frames) -> None:
    svg = ElementTree.fromstring(drawn(by_name("time-energy"), frames).svg)
    places = [
        (float(group.get("data-across", 0)), float(group.get("data-down", 0)))
        for group in svg.iter()
        if group.get("data-entry")
    ]
    names = [text for text in svg.iter() if text.get("class") == "name"]
    boxes = [
        (
            x := float(text.get("x", 0)),
            y := float(text.get("y", 0)),
            x + text_width(str(text.text)),
            y - 15,
        )
        for text in names
    ]
    assert boxes and not [
        1
        for x, y, right, top in boxes
        for across, down in places
        if x < across < right and top < down < y
    ]


def test_a_run_without_a_power_sensor_has_a_load_chart_and_a_reason(more: Path) -> None:
    of_run = timeline_of(more / "workers-1")
    assert over(of_run)[0] == Missing("no power sensor was read")
    load = over(of_run)[1]
    assert (
        isinstance(load, Drawing)
        and "watt" not in load.svg
        and {row[3] for row in load.figure.rows if row[1] != "0"} == {"50.0"}
    )


def test_a_run_without_a_start_or_without_readings_has_no_timeline(
    runs: Path, tmp_path: Path
) -> None:
    bundle = Bundle(shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "run"))
    log = bundle.log()
    not_started = replace(
        log, events=tuple(event for event in log.events if event.key != "run_start")
    )
    assert read_timeline(bundle, not_started) == Timeline()
    (bundle.path / "readings.parquet").unlink()
    nothing = read_timeline(bundle, log)
    assert (nothing.power, nothing.load, len(nothing.spans)) == ((), (), 7)
    assert over(nothing)[1] == Missing("neither CPU nor GPU utilisation was read")


def test_a_long_run_is_reduced_to_intervals_that_keep_extremes(tmp_path: Path) -> None:
    """A reading a second for an hour and a half, and one second of ten times the power."""
    seconds = np.arange(5000)
    values = np.where(seconds == 3333, 30.0, 3.0)
    (series,) = _time_series("meter", "W", Series(seconds * 10**9, values), 0)
    assert len(series.t_s) == INTERVALS and list(series.t_s) == sorted(series.t_s)
    assert (min(series.low), max(series.high)) == (3.0, 30.0)
    assert np.average(
        series.mean, weights=np.diff([0, *np.searchsorted(seconds, series.t_s[:-1]), 5000])
    ) == pytest.approx(values.mean(), rel=0.01)


def test_an_energy_counter_is_drawn_as_power_without_implausible_values() -> None:
    """A reading a second of a counter that grows by 5 J, and once by a thousand times as much."""
    rule = PowerRule("counter", (), (), Coverage.CHIP, Tier.ON_BOARD, "J", (0.0, 100.0), "")
    energy_j = np.cumsum([0.0, 5.0, 5.0, 5000.0, 5.0])
    power = _watts(Series(np.arange(5) * 10**9, energy_j), rule)
    assert power.values.tolist() == pytest.approx([5.0, 5.0, 5.0]) and (
        power.t_ns // 10**9
    ).tolist() == [1, 2, 4]


def test_readings_that_are_far_apart_are_not_connected() -> None:
    times = (0.0, 1.0, 2.0, 30.0, 31.0, 60.0)
    values = (5.0,) * len(times)
    series = TimeSeries("processor", "%", times, values, values, values)
    drawing = over(Timeline(load=(series,)))[1]
    assert isinstance(drawing, Drawing)
    assert drawing.svg.count('class="l0 curve"') == 3 and drawing.svg.count("<circle") == 1


def test_a_radar_has_at_most_four_series_and_the_best_value_at_its_rim(frames: Frames) -> None:
    drawing = drawn(by_name("radar"), frames)
    assert len(drawing.figure.rows) == 4 and {
        row[0].split(" ")[0] for row in drawing.figure.rows
    } == {
        "PyTorch",
        "TensorFlow",
        "Chainer",
        "Fake",
    }
    assert "energy per epoch" in drawing.figure.note and "L1 data miss ratio" in drawing.figure.note
    peak = RadarAxis("peak_memory_bytes", "", -1)
    assert [share_of_axis(peak, [100.0, 400.0], value) for value in (100.0, 400.0)] == [1.0, 0.25]
    assert [
        share_of_axis(RadarAxis("samples_per_s", "", 1), [10.0, 40.0], value)
        for value in (10.0, 40.0)
    ] == [
        0.25,
        1.0,
    ]


def test_a_radar_says_that_it_has_the_fastest_frameworks_alone(
    frames: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = len(frames.entries) - 4
    why = "Not drawn, because trained otherwise or not the fastest of their framework"
    of_entries = f"{why}: {others} of {len(frames.entries)} entries."
    assert drawn(by_name("radar"), frames).figure.note.endswith(f". {of_entries}")
    monkeypatch.setattr(radar, "MAX_SERIES", 3)
    of_frameworks = "Only the 3 fastest frameworks are drawn."
    note = drawn(by_name("radar"), frames).figure.note
    assert note.endswith(f"{of_frameworks} {of_entries}")
    printed = radar.for_paper(frames)
    assert isinstance(printed, PaperFigure) and printed.notes[-1] == of_frameworks


def test_a_radar_compares_frameworks_where_they_trained_the_same(frames: Frames) -> None:
    """And on the same machine."""
    for name in ("workload", "cpu_model", "accelerator"):
        others = frames.entries.assign(**{name: frames.entries["framework"]})
        answer = radar.for_paper(replace(frames, entries=others))
        assert answer == Missing("fewer than two frameworks trained the same on one machine")


def radar_of(frames: Frames, axes: int, of_first: Mapping[str, str] | None = None) -> Drawing:
    """A radar of four frameworks with long names along ``axes`` axes; ``of_first`` is what the
    first one's sensor is said to be."""
    long = "a-framework-whose-name-goes-on · a device, its board and what cools it"
    names = sorted(frames.entries.drop_duplicates("framework")["entry_id"])
    known = [axis.figure for axis in AXES[:axes]] + ["time_to_epoch_s"]
    rows = [
        {
            "entry_id": name,
            "figure": figure,
            "value": 1.0 + place,
            "covers": "wall",
            "tier": "wall meter",
            **(of_first or {} if place == 0 else {}),
        }
        for place, name in enumerate(names)
        for figure in known
    ]
    entries = frames.entries[frames.entries["entry_id"].isin(names)]
    names_of = [f"{place} {long}" for place in range(len(entries))]
    alike = entries.iloc[0][list(radar.ALIKE)].to_dict() | {"device": long}
    entries = entries.assign(implementation_name=names_of, **alike)
    return drawn(
        by_name("radar"),
        replace(frames, entries=entries, entry_figures=make_frame(rows, ENTRY_FIGURES)),
    )


@pytest.mark.parametrize("of_first", [{"covers": "module"}, {"tier": "sensor"}])
def test_energies_of_other_sensors_or_parts_are_on_no_axis(
    frames: Frames, of_first: dict[str, str]
) -> None:
    assert {len(row) for row in radar_of(frames, len(AXES)).figure.rows} == {1 + len(AXES)}
    apart = radar_of(frames, len(AXES), of_first).figure
    assert {len(row) for row in apart.rows} == {len(AXES)} and "energy per epoch" in apart.note


@pytest.mark.parametrize("axes", range(MIN_AXES, len(AXES) + 1))
def test_the_labels_of_a_radar_fit_into_it(frames: Frames, axes: int) -> None:
    """With the widths of the layout; test_browser.py measures the real ones."""
    drawing = radar_of(frames, axes)
    svg = ElementTree.fromstring(drawing.svg)
    _, _, width, height = map(float, str(svg.get("viewBox")).split())
    texts = [element for element in svg.iter() if element.tag.endswith("}text")]
    assert len(drawing.figure.headings) == 1 + axes and len(texts) == 4 + 2 * axes + 4
    for text in texts:
        x, y, wide = (
            float(str(text.get("x"))),
            float(str(text.get("y"))),
            text_width(str(text.text)),
        )
        anchor = str(text.get("class")).rpartition(" ")[2]
        left = x - {"end": wide, "middle": wide / 2}.get(anchor, 0.0)
        assert left >= 0 and left + wide <= width + 0.1 and 13 <= y <= height - 4, text.text


def test_missing_counters_are_unknown_with_a_reason_not_zero(frames: Frames, runs: Path) -> None:
    drawing = drawn(by_name("counters"), frames)
    row = next(row for row in drawing.figure.rows if row[0].startswith("Fake"))
    assert dict(zip(drawing.figure.headings, row, strict=True))["L1 data miss ratio, %"] == "5.000"
    other = next(row for row in drawing.figure.rows if row[0].startswith("Chainer"))
    assert set(other[1:]) <= {"unknown"}
    nothing = by_name("counters").draw(reporter.load([runs]).accepted(), CONTEXT)
    assert isinstance(nothing, Missing) and nothing.reason == "it was not counted on this machine"


def test_counters_of_a_cluster_are_said_to_be_of_its_first_node() -> None:
    assert "processes on a run's first node" in by_name("counters").about


@pytest.mark.parametrize(
    ("column", "values", "labels"),
    [
        ("gpu", ("RTX 4090", "GTX 1650"), {"RTX 4090", "GTX 1650"}),
        ("nodes", (1, 4), {MACHINE, f"4 × {MACHINE}"}),
        ("nodes", (4, 4), {f"4 × {MACHINE}"}),
    ],
)
def test_machines_of_one_name_that_differ_idle_in_rows_of_their_own(
    column: str, values: tuple[Any, Any], labels: set[str], frames: Frames
) -> None:
    changed = frames.entries["batch_size"].map({16: values[0]}).fillna(values[1])
    figures = frames.entry_figures.copy()
    told = {"value": 50.0, "reason": None, "tier": "wall meter", "covers": "wall"}
    figures.loc[figures["figure"] == energy.BASELOAD, list(told)] = list(told.values())
    entries = frames.entries.assign(**{column: changed})
    found = energy.baseload(replace(frames, entries=entries, entry_figures=figures))
    assert isinstance(found, PaperFigure)
    (panel,) = found.panels
    assert isinstance(panel, Rows) and {row.label for row in panel.rows} == labels


def test_the_share_of_the_baseload_is_in_the_table(frames: Frames) -> None:
    figures = frames.entry_figures.copy()
    figures.loc[figures["figure"] == "baseload_per_epoch_j", ["value", "reason"]] = [1.0, None]
    drawing = drawn(by_name("energy-per-epoch"), replace(frames, entry_figures=figures))
    assert 'class="idle"' in drawing.svg
    for row in drawing.figure.rows:
        assert float(row[3]) == pytest.approx(100.0 / float(row[1]), abs=0.6)


def test_the_start_of_workers_is_a_part_of_the_time_that_they_are_compared_by(
    frames: Frames,
) -> None:
    figures = frames.entry_figures.copy()
    figures.loc[figures["figure"] == "worker_start_s", "value"] = 30.0
    found = drawn(by_name("workers"), replace(frames, entry_figures=figures)).figure
    parts = [dict(zip(found.headings, row, strict=True)) for row in found.rows]
    assert all(of["start of workers, s"] == "30.0" and float(of["total, s"]) > 30 for of in parts)


HOSTILE = st.sampled_from(
    ["<script>x</script>", "\"'&", "]]>", "\u202egpj", "w" * 500, "", "-->", "{{ 7 }}", "a\nb"]
)
NUMBER = st.sampled_from([None, float("nan"), 0.0, -1.0, 1e-12, 1e300, 3.5])
EDITS = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["figures", "entry_figures"]),
            st.sampled_from(["value", "spread"]),
            st.integers(0, 10**6),
            NUMBER,
        ),
        st.tuples(
            st.just("epochs"),
            st.sampled_from(
                [
                    "end_to_end_s",
                    "fetch_stall_s",
                    "copy_s",
                    "compute_s",
                    "eval_accuracy",
                    "energy_j",
                ]
            ),
            st.integers(0, 10**6),
            NUMBER,
        ),
        st.tuples(
            st.just("entry_figures"),
            st.sampled_from(["reason", "covers", "tier"]),
            st.integers(0, 10**6),
            HOSTILE,
        ),
        st.tuples(
            st.just("entries"),
            st.sampled_from(["framework", "device", "power_mode", "storage_medium", "cpu_model"]),
            st.integers(0, 10**6),
            HOSTILE,
        ),
        st.tuples(
            st.just("linpacks"),
            st.sampled_from(["kind", "power_method", "power_reason"]),
            st.integers(0, 10**6),
            HOSTILE,
        ),
        st.tuples(st.just("linpacks"), st.just("gflops_per_watt"), st.integers(0, 10**6), NUMBER),
    ),
    max_size=30,
)


@every_chart
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(edits=EDITS, keep=st.sampled_from([1, 2, 5, 100]))
def test_any_frames_give_a_well_formed_deterministic_figure(
    frames: Frames, chart: Chart, edits: list[Any], keep: int
) -> None:
    changed = {name: getattr(frames, name).astype(object).reset_index(drop=True) for name in TABLES}
    for table, column, row, value in edits:
        changed[table].loc[row % len(changed[table]), column] = value
    edited = replace(frames, **changed).of_entries(changed["entries"].iloc[:keep])
    answer = chart.draw(edited, CONTEXT)
    assert answer == chart.draw(edited, CONTEXT)
    if isinstance(answer, Missing):
        assert answer.reason
        return
    expect_well_formed(answer)


@given(name=HOSTILE, baseload_w=st.sampled_from([None, 0.0, 1e-9, 1e6]))
def test_any_meter_name_gives_a_well_formed_figure(
    timeline: Timeline, name: str, baseload_w: float | None
) -> None:
    power, load = (
        [replace(series, name=name) for series in several]
        for several in (timeline.power, timeline.load)
    )
    spans = [replace(span, name=name) for span in timeline.spans]
    edited = Timeline(tuple(power), tuple(load), (*spans, TimelineSpan(name, True, 1e9, 1e9)))
    for answer in over(edited, baseload_w):
        assert isinstance(answer, Drawing)
        expect_well_formed(answer)


def expect_well_formed(drawing: Drawing) -> None:
    root = ElementTree.fromstring(drawing.svg)
    assert {element.tag.split("}")[1] for element in root.iter()} <= {
        "svg",
        "title",
        "desc",
        "a",
        "g",
        "rect",
        "line",
        "path",
        "circle",
        "text",
    }
    for element in root.iter():
        for attribute in ("x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "width", "height", "d"):
            assert not re.search("nan|inf", str(element.get(attribute, "")))
    assert drawing.figure.rows and all(
        len(row) == len(drawing.figure.headings) for row in drawing.figure.rows
    )


@every_chart
def test_a_figure_folds_into_a_narrow_screen(chart: Chart, frames: Frames) -> None:
    """Every shape and every text is within the width; the same links are there, and no tooltip that
    nobody could see."""
    drawing = drawn(chart, frames_for(chart, frames))
    if not drawing.narrow:  # some are small enough as they are
        return
    wide, narrow = (ElementTree.fromstring(text) for text in (drawing.svg, drawing.narrow))
    width = float(narrow.attrib["viewBox"].split()[2])
    assert width < 400
    for element in narrow.iter():
        if element.tag.endswith("}use") and "x" in element.attrib:
            (shown,) = wide.findall(f".//*[@id='{element.attrib['href'][1:]}']")
            texts = [float(each.attrib["x"]) for each in shown]
            assert all(0 <= x + float(element.attrib["x"]) <= width for x in texts)
            continue
        across = [
            float(element.attrib[name])
            for name in ("x", "x1", "x2", "cx")
            if name in element.attrib
        ]
        across += [
            float(pair.split()[0])
            for pair in re.split("[MLZ]", element.get("d", ""))
            if pair and "h" not in pair
        ]
        assert all(-2 <= x <= width + 2 for x in across), ElementTree.tostring(element)
    links = [
        [element.get("href") for element in one.iter() if element.tag.endswith("}a")]
        for one in (wide, narrow)
    ]
    assert links[0] == links[1]
    assert len([element for element in narrow.iter() if element.tag.endswith("}title")]) == 1


def test_a_part_that_no_bar_has_is_not_in_the_legend(frames: Frames) -> None:
    drawing = by_name("stacked-epoch").draw(frames, CONTEXT)
    assert isinstance(drawing, Drawing)
    (panel,) = drawing.figure.panels
    assert isinstance(panel, Rows)
    in_bars = {
        series.name
        for place, series in enumerate(panel.series)
        if any(row.values and row.values[place].value for row in panel.rows)
    }
    assert {entry.name for entry in panel.legend} == in_bars < {one.name for one in panel.series}


def test_on_a_narrow_screen_a_row_has_its_label_and_its_value_above_its_bar(frames: Frames) -> None:
    drawing = by_name("stacked-epoch").draw(frames, CONTEXT)
    assert isinstance(drawing, Drawing)
    texts = [
        element
        for element in ElementTree.fromstring(drawing.narrow).iter()
        if element.tag.endswith("}text")
    ]
    names = [element for element in texts if element.get("class") == "name"]
    values = {element.get("y"): element for element in texts if "end" in element.get("class", "")}
    assert names and all(name.get("x") == "6" and values[name.get("y")].text for name in names)


def test_what_adapting_costs_is_drawn_of_entries_that_know_it(frames: Frames) -> None:
    assert isinstance(adaptation.describe(frames, CONTEXT), Missing)
    figures = list(records(frames.entry_figures))
    known = [row for row in figures if row["figure"] == adaptation.ACCURACY][:2]
    lost = [{**row, "figure": adaptation.LOST, "value": 0.02} for row in known]
    found = adaptation.describe(
        replace(frames, entry_figures=make_frame([*figures, *lost], ENTRY_FIGURES)), CONTEXT
    )
    assert isinstance(found, Plot)
    assert [panel.y_axis for panel in found.panels] == list(adaptation.AXES.values())
    assert [row[-1] for row in found.rows] == ["2.00", "2.00"]
