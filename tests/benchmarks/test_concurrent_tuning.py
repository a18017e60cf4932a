"""The benchmark of tuning training beside inference, where it has no ratio to give."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import concurrent_tuning as benchmark
from suite.errors import SuiteError

CHOSEN, BEST = "1 thread, batch 1", "1 thread, batch 4"


def trial(candidate: str, p99_s: float, rate: float | None) -> SimpleNamespace:
    return SimpleNamespace(
        candidate=candidate, p99_s=p99_s, windows_within=None, power_w=None, samples_per_s=rate
    )


def measured(monkeypatch: pytest.MonkeyPatch, trials: Iterator[Any]) -> list[Any]:
    monkeypatch.setattr(benchmark, "_plan", lambda *_: SimpleNamespace(output=Path()))
    monkeypatch.setattr(benchmark, "candidates", lambda *_: [CHOSEN, BEST])
    monkeypatch.setattr(benchmark, "tune_here", lambda *_: SimpleNamespace(best=CHOSEN))
    monkeypatch.setattr(benchmark, "measure_trial", lambda *_: next(trials))
    return list(benchmark.measure(benchmark.Settings(limit_ms=60.0, pairs=1)))


def test_a_search_in_which_no_setting_keeps_the_limit_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials = (trial(name, 0.1, 500.0) for name in (CHOSEN, BEST))
    with pytest.raises(SuiteError, match="use a higher --limit-ms or a longer --duration-s"):
        measured(monkeypatch, trials)


@pytest.mark.parametrize("rates", [(None, 500.0), (500.0, None)])
def test_a_turn_of_an_unknown_rate_says_what_to_type(
    rates: tuple[float | None, float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = [trial(CHOSEN, 0.05, 400.0), trial(BEST, 0.05, 500.0)]
    turn = [trial(name, 0.05, rate) for name, rate in zip((CHOSEN, BEST), rates, strict=True)]
    with pytest.raises(SuiteError, match=r"too few training steps .* a longer --duration-s"):
        measured(monkeypatch, iter([*search, *turn]))
