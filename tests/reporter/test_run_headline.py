"""What a run's page says first."""

from pathlib import Path
from typing import Any

import pytest

from reporter.pages.run_headline import run_headline
from suite.compliance.checker import BundleVerdict

VERDICT = BundleVerdict(Path("run"), "v0.3", "closed", ())


def figure(name: str, value: float | None, unit: str) -> dict[str, Any]:
    unknown = dict.fromkeys(("low", "high", "spread", "count"))
    return {"figure": name, "value": value, "unit": unit, "reason": "no reading", **unknown}


@pytest.mark.parametrize(
    ("time_s", "accuracy", "target", "said"),
    [
        (87.6, 0.9903, 0.99, "reached 99 % in 87.6 s."),
        (None, 0.9712, 0.99, "missed 99 %: 97.12 % at best."),
        (None, 0.9903, 0.99, "reached 99.03 % (target 99 %) after an unknown time."),
        (None, 0.9712, None, "reached 97.12 %; the run had no target."),
        (None, 0.98998, 0.99, "missed 99 %: 98.998 % at best."),
        (None, None, 0.99, "was not evaluated."),
    ],
)
def test_the_outcome_is_of_what_is_known(
    time_s: float | None, accuracy: float | None, target: float | None, said: str
) -> None:
    figures = {
        "time_to_target_s": figure("time_to_target_s", time_s, "s"),
        "best_accuracy": figure("best_accuracy", accuracy, "ratio"),
    }
    assert run_headline("It", figures, VERDICT, target).text == f"It {said}"
