"""The budget of a test: CPU time of its call, its own and that of the children it waited for, in
units of a calibration loop of the same run.

Fixtures do not count. A test that starts a program, a framework or a browser has the budget of the
fixture that it uses. Beyond it, a test is named in a warning. In CI a test beyond three budgets
runs once more, alone on this machine, and fails if it is beyond them again: the same test took 1.7
times as many loops on a CI machine as on another, since threads that wait use CPU time.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from tests.every_case import EVERY_CASE
from tests.warm_commands import used_s

IN_PROCESS = 10
PROGRAM, RUN, BROWSER, FRAMEWORK, FRAMEWORKS, CLUSTER = 40, 80, 60, 200, 600, 400
BUDGETS = {
    "suite": PROGRAM,
    "starts_programs": PROGRAM,
    "digits": RUN,
    "trains": RUN,
    "builds_a_site": PROGRAM,
    "whole_site": PROGRAM,
    "tab": BROWSER,
    "framework": FRAMEWORK,
    "some_framework": FRAMEWORK,
    "agreement": FRAMEWORKS,
    "browser": BROWSER,
    "hosts": CLUSTER,
    "real": FRAMEWORK,
    "trainer": CLUSTER,
}
"""Budgets, in calibration loops, of tests that use one of these fixtures or bear one of these
marks; the largest counts."""
FAILS_AT = 3
"""Budgets beyond which a test fails in CI."""
SHOWN = 20
PROPERTY = "cpu_loops"


def calibration_s(repeats: int = 3) -> float:
    """CPU time of the calibration loop: the least of some repeats, since other programs can only
    lengthen it."""
    times_s = []
    for _ in range(repeats):
        began_s = time.process_time()
        total = 0
        for number in range(4_000_000):
            total += number & 7
        times_s.append(time.process_time() - began_s)
    return min(times_s)


def budget_of(item: pytest.Item) -> float:
    """A test's budget in calibration loops."""
    names = {*getattr(item, "fixturenames", ()), *(mark.name for mark in item.iter_markers())}
    return max([IN_PROCESS, *(BUDGETS[name] for name in names if name in BUDGETS)])


class Turns:
    """Tests run beside others, or alone: a lock of this user that many may share. Who waits to be
    alone lets nobody begin."""

    def __init__(self, folder: Path) -> None:
        names = (f"edge-tests-{os.getuid()}-{name}.lock" for name in ("gate", "floor"))
        self._gate, self._floor = (folder / name for name in names)

    @contextmanager
    def taken(self, alone: bool = False) -> Iterator[None]:
        """Hold the machine, shared or alone."""
        with self._gate.open("a") as gate, self._floor.open("a") as floor:
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(floor, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            fcntl.flock(gate, fcntl.LOCK_UN)
            yield


class Budget:
    """Counts, warns, and in CI fails; registered by tests/conftest.py."""

    def __init__(self, fails: bool, locks: Path | None = None) -> None:
        self._fails, self._loop_s, self._turns = (
            fails,
            calibration_s(),
            Turns(locks or Path(tempfile.gettempdir())),
        )
        self._dearest: list[tuple[float, float, str]] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Count the call."""
        began_s = used_s()
        yield
        item.user_properties.append((PROPERTY, (used_s() - began_s) / self._loop_s))

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run the test beside others; in CI once more, alone, if it took more than three
        budgets."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        with self._turns.taken():
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if self._fails and self._is_over(item) and not any(each.failed for each in reports):
            self._loop_s = max(self._loop_s, calibration_s())
            item.user_properties.clear()
            item._initrequest()  # type: ignore[attr-defined]
            with self._turns.taken(alone=True):
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
            if self._is_over(item):
                _fail(item, reports, self._loops(item))
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In the process that shows results: keep what each test used."""
        loops = next((value for name, value in report.user_properties if name == PROPERTY), None)
        if report.when == "teardown" and loops is not None:
            self._dearest.append(
                (
                    float(loops),
                    float(dict(report.user_properties).get("budget", IN_PROCESS)),
                    report.nodeid,
                )
            )

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Tell the process that shows results what the budget was."""
        item.user_properties.append(("budget", budget_of(item)))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The dearest tests, and those beyond their budgets."""
        if not self._dearest:
            return
        terminalreporter.section(
            f"dearest tests, CPU time in loops of {self._loop_s * 1e3:.0f} ms", sep="-"
        )
        for loops, budget, name in sorted(self._dearest, reverse=True)[:SHOWN]:
            terminalreporter.write_line(f"{loops:7.1f} of {budget:3g}  {name}")
        over = [(loops, budget, name) for loops, budget, name in self._dearest if loops > budget]
        for loops, budget, name in sorted(over, reverse=True):
            terminalreporter.write_line(
                f"warning: {name} took {loops:.1f} loops; its budget is {budget}: make it cheaper,"
                " or a proof"
            )

    def _loops(self, item: pytest.Item) -> float:
        return float(next((value for name, value in item.user_properties if name == PROPERTY), 0.0))

    def _is_over(self, item: pytest.Item) -> bool:
        return not EVERY_CASE and self._loops(item) > FAILS_AT * budget_of(item)


def _fail(item: pytest.Item, reports: list[pytest.TestReport], loops: float) -> None:
    budget = budget_of(item)
    for report in reports:
        if report.when == "call" and report.outcome == "passed":
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} took {loops:.1f} calibration loops of CPU time, alone: more than"
                f" {FAILS_AT} times its budget of {budget}. Make it cheaper, give it the fixture"
                " of what it starts (tests/budget.py), or make it a case of a proof"
                " (tests/every_case.py)."
            )
