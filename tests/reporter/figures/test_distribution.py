"""First epochs, whose caches are cold, are in no distribution of epoch times."""

from pathlib import Path

import reporter
from reporter.figures.distribution import describe, for_paper
from reporter.figures.for_papers import context_of
from reporter.figures.model import PaperFigure, Plot, Rows
from tests.builders import Scenario, make_bundle


def test_of_four_epochs_three_are_in_the_distribution(tmp_path: Path) -> None:
    scenario = Scenario(division="open", accuracies=(0.6, 0.9, 0.95, 0.991))
    make_bundle(tmp_path / "run", scenario)
    frames = reporter.load([tmp_path])
    on_page, printed = describe(frames, context_of(frames)), for_paper(frames, "end_to_end_s")
    assert isinstance(on_page, Plot) and isinstance(printed, PaperFigure)
    (row,), (panel,) = on_page.rows, printed.panels
    assert row[on_page.headings.index("epochs")] == "3"
    assert isinstance(panel, Rows) and [len(each.singles) for each in panel.rows] == [3]
