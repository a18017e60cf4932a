"""A plugin of pytest that hands over how many tests passed, failed and were skipped, and why."""

import pytest

from proofs.figures import SKIPPED_BECAUSE, hand_over


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count outcomes; an error in a fixture counts as failed."""
    of = {
        name: terminalreporter.stats.get(name, [])
        for name in ("passed", "failed", "error", "skipped")
    }
    hand_over(
        passed=len(of["passed"]),
        failed=len(of["failed"]) + len(of["error"]),
        skipped=len(of["skipped"]),
        **{
            SKIPPED_BECAUSE: sorted(
                {str(each.longrepr[2]).removeprefix("Skipped: ") for each in of["skipped"]}
            )
        },
    )
