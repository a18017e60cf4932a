"""A plugin of pytest that hands over how many tests passed, failed and were skipped."""

import pytest

from proofs.figures import hand_over


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count outcomes; an error in a fixture counts as failed."""
    counts = {
        name: len(terminalreporter.stats.get(name, ()))
        for name in ("passed", "failed", "error", "skipped")
    }
    hand_over(
        passed=counts["passed"],
        failed=counts["failed"] + counts["error"],
        skipped=counts["skipped"],
    )
