"""Runs for the reporter's tests: three frameworks on MNIST, three seeds each, one with a power
meter; one on other data, in the open division."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reporter.data.machine_names import machine_name
from reporter.site import build_site
from suite.bundle import layout, manifest
from suite.bundle.layout import LINPACK_RECORD
from suite.bundle.layout import WITHDRAWN as WITHDRAWAL
from suite.files import json_file
from suite.files.paths import HOME_VARIABLE
from suite.metrics import stall_analysis
from suite.metrics.linpack_record import SCHEMA, Linpack, LinpackPower, Problem, Solution
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest
from tests import builders
from tests.browser import Tab, browser
from tests.builders import Scenario, make_bundle
from tests.good_submissions import package_outside_git
from tests.made_once import shared

SPEEDS = {"pytorch": 0.0005, "tensorflow": 0.000525, "chainer": 0.0025}
SCENARIOS = (
    *(
        Scenario(
            name=f"lenet-{framework}-{seed}",
            framework=framework,
            seed=seed,
            step_s=step_s,
            jitter=0.05,
            power_w=5.0 if framework == "chainer" else 2.5,
            later_s=900 * seed,
            learning_rate=0.01,
        )
        for framework, step_s in SPEEDS.items()
        for seed in (1, 2, 3)
    ),
    Scenario(
        name="lenet-fake-digits",
        framework="fake",
        division="open",
        data="digits",
        accuracies=(0.5, 0.6),
    ),
)


MACHINE = machine_name({**builders.MACHINE, "device": "generic"})
"""The name of the machine that bundles are made up on."""


@pytest.fixture(scope="session")
def _reporters_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", autouse=True)
def _own_home(_reporters_home: Path) -> Iterator[None]:
    """A home folder, and so a cache of bundles, for these tests only: the next module of the same
    worker may need the frameworks' environments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(HOME_VARIABLE, str(_reporters_home))
        yield


@pytest.fixture(scope="session")
def runs() -> Path:
    """A folder with a bundle per scenario; tests must not change it."""

    def make(folder: Path) -> None:
        for scenario in SCENARIOS:
            make_bundle(folder / "runs" / scenario.name, scenario)

    return shared(SCENARIOS, make) / "runs"


@pytest.fixture
def edit() -> Callable[..., None]:
    """Change a JSON file of a bundle and seal it again."""
    return edit_json


def edit_json(folder: Path, name: str, edited: Callable[[dict[str, object]], object]) -> None:
    path = folder / name
    value = json.loads(path.read_text())
    edited(value)
    path.write_text(json.dumps(value))
    (folder / layout.MANIFEST).unlink()
    manifest.seal(folder)


@pytest.fixture(scope="session")
def everything(runs: Path, make_linpack: Callable[..., Path]) -> Path:
    """A folder with everything a site can show: runs, a submission, a study, LINPACK; refused,
    withdrawn, generated and broken runs. Tests must not change it."""

    def make(folder: Path) -> None:
        shutil.copytree(runs, folder / "everything" / "runs")
        make_everything(folder / "everything", make_linpack)

    return shared("everything that a site can show", make) / "everything"


def make_everything(folder: Path, make_linpack: Callable[..., Path]) -> None:
    """All but the runs of SCENARIOS."""
    for seed in (1, 2, 3):
        scenario = Scenario(
            name=f"lenet-offered-{seed}",
            seed=seed,
            jitter=0.05,
            power_w=3.0,
            throttled_s=0.2,
            counted=True,
            workers=2,
            learning_rate=0.01,
        )
        scenario = replace(scenario, later_s=900 * seed)
        make_bundle(folder / "made" / str(seed), scenario)
    offer = PackageRequest("pies-ltd", None, SystemAvailability.PREVIEW, "cooled by a fan", ())
    made = [folder / "made" / str(seed) for seed in (1, 2, 3)]
    package_outside_git(made, offer, folder / "submissions")
    shutil.rmtree(folder / "made")
    make_study(folder / "stalls")
    make_linpack(folder / "linpack")
    make_bundle(folder / "refused", Scenario(name="lenet-refused", framework="tensorflow", seed=4))
    edit_json(
        folder / "refused",
        "summary.json",
        lambda summary: summary["figures"]["time_to_epoch_s"].update(value=0.001),
    )  # type: ignore[index]
    make_bundle(
        folder / "vendor" / "withdrawn", Scenario(name="lenet-withdrawn", seed=5, threads=4)
    )
    (folder / "vendor" / WITHDRAWAL).write_text("Cooled with ice.")
    make_bundle(folder / "generated", Scenario(name="lenet-generated", division="open", seed=6))
    edit_json(
        folder / "generated", "run.json", lambda run: run["request"]["data"].update(synthetic=True)
    )  # type: ignore[index]
    make_bundle(folder / "broken", Scenario(name="lenet-broken", seed=7))
    (folder / "broken" / "summary.json").unlink()


def make_study(folder: Path) -> Path:
    """A folder as written by `suite run --stall-analysis`."""
    for source, step_s in (("cold", 0.00075), ("warm", 0.0005), ("synthetic", 0.00025)):
        batches = "synthetic" if source == "synthetic" else "read"
        of_source = Scenario(
            name=f"analysed-{source}",
            division="open",
            step_s=step_s,
            batches=batches,
            drop_cache=source == "cold",
            jitter=0.02,
        )
        make_bundle(folder / source, of_source)
    stall_analysis.STALLS.write(folder, stall_analysis.analyse_stalls(folder))
    return folder


@pytest.fixture(scope="session")
def whole_site(everything: Path) -> Path:
    """The site of everything; tests must not change it."""
    return shared("its site", lambda folder: build_site([everything], folder / "site")) / "site"


@pytest.fixture(scope="module")
def one_browser() -> Iterator[Tab]:
    """It ends with its module: while it is open, asyncio.run() fails in other modules' tests."""
    with browser() as opened:
        yield opened


@pytest.fixture
def tab(one_browser: Tab) -> Iterator[Tab]:
    """A tab; afterwards there must be no errors on the console and no requests except for files."""
    one_browser.look()
    one_browser.errors.clear()
    one_browser.requests.clear()
    yield one_browser
    assert one_browser.errors == []
    assert not [
        address
        for address in one_browser.requests
        if not address.startswith(("file:", "data:", "about:", "blob:"))
    ]


@pytest.fixture(scope="session")
def make_linpack(runs: Path) -> Callable[..., Path]:
    """Writes a sealed LINPACK record of the runs' machine into a folder; keywords replace
    values."""
    described = json.loads((runs / SCENARIOS[0].name / layout.SYSTEM).read_text())

    def make(
        folder: Path,
        gflops: float = 50.0,
        residual: float = 0.004,
        power: LinpackPower | None = None,
        **other: Any,
    ) -> Path:
        values = {
            "schema": SCHEMA,
            "kind": "HPL",
            "program": "/usr/bin/hpcc",
            "device": SCENARIOS[0].device,
            "cpu_model": described["cpu_model"],
            "nodes": 1,
            "ranks": 2,
            "threads_per_rank": 1,
            "blas": "/usr/lib/libopenblas.so",
            "solution": Solution(Problem(1920, 128, 1, 2), 0.17, gflops, residual),
            "gflops_per_node": gflops,
            "power": power or LinpackPower(None, None, None, None, "no power sensor was read"),
            "output": "hpccoutf.txt",
        }
        folder.mkdir(parents=True)
        json_file.write_json(folder / LINPACK_RECORD, Linpack(**{**values, **other}))
        manifest.seal(folder)
        return folder

    return make
