"""Every registered figure: drawn from frames, the same twice, readable without seeing it, and honest about what it leaves out."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pandas
import pytest

import reporter
from reporter.figures import CHARTS
from reporter.figures.chart import Chart, Context, Drawing, NotDrawn
from reporter.frames import Frames
from tests.builders import Scenario, make_bundle

GOLDEN = Path(__file__).parent / "golden"
CONTEXT = Context("../", {"chainer": 0, "pytorch": 1, "tensorflow": 2})
every_chart = pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)


@pytest.fixture(scope="module")
def frames(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """The runs, and what the figures about batch sizes and nodes need besides."""
    more = tmp_path_factory.mktemp("more")
    for size in (16, 32, 64):
        make_bundle(more / f"{size}", Scenario(name=f"batch-{size}", batch_size=size, step_s=0.0005))
    return reporter.load([runs, more]).accepted()


def drawn(chart: Chart, frames: Frames) -> Drawing:
    drawing = chart.draw(frames, CONTEXT)
    assert isinstance(drawing, Drawing), drawing
    return drawing


def with_nodes(frames: Frames) -> Frames:
    """As if every batch size had been run on another number of nodes."""
    entries = frames.entries.assign(nodes=frames.entries["batch_size"].map(lambda size: {16: 1, 32: 2, 64: 4}.get(size, 1)))
    return Frames(frames.runs, frames.figures, frames.epochs, entries, frames.entry_figures, frames.broken, frames.verdicts)


@every_chart
def test_a_figure_says_in_words_what_it_shows(chart: Chart, frames: Frames) -> None:
    drawing = drawn(chart, with_nodes(frames) if chart.name == "scaling" else frames)
    svg = ElementTree.fromstring(drawing.svg)
    assert svg.get("role") == "graphics-document" and chart.title in str(svg.get("aria-label"))
    assert drawing.rows and all(len(row) == len(drawing.headings) for row in drawing.rows)
    assert "nan" not in drawing.svg.lower() and "inf" not in drawing.svg.lower()


@every_chart
def test_the_same_frames_give_the_same_figure(chart: Chart, frames: Frames) -> None:
    chosen = with_nodes(frames) if chart.name == "scaling" else frames
    shuffled = Frames(
        *(frame.sample(frac=1, random_state=1) for frame in (chosen.runs, chosen.figures, chosen.epochs, chosen.entries, chosen.entry_figures)),
        chosen.broken,
        chosen.verdicts,
    )
    assert drawn(chart, chosen) == drawn(chart, shuffled)


@every_chart
def test_nothing_to_draw_is_said_with_its_reason(chart: Chart, frames: Frames) -> None:
    answer = chart.draw(frames.of_entries(frames.entries.iloc[:0]), CONTEXT)
    assert isinstance(answer, NotDrawn) and answer.reason


def test_names_are_unique() -> None:
    assert len({chart.name for chart in CHARTS}) == len(CHARTS)


def test_energies_measured_in_different_ways_are_not_compared(runs: Path, tmp_path: Path) -> None:
    make_bundle(tmp_path / "usb", Scenario(name="usb", batch_size=16, power_w=1.0, power_meter="um25c"))
    frames = reporter.load([runs, tmp_path]).accepted()
    by_name = {chart.name: chart for chart in CHARTS}
    drawing = drawn(by_name["time-energy"], frames)
    assert "1 entries whose energy was measured in another way" in drawing.note and not any("batch 16" in row[0] for row in drawing.rows)
    kinds = {row[4] for row in drawn(by_name["energy-per-epoch"], frames).rows}
    assert kinds == {"wall, wall meter", "board, wall meter"}


def test_a_front_is_drawn_in_steps(frames: Frames) -> None:
    svg = drawn({chart.name: chart for chart in CHARTS}["time-energy"], frames).svg
    path = next(element for element in ElementTree.fromstring(svg).iter() if element.get("class") == "front")
    corners = [tuple(map(float, pair.split())) for pair in str(path.get("d"))[1:].split("L")]
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(corners))


def test_many_entries_are_cut_and_the_figure_says_so(tmp_path: Path, frames: Frames) -> None:
    def many(frame: pandas.DataFrame) -> pandas.DataFrame:
        first = frame[frame["entry_id"] == frames.entries["entry_id"].iloc[0]]
        return pandas.concat([first.assign(entry_id=f"e{index}") for index in range(60)], ignore_index=True)

    crowd = Frames(frames.runs, frames.figures, frames.epochs, many(frames.entries), many(frames.entry_figures), frames.broken, frames.verdicts)
    drawing = drawn({chart.name: chart for chart in CHARTS}["stacked-epoch"], crowd)
    assert drawing.note == "The first 40 of 60; the table has all." and len(drawing.rows) == 40


def test_golden_figure(runs: Path, golden: Callable[[str, str], None]) -> None:
    """The stacked bars of two entries, as a reader gets them: a change of looks is seen in the difference, and meant."""
    frames = reporter.load([runs / "lenet-pytorch-1", runs / "lenet-chainer-1"]).accepted()
    golden("stacked-epoch.svg", drawn({chart.name: chart for chart in CHARTS}["stacked-epoch"], frames).svg.replace("><", ">\n<") + "\n")
