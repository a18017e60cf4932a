"""Distributions over boards: a difference in software is said."""

from pathlib import Path

import pytest

import reporter
from reporter.figures.distribution import for_paper
from reporter.figures.model import PaperFigure
from tests.builders import Scenario, make_bundle
from tests.reporter.papers.conftest import edit_system


def notes_of(folder: Path, kernels: tuple[str, str]) -> tuple[str, ...]:
    for seed, kernel in enumerate(kernels, start=1):
        name = f"run-{seed}"
        make_bundle(
            folder / name,
            Scenario(
                name=name,
                seed=seed,
                division="open",
                accuracies=(0.6, 0.9, 0.95, 0.991),
                later_s=1000 * seed,
            ),
        )
        edit_system(folder / name, {"board_digest": f"{seed}5ea1" * 8, "kernel": kernel})
    figure = for_paper(reporter.load([folder]), "end_to_end_s")
    assert isinstance(figure, PaperFigure)
    return figure.notes


@pytest.mark.parametrize(
    ("kernel", "is_said"), [("5.10.104-tegra", True), ("4.9.253-tegra", False)]
)
def test_boards_with_other_software_are_named(tmp_path: Path, kernel: str, is_said: bool) -> None:
    notes = notes_of(tmp_path, ("4.9.253-tegra", kernel))
    assert (
        any(
            note.startswith("Software differs between boards (") and note.endswith(": kernel).")
            for note in notes
        )
        is is_said
    )
