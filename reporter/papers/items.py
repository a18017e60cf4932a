"""Draws an item of rules/papers.toml from its runs, with the presets of `suite figure`, and
compares it with the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reporter.data.load import load_frames
from reporter.figures.model import Missing, PaperFigure
from reporter.papers import calculated, machine_column
from reporter.papers.captions import caption_of
from reporter.papers.comparing import ComparedValue, compare_with_paper
from reporter.papers.exports import to_csv, to_latex, to_page
from reporter.papers.make import draw_preset
from reporter.papers.measures import MeasureSource
from reporter.papers.presets import preset_of
from reporter.papers.records import record_kinds
from reporter.papers.render import render_figure
from reporter.papers.style import PaperLook
from suite.catalog.papers import Item, ItemState, Registry, RunSet
from suite.files.durable import output_errors

TABLE_WIDTH_IN = 6.6
REAL_STATES = {
    ItemState.REAL: "Drawn from real runs.",
    ItemState.SIMULATED: (
        "Real training under valgrind, which simulates the caches and the branch predictor. Nothing"
        " here is a measurement of a processor."
    ),
    ItemState.EMULATED: (
        "Emulated: network namespaces on one machine. Nothing here is a measurement of boards."
    ),
    ItemState.CALCULATED: "Calculated; no run.",
    ItemState.NEEDS: "Drawn from real runs.",
}
WITH_RUNS = (
    "Values that were calculated or come from the suite's catalogue, and values from real runs."
)


@dataclass(frozen=True)
class DrawnItem:
    """An item, drawn: its figure, caption, and the comparison with the paper; ``mark`` says whether
    it is real, simulated, emulated or calculated."""

    item: Item
    figure: PaperFigure
    caption: str
    compared: tuple[ComparedValue, ...]
    paper: str
    mark: str


def source_of(item: Item, runs: RunSet | None, folders: Sequence[Path]) -> MeasureSource | None:
    """What the folders hold of an item's runs; None where they hold nothing of the kind, or where
    the extension that makes it is not there. Raises SuiteError for what cannot be read."""
    if runs is None:
        return MeasureSource() if item.runs is None else None
    there = [folder for folder in folders if folder.exists()]
    kind = record_kinds().get(runs.kind)
    record = kind.read(there) if kind is not None else None
    if kind is not None and record is not None:
        return MeasureSource(record=record, of_record=kind.measure)
    if not there:
        return None
    frames = load_frames(there)
    return None if frames.measured().runs.empty else MeasureSource(frames=frames.measured())


def draw_item(registry: Registry, item: Item, source: MeasureSource | None) -> DrawnItem | Missing:
    """The item drawn, or what its runs lack."""
    if item.state is ItemState.CALCULATED:
        figure = calculated.draw(item)
        return _drawn(registry, item, figure, f"{item.title}.\n{figure.about}\n", MeasureSource())
    runs = registry.runs_of(item)
    if source is None or runs is None:
        return Missing("it has no runs")
    if source.record is not None:
        drawn = record_kinds()[runs.kind].draw(item, source.record)
        return drawn if isinstance(drawn, Missing) else _drawn(registry, item, *drawn, source)
    assert source.frames is not None
    if item.table is not None:
        table = machine_column.draw(item, source.frames)
        return (
            table
            if isinstance(table, Missing)
            else _drawn(registry, item, table, f"{item.title}.\n{table.about}\n", source)
        )
    preset = preset_of(item.figure or item.id)
    found = draw_preset(preset, source.frames)
    return (
        found
        if isinstance(found, Missing)
        else _drawn(registry, item, found, caption_of(preset, found, source.frames), source)
    )


def _drawn(
    registry: Registry, item: Item, figure: PaperFigure, caption: str, source: MeasureSource
) -> DrawnItem:
    paper, mark = registry.paper(item), _state_of(item, figure, source)
    told = [caption.rstrip(), mark] + (
        [f"Differs from the paper: {item.differs}."] if item.differs else []
    )
    return DrawnItem(
        item,
        figure,
        "\n".join(told) + "\n",
        compare_with_paper(item, source),
        f"{item.number} of {paper.source}",
        mark,
    )


def _state_of(item: Item, figure: PaperFigure, source: MeasureSource) -> str:
    """How the item came to be. A processor's own counters simulate nothing."""
    if item.state is ItemState.SIMULATED and source.record is None:
        return REAL_STATES[ItemState.REAL]
    if figure.is_table and item.state is ItemState.REAL:
        return WITH_RUNS
    return REAL_STATES[item.state]


def write_item(drawn: DrawnItem, folder: Path) -> tuple[Path, ...]:
    """Write the item as PDF, CSV, LaTeX, page and caption; returns the files."""
    item = drawn.item
    look = PaperLook(width_in=TABLE_WIDTH_IN) if drawn.figure.is_table else PaperLook()
    title = f"{item.title} ({drawn.paper})"
    files = {
        "pdf": render_figure(drawn.figure, item.title, look, "pdf"),
        "csv": to_csv(drawn.figure).encode("utf-8"),
        "tex": to_latex(item.id, drawn.figure, drawn.caption, drawn.compared).encode("utf-8"),
        "txt": drawn.caption.encode("utf-8"),
        "html": (
            to_page(
                title,
                drawn.mark,
                render_figure(drawn.figure, item.title, look, "svg"),
                drawn.figure,
                drawn.caption,
                drawn.compared,
            ).encode("utf-8")
        ),
    }
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, content in files.items():
            (folder / f"{item.id}.{suffix}").write_bytes(content)
    return tuple(folder / f"{item.id}.{suffix}" for suffix in files)
