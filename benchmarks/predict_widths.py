"""Learns the widths of the intervals of `suite predict` (suite.prediction.posterior: TIME_WIDTH, POWER_WIDTH) over random laws.

    python -m benchmarks.predict_widths --first 101 --laws 300

Split conformal prediction over laws: each random law of `benchmarks/predict_family.py` is profiled and predicted as `benchmarks.predict_modes`
judges, in all modes of the board. Of every mode that was not profiled the factor is taken by which its interval had to be wider to reach the true
value; the widths are the 90 % quantile of these. The interval of a mode of a further law of this family then holds with 90 %, on average over laws
and modes. Prints the widths, and how far those of single laws differ.
"""

import argparse
from typing import Any

import numpy as np

from benchmarks.predict_family import random_law
from benchmarks.predict_modes import Judge, drawn
from suite.files.paths import rules_folder
from suite.prediction.modes import read_grid
from suite.prediction.posterior import POWER_WIDTH, TIME_WIDTH
from suite.prediction.samples import CONFIDENCE, Intervals, Samples

Array = Any  # of float64


def main() -> None:
    """Print the widths that the laws ask for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.predict_widths", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=int, default=101, help="number of the first law; others judge (--family of predict_modes begins at 1)")
    parser.add_argument("--laws", type=int, default=300)
    arguments = parser.parse_args()
    judge = Judge(read_grid(rules_folder() / "mode_grids" / "agx-xavier.toml"), budget=10, noise=0.02, model="physical", at_random=False)
    pairs = [_needed(judge, number) for number in range(arguments.first, arguments.first + arguments.laws)]
    for name, width, needed in zip(("time", "power"), (TIME_WIDTH, POWER_WIDTH), zip(*pairs, strict=True), strict=True):
        factors = np.stack([np.quantile(law, np.linspace(0, 1, 1001)) for law in needed])  # each law counts the same
        own = np.quantile(factors, CONFIDENCE, axis=1)
        covered = 100 * np.mean(factors <= 1)
        print(
            f"{name}: width {width * np.quantile(factors, CONFIDENCE):.3f} (now {width}, which covers {covered:.1f} %); "
            f"of single laws {width * np.quantile(own, 0.1):.2f} to {width * np.quantile(own, 0.9):.2f} (10 and 90 % of the laws)"
        )


def _needed(judge: Judge, number: int) -> tuple[Array, Array]:
    """The factors of each mode not profiled, for time and power."""
    law = random_law(number, judge.modes)
    one = drawn(judge, law, number)
    kept = Samples(one.samples.log_time[:, one.left], one.samples.log_power[:, one.left])
    return (
        needed_factors(kept.log_time, kept.time_s(), law.time_s[one.left]),
        needed_factors(kept.log_power, kept.power_w(), law.power_w[one.left]),
    )


def needed_factors(logarithms: Array, given: Intervals, true: Array) -> Array:
    """By which factor each interval must be wider to reach the true value, about the mean of the samples, from which widths are scaled."""
    centre, aim = np.mean(logarithms, axis=0), np.log(true)
    limit = np.where(aim > centre, np.log(given.high), np.log(given.low))
    return (aim - centre) / (limit - centre)


if __name__ == "__main__":
    main()
