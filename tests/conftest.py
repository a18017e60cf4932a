"""What every test may ask for: a good bundle, the command line in a process of its own, real data,
framework environments."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pandas
import pytest
from hypothesis import settings

from reference_impls import contract
from suite.bundle.log import Log
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework, load_frameworks
from suite.errors import SuiteError
from suite.files import paths
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.environments import Environment, find_environment
from suite.launch.mpirun import allow_root, find_mpirun, mpirun_command
from suite.launch.placement import Placement
from tests.budget import IN_PROCESS, Budget, budget_of
from tests.builders import Scenario, make_bundle, make_request
from tests.every_case import EVERY_CASE, in_ci, some
from tests.made_once import keep_in
from tests.progress import Progress
from tests.warm_commands import WarmCommands

TITLES = {
    each.name: each.title
    for each in load_frameworks()
    if each.needs_environment and each.environment_of is None
}
FRAMEWORKS = tuple(TITLES)
"""Every framework with an environment that is not another's, found in reference_impls; variants
(bfloat16) have tests of their own."""

# a busy machine is slow, and no mistake
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=25)
settings.register_profile("searching", deadline=None)
# `make test` answers the same twice
settings.load_profile("searching" if EVERY_CASE else "repeatable")

TIMEOUT_S = 800
Answer: TypeAlias = "subprocess.CompletedProcess[str]"


class Run:
    """Runs the command in a process of its own, from the root of the checkout: as words,
    `suite("check", path)`, or as typed, `suite.done(f"check {path}")`."""

    def __init__(self, home: Path, warm: WarmCommands | None) -> None:
        self._home, self._warm = home, warm

    def __call__(self, *arguments: object, **variables: str) -> Answer:
        child_environment = {**os.environ, "SUITE_HOME": str(self._home), **variables}
        words = [str(word) for word in arguments]
        if self._warm is not None:
            return self._warm.run(words, child_environment, repository_root(), TIMEOUT_S)
        command = [str(Path(sys.executable).with_name("suite")), *words]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=child_environment,
            timeout=TIMEOUT_S,
            cwd=repository_root(),
        )

    def typed(self, command: str, *more: object, **variables: str) -> Answer:
        """The answer to a command as a person types it, without `suite`; further words follow."""
        return self(*shlex.split(command), *more, **variables)

    def done(self, command: str, *more: object, **variables: str) -> Answer:
        """The answer to a command that succeeds."""
        answer = self.typed(command, *more, **variables)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        return answer

    def refused(self, command: str, *more: object, code: int = 2, **variables: str) -> Answer:
        """The answer to a command that ends with this code, and without a traceback."""
        answer = self.typed(command, *more, **variables)
        assert answer.returncode == code and "Traceback" not in answer.stderr, (
            answer.stdout + answer.stderr
        )
        return answer


def pytest_configure(config: pytest.Config) -> None:
    """Register a marker for each framework, and the budget of tests."""
    config.pluginmanager.register(Budget(fails=in_ci()))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress())
    for name, title in TITLES.items():
        config.addinivalue_line(
            "markers", f"{name}: needs the {title} environment (`suite env create {name}`)"
        )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of every framework with `framework` too, and modules of kept outputs with
    `kept`, so that no list of names selects them."""
    if any(mark.name in FRAMEWORKS for mark in item.iter_markers()):
        item.add_marker("framework")
    if hasattr(getattr(item, "module", None), "kept"):
        item.add_marker("kept")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of `make quick`."""
    parser.addoption(
        "--in-process",
        action="store_true",
        help="leave out tests that start programs, frameworks or browsers",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is marked `proof` runs in proofs only."""

    def is_chosen(item: pytest.Item) -> bool:
        if item.get_closest_marker("proof") is not None and not EVERY_CASE:
            return False
        return not config.getoption("--in-process") or budget_of(item) == IN_PROCESS

    config.hook.pytest_deselected(items=[item for item in items if not is_chosen(item)])
    items[:] = [item for item in items if is_chosen(item)]


@pytest.fixture(scope="session", autouse=True)
def _made_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All workers of a run share what is made once."""
    keep_in(_shared(tmp_path_factory) / "made-once")


@pytest.fixture(scope="session", autouse=True)
def _home_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that this user has prepared or keeps is read or written, but for the environments of
    frameworks."""
    folder = _shared(tmp_path_factory) / "home-of-tests"
    folder.mkdir(exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / "envs").symlink_to(paths.suite_home() / "envs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUITE_HOME", str(folder))
        yield


def _shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of this run's workers."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture
def starts_programs() -> None:
    """For a test that starts programs of its own: its budget (tests/budget.py)."""


@pytest.fixture
def trains() -> None:
    """For a test that trains with the fake framework: its budget."""


@pytest.fixture
def builds_a_site() -> None:
    """For a test that renders a leaderboard: its budget."""


@pytest.fixture(scope="session")
def _good_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundles") / "good")


@pytest.fixture(scope="session")
def _good_bundles(_good_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Good bundles by their number of ranks."""
    return {
        1: _good_bundle,
        2: make_bundle(tmp_path_factory.mktemp("bundles") / "ranks", Scenario(ranks=2)),
    }


@pytest.fixture
def good_bundle_of(_good_bundles: dict[int, Path], tmp_path: Path) -> Callable[[int], Path]:
    """A fresh copy of a bundle of ``ranks`` ranks that complies with the closed division."""
    return lambda ranks: Path(shutil.copytree(_good_bundles[ranks], tmp_path / f"bundle-{ranks}"))


@pytest.fixture
def good_bundle(_good_bundle: Path, tmp_path: Path) -> Path:
    """A fresh copy of a bundle that complies with the closed division."""
    return Path(shutil.copytree(_good_bundle, tmp_path / "bundle"))


@pytest.fixture(scope="session")
def suite_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with nothing in it but what tests put there."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def warm_commands() -> Iterator[WarmCommands | None]:
    """The process that commands are forked from; None where each is to be a fresh interpreter."""
    if "COLD_COMMANDS" in os.environ:
        yield None
        return
    warm = WarmCommands()
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def suite(suite_home: Path, warm_commands: WarmCommands | None) -> Run:
    """The command: `suite("run", …)`."""
    return Run(suite_home, warm_commands)


@pytest.fixture(scope="session")
def digits(suite: Run, suite_home: Path) -> Path:
    """The digits data set, prepared; not to be changed."""
    suite.done("data prepare digits")
    return suite_home / "data" / "digits"


@pytest.fixture(scope="session")
def mnist() -> Path:
    """Real MNIST beside the checkout; skips where it is not."""
    place = (
        Path(os.environ.get("SUITE_TEST_DATA", repository_root().parent / "shared" / "data"))
        / "mnist"
    )
    if not place.is_dir():
        pytest.skip(f"needs the real MNIST files in {place} (set SUITE_TEST_DATA)")
    return place


def interruptible() -> None:
    """In a process that a test starts and interrupts: tests that run in the background, or by
    nohup, have signals ignored, and so would it."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def environment_of(framework: str) -> Environment:
    """The framework's environment; skips where it is missing, with the command that makes it. In CI
    that is a failure."""
    try:
        return find_environment(load_framework(framework))
    except SuiteError as error:
        if in_ci():
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(
    params=[pytest.param(name, marks=getattr(pytest.mark, name)) for name in FRAMEWORKS]
)
def framework(request: pytest.FixtureRequest) -> str:
    """Every framework that needs an environment, each under its own marker."""
    environment_of(request.param)
    return str(request.param)


@pytest.fixture(
    params=[
        pytest.param(name, marks=getattr(pytest.mark, name))
        for name in some(sorted(FRAMEWORKS, key="pytorch".__ne__))
    ]
)
def some_framework(request: pytest.FixtureRequest) -> str:
    """PyTorch; in a proof every framework."""
    environment_of(request.param)
    return str(request.param)


def printed_in(framework: str, *words: object) -> str:
    """What Python prints with these words in a framework's environment; it must succeed."""
    command = [str(environment_of(framework).interpreter), *map(str, words)]
    done = subprocess.run(
        command,
        cwd=repository_root(),
        env=child_environment(1),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def printed_by(framework: str, *modules: str) -> list[dict[str, Any]]:
    """The objects that modules of the tests print, one after the other, in one process of a
    framework's environment."""
    main_of_each = (
        "import importlib, sys\n"
        "for name in sys.argv[2:]:\n"
        "    importlib.import_module(name).main(sys.argv[1])"
    )
    lines = printed_in(framework, "-c", main_of_each, framework, *modules).splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


@dataclass(frozen=True)
class Trained:
    """What an implementation left behind."""

    log: Log
    steps: pandas.DataFrame

    @classmethod
    def read(cls, folder: Path) -> "Trained":
        """Log and steps in this folder."""
        bundle = Bundle(folder)
        return cls(bundle.log(), bundle.steps_frame())

    @property
    def losses(self) -> list[float]:
        """Of every step."""
        return list(self.steps["loss"])


def train(
    framework: str, folder: Path, data: contract.DataSet, module: str = "", **changes: Any
) -> Trained:
    """Start a framework's implementation as the harness does, on as many ranks as are requested,
    and read what it wrote. ``module`` is started in its place."""
    folder.mkdir()
    path = write_request(framework, folder, data, **changes)
    module = module or load_framework(framework).module
    ranks = contract.read_request(str(path)).parallel.ranks
    interpreter, variables = environment_of(framework).interpreter, allow_root(child_environment(1))
    command = [str(interpreter), "-m", module, "--request", str(path)]
    if ranks > 1:
        command = mpirun_command(
            find_mpirun(interpreter),
            Placement((), ranks),
            [*command, "--ranks", str(ranks)],
            variables,
            folder,
        )
    answer = subprocess.run(
        command, cwd=repository_root(), env=variables, capture_output=True, text=True, timeout=600
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return Trained.read(folder)


def write_request(framework: str, folder: Path, data: contract.DataSet, **changes: Any) -> Path:
    """The request file of a short training on one thread."""
    request = (
        make_request(folder, Scenario(framework=framework))
        ._replace(data=data, global_batch_size=16, threads=1)
        ._replace(**changes)
    )
    path = folder / contract.REQUEST_NAME
    path.write_text(json.dumps(contract.request_to_dict(request)))
    return path
