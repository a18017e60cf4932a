"""Panels of the Raspberry Pi study from counts of valgrind."""

from dataclasses import replace

import pytest

from reporter.figures.model import PaperFigure, Rows
from reporter.papers.items import DrawnItem, draw_item, source_of
from suite.catalog.papers import ItemState, load_papers
from suite.extensions.counted_steps.figures import FIGURES, draw
from suite.extensions.counted_steps.record import TimedSteps
from suite.files.paths import repository_root
from tests.extensions.counted_steps.test_record import PAIR, record

REGISTRY = load_papers()


@pytest.mark.parametrize("name", FIGURES)
def test_what_valgrind_counted_says_so_and_what_it_simulated_too(name: str) -> None:
    item = REGISTRY.item(name)
    runs = REGISTRY.runs_of(item)
    assert runs is not None and runs.folder is not None
    drawn = draw_item(REGISTRY, item, source_of(item, runs, [repository_root() / runs.folder]))
    assert isinstance(drawn, DrawnItem) and "counted by valgrind cachegrind" in drawn.caption
    is_simulated = item.state is ItemState.SIMULATED
    assert ("simulates the caches" in drawn.mark) is is_simulated
    axes = [panel.axis for panel in drawn.figure.panels if isinstance(panel, Rows)]
    assert any("simulated" in axis for axis in axes) is is_simulated


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_a_caption_names_the_instruction_set(architecture: str) -> None:
    timed = TimedSteps("pytorch", 10**7, 1.0, 0.5e9), TimedSteps("pytorch", 10**7, 2.0, 0.5e9)
    drawn = draw(
        REGISTRY.item("pi-2b"), replace(record(*PAIR), timed=timed, architecture=architecture)
    )
    assert isinstance(drawn, PaperFigure)
    assert f"{architecture.replace('_', '-')} instructions of a processor" in drawn.about
    assert ("(AVX2)" in drawn.about) is (architecture == "x86_64")
    assert ("uses its generic kernels" in drawn.about) is (architecture == "aarch64")
