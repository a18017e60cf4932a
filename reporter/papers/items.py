"""Draws an item of rules/papers.toml from its runs, with the presets of `suite figure`, and
compares it with the paper."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reporter.data.load import load
from reporter.data.seals import refuse_broken_seal
from reporter.papers import beside, calculated, counted, machine_column, memory_runs
from reporter.papers.captions import caption_of
from reporter.papers.comparing import Compared, compare
from reporter.papers.exports import to_csv, to_latex, to_page
from reporter.papers.make import draw, preset_of
from reporter.papers.measures import Source
from reporter.papers.model import Missing, PaperFigure, Table
from reporter.papers.render import render
from reporter.papers.style import Look
from suite.catalog.papers import Item, Registry, RunKind, RunSet, State
from suite.concurrent import layout
from suite.files.durable import output_errors
from suite.metrics.counted_steps import COUNTED, read_counted_steps
from suite.metrics.memory_study import STUDY, read_memory_study

TABLE_WIDTH_IN = 6.6
REAL_STATES = {
    State.REAL: "Drawn from real runs.",
    State.SIMULATED: (
        "Real training, counted by valgrind: simulated caches and branch predictor. Nothing here is"
        " a measurement of a processor."
    ),
    State.EMULATED: (
        "Emulated: network namespaces on one machine. Nothing here is a measurement of boards."
    ),
    State.CALCULATED: "Calculated; no run.",
    State.NEEDS: "Drawn from real runs.",
}
WITH_RUNS = "Calculated or from the suite's catalogue, and beside it what real runs show."
BESIDE = "concurrent-"


@dataclass(frozen=True)
class DrawnItem:
    """An item, drawn: its figure, caption, and the comparison with the paper; ``mark`` says whether
    it is real, simulated, emulated or calculated."""

    item: Item
    figure: PaperFigure
    caption: str
    compared: tuple[Compared, ...]
    paper: str
    mark: str


def source_of(runs: RunSet | None, folders: Sequence[Path]) -> Source | None:
    """What the folders hold of an item's runs; None where they hold nothing of the kind. Raises
    SuiteError for what cannot be read."""
    if runs is None:
        return Source()
    there = [folder for folder in folders if folder.exists()]
    if runs.kind is RunKind.BESIDE:
        found = next((folder for folder in there if layout.batch_sizes(folder)), None)
        return None if found is None else Source(folder=found)
    if runs.kind is RunKind.MEMORY:
        return _memory_source(there)
    if runs.kind is RunKind.COUNTED:
        found = next((folder for folder in there if (folder / COUNTED).is_file()), None)
        if found is not None:
            refuse_broken_seal(found, COUNTED)
            return Source(counted=read_counted_steps(found))
    if not there:
        return None
    frames = load(there)
    return None if frames.measured().runs.empty else Source(frames=frames.measured())


def _memory_source(folders: Sequence[Path]) -> Source | None:
    """The first study of memory, whose seal must be intact."""
    found = next((folder for folder in folders if (folder / STUDY).is_file()), None)
    if found is None:
        return None
    refuse_broken_seal(found, STUDY)
    return Source(memory=read_memory_study(found))


def draw_item(registry: Registry, item: Item, source: Source | None) -> DrawnItem | Missing:
    """The item drawn, or what its runs lack."""
    if item.state is State.CALCULATED:
        figure = calculated.draw(item)
        return _drawn(registry, item, figure, f"{item.title}.\n{figure.about}\n", Source())
    if source is None:
        return Missing("there are no runs of it")
    if source.folder is not None:
        title, draw_it = beside.FIGURES[item.id.removeprefix(BESIDE)]
        figure = draw_it(source.folder)
        return _drawn(
            registry,
            item,
            figure,
            f"{title}.\n{figure.about}\nError bars: {figure.error_bars}.\n",
            source,
        )
    if source.counted is not None:
        counts = counted.draw(item, source.counted)
        if isinstance(counts, Missing):
            return counts
        return _drawn(
            registry,
            item,
            counts,
            f"{item.title}.\n{counts.about}\nError bars: {counts.error_bars}.\n",
            source,
        )
    if source.memory is not None or item.table is not None:
        found = _beside_calculated(item, source)
        return (
            found
            if isinstance(found, Missing)
            else _drawn(registry, item, found, f"{item.title}.\n{found.about}\n", source)
        )
    assert source.frames is not None
    preset = preset_of(item.figure or item.id)
    found = draw(preset, source.frames)
    return (
        found
        if isinstance(found, Missing)
        else _drawn(registry, item, found, caption_of(preset, found, source.frames), source)
    )


def _beside_calculated(item: Item, source: Source) -> PaperFigure | Missing:
    """A table or panel of calculated values with measured ones beside them."""
    if source.memory is not None:
        return memory_runs.draw(item, source.memory)
    assert source.frames is not None
    return machine_column.draw(item, source.frames)


def _drawn(
    registry: Registry, item: Item, figure: PaperFigure, caption: str, source: Source
) -> DrawnItem:
    paper = registry.paper(item)
    told = [caption.rstrip(), _state_of(item, source)] + (
        [f"Differs from the paper: {item.differs}."] if item.differs else []
    )
    return DrawnItem(
        item,
        figure,
        "\n".join(told) + "\n",
        compare(item, source),
        f"{item.number} of {paper.source}",
        _state_of(item, source),
    )


def _state_of(item: Item, source: Source) -> str:
    """How the item came to be. A processor's own counters simulate nothing."""
    is_table = item.table is not None or item.id in calculated.MEMORY_TABLES
    if item.state is State.SIMULATED and source.counted is None:
        return REAL_STATES[State.REAL]
    return WITH_RUNS if is_table and item.state is State.REAL else REAL_STATES[item.state]


def write_item(drawn: DrawnItem, folder: Path) -> tuple[Path, ...]:
    """Write the item as PDF, CSV, LaTeX, page and caption; returns the files."""
    item = drawn.item
    is_table = any(isinstance(panel, Table) for panel in drawn.figure.panels)
    look = Look(width_in=TABLE_WIDTH_IN) if is_table else Look()
    title = f"{item.title} ({drawn.paper})"
    files = {
        "pdf": render(drawn.figure, item.title, look, "pdf"),
        "csv": to_csv(drawn.figure).encode("utf-8"),
        "tex": to_latex(item.id, drawn.figure, drawn.caption, drawn.compared).encode("utf-8"),
        "txt": drawn.caption.encode("utf-8"),
        "html": (
            to_page(
                title,
                drawn.mark,
                render(drawn.figure, item.title, look, "svg"),
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
