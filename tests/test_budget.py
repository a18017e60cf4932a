"""Tests have budgets of CPU time, run beside others or alone, begin with copies of what is made
once, and start commands that are warm."""

import subprocess
import threading
from pathlib import Path

import pytest

from tests.budget import BUDGETS, IN_PROCESS, Budget, Turns, budget_of
from tests.conftest import Run
from tests.every_case import in_ci
from tests.made_once import made_once
from tools import changed_tests

pytest_plugins = ["pytester"]

CONFTEST = """
from pathlib import Path
from tests.budget import Budget

def pytest_configure(config):
    config.pluginmanager.register(Budget(fails={fails}, locks=Path(".")))
"""
CHEAP_AND_DEAR = """
def test_cheap():
    pass

def test_dear():
    assert sum(range(5_000_000)) > 0
"""


NAMED = "warning: *test_dear took * loops; its budget is 0.01: make it cheaper, or a proof"
FAILED = (
    "*test_dear took * calibration loops of CPU time, alone: more than 3 times its budget of 0.01."
    " Make it cheaper*"
)


@pytest.mark.parametrize(
    ("is_ci", "fails_at", "passed", "said"),
    [(True, 3, 1, FAILED), (True, 1e9, 2, NAMED), (False, 3, 2, NAMED)],
    ids=["beyond three budgets in CI", "between one and three in CI", "elsewhere"],
)
def test_beyond_its_budget_a_test_fails_in_ci_and_else_is_named(
    is_ci: bool,
    fails_at: float,
    passed: int,
    said: str,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a budget of a hundredth of a second, so that nothing has to be dear."""
    monkeypatch.setattr("tests.budget.IN_PROCESS", 0.01)
    monkeypatch.setattr("tests.budget.FAILS_AT", fails_at)
    monkeypatch.setattr("tests.budget.calibration_s", lambda: 1.0)
    pytester.makeconftest(CONFTEST.format(fails=is_ci))
    pytester.makepyfile(CHEAP_AND_DEAR)
    ran = pytester.runpytest_inprocess()
    ran.assert_outcomes(passed=passed, failed=2 - passed)
    ran.stdout.fnmatch_lines([said])


FAILS_ONCE = """
from pathlib import Path

def test_dear():
    assert sum(range(5_000_000)) > 0
    count = Path("count").read_text() if Path("count").exists() else ""
    Path("count").write_text(count + "+")
    assert count
"""


def test_a_failed_test_beyond_its_budget_is_not_run_again(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.budget.IN_PROCESS", 0.01)
    monkeypatch.setattr("tests.budget.calibration_s", lambda: 1.0)
    pytester.makeconftest(CONFTEST.format(fails=True))
    pytester.makepyfile(FAILS_ONCE)
    pytester.runpytest_inprocess().assert_outcomes(failed=1)
    assert (pytester.path / "count").read_text() == "+"


def test_ci_is_one_variable_that_may_be_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, is_ci in (("", False), ("false", False), ("1", True), ("true", True)):
        monkeypatch.setenv("CI", value)
        assert in_ci() == is_ci


def test_a_test_that_starts_something_has_the_budget_of_the_fixture_that_it_uses(
    request: pytest.FixtureRequest, starts_programs: None
) -> None:
    assert budget_of(request.node) == BUDGETS["starts_programs"] > IN_PROCESS


def test_who_waits_to_be_alone_lets_nobody_begin(tmp_path: Path) -> None:
    turns, order = Turns(tmp_path), []
    started = threading.Event()

    def alone() -> None:
        started.set()
        with turns.taken(alone=True):
            order.append("alone")

    with turns.taken(), turns.taken():  # two share
        thread = threading.Thread(target=alone)
        thread.start()
        started.wait()
        order.append("shared")
    thread.join()
    with turns.taken():
        order.append("shared again")
    assert order == ["shared", "alone", "shared again"]


def test_what_is_made_once_is_copied(tmp_path: Path) -> None:
    made = []

    def make(path: Path) -> None:
        made.append(path)
        path.mkdir(parents=True)
        (path / "file").write_text("as it was")

    first, second = (
        made_once(("a test", str(tmp_path)), tmp_path / name, make) for name in ("first", "second")
    )
    (first / "file").write_text("edited")
    assert len(made) == 1 and (second / "file").read_text() == "as it was"


def test_a_warm_command_is_a_process_of_its_own(suite: Run, tmp_path: Path) -> None:
    listed, unknown = suite("list", "rounds", "--json", COLUMNS="80"), suite("repotr")
    assert (listed.returncode, listed.stderr) == (
        0,
        "",
    ) and '"format": "list-rounds/1"' in listed.stdout
    assert (unknown.returncode, unknown.stdout) == (
        2,
        "",
    ) and "Did you mean 'report'" in unknown.stderr


def test_a_changed_module_has_the_tests_that_import_it_or_mirror_its_folder(tmp_path: Path) -> None:
    files = {
        "suite/metrics/energy.py": "",
        "suite/metrics/summary.py": "from suite.metrics import energy",
        "suite/cli/app.py": "from suite.metrics import summary",
        "tests/suite/metrics/test_energy.py": "",
        "tests/reporter/test_near.py": "from suite.metrics.summary import derive",
        "tests/suite/cli/test_app.py": "from suite.cli import app",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    chosen = changed_tests.tests_of({tmp_path / "suite/metrics/energy.py"}, tmp_path)
    assert {path.name for path in chosen} == {"test_energy.py", "test_near.py"}


def test_what_a_branch_changed_is_known_with_deleted_modules(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    with pytest.raises(subprocess.CalledProcessError):
        changed_tests.changed_files(tmp_path)
    for name, text in (
        ("suite/gone.py", ""),
        ("suite/grün.py", ""),
        ("tests/test_it.py", "import suite.gone"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for words in (("init", "-b", "main"), ("add", "."), ("commit", "-m", "one")):
        git(*words)
    for words in (("switch", "-c", "branch"), ("rm", "suite/gone.py"), ("commit", "-m", "two")):
        git(*words)
    (tmp_path / "suite/grün.py").write_text("changed = True")
    git("commit", "-a", "-m", "three")
    changed = changed_tests.changed_files(tmp_path)
    assert {path.name for path in changed} == {"gone.py", "grün.py"}
    assert {path.name for path in changed_tests.tests_of(changed, tmp_path)} == {"test_it.py"}


def test_budget_is_registered(pytestconfig: pytest.Config) -> None:
    assert any(isinstance(plugin, Budget) for plugin in pytestconfig.pluginmanager.get_plugins())
