"""Leaderboards: facets of the sensor of an energy."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import reporter
from reporter.board.boards import make_boards


@pytest.mark.parametrize(
    ("sensor", "facet"),
    [
        ({"instruments": ["x"], "rules": ["y"], "covers": "module", "tier": "estimate"}, "estimate, module"),
        (None, "unknown sensor"),
    ],
)
def test_an_energy_has_its_sensor_as_a_facet(sensor: object, facet: str, runs: Path, tmp_path: Path, edit: Callable[..., None]) -> None:
    bundle = shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "run")
    edit(bundle, "summary.json", lambda summary: summary["figures"]["energy_per_epoch_j"].update(sensor=sensor))
    (board,) = make_boards(reporter.load([tmp_path]))
    assert ("energy", facet) in board.same


def test_an_energy_without_a_sensor_was_not_measured(runs: Path) -> None:
    (board,) = make_boards(reporter.load([runs / "lenet-fake-digits"]))
    assert ("energy", "not measured") in board.same
