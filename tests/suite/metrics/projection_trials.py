"""Projected against confirmed times: ``python -m tests.suite.metrics.projection_trials FOLDER…``,
with folders of entries (run_1, run_2, …).

Each run's first epochs project the entry's score, which is then taken from the *other* runs of the
entry, with all their epochs.
"""

import math
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.catalog.scoring import load_scoring
from suite.metrics.costs import TrainingCost
from suite.metrics.projection import EpochTimes, epoch_times, expected_at, project_times

FIRST = (3, 4)
WITHIN = 0.05


@dataclass(frozen=True)
class Trial:
    """A projection from a run's first epochs: how far it is from the score of the other runs, and
    whether its interval holds that."""

    entry: str
    trained: int
    off: float
    is_inside: bool


def trials(entry: Path) -> Iterator[Trial]:
    """Every run of an entry, projected from its first epochs."""
    bundles = [Bundle(path.parent) for path in sorted(entry.glob(f"run_*/{SUMMARY}"))]
    expected, times = (
        expected_at(bundles[0], load_scoring()),
        [epoch_times(bundle) for bundle in bundles],
    )
    name = f"{entry.name}, batch size {bundles[0].run().request['global_batch_size']}"
    for trained in FIRST:
        for place, own in enumerate(times):
            if len(own.epochs_s) < trained:
                continue
            found = project_times(
                "", EpochTimes(own.epochs_s[:trained], own.evaluation_s), expected, load_scoring()
            ).time_s
            others_s = [
                _whole_s(one, expected.epochs) for other, one in enumerate(times) if other != place
            ]
            confirmed_s = math.exp(statistics.fmean(map(math.log, others_s)))
            assert found.low is not None and found.high is not None
            yield Trial(
                name, trained, found.value / confirmed_s - 1, found.low <= confirmed_s <= found.high
            )


def _whole_s(times: EpochTimes, epochs: float) -> float:
    return TrainingCost(
        times.epochs_s[0], statistics.fmean(times.epochs_s[1:]), times.evaluation_s
    ).total(epochs)


def main() -> None:
    """A row for each entry and number of epochs."""
    entries = sorted(
        {path.parent.parent for folder in sys.argv[1:] for path in Path(folder).rglob(SUMMARY)}
    )
    found = [trial for entry in entries for trial in trials(entry)]
    print(
        "| entry | epochs | projections | off by | within 5 % | in the interval"
        " |\n|---|---|---|---|---|---|"
    )
    for entry, trained in dict.fromkeys((one.entry, one.trained) for one in found):
        _print(
            entry,
            str(trained),
            [one for one in found if (one.entry, one.trained) == (entry, trained)],
        )
    _print("all", "", found)


def _print(entry: str, trained: str, rows: list[Trial]) -> None:
    within, inside = sum(abs(one.off) <= WITHIN for one in rows), sum(one.is_inside for one in rows)
    furthest = f"{min(one.off for one in rows):+.0%} to {max(one.off for one in rows):+.0%}"
    print(f"| {entry} | {trained} | {len(rows)} | {furthest} | {within} | {inside} |")


if __name__ == "__main__":
    main()
