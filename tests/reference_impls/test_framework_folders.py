"""Every framework folder that needs no environment trains, from request to a bundle that complies;
those with one: test_frameworks.py."""

from pathlib import Path

import pytest

from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_frameworks
from tests.conftest import Run

NAMES = [framework.name for framework in load_frameworks() if not framework.needs_environment]


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_the_digits_and_its_run_complies(
    name: str, suite: Run, digits: Path, tmp_path: Path
) -> None:
    run = f"run --division open --workload lenet --framework {name} --data digits --epochs 3"
    suite.done(f"{run} --output {tmp_path}/run")
    trained = Bundle(tmp_path / "run")
    losses = list(trained.steps().loss)
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10]), "it learns"
    assert isinstance(trained.log().value("framework_version"), str)
    suite.done(f"check {tmp_path}/run")
