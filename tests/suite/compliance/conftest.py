"""The bundles that faults are made in: with every measurement that a rule reads."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import RICH, make_bundle
from tests.good_submissions import good_submission


@pytest.fixture(scope="session")
def _good_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundles") / "rich", RICH)


@pytest.fixture(scope="session")
def _good_bundles(_good_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Good bundles by their number of ranks."""
    return {
        1: _good_bundle,
        2: make_bundle(
            tmp_path_factory.mktemp("bundles") / "rich-ranks", replace(RICH, ranks=2, nodes=2)
        ),
    }


@pytest.fixture(scope="session")
def _good_submissions(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Good submissions by the number of ranks of their runs."""
    return {
        ranks: good_submission(tmp_path_factory.mktemp("submissions"), ranks) for ranks in (1, 2)
    }
