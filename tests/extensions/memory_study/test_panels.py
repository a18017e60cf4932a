"""Tables and panels of the paper on memory: calculated, and what a study measured beside them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from reporter.figures.model import Missing, Table
from reporter.papers.comparing import PaperAgreement, compare_with_paper
from reporter.papers.items import DrawnItem, draw_item, source_of
from reporter.papers.measures import MeasureSource
from suite.catalog.papers import Item, load_papers
from suite.extensions.memory_study.figures.calculated import (
    PANELS,
    highest_gib,
    least_factor,
    memory_bytes,
)
from suite.extensions.memory_study.record.paper_tables import cells
from suite.extensions.memory_study.record.study_file import Measurement, Panel
from suite.files.paths import repository_root

REGISTRY = load_papers()
MEMORY = [item for item in REGISTRY.items if item.paper == "memory"]


@pytest.mark.parametrize("item", MEMORY, ids=lambda item: item.id)
def test_measured_memory_stands_beside_the_papers_model(item: Item) -> None:
    runs = REGISTRY.runs_of(item)
    assert runs is not None and runs.folder is not None
    drawn = draw_item(REGISTRY, item, source_of(item, runs, [repository_root() / runs.folder]))
    assert isinstance(drawn, DrawnItem) and "easured" in drawn.caption
    if isinstance(drawn.figure.panels[0], Table):
        assert {row[1] for row in drawn.figure.panels[0].rows} == {"calculated", "measured"}
    else:
        assert len(drawn.figure.panels) == 2


def source_with(measured: Callable[[Panel], tuple[Measurement, ...]]) -> MeasureSource:
    """The study that comes with the project, with other measurements in its panels."""
    runs = REGISTRY.runs_of(MEMORY[0])
    assert runs is not None and runs.folder is not None
    source = source_of(MEMORY[0], runs, [repository_root() / runs.folder])
    assert source is not None and source.record is not None
    panels = tuple(replace(panel, measured=measured(panel)) for panel in source.record.panels)
    return replace(source, record=replace(source.record, panels=panels))


def test_a_study_without_the_papers_pictures_is_no_measurement_of_them() -> None:
    bare = source_with(lambda panel: ())
    assert all(isinstance(draw_item(REGISTRY, item, bare), Missing) for item in MEMORY)


def test_a_measurement_without_a_factor_is_no_point_of_a_panel() -> None:
    without = source_with(lambda panel: tuple(replace(one, factor=None) for one in panel.measured))
    drawn = {item.id: draw_item(REGISTRY, item, without) for item in MEMORY}
    assert {name for name, one in drawn.items() if isinstance(one, Missing)} == set(PANELS)


def test_all_cells_of_the_memory_tables_agree_within_a_hundredth() -> None:
    compared = [
        one
        for number in (1, 2, 3)
        for one in compare_with_paper(REGISTRY.item(f"memory-table-{number}"), MeasureSource())
    ]
    assert len(compared) == len(cells()) and {one.verdict for one in compared} == {
        PaperAgreement.AGREES
    }


@pytest.mark.parametrize(("image", "batch"), PANELS.values())
def test_more_recomputation_never_needs_more_memory(image: int, batch: int) -> None:
    found = [memory_bytes(50, image, batch, 1 + step / 10) for step in range(20)]
    assert found == sorted(found, reverse=True)
    factor = least_factor(image, batch)
    assert highest_gib(image, batch, factor) <= 2.0 and (
        factor == 1.0 or highest_gib(image, batch, factor - 0.01) > 2.0
    )
