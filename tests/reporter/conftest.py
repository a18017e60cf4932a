"""Runs for the reporter's tests: three frameworks on MNIST, three seeds each, one with a power meter; one on other data, in the open division."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from suite import bundle
from suite.paths import HOME_VARIABLE
from tests.builders import Scenario, make_bundle

SPEEDS = {"pytorch": 0.0020, "tensorflow": 0.0021, "chainer": 0.0100}
SCENARIOS = (
    *(
        Scenario(
            name=f"lenet-{framework}-{seed}",
            framework=framework,
            seed=seed,
            step_s=step_s,
            jitter=0.05,
            power_w=5.0 if framework == "chainer" else 2.5,
        )
        for framework, step_s in SPEEDS.items()
        for seed in (1, 2, 3)
    ),
    Scenario(name="lenet-fake-digits", framework="fake", division="open", data="digits", accuracies=(0.5, 0.6)),
)


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is remembered of bundles is remembered apart from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME_VARIABLE, str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle per scenario; not to be changed."""
    folder = tmp_path_factory.mktemp("runs")
    for scenario in SCENARIOS:
        make_bundle(folder / scenario.name, scenario)
    return folder


@pytest.fixture
def edit() -> Callable[..., None]:
    """Change a JSON file of a bundle and seal it again, as somebody would who knows the format."""
    import json

    def change(folder: Path, name: str, edited: Callable[[dict[str, object]], object]) -> None:
        path = folder / name
        value = json.loads(path.read_text())
        edited(value)
        path.write_text(json.dumps(value))
        (folder / bundle.MANIFEST).unlink()
        bundle.seal(folder)

    return change


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare with a file beside the tests; entry ids and the machine's own words are left out of it."""

    def compare(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        plain = re.sub(r"entries/[0-9a-f]{10}", "entries/ENTRY", text)
        if os.environ.get("REFRESH_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(plain)
        assert plain == path.read_text(), f"{path.name} differs; if that is meant: REFRESH_GOLDEN=1 pytest tests/reporter, and look at git diff"

    return compare
