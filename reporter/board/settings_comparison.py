"""Compares the values of one varied setting in sweeps: ratio, interval, and p corrected for the
number of comparisons."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reporter.data.figure_fields import kind_of_sensor
from reporter.data.frames import POINTS, Frames, Row, is_known, records
from suite.catalog.scoring import load_scoring
from suite.errors import SuiteError
from suite.metrics.comparisons import (
    NEEDS_POSITIVE,
    OTHER_INSTRUMENTS,
    RunStatistics,
    run_statistics,
    score_ratio,
)

MIN_RUNS = 2


@dataclass(frozen=True)
class SettingComparison:
    """Two values of a varied setting within one study, where all its other settings are the same
    (``where``: ``batch_size 16, threads 1``).

    ``ratio`` is the figure at ``value`` over that at ``base``, by geometric means; ``low`` and
    ``high`` bound its 95 % interval. ``p`` is of the test that both are equal, ``p_corrected`` for
    all comparisons of the same call (Holm); ``differs`` where that is below the level of the rules.
    All are None, with the ``reason``, where there are too few runs or a run lacks the figure, and
    for energies of different instruments.
    """

    study: str
    where: str
    value: str
    base: str
    runs: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_corrected: float | None = None
    differs: bool | None = None
    reason: str | None = None


def compare_settings(
    frames: Frames, by: str, figure: str = "step_s"
) -> tuple[SettingComparison, ...]:
    """Compare every pair of values of the varied setting ``by``, at each combination of the other
    varied settings of a study.

    Raises SuiteError for a setting that no study varies, and for a figure that no run has.
    """
    settings = [str(name) for name in frames.points.columns if name not in POINTS]
    if by not in settings:
        raise SuiteError(
            f"No sweep among these runs varies {by!r}; these sweeps vary"
            f" {', '.join(settings) or 'no setting'}."
        )
    names = set(frames.figures["figure"])
    if figure not in names:
        raise SuiteError(
            f"No run has the figure {figure!r}; choose one of {', '.join(sorted(names))}."
        )
    values = {row["run_id"]: row for row in records(frames.select("figures", "figure", [figure]))}
    found = [
        pair
        for (study, where), groups in _blocks(frames, by, settings)
        for pair in _pairs(study, where, groups, values)
    ]
    return tuple(_corrected(found))


Groups = Mapping[str, list[str]]
"""Run ids by the value of the setting that is compared."""


def _blocks(
    frames: Frames, by: str, settings: Sequence[str]
) -> list[tuple[tuple[str, str], Groups]]:
    """The runs of each study at each combination of its other settings, grouped by the compared
    one. A study's runs lie side by side; its title may be another one's, too."""
    folder_of = {row["run_id"]: Path(str(row["path"])).parent for row in records(frames.runs)}
    blocks: dict[tuple[str, str, Path | None], dict[str, list[str]]] = {}
    others = [name for name in settings if name != by]
    for row in records(frames.points.sort_values(["study", *others, by], kind="stable")):
        if is_known(row[by]):
            where = ", ".join(
                f"{name} {_text(row[name])}" for name in others if is_known(row[name])
            )
            key = row["study"], where, folder_of.get(row["run_id"])
            blocks.setdefault(key, {}).setdefault(_text(row[by]), []).append(row["run_id"])
    return [((study, where), groups) for (study, where, _), groups in blocks.items()]


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _pairs(
    study: str, where: str, groups: Groups, values: Mapping[str, Row]
) -> Iterator[SettingComparison]:
    level = load_scoring().level
    of_value = {
        value: _statistics_or_reason([values.get(run) for run in runs])
        for value, runs in groups.items()
    }
    for value, base in itertools.combinations(groups, 2):
        one, other = of_value[value], of_value[base]
        pair = SettingComparison(
            study, where, value, base, min(len(groups[value]), len(groups[base]))
        )
        reasons = [
            f"{name}: {each}"
            for name, each in ((value, one), (base, other))
            if isinstance(each, str)
        ]
        if isinstance(one, str) or isinstance(other, str):
            yield replace(pair, reason="; ".join(reasons))
        elif len({kind_of_sensor(values[run]) for run in (*groups[value], *groups[base])}) > 1:
            yield replace(pair, reason=OTHER_INSTRUMENTS)
        else:
            bounds = score_ratio(one, other, level, level)
            yield replace(
                pair, ratio=bounds.ratio, low=bounds.low, high=bounds.high, p=_p(one, other)
            )


def _statistics_or_reason(rows: Sequence[Row | None]) -> RunStatistics | str:
    """The statistics of the runs' values, or why there are none."""
    values = [float(row["value"]) for row in rows if row is not None and row["value"] is not None]
    if len(values) < len(rows):
        reasons = [
            str(row["reason"])
            for row in rows
            if row is not None and row["value"] is None and row["reason"]
        ]
        return reasons[0] if reasons else "a run lacks this figure"
    if len(values) < MIN_RUNS:
        return (
            f"an interval needs at least {MIN_RUNS} runs of each value, but this value has only"
            f" {len(values)}; run the sweep with more --seeds (a study: --repetitions)"
        )
    return run_statistics(values) if min(values) > 0 else NEEDS_POSITIVE


def _p(one: RunStatistics, other: RunStatistics) -> float:
    """Two-sided p of Student's test on logarithms, with the degrees of freedom of the interval
    (suite.metrics.comparisons)."""
    from scipy.special import stdtr  # type: ignore[import-untyped]  # start-up: scipy

    variance = one.log_variance / one.runs + other.log_variance / other.runs
    difference = abs(one.log_mean - other.log_mean)
    if variance == 0:
        return 1.0 if difference == 0 else 0.0
    return min(
        1.0,
        2 * float(stdtr(2 * (min(one.runs, other.runs) - 1), -difference / math.sqrt(variance))),
    )


def _corrected(pairs: Sequence[SettingComparison]) -> Iterator[SettingComparison]:
    """The pairs with Holm's correction: the k-th smallest p times the number of hypotheses not yet
    rejected, never below an earlier one's."""
    level = load_scoring().level
    tested = sorted(
        (index for index, pair in enumerate(pairs) if pair.p is not None),
        key=lambda index: float(pairs[index].p or 0.0),
    )
    corrected: dict[int, float] = {}
    highest = 0.0
    for place, index in enumerate(tested):
        highest = max(highest, min(1.0, (len(tested) - place) * float(pairs[index].p or 0.0)))
        corrected[index] = highest
    for index, pair in enumerate(pairs):
        yield (
            pair
            if index not in corrected
            else replace(pair, p_corrected=corrected[index], differs=corrected[index] < level)
        )
