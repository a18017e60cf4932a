"""Judges predictions of modes: on laws of simulated boards, or on really measured modes.

    python -m benchmarks.predict_modes                                 every law, 100 draws each
    python -m benchmarks.predict_modes --laws my_law.py other_law.py   laws of other authors
    python -m benchmarks.predict_modes --family 90                     random laws, one draw each
    python -m benchmarks.predict_modes --table modes.csv --profiled 8  splits of measured modes

A draw has its own modes, noise and question. Of its modes the last two are those that `suite
predict` recommends for the question. Scores are of modes that were not profiled. Prints Markdown:
means over the draws, and their standard deviation after ±.
"""

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.predict_family import random_law
from benchmarks.predict_laws import Law, law_files, load_law
from suite.errors import SuiteError
from suite.extensions.prediction.record.design import initial_design, next_mode
from suite.extensions.prediction.record.limits import Quantity, Question, best, question
from suite.extensions.prediction.record.models import MODELS, fit
from suite.extensions.prediction.record.modes import Modes, read_grid
from suite.extensions.prediction.record.samples import Intervals, Predictor, Samples
from suite.extensions.prediction.record.table import Profile, read_table
from suite.files.paths import rules_folder

Array = Any  # of float64

RECOMMENDED = 2
"""Modes of a draw that are profiled because they were recommended."""
LIMIT_SHARES = (0.15, 0.85)
"""A limit is that share of the modes' values, drawn uniformly between these."""
COLUMNS = (
    "law",
    "error of time (%)",
    "of power (%)",
    "coverage of time (%)",
    "of power (%)",
    "within the limit (%)",
    "above the best (%)",
    "within 7 % (%)",
    "all modes (s)",
)


@dataclasses.dataclass(frozen=True)
class Score:
    """One draw: errors and coverage (%) over the modes not profiled, and the answer (NaN: there was
    none).

    ``excess`` is how far the answer is above the true best, relatively; ``answer_s`` the time to
    fit the model and to answer all modes.
    """

    time_error: float
    power_error: float
    time_coverage: float
    power_coverage: float
    within: float
    excess: float
    answer_s: float


@dataclasses.dataclass(frozen=True)
class Judge:
    """What all draws have in common."""

    modes: Modes
    budget: int
    noise: float
    model: str
    at_random: bool
    others: tuple[Profile, ...] = ()


def main() -> int:
    """Exit code 0, 2 for what cannot be read."""
    arguments = parse()
    try:
        if arguments.table is not None:
            judge_table(arguments)
        else:
            judge_laws(arguments)
    except (SuiteError, ValueError, KeyError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.predict_modes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--laws", type=Path, nargs="*", help="law files (default: all of benchmarks/predict_laws)"
    )
    parser.add_argument(
        "--family",
        type=int,
        metavar="N",
        help="judge N laws of benchmarks/predict_family.py instead",
    )
    parser.add_argument(
        "--grid", type=Path, help="TOML file of axes (default: the 29,232 modes of AGX Xavier)"
    )
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument(
        "--budget",
        type=int,
        default=10,
        help="profiled modes of a draw, recommended ones among them",
    )
    parser.add_argument(
        "--noise", type=float, default=0.02, help="relative standard deviation of every measurement"
    )
    parser.add_argument("--model", choices=MODELS, default="physical")
    parser.add_argument(
        "--other", type=Path, help="law of another workload, of which the baselines see 800 modes"
    )
    parser.add_argument(
        "--random",
        action="store_true",
        help="profile modes at random instead of those that the design names",
    )
    parser.add_argument(
        "--table",
        type=Path,
        help="table or sweep of measured modes; --draws splits of it are judged with every model",
    )
    parser.add_argument(
        "--profiled", type=int, default=8, help="with --table: profiled modes of a split"
    )
    return parser.parse_args()


def judge_laws(arguments: argparse.Namespace) -> None:
    """Print one row per law."""
    modes = read_grid(arguments.grid or rules_folder() / "mode_grids" / "agx-xavier.toml")
    judge = Judge(modes, arguments.budget, arguments.noise, arguments.model, arguments.random)
    if arguments.other is not None:
        seen = np.random.default_rng(0).choice(len(modes), min(800, len(modes)), replace=False)
        judge = dataclasses.replace(
            judge,
            others=(
                _measured(judge, load_law(arguments.other, modes), seen, np.random.default_rng(1)),
            ),
        )
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    if arguments.family is not None:
        numbers = range(1, arguments.family + 1)
        print(
            _row(
                f"{len(numbers)} random laws",
                [draw(judge, random_law(number, modes), number) for number in numbers],
            )
        )
        return
    for path in arguments.laws or law_files():
        law = load_law(path, modes)
        print(
            _row(law.name, [draw(judge, law, number) for number in range(1, arguments.draws + 1)]),
            flush=True,
        )


@dataclasses.dataclass(frozen=True)
class Drawn:
    """One draw: the modes that were not profiled, the last prediction of all modes, the question,
    its answer and the seconds to both."""

    left: Array
    samples: Samples
    asked: Question
    answered: int | None
    answer_s: float


def drawn(judge: Judge, law: Law, number: int) -> Drawn:
    """Profile and predict until the budget is used, and answer."""
    random = np.random.default_rng(number)
    asked = _question(law, number, random)
    profiled = initial_design(judge.modes, seed=number)
    if judge.at_random:
        profiled = random.choice(
            len(judge.modes), judge.budget - RECOMMENDED, replace=False
        ).tolist()
    profile = _measured(judge, law, profiled, random)
    while True:
        start = time.perf_counter()
        samples = fit(judge.model, judge.modes, profile, judge.others, number).predict(
            judge.modes.rows
        )
        answered = best(samples, asked)
        answer_s = time.perf_counter() - start
        if len(profile) >= judge.budget:
            break
        following = next_mode(
            samples, profiled, asked if judge.budget - len(profile) <= RECOMMENDED else None, number
        )
        assert following is not None
        profiled.append(following)
        profile = _joined(profile, _measured(judge, law, [following], random))
    return Drawn(
        np.setdiff1d(np.arange(len(judge.modes)), profiled), samples, asked, answered, answer_s
    )


def draw(judge: Judge, law: Law, number: int) -> Score:
    """The scores of one draw."""
    one = drawn(judge, law, number)
    kept = Samples(one.samples.log_time[:, one.left], one.samples.log_power[:, one.left])
    within, excess = _judged(law, one.asked, one.answered)
    time_scores, power_scores = (
        _compared(kept.time_s(), law.time_s[one.left]),
        _compared(kept.power_w(), law.power_w[one.left]),
    )
    return Score(
        time_scores[0],
        power_scores[0],
        time_scores[1],
        power_scores[1],
        within,
        excess,
        one.answer_s,
    )


def _question(law: Law, number: int, random: np.random.Generator) -> Question:
    """The three questions in turn: fastest within a power, least energy within a time, fastest
    within an energy."""
    share = random.uniform(*LIMIT_SHARES)
    values = (law.power_w, law.time_s, law.time_s * law.power_w)[number % 3]
    limits: list[float | None] = [None, None, None]
    limits[number % 3] = float(np.quantile(values, share))
    return question(*limits)


def _judged(law: Law, asked: Question, answered: int | None) -> tuple[float, float]:
    """Whether the answer is truly within the limits, and how far above the true best its minimised
    quantity is."""
    if answered is None:
        return float("nan"), float("nan")
    values = {
        Quantity.TIME: law.time_s,
        Quantity.POWER: law.power_w,
        Quantity.ENERGY: law.time_s * law.power_w,
    }
    within = np.all(
        [values[quantity] <= limit for quantity, limit in asked.limits().items()], axis=0
    )
    minimised = values[asked.minimise]
    return float(within[answered]), float(minimised[answered] / minimised[within].min() - 1)


def _measured(
    judge: Judge, law: Law, indices: Sequence[int], random: np.random.Generator
) -> Profile:
    place = np.asarray(indices, dtype=int)
    noisy = [
        values[place] * np.exp(judge.noise * random.standard_normal(len(place)))
        for values in (law.time_s, law.power_w)
    ]
    error = np.full(len(place), judge.noise)
    return Profile(judge.modes.names, judge.modes.rows[place], *noisy, error, error)


def _joined(first: Profile, second: Profile) -> Profile:
    joined = {
        field.name: np.concatenate([getattr(first, field.name), getattr(second, field.name)])
        for field in dataclasses.fields(first)[1:]
    }
    return Profile(first.names, **joined)


def _compared(predicted: Intervals, true: Array) -> tuple[float, float]:
    """Mean absolute percentage error, and share of intervals that hold the true value (%)."""
    covered = (predicted.low <= true) & (true <= predicted.high)
    return 100 * float(np.mean(np.abs(predicted.value / true - 1))), 100 * float(np.mean(covered))


def _row(name: str, scores: Sequence[Score]) -> str:
    def cell(values: Array, digits: int = 1) -> str:
        return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"

    table = {
        field.name: np.array([getattr(score, field.name) for score in scores])
        for field in dataclasses.fields(Score)
    }
    answered = ~np.isnan(table["within"])
    within, excess = table["within"][answered], table["excess"][answered]
    none = "" if answered.all() else f" ({np.sum(~answered)} without an answer)"
    errors = [
        cell(table[column])
        for column in ("time_error", "power_error", "time_coverage", "power_coverage")
    ]
    answers = (
        [
            f"{100 * np.mean(within):.0f}{none}",
            cell(100 * excess),
            f"{100 * np.mean(excess <= 0.07):.0f}",
        ]
        if len(within)
        else ["-"] * 3
    )
    return f"| {name} | {' | '.join([*errors, *answers, cell(table['answer_s'], 2)])} |"


def judge_table(arguments: argparse.Namespace) -> None:
    """Print one row per model: the same random splits of the table's modes."""
    table = read_table(arguments.table)
    profile = table.profile
    print(f"{len(profile)} modes, {arguments.profiled} profiled, {arguments.draws} splits")
    print("| model | error of time (%) | of power (%) | coverage of time (%) | of power (%) |")
    print("|---|---|---|---|---|")
    for model in MODELS:
        rows = []
        for number in range(arguments.draws):
            order = np.random.default_rng(number).permutation(len(profile))
            seen, left = (
                profile.take(order[: arguments.profiled]),
                profile.take(order[arguments.profiled :]),
            )
            rows.append(_held_out(fit(model, table.modes, seen, seed=number), left, number))
        cells = [
            f"{mean:.1f} ± {spread:.1f}"
            for mean, spread in zip(np.mean(rows, axis=0), np.std(rows, axis=0), strict=True)
        ]
        print(
            f"| {model} |"
            f" {' | '.join(cells if profile.has_power else [cells[0], '-', cells[2], '-'])} |",
            flush=True,
        )


def _held_out(
    predictor: Predictor, left: Profile, number: int
) -> tuple[float, float, float, float]:
    """Errors and coverage against measurements, which have errors of their own: the intervals are
    widened by these."""
    random = np.random.default_rng(number)
    samples = predictor.predict(left.rows)
    noisy = Samples(
        samples.log_time + random.standard_normal(samples.log_time.shape) * left.time_error,
        samples.log_power + random.standard_normal(samples.log_power.shape) * left.power_error,
    )
    time_error, power_error = (
        _compared(samples.time_s(), left.time_s)[0],
        _compared(samples.power_w(), left.power_w)[0],
    )
    return (
        time_error,
        power_error,
        _compared(noisy.time_s(), left.time_s)[1],
        _compared(noisy.power_w(), left.power_w)[1],
    )


if __name__ == "__main__":
    sys.exit(main())
