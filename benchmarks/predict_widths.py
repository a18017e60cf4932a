"""Learns the widths of the intervals of `suite predict`
(suite.extensions.prediction.record.posterior: TIME_WIDTH, POWER_WIDTH).

    python -m benchmarks.predict_widths                   the laws of other authors, 6 draws each
    python -m benchmarks.predict_widths --laws a.py b.py  these laws
    python -m benchmarks.predict_widths --family 100      random laws from number 101, 1 draw each

Split conformal prediction over laws: each law is profiled and predicted as
`benchmarks.predict_modes` judges, in all modes of the board. Of every mode that was not profiled
the factor is taken by which its interval had to be wider to reach the true value; the widths are
the 90 % quantile of these, each law counting the same. A mode of a further law is then covered with
90 %, on average over laws that are drawn as these were. Prints the widths, and how the modes of
each law are covered by the width of all the others: what a law gets that nobody has seen.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.predict_family import random_law
from benchmarks.predict_laws import OF_OTHERS, Law, law_files, load_law
from benchmarks.predict_modes import Judge, drawn
from suite.extensions.prediction.record.modes import read_grid
from suite.extensions.prediction.record.posterior import POWER_WIDTH, TIME_WIDTH
from suite.extensions.prediction.record.samples import CONFIDENCE, Intervals, Samples
from suite.files.paths import rules_folder

Array = Any  # of float64

FIRST_RANDOM = 101
"""`benchmarks.predict_modes --family` judges the ones before."""
QUANTILES = np.linspace(0, 1, 1001)
"""What is kept of a draw's factors."""


def main() -> None:
    """Print the widths that the laws ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.predict_widths",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--laws",
        type=Path,
        nargs="+",
        help="law files (default: those of other authors)",
    )
    parser.add_argument("--draws", type=int, default=6, help="draws of each law file")
    parser.add_argument("--family", type=int, metavar="N", help="N random laws instead")
    arguments = parser.parse_args()
    judge = Judge(
        read_grid(rules_folder() / "mode_grids" / "agx-xavier.toml"),
        budget=10,
        noise=0.02,
        model="physical",
        at_random=False,
    )
    pairs = {
        law.name: [_needed(judge, law, number) for number in numbers]
        for law, numbers in _laws(judge, arguments)
    }
    for place, (name, now) in enumerate((("time", TIME_WIDTH), ("power", POWER_WIDTH))):
        needed = {
            law: now * np.stack([draw[place] for draw in draws]) for law, draws in pairs.items()
        }
        print(f"{name}: width {width_of(needed.values()):.3f} (now {now})")
        covered = left_out(needed)
        print(
            f"  a law that is left out is covered with {np.mean(list(covered.values())):.1f} % on"
            " average by the width of the others:"
        )
        print(
            "  "
            + ", ".join(
                f"{law} {share:.1f}"
                for law, share in sorted(covered.items(), key=lambda pair: pair[1])
            )
        )


def _laws(judge: Judge, arguments: argparse.Namespace) -> Iterator[tuple[Law, range]]:
    """Each law with the numbers of its draws."""
    if arguments.family is not None:
        for number in range(FIRST_RANDOM, FIRST_RANDOM + arguments.family):
            yield random_law(number, judge.modes), range(number, number + 1)
        return
    for path in arguments.laws or law_files(OF_OTHERS):
        yield load_law(path, judge.modes), range(1, arguments.draws + 1)


def width_of(needed: Iterable[Array]) -> float:
    """The factor that covers 90 % of the modes of these laws, of which each is an array of equally
    many factors."""
    return float(np.quantile(np.concatenate([factors.ravel() for factors in needed]), CONFIDENCE))


def left_out(needed: dict[str, Array]) -> dict[str, float]:
    """Which share (%) of each law's modes the width covers that all the others ask for."""
    return {
        law: (
            100
            * float(
                np.mean(factors <= width_of(other for name, other in needed.items() if name != law))
            )
        )
        for law, factors in needed.items()
    }


def _needed(judge: Judge, law: Law, number: int) -> tuple[Array, Array]:
    """The factors of the modes that one draw did not profile, for time and power, as QUANTILES."""
    one = drawn(judge, law, number)
    kept = Samples(one.samples.log_time[:, one.left], one.samples.log_power[:, one.left])
    time = needed_factors(kept.log_time, kept.time_s(), law.time_s[one.left])
    power = needed_factors(kept.log_power, kept.power_w(), law.power_w[one.left])
    return np.quantile(time, QUANTILES), np.quantile(power, QUANTILES)


def needed_factors(logarithms: Array, given: Intervals, true: Array) -> Array:
    """By which factor each interval must be wider to reach the true value, about the mean of the
    samples, from which widths are scaled."""
    centre, aim = np.mean(logarithms, axis=0), np.log(true)
    limit = np.where(aim > centre, np.log(given.high), np.log(given.low))
    return (aim - centre) / (limit - centre)


if __name__ == "__main__":
    main()
