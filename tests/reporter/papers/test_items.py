"""The papers' tables and panels: each is registered once, drawn by what draws `suite figure`, and
compared with what the paper states."""

import csv
import io
from collections import Counter
from pathlib import Path

import pytest

from reporter.data.frames import Frames
from reporter.figures.model import Missing, PaperFigure, Table
from reporter.papers.comparing import PaperAgreement, compare_with_paper, judge_value
from reporter.papers.exports import to_latex
from reporter.papers.items import DrawnItem, draw_item, source_of, write_item
from reporter.papers.measures import NAMED, FoundValue, MeasureSource, Unknown, measure_value
from reporter.papers.presets import PRESETS
from reporter.papers.render import render_figure
from reporter.papers.style import PaperLook
from suite.catalog.papers import (
    RUN,
    EntrySelection,
    Item,
    ItemState,
    Measure,
    PublishedValue,
    Relation,
    load_papers,
)
from suite.errors import SuiteError
from suite.files.paths import repository_root
from tests.every_case import one_of_each

REGISTRY = load_papers()
COUNTS = {"jetson": 31, "pi": 12, "memory": 7, "concurrent": 3, "trends": 1}
CALCULATED = [item for item in REGISTRY.items if item.state is ItemState.CALCULATED]
OF_RECORDS = [
    item
    for item in REGISTRY.items
    if (runs := REGISTRY.runs_of(item)) is not None
    and runs.kind != RUN
    and item.id not in {preset.name for preset in PRESETS}
]
"""Those that extensions draw."""
TABLES = [item for item in REGISTRY.items if item.table is not None]
FROM_RUNS = [
    item
    for item in REGISTRY.items
    if item.state is not ItemState.CALCULATED and item not in (*OF_RECORDS, *TABLES)
]
COUNTED = ("pi-2a", "pi-2b", "pi-2c", "pi-2d", "pi-2e", "pi-2f", "pi-2g", "pi-2h")
SHIPPED = (
    *(item.id for item in (*OF_RECORDS, *TABLES)),
    "jetson-3a",
    "jetson-3b",
    "jetson-9a",
    "jetson-6d",
    "jetson-2b",
    "jetson-5a",
    "pi-1d",
    "jetson-2a",
    "jetson-4a",
    "jetson-4b",
    "jetson-4c",
    "pi-1a",
    "pi-1b",
    "pi-1c",
    *COUNTED,
)
by_id = pytest.mark.parametrize("item", REGISTRY.items, ids=lambda item: item.id)


def test_every_table_and_panel_is_registered_once() -> None:
    assert Counter(item.paper for item in REGISTRY.items) == COUNTS
    assert len(REGISTRY.by_id) == len(REGISTRY.items) == 54
    assert len({(item.paper, item.number) for item in REGISTRY.items}) == 54


@by_id
def test_an_item_names_what_draws_it_and_what_it_needs(item: Item) -> None:
    presets = {preset.name for preset in PRESETS}
    is_calculated = item.state is ItemState.CALCULATED or item in TABLES
    is_drawn = is_calculated or item in OF_RECORDS or (item.figure or item.id) in presets
    assert is_drawn and (
        item.needs is not None
        or item.state in (ItemState.REAL, ItemState.SIMULATED, ItemState.CALCULATED)
    )
    assert (REGISTRY.runs_of(item) is None) is (item.state is ItemState.CALCULATED)


@by_id
def test_a_published_value_has_its_place_and_either_ours_or_a_reason(item: Item) -> None:
    for value in item.values:
        assert value.place and value.quote
        assert (value.ours is None) is (value.not_comparable is not None)
        assert (
            value.ours is None
            or item in OF_RECORDS
            or value.ours.measure in NAMED
            or (value.ours.measure is None and value.ours.figure)
        )


@pytest.mark.parametrize("item", CALCULATED, ids=lambda item: item.id)
def test_what_is_calculated_is_drawn_into_five_files(item: Item, tmp_path: Path) -> None:
    drawn = draw_item(REGISTRY, item, MeasureSource())
    assert isinstance(drawn, DrawnItem) and "Calculated; no run." in drawn.caption
    files = {path.suffix: path for path in write_item(drawn, tmp_path)}
    assert set(files) == {".pdf", ".csv", ".tex", ".txt", ".html"} and files[
        ".pdf"
    ].read_bytes().startswith(b"%PDF")
    rows = list(csv.reader(io.StringIO(files[".csv"].read_text(encoding="utf-8"))))
    assert len(rows) > 3 and len({len(row) for row in rows}) == 1
    assert item.title in files[".html"].read_text(encoding="utf-8")


@pytest.mark.proof
@pytest.mark.parametrize("item", FROM_RUNS, ids=lambda item: item.id)
def test_what_needs_runs_is_drawn_by_the_preset_and_its_caption_says_how(
    item: Item, paper_frames: Frames
) -> None:
    drawn = draw_item(REGISTRY, item, MeasureSource(frames=paper_frames))
    assert isinstance(drawn, DrawnItem)
    assert ("Emulated" in drawn.caption) is (
        item.state is ItemState.EMULATED
    ) and "n = " in drawn.caption
    assert item.differs is None or item.differs in drawn.caption


def test_without_runs_the_reason_is_said() -> None:
    assert draw_item(REGISTRY, REGISTRY.item("pi-1a"), None) == Missing("it has no runs")
    assert {one.verdict for one in compare_with_paper(REGISTRY.item("pi-1a"), None)} == {
        PaperAgreement.NOT_COMPARABLE
    }


@pytest.mark.parametrize("name", one_of_each(SHIPPED, lambda name: name.split("-")[0]))
def test_an_item_is_drawn_from_the_runs_that_come_with_the_project(
    name: str, tmp_path: Path
) -> None:
    item = REGISTRY.item(name)
    runs = REGISTRY.runs_of(item)
    assert runs is not None and runs.folder is not None
    drawn = draw_item(REGISTRY, item, source_of(item, runs, [repository_root() / runs.folder]))
    assert isinstance(drawn, DrawnItem) and len(write_item(drawn, tmp_path)) == 5


def test_what_is_drawn_from_runs_is_not_fewer() -> None:
    counts = Counter(item.state for item in REGISTRY.items)
    assert counts == {
        ItemState.REAL: 31,
        ItemState.SIMULATED: 4,
        ItemState.EMULATED: 1,
        ItemState.CALCULATED: 1,
        ItemState.NEEDS: 17,
    }
    from_runs = [
        item
        for item in REGISTRY.items
        if item.state in (ItemState.REAL, ItemState.SIMULATED, ItemState.EMULATED)
    ]
    shipped = {runs.name for runs in REGISTRY.runs if runs.folder is not None}
    assert {item.id for item in from_runs if item.runs in shipped} == set(SHIPPED)


def test_hardware_counters_draw_the_same_panel_without_a_mark(paper_frames: Frames) -> None:
    drawn = draw_item(REGISTRY, REGISTRY.item("pi-2f"), MeasureSource(frames=paper_frames))
    assert isinstance(drawn, DrawnItem) and drawn.mark == "Drawn from real runs."


@pytest.mark.parametrize("item", TABLES, ids=lambda item: item.id)
def test_a_table_of_devices_has_the_machine_of_the_runs(item: Item) -> None:
    runs = REGISTRY.runs_of(item)
    assert runs is not None and runs.folder is not None
    drawn = draw_item(REGISTRY, item, source_of(item, runs, [repository_root() / runs.folder]))
    assert isinstance(drawn, DrawnItem)
    (table,) = drawn.figure.panels
    assert isinstance(table, Table) and any(
        "machine of the runs" in cell for cell in (*table.columns, *(row[0] for row in table.rows))
    )
    assert item.id != "jetson-table-4" or [
        row[1] for row in table.rows if row[0] == "machine of the runs"
    ] == ["1", "2"]


def test_numbers_of_a_table_are_compared_as_numbers() -> None:
    """4 and 4.0, and 32 among the variants 8.0, 16.0, 32.0, 64.0."""
    item = REGISTRY.item("jetson-table-1")
    verdicts = {one.quantity: one.verdict for one in compare_with_paper(item, MeasureSource())}
    assert {verdict for name, verdict in verdicts.items() if name.startswith("RAM GB")} == {
        PaperAgreement.AGREES
    }
    assert verdicts["power W, Xavier NX"] is PaperAgreement.DIFFERS


def value(published: float, relation: Relation, tolerance: float = 0.1) -> PublishedValue:
    return PublishedValue("speed", published, relation, "Section 1", "fast", tolerance)


@pytest.mark.parametrize(
    ("wanted", "found", "verdict"),
    [
        (value(1.0, Relation.BELOW), FoundValue(0.8, 0.7, 0.9), PaperAgreement.AGREES),
        (value(1.0, Relation.BELOW), FoundValue(1.2, 1.1, 1.3), PaperAgreement.DIFFERS),
        (value(1.0, Relation.BELOW), FoundValue(0.95, 0.8, 1.1), PaperAgreement.NOT_COMPARABLE),
        (value(1.0, Relation.ABOVE), FoundValue(1.2, 1.1, 1.3), PaperAgreement.AGREES),
        (value(1.0, Relation.ABOVE), FoundValue(0.9), PaperAgreement.DIFFERS),
        (value(1.0, Relation.ABOVE), FoundValue(1.0), PaperAgreement.DIFFERS),
        (value(2.0, Relation.ABOUT), FoundValue(2.19), PaperAgreement.AGREES),
        (value(2.0, Relation.ABOUT), FoundValue(2.3), PaperAgreement.DIFFERS),
        (value(2.0, Relation.ABOUT), FoundValue(2.4, 2.1, 2.7), PaperAgreement.AGREES),
        (value(0.0, Relation.ABOUT, 0.0), FoundValue(1.0), PaperAgreement.DIFFERS),
    ],
)
def test_a_verdict_follows_relation_tolerance_and_interval(
    wanted: PublishedValue, found: FoundValue, verdict: PaperAgreement
) -> None:
    assert judge_value(wanted, found)[0] is verdict


def test_a_ratio_is_of_entries_that_are_alike_in_all_else(paper_frames: Frames) -> None:
    wanted = Measure(
        "time_to_epoch_s",
        EntrySelection(framework="chainer", batch_size=2048),
        EntrySelection(framework="pytorch", batch_size=2048),
    )
    found = measure_value(wanted, MeasureSource(frames=paper_frames))
    assert (
        isinstance(found, FoundValue)
        and found.low is not None
        and found.high is not None
        and found.low < found.value < found.high
    )
    nobody = measure_value(
        Measure("time_to_epoch_s", EntrySelection(batch_size=7)), MeasureSource(frames=paper_frames)
    )
    assert isinstance(nobody, Unknown) and "batch_size 7" in nobody.reason


def test_a_device_that_differs_from_the_paper_is_said() -> None:
    found = {
        one.quantity: one
        for one in compare_with_paper(REGISTRY.item("jetson-table-1"), MeasureSource())
    }
    assert (
        found["power W, Xavier NX"].verdict is PaperAgreement.DIFFERS
        and found["CUDA cores, AGX Orin"].verdict is PaperAgreement.AGREES
    )


def test_a_table_is_drawn_within_its_edges_and_latex_escapes_special_letters() -> None:
    figure = PaperFigure((Table(("a_b", "50 %"), (("x & y", "±1"),)),), (), "about", "")
    assert render_figure(figure, "table", PaperLook(), "svg").startswith(b"<?xml")
    latex = to_latex("t", figure, "100 % of #1", ())
    assert (
        r"a\_b & 50 \%" in latex
        and r"x \& y & $\pm$1" in latex
        and r"\caption{100 \% of \#1}" in latex
    )


def test_an_unknown_item_names_the_nearest() -> None:
    with pytest.raises(SuiteError, match="did you mean 'jetson-2a'"):
        REGISTRY.item("jetson2a")
