"""Makes mistakes in shared code of the copy in the working folder, and runs tests on each in a fork
of a process that has loaded everything else.

``python -m proofs.mistakes.forked golden|others NAME…`` prints a line for each: its name, a tab,
and the first test that fails, or nothing.
"""

import os
import sys
import time
from pathlib import Path

import hypothesis  # what the tests need is loaded once, before the first fork
import numpy
import pandas
import PIL.Image
import pytest

import tests.builders
from proofs.mistakes.mistake import made
from proofs.mistakes.mistakes import MISTAKES, NONE
from suite.files.paths import repository_root

TESTS = (
    "tests/reference_impls/test_golden_values.py",
    "tests/reference_impls/data/test_pipelines.py",
    "tests/reference_impls/test_loop.py",
)
"""Tests of the shared code; the first file has the golden values, the others were there before
it."""

LOADED = (hypothesis, numpy, pandas, PIL.Image, tests.builders)
SELECTED = "not real and not framework"


class FirstFailure:
    """A plugin that keeps the name of the first test that fails."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test's phase."""
        if report.failed and not self.name:
            self.name = report.location[2]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be imported."""
        if report.failed and not self.name:
            self.name = report.nodeid


def first_failure(files: tuple[str, ...]) -> str:
    """The first test that fails in a fork of this process; empty where all pass."""
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        _forget_shared_code()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        failure = FirstFailure()
        code = pytest.main(
            ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", SELECTED, *files],
            plugins=[failure],
        )
        os.write(start, failure.name.encode())
        os._exit(0 if failure.name else code)
    os.close(start)
    with os.fdopen(end, "rb") as stream:
        name = stream.read().decode()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"pytest noticed nothing and ended with {os.waitstatus_to_exitcode(status)}"
    return name


def _forget_shared_code() -> None:
    """The modules that a mistake may be in are imported again; what the harness has of the contract
    stays."""
    kept = {"reference_impls.contract", "reference_impls.definitions"}
    for name in [
        name for name in sys.modules if name.startswith("reference_impls.") and name not in kept
    ]:
        parent, _, own = name.rpartition(".")
        module = sys.modules.pop(name)
        if getattr(sys.modules.get(parent), own, None) is module:
            delattr(sys.modules[parent], own)


def main() -> None:
    """Make every named mistake in turn."""
    sys.dont_write_bytecode = True
    which, names = sys.argv[1], sys.argv[2:]
    root = repository_root()
    assert root == Path.cwd().resolve(), f"the suite of {root} would be edited"
    files = TESTS[:1] if which == "golden" else TESTS[1:]
    for mistake in [one for one in (NONE, *MISTAKES) if one.name in names]:
        started_s = time.monotonic()
        with made(mistake, root):
            name = first_failure(files)
        print(f"{mistake.name}\t{name}\t{time.monotonic() - started_s:.1f}", flush=True)


if __name__ == "__main__":
    main()
