"""How far a run of tests is, and about how long it still takes: a line every ten seconds in place
of a dot a test."""

from __future__ import annotations

import sys
import time

import pytest

EVERY_S = 10.0


class Progress:
    """Registered by tests/conftest.py in the process that shows results."""

    def __init__(self) -> None:
        self._total = self._done = 0
        self._began_s = self._shown_s = time.monotonic()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Without workers."""
        self._begin(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: list[str]) -> None:
        """With workers, which all have the same tests."""
        self._begin(len(ids))

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """A test that passed is counted, not shown."""
        return ("passed", "", "PASSED") if report.passed and report.when == "call" else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Say how far it is, now and then."""
        self._done += report.when == "teardown"
        now_s = time.monotonic()
        if now_s - self._shown_s < EVERY_S or not self._done:
            return
        self._shown_s = now_s
        left_s = (now_s - self._began_s) * (self._total - self._done) / self._done
        left = f"{left_s / 60:.0f} min" if left_s > 90 else f"{left_s:.0f} s"
        print(
            f"\n{self._done} of {self._total} tests, about {left} left",
            file=sys.stderr,
            end="",
            flush=True,
        )

    def _begin(self, total: int) -> None:
        if not self._total:
            self._total, self._began_s = total, time.monotonic()
