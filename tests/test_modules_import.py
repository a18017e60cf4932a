"""Every module imports: a broken import anywhere fails here, by name, before any test that uses the
module runs."""

import subprocess
import sys

import pytest

from suite.catalog.frameworks import load_frameworks
from suite.files.paths import repository_root
from tools.imports import module_name

ROOT = repository_root()
IMPORT_ALL = """
import importlib, sys, traceback
failed = []
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException:
        failed.append(name)
        print(f"{name} does not import:", traceback.format_exc(), file=sys.stderr)
sys.exit(" ".join(failed) or 0)
"""


ROOMS = ("suite", "extensions", "reporter", "reference_impls", "benchmarks")


def modules() -> list[str]:
    """Every module of ROOMS, but for entry points and what needs a framework's environment."""
    elsewhere = [ROOT / "benchmarks" / "workers"]
    elsewhere += [
        ROOT / "reference_impls" / framework.name
        for framework in load_frameworks()
        if framework.needs_environment
    ]
    paths = [
        path
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        if path.name != "__main__.py"
    ]
    here = [path for path in paths if not any(path.is_relative_to(each) for each in elsewhere)]
    return [module_name(path, ROOT) for path in here]


@pytest.mark.usefixtures("starts_programs")
def test_every_module_imports() -> None:
    names = modules()
    assert {
        "suite.cli.app",
        "reporter.site",
        "reference_impls.loop",
        "benchmarks.harness_cost",
    } <= set(names)
    answer = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *names], cwd=ROOT, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr


def test_a_module_that_does_not_import_is_named() -> None:
    answer = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, "json", "no_such_module"], capture_output=True, text=True
    )
    assert (answer.returncode, answer.stderr.splitlines()[-1]) == (1, "no_such_module")
