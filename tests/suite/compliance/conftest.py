"""The bundles that faults are made in: with every measurement that a rule reads."""

from dataclasses import replace
from pathlib import Path

import pytest

from suite.compliance.rule import BundleContext
from tests.builders import RICH, make_bundle
from tests.checks_alone import context_of
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


@pytest.fixture(scope="session")
def _contexts(_good_bundles: dict[int, Path]) -> dict[int, BundleContext]:
    """What checks read of the good bundles, by the number of their ranks."""
    return {ranks: context_of(path) for ranks, path in _good_bundles.items()}


@pytest.fixture
def context(_contexts: dict[int, BundleContext]) -> BundleContext:
    """What checks read of the good bundle of one rank."""
    return _contexts[1]
