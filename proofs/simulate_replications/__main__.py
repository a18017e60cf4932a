"""`suite reproduce` confirms and refutes times of known truth as often as it claims: `make prove
simulate-replications`.

Times are drawn log-normal. ``drift`` is by how much the original's machine was faster on its day.
Everything else is the suite's own code. With folders of real runs, every one of them is the
original once, and every window of the runs that began after it replicates it; and once more with
all its times halved. The campaign measures, and judges nothing.
"""

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proofs.figures import hand_over
from suite.bundle.reader import Bundle
from suite.catalog.reproduction import load_reproduction
from suite.compliance.checker import find_bundles
from suite.metrics.replication import verdict_on_times
from suite.metrics.replication_record import ReplicationVerdict, measure_run

SETTINGS = load_reproduction()


@dataclass(frozen=True)
class Shares:
    """Of the replications: the shares that refute, confirm and leave undecided, and their
    number."""

    refuted: float
    confirmed: float
    undecided: float
    trials: int


def shares(verdicts: Sequence[ReplicationVerdict]) -> Shares:
    """The share of each verdict."""
    counts, total = Counter(verdicts), len(verdicts)
    kinds = (ReplicationVerdict.REFUTED, ReplicationVerdict.CONFIRMED, ReplicationVerdict.UNDECIDED)
    return Shares(*(counts[kind] / total for kind in kinds), total)


def simulate(
    rng: np.random.Generator, noise: float, runs: tuple[int, int], factor: float, draws: int
) -> Shares:
    """Replications of ``runs[0]`` originals by ``runs[1]`` fresh runs; the originals' true time is
    ``factor`` times that of the fresh runs."""
    ones = factor * np.exp(rng.normal(0, noise, (draws, runs[0])))
    others = np.exp(rng.normal(0, noise, (draws, runs[1])))
    return shares(
        [
            verdict_on_times(one, other, SETTINGS)
            for one, other in zip(ones.tolist(), others.tolist(), strict=True)
        ]
    )


def divided(times_s: Sequence[float], fresh: int, factor: float = 1.0) -> list[ReplicationVerdict]:
    """Every time as the original, ``factor`` times what it was, with every window of ``fresh``
    later times; times are in the order of the runs."""
    return [
        verdict_on_times([factor * original_s], times_s[begin : begin + fresh], SETTINGS)
        for place, original_s in enumerate(times_s)
        for begin in range(place + 1, len(times_s) - fresh + 1)
    ]


def times_of(folder: Path) -> list[float]:
    """The time of a later epoch of every run below the folder, in the order in which they began."""
    runs = sorted(
        (measure_run(Bundle(path)) for path in find_bundles(folder)),
        key=lambda run: run.started_time_ms,
    )
    return [run.time_to_epoch_s for run in runs if run.time_to_epoch_s is not None]


def simulated_rows(draws: int, seed: int) -> Iterator[str]:
    """The rows of the table of drawn replications."""
    rng, limit = np.random.default_rng(seed), 1 + SETTINGS.margin
    cases = (
        (1.0, "honest"),
        (1 / 1.05, "honest, machine 5 % faster that day"),
        (1 / limit, f"honest, machine {SETTINGS.margin:.0%} faster that day"),
    )
    forged = ((0.8, "forged, four fifths of the times"), (0.5, "forged, half the times"))
    for noise in (0.01, 0.05, 0.13):
        for runs in ((1, 3), (3, 3), (3, 6)):
            for factor, name in (*cases, *forged):
                found = simulate(rng, noise, runs, factor, draws)
                yield (
                    f"| {noise:.0%} | {runs[0]}, {runs[1]} | {name} | {found.refuted:.1%} |"
                    f" {found.confirmed:.1%} | {found.undecided:.1%} |"
                )


def real_rows(folder: Path) -> Iterator[str]:
    """The rows of the table of divided runs."""
    times_s = times_of(folder)
    logs = [math.log(time_s) for time_s in times_s]
    scatter = float(np.std(logs, ddof=1))
    for fresh in (3, 5):
        for factor, name in ((1.0, "as they are"), (0.5, "with half the times")):
            found = shares(divided(times_s, fresh, factor))
            yield (
                f"| {folder.name} | {len(times_s)} | {scatter:.1%} | {fresh} | {name} |"
                f" {found.trials} | {found.refuted:.1%} | {found.confirmed:.1%} |"
                f" {found.undecided:.1%} |"
            )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="How often replications confirm and refute.")
    parser.add_argument(
        "folders", type=Path, nargs="*", help="folders of real runs of one setting each"
    )
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(
        "| noise | originals, fresh runs | original | refuted | confirmed | undecided"
        " |\n|---|---|---|---|---|---|"
    )
    refuted_percent: dict[str, list[float]] = {}
    for row in simulated_rows(options.draws, options.seed):
        print(row, flush=True)
        _, _, original, refuted, *_ = (cell.strip() for cell in row.strip("|").split("|"))
        refuted_percent.setdefault(original.partition(",")[0], []).append(
            float(refuted.rstrip("%"))
        )
    if options.folders:
        print(
            "\n| runs | number | scatter | fresh runs | originals | replications | refuted |"
            " confirmed | undecided |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
    for folder in options.folders:
        print("\n".join(real_rows(folder)), flush=True)
    honest, forged = refuted_percent["honest"], refuted_percent["forged"]
    hand_over(
        draws_of_a_row=options.draws,
        honest_originals_refuted_most_percent=max(honest),
        forged_originals_refuted_least_percent=min(forged),
        forged_originals_refuted_most_percent=max(forged),
    )


if __name__ == "__main__":
    main()
