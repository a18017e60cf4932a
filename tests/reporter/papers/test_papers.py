"""Every preset: drawn, nothing clipped, no text over another, at least 7 pt, the same bytes; or one
sentence on what is missing."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from reporter.data.frames import Frames
from reporter.figures.for_papers import lines_panel, rows_panel
from reporter.figures.labels import overlaps_any, place_labels, shorten_text, spread_boxes
from reporter.figures.model import (
    Dot,
    Estimate,
    Keys,
    Line,
    Marks,
    Missing,
    Panel,
    PaperFigure,
    Plane,
    PlotRow,
    Rows,
)
from reporter.figures.scales import doubling_scale, fitting_closely
from reporter.papers.captions import caption_of
from reporter.papers.make import draw_preset, make_figure
from reporter.papers.presets import PLAIN, PRESETS, Preset, preset_of
from reporter.papers.render import paint_figure, render_figure
from reporter.papers.short_labels import with_short_labels
from reporter.papers.style import COLOURS, FORMATS, PaperLook, font_of, length_in
from suite.errors import SuiteError
from tests.every_case import some
from tests.reporter.papers.texts import collisions, outside, texts_of

pytestmark = pytest.mark.filterwarnings("ignore:Glyph")
every_preset = pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)


def drawn(preset: Preset, frames: Frames) -> PaperFigure:
    figure = draw_preset(preset, frames)
    assert isinstance(figure, PaperFigure), figure
    return figure


@every_preset
def test_a_preset_is_drawn_without_overlap_and_within_its_edges(
    preset: Preset, paper_frames: Frames
) -> None:
    figure = drawn(preset, paper_frames)
    drawing = paint_figure(figure, PaperLook())
    texts = texts_of(drawing)
    assert collisions(texts) == [] and outside(drawing, texts) == []
    assert min(size for _, _, size in texts) >= 7.0 - 1e-9
    assert drawing.get_size_inches()[0] == pytest.approx(3.3)


@every_preset
def test_a_caption_states_runs_seeds_device_and_error_bars(
    preset: Preset, paper_frames: Frames
) -> None:
    caption = caption_of(preset, drawn(preset, paper_frames), paper_frames)
    assert (
        re.search(r"n = 1|n = 2", caption)
        and "seeds 1" in caption
        and "Device: " in caption
        and "rror bars" in caption
    )
    assert preset.paper == "the suite" or preset.number in caption
    if "energy" in preset.drawn_by or "energies" in preset.drawn_by:
        assert "wall meter, covers the wall" in caption


@pytest.mark.parametrize(
    ("name", "over"),
    [("jetson-6a", "epochs"), ("jetson-6b", "readings"), ("jetson-6c", "readings")],
)
def test_a_caption_says_what_the_error_bars_of_a_single_run_are_over(
    name: str, over: str, paper_frames: Frames
) -> None:
    preset = preset_of(name)
    figure = drawn(preset, paper_frames)
    caption = caption_of(preset, figure, paper_frames)
    assert figure.error_bars.endswith(f"for a single run, over its {over}")
    assert f"Error bars: {figure.error_bars}." in caption


def test_two_entries_of_one_mode_are_no_pair_of_free_and_locked_clocks(
    paper_frames: Frames,
) -> None:
    """They may be a run and the point of a sweep."""
    entries = paper_frames.entries.copy()
    entries["power_mode"] = entries["power_mode"].str.replace(", clocks locked", "")
    found = draw_preset(preset_of("jetson-6a"), replace(paper_frames, entries=entries))
    assert isinstance(found, Missing)


def test_a_figure_that_no_pair_of_clocks_has_is_named(paper_frames: Frames) -> None:
    """Its energy, and its GPU clock, are known with free clocks alone."""
    entries, figures = paper_frames.entries, paper_frames.entry_figures.copy()
    is_locked = entries["power_mode"].astype(str).str.contains("clocks locked")
    of_locked = figures["entry_id"].isin(entries[is_locked]["entry_id"])
    lost = figures["figure"].isin(("energy_per_epoch_j", "gpu_frequency_hz"))
    figures.loc[of_locked & lost, "value"] = None
    frames = replace(paper_frames, entry_figures=figures)
    figure = drawn(preset_of("jetson-6a"), frames)
    (panel,) = figure.panels
    assert isinstance(panel, Rows) and panel.axis == "time per epoch, s"
    said = "Not drawn: energy per epoch (no training has it with free and with locked clocks"
    assert any(note.startswith(said) for note in figure.notes)
    assert "Instrument" not in caption_of(preset_of("jetson-6a"), figure, frames)
    missing = draw_preset(preset_of("jetson-6c"), frames)
    assert isinstance(missing, Missing)
    assert missing.reason.startswith("mean GPU clock (no training has it with free")


@every_preset
def test_without_data_the_reason_is_one_sentence(preset: Preset, paper_frames: Frames) -> None:
    nothing = draw_preset(preset, paper_frames.of_entries(paper_frames.entries.iloc[:0]))
    assert isinstance(nothing, Missing) and nothing.reason and not nothing.reason.endswith(".")
    assert preset.needs and preset.make.startswith(("suite ", "sudo "))
    assert "--division" in preset.make or "suite run" not in preset.make
    assert "--study scaling" not in preset.make, "its 45 steps of an epoch are in no mean"


def test_presets_have_distinct_names_and_cover_the_two_studies() -> None:
    assert len({preset.name for preset in PRESETS}) == len(PRESETS)
    numbers = {preset.number for preset in PRESETS if preset.paper == "Jetson"}
    assert {
        "2a",
        "2b",
        "2c",
        "3a",
        "3b",
        "3c",
        "4a",
        "4b",
        "4c",
        "5a",
        "5b",
        "6a",
        "6b",
        "6c",
        "6d",
        "7",
        "8 and 12",
        "9a",
        "9b",
        "10a",
        "10b",
        "11",
        "13",
        "14",
        "15",
        "16",
    } == numbers
    assert {
        f"{figure}{part}" for figure, parts in (("1", "abcd"), ("2", "abcdefgh")) for part in parts
    } | {"text"} == {preset.number for preset in PRESETS if preset.paper == "Raspberry Pi"}


def test_a_mark_stands_for_one_model_in_the_panels_of_all_instruments(
    paper_frames: Frames,
) -> None:
    """Of the second kind of meter there is one entry, of the second model."""
    is_second = paper_frames.entries["threads"].isin((3, 5))
    workload = is_second.map({True: "resnet18", False: "lenet"})
    entries = paper_frames.entries.assign(workload=workload)
    figure = drawn(preset_of("jetson-8"), replace(paper_frames, entries=entries))
    board, wall = (panel for panel in figure.panels if isinstance(panel, Plane))
    assert [one.name for one in wall.legend] == ["LeNet-5", "ResNet-18"]
    assert board.legend == wall.legend and [dot.style for dot in board.dots] == ["c1 f0"]


@pytest.mark.parametrize("file_format", some(FORMATS))
def test_the_same_runs_give_the_same_bytes(paper_frames: Frames, file_format: str) -> None:
    preset = preset_of("jetson-2a")
    shuffled = replace(
        paper_frames,
        **{
            name: getattr(paper_frames, name).sample(frac=1, random_state=2)
            for name in ("runs", "entries", "epochs")
        },
    )
    one, other = (
        render_figure(drawn(preset, frames), preset.title, PaperLook(), file_format)
        for frames in (paper_frames, shuffled)
    )
    assert one == other and b"CreationDate" not in one and b"<dc:date>" not in one


def test_an_svg_has_plain_colours_and_no_fonts(paper_frames: Frames) -> None:
    preset = preset_of("jetson-2a")
    svg = render_figure(drawn(preset, paper_frames), preset.title, PaperLook(), "svg").decode()
    assert (
        "var(" not in svg
        and "@media" not in svg
        and "<text" not in svg
        and COLOURS[0].lower() in svg.lower()
    )


@pytest.mark.skipif(
    shutil.which("pdffonts") is None, reason="needs poppler-utils (make prove pages)"
)
def test_the_fonts_of_a_pdf_are_embedded(paper_frames: Frames, tmp_path: Path) -> None:
    preset = preset_of("pi-1a")
    (tmp_path / "figure.pdf").write_bytes(
        render_figure(drawn(preset, paper_frames), preset.title, PaperLook(), "pdf")
    )
    lines = subprocess.run(
        ["pdffonts", tmp_path / "figure.pdf"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[2:]
    assert lines and all(" yes yes " in line and "TrueType" in line for line in lines)


@pytest.mark.proof
@pytest.mark.skipif(
    shutil.which("pdftoppm") is None or shutil.which("rsvg-convert") is None,
    reason="needs poppler-utils, librsvg2-bin (make prove pages)",
)
def test_other_programs_draw_the_same_colours(paper_frames: Frames, tmp_path: Path) -> None:
    from PIL import Image

    preset = preset_of("jetson-9a")
    for file_format in ("svg", "pdf"):
        (tmp_path / f"figure.{file_format}").write_bytes(
            render_figure(drawn(preset, paper_frames), preset.title, PaperLook(), file_format)
        )
    subprocess.run(
        [
            "rsvg-convert",
            "--width",
            "990",
            "--background-color",
            "white",
            "-o",
            tmp_path / "svg.png",
            tmp_path / "figure.svg",
        ],
        check=True,
    )
    subprocess.run(
        ["pdftoppm", "-r", "300", "-png", "-singlefile", tmp_path / "figure.pdf", tmp_path / "pdf"],
        check=True,
    )
    for name in ("svg.png", "pdf.png"):
        pixels = np.asarray(Image.open(tmp_path / name).convert("RGB")).reshape(-1, 3)
        for colour in COLOURS[:3]:
            wanted = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)])
            assert (np.abs(pixels.astype(int) - wanted).max(axis=1) <= 2).mean() > 0.002, (
                name,
                colour,
            )


HOSTILE = st.sampled_from(
    [
        "x" * 300,
        "$\\frac{1}{2}$ & <b>",
        "PyTorch · a",
        "\u202eevil",
        "日本語 label",
        "",
        "a b c d e f g h i j k l m n o p q r s t u",
    ]
)
NUMBERS = st.floats(1e-3, 1e6)


@pytest.mark.proof
@settings(max_examples=5, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    rows=st.lists(st.tuples(HOSTILE, NUMBERS, st.floats(0, 0.5)), min_size=1, max_size=24),
    heading=HOSTILE,
)
def test_any_bars_are_within_their_edges(
    rows: list[tuple[str, float, float]], heading: str
) -> None:
    bars = [
        PlotRow(
            f"{label} {index}",
            (Estimate(value, value * (1 - error), value * (1 + error)),),
            f"c{index % 8}",
            heading=heading,
        )
        for index, (label, value, error) in enumerate(rows)
    ]
    drawing = paint_figure(figure_of(rows_panel("quantity, unit", bars)), PaperLook())
    texts = texts_of(drawing)
    assert collisions(texts) == [] and outside(drawing, texts) == []


@settings(max_examples=5, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    lines=st.lists(
        st.tuples(HOSTILE, st.lists(NUMBERS, min_size=2, max_size=5)), min_size=1, max_size=8
    )
)
def test_labels_at_lines_never_overlap(lines: list[tuple[str, list[float]]]) -> None:
    made = [
        Line(
            tuple((float(2**x), Estimate(y)) for x, y in enumerate(ys)),
            f"l{index} curve",
            f"{label} {index}",
        )
        for index, (label, ys) in enumerate(lines)
    ]
    panel = lines_panel(("batch size, samples", "rate, samples/s"), made, doubling_scale)
    drawing = paint_figure(figure_of(panel), PaperLook())
    texts = texts_of(drawing)
    assert collisions(texts) == [] and outside(drawing, texts) == []


@settings(max_examples=5, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(places=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=26))
def test_keys_of_points_never_overlap(places: list[tuple[float, float]]) -> None:
    dots = tuple(
        Dot(Estimate(x), Estimate(y), f"c{index % 8}", chr(97 + index))
        for index, (x, y) in enumerate(places)
    )
    keys = tuple((dot.label, "MODE: 8 cores") for dot in dots)
    scales = (fitting_closely(values) for values in zip(*places, strict=True))
    drawing = paint_figure(
        figure_of(Plane("time, s", "energy, J", *scales, dots=dots), Keys(keys)), PaperLook()
    )
    texts = texts_of(drawing)
    assert collisions(texts) == [] and outside(drawing, texts) == []


@pytest.mark.parametrize("height_in", [2.0, 6.0])
def test_a_given_height_is_kept_by_bars_and_lines(height_in: float) -> None:
    bars = [PlotRow(f"row {index}", (Estimate(1.0 + index),)) for index in range(5)]
    pairs = [PlotRow(f"row {index}", (Estimate(1.0), Estimate(2.0))) for index in range(4)]
    for panel in (
        rows_panel("s", bars),
        rows_panel("s", pairs, ("first", "later")),
        lines_panel(
            ("n", "s"),
            [Line(((1.0, Estimate(1.0)), (2.0, Estimate(3.0))), "l0 curve")],
            doubling_scale,
        ),
    ):
        drawing = paint_figure(figure_of(panel), PaperLook(height_in=height_in))
        assert drawing.get_size_inches()[1] == pytest.approx(height_in)
        lowest = min(box[1] for _, box, _ in texts_of(drawing)) / drawing.dpi
        assert 0 <= lowest < 0.12, "the axis is at the bottom"


def test_a_height_that_cuts_rows_off_is_refused_with_the_least_one() -> None:
    """Labels of rows do not shrink."""
    rows = [PlotRow(f"row {index}", (Estimate(1.0 + index),)) for index in range(20)]
    figure = figure_of(rows_panel("s", rows))
    with pytest.raises(SuiteError, match=r"needs a height of \d\.\d\din or more") as refused:
        paint_figure(figure, PaperLook(height_in=2.0))
    least_in = float(str(refused.value).partition("height of ")[2].partition("in")[0])
    drawing = paint_figure(figure, PaperLook(height_in=least_in))
    assert outside(drawing, texts_of(drawing)) == []


def test_a_distribution_that_spans_decades_is_logarithmic() -> None:
    rows = tuple(
        PlotRow(name, (Estimate.between_quartiles(values),), "c0", singles=values)
        for name, values in (("a", (1.0, 2.0)), ("b", (300.0, 400.0)))
    )
    every = [value for row in rows for value in row.singles]
    panel = Rows("time, s", fitting_closely(every), rows, marks=Marks.BANDS)
    drawing = paint_figure(figure_of(panel), PaperLook())
    texts = texts_of(drawing)
    assert panel.scale.logarithmic and outside(drawing, texts) == []
    assert {"1", "100"} <= {text for text, _, _ in texts}


def figure_of(*panels: Panel) -> PaperFigure:
    return with_short_labels(PaperFigure(panels, (), "", ""))


@given(wanted=st.lists(st.floats(0, 1000), min_size=1, max_size=12), height=st.floats(1, 60))
def test_spread_labels_do_not_overlap_and_keep_their_order(
    wanted: list[float], height: float
) -> None:
    centres = spread_boxes(wanted, [height] * len(wanted), 0, 1000)
    ordered = sorted(range(len(wanted)), key=lambda index: (wanted[index], index))
    assert all(
        centres[after] - centres[before] >= height - 1e-6 for before, after in pairwise(ordered)
    )
    assert max(centres) <= 1000 - height / 2 + 1e-6
    if len(wanted) == 1:
        assert centres[0] == pytest.approx(min(max(wanted[0], height / 2), 1000 - height / 2))


@given(points=st.lists(st.tuples(st.floats(0, 400), st.floats(0, 400)), max_size=30))
def test_labels_beside_points_do_not_overlap(points: list[tuple[float, float]]) -> None:
    found = place_labels([(point, 20.0) for point in points], points, [], (0, 0, 400, 400))
    boxes = [place.box for place in found if place is not None]
    assert not any(overlaps_any(one, boxes[:index]) for index, one in enumerate(boxes))


def test_a_shortened_text_keeps_beginning_and_end() -> None:
    assert (
        shorten_text("pytorch · pi-4 · batch 128", len, 15) == "pytorch…tch 128"
        and shorten_text("short", len, 15) == "short"
    )


def test_a_long_label_becomes_a_number_that_the_caption_explains() -> None:
    long = "PyTorch · 4 nodes · batch 2048 · 6 threads · virtual disk"
    rows = [PlotRow(label, (Estimate(1.0),)) for label in (long, "short")]
    figure = figure_of(rows_panel("s", rows))
    (panel,) = figure.panels
    assert isinstance(panel, Rows) and [row.label for row in panel.rows] == [
        "PyTorch [1]",
        "short",
    ]
    assert figure.notes == (f"[1] {long}.",)


@pytest.mark.parametrize("text", ["", "3.3", "0.1in", "3 feet", "-3in", "1e9in", "3.3in; rm"])
def test_other_lengths_are_refused(text: str) -> None:
    with pytest.raises(SuiteError, match="write one as"):
        length_in(text, "--width")


def test_lengths_and_fonts_are_read() -> None:
    assert [
        round(length_in(text, "--width"), 3) for text in ("3.3in", "84mm", "8.4cm", "240pt")
    ] == [3.3, 3.307, 3.307, 3.333]
    assert font_of("Times New Roman 8") == ("Times New Roman", 8.0) and font_of("DejaVu Sans") == (
        "DejaVu Sans",
        7.5,
    )
    with pytest.raises(SuiteError, match="not a font of 5 to 24 pt"):
        font_of("DejaVu Sans 2")


def test_an_unknown_figure_or_font_is_one_sentence(paper_runs: Path) -> None:
    assert preset_of("frameworks").name == "pi-1d"
    assert set(PLAIN.values()) <= {preset.name for preset in PRESETS}
    with pytest.raises(SuiteError, match="did you mean 'stalls'"):
        preset_of("stall")
    with pytest.raises(SuiteError, match="did you mean 'jetson-2a'"):
        make_figure("jetson2a", [paper_runs], PaperLook(), "pdf")
    with pytest.raises(SuiteError, match="There is no font 'No Such Font'"):
        make_figure("pi-1a", [paper_runs], PaperLook(font="No Such Font"), "pdf")
    with pytest.raises(
        SuiteError, match=r"jetson-6c is not drawn: .* It needs .* for example: suite run"
    ):
        make_figure("jetson-6c", [paper_runs / "000-1"], PaperLook(), "pdf")
    with pytest.raises(SuiteError, match=r"frameworks is not drawn: .* for example: suite sweep"):
        make_figure("frameworks", [paper_runs / "000-1"], PaperLook(), "pdf")
    only_jetsons = [preset for preset in PRESETS if "nvpmodel" in preset.make]
    assert all("mode" in preset.needs for preset in only_jetsons)


def test_without_matplotlib_one_sentence_says_what_to_install(
    paper_frames: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SuiteError, match=r"-m pip install --editable \S+\[figures\]"):
        render_figure(drawn(preset_of("pi-1a"), paper_frames), "", PaperLook(), "pdf")


def test_listing_figures_loads_neither_pandas_nor_matplotlib() -> None:
    code = (
        "import sys, suite.cli.listing as l; l.figures(json=True); print(sorted({'pandas',"
        " 'matplotlib', 'pyarrow', 'scipy'} & set(sys.modules)))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    listed, _, loaded = output.strip().rpartition("\n")
    assert loaded == "[]" and len(json.loads(listed)["rows"]) == len(PRESETS)


def test_an_interrupted_run_is_left_out_with_its_reason(good_bundle: Path) -> None:
    """It can be read, and did not finish."""
    record = json.loads((good_bundle / "run.json").read_text())
    record |= {"status": "interrupted", "message": "interrupted by the user"}
    (good_bundle / "run.json").write_text(json.dumps(record))
    with pytest.raises(SuiteError, match="1 left out, the first: status 'interrupted': interr"):
        make_figure("stalls", [good_bundle], PaperLook(), "svg")
