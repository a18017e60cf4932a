"""The frameworks' own all-reduces train on two hosts whose names mean 127.0.1.1 on themselves, as Debian writes them."""

from pathlib import Path

import pytest

from tests.conftest import Run
from tests.hosts.test_training import train_and_count
from tests.hosts.training import Trainer

pytestmark = pytest.mark.hosts


def test_ranks_find_one_another_and_every_gradient_crosses_the_wire(trainer: Trainer, framework: str, suite: Run, tmp_path: Path) -> None:
    bundle = train_and_count(trainer, framework, tmp_path / "run", "--collective", "native", at_most=1.1)
    assert bundle.log().value("collective") == "native"
    judged = suite("check", bundle.path)
    assert judged.returncode == 0, judged.stdout
