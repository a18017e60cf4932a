"""Which epochs, and which entries, are in distributions of times and energies."""

from dataclasses import replace
from pathlib import Path

import reporter
from reporter.figures.distribution import describe, for_paper
from reporter.figures.for_papers import context_of
from reporter.figures.model import Missing, PaperFigure, Plot, Rows
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


def test_an_entry_with_a_run_without_a_power_meter_has_no_energies_and_is_named(
    tmp_path: Path,
) -> None:
    """Its mean energy is unknown, and so is the instrument whose panel it would be in."""
    few = Scenario(batch_size=2048, step_s=0.05, accuracies=(0.6, 0.9, 0.95, 0.991))
    first = replace(few, name="run-1", division="open", power_w=4.0)
    make_bundle(tmp_path / "1", first)
    make_bundle(tmp_path / "2", replace(first, name="run-2", seed=2, later_s=1000, power_w=None))
    missing = for_paper(reporter.load([tmp_path]), "energy_j")
    assert isinstance(missing, Missing) and "mean energy (1 of 2 runs: " in missing.reason
    make_bundle(tmp_path / "3", replace(first, name="run-3", batch_size=1024, later_s=2000))
    found = for_paper(reporter.load([tmp_path]), "energy_j")
    assert isinstance(found, PaperFigure) and len(found.panels) == len(found.ids) == 1
    assert found.notes[0].startswith("Not drawn: entries without a mean energy (1 of 2 runs: ")
