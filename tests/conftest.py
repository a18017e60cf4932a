"""What every test may ask for: a good bundle, the command line in a process of its own, real data, framework environments."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.environments import find
from suite.errors import SuiteError
from suite.frameworks import load_framework
from suite.paths import repository_root
from tests.builders import make_bundle

FRAMEWORKS = ("pytorch", "tensorflow", "chainer")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def _good_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundles") / "good")


@pytest.fixture
def good_bundle(_good_bundle: Path, tmp_path: Path) -> Path:
    """A fresh copy of a bundle that complies with the closed division."""
    return Path(shutil.copytree(_good_bundle, tmp_path / "bundle"))


@pytest.fixture(scope="session")
def suite_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with nothing in it but what tests put there."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def suite(suite_home: Path) -> Run:
    """Runs the command in a process of its own: `suite("run", …)`."""

    def call(*arguments: object, **variables: str) -> "subprocess.CompletedProcess[str]":
        surroundings = {**os.environ, "SUITE_HOME": str(suite_home), **variables}
        command = [str(Path(sys.executable).with_name("suite")), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=surroundings, timeout=600, cwd=repository_root())

    return call


@pytest.fixture
def digits(suite: Run, suite_home: Path) -> Path:
    """The digits data set, prepared."""
    answer = suite("data", "prepare", "digits")
    assert answer.returncode == 0, answer.stderr
    return suite_home / "data" / "digits"


@pytest.fixture(scope="session")
def mnist() -> Path:
    """Real MNIST beside the checkout; skips where it is not."""
    place = Path(os.environ.get("SUITE_TEST_DATA", repository_root().parent / "shared" / "data")) / "mnist"
    if not place.is_dir():
        pytest.skip(f"needs the real MNIST files in {place} (set SUITE_TEST_DATA)")
    return place


def needs_environment(framework: str) -> None:
    """Skip where the framework's environment is missing, with the command that makes it; in CI that is a failure."""
    try:
        find(load_framework(framework))
    except SuiteError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
