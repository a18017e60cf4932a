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
    command = f"run --division open --workload lenet --framework {name} --data digits --epochs 3"
    for seed, folder in ((1, "one"), (1, "two"), (2, "three")):
        suite.done(f"{command} --seed {seed} --output {tmp_path}/{folder}")
    losses = [list(Bundle(tmp_path / folder).steps().loss) for folder in ("one", "two", "three")]
    assert losses[0] == losses[1] != losses[2], "the seed decides"
    assert sum(losses[0][-10:]) < 0.9 * sum(losses[0][:10]), "it learns"
    assert isinstance(Bundle(tmp_path / "one").log().value("framework_version"), str)
    suite.done(f"check {tmp_path}/one")
