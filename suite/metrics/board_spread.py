"""Variability between boards: how far a figure of equal runs scatters over boards, and which boards
stand out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from suite.bundle.arrays import SCALE_OF_NORMAL, Values, median
from suite.catalog.scoring import load_scoring
from suite.metrics.comparisons import student_t_quantile
from suite.metrics.figure import Figure

NAMES = {
    "step_s": "step",
    "time_to_epoch_s": "time of an epoch",
    "energy_per_epoch_j": "energy of an epoch",
    "mean_power_w": "mean power of the run",
}
"""Figures that are compared between boards."""


@dataclass(frozen=True)
class Outlier:
    """A board whose figure stands out: its name, and its value over the median of all boards."""

    board: str
    to_median: float


@dataclass(frozen=True)
class BoardSpread:
    """A figure over ``count`` boards: their mean, the coefficient of variation (standard deviation
    over mean; None for one board), and the boards that stand out."""

    figure: str
    count: int
    mean: float
    variation: float | None
    outliers: tuple[Outlier, ...]

    @property
    def name(self) -> str:
        """The figure in words."""
        return NAMES[self.figure]


def board_spread(boards: Mapping[str, Mapping[str, Figure]]) -> tuple[BoardSpread, ...]:
    """The spread of each figure that a board has; boards without it are left out."""
    found, scoring = [], load_scoring()
    for name in NAMES:
        of_boards = {
            board: figures[name].value
            for board, figures in boards.items()
            if figures[name].value is not None
        }
        values = np.array(list(of_boards.values()), dtype=float)
        if len(values) == 0:
            continue
        mean = float(values.mean())
        variation = float(values.std(ddof=1)) / mean if len(values) > 1 and mean > 0 else None
        stands_out = outliers(values, scoring.level, scoring.session_floor)
        found.append(
            BoardSpread(
                name,
                len(values),
                mean,
                variation,
                tuple(
                    Outlier(board, float(values[index] / median(values)))
                    for index, board in enumerate(of_boards)
                    if index in stands_out
                ),
            )
        )
    return tuple(found)


def outliers(values: Values, level: float, floor: float) -> Sequence[int]:
    """Places of the values that stand out: farther from the median than Student's t allows one of
    N values, in units of the scatter; of fewer than three, none.

    The scatter is that of the median absolute deviation (Iglewicz and Hoaglin 1993), which half of
    the boards may spoil, and at least ``floor``, relative: three boards may agree by chance.
    """
    count, middle = len(values), median(values)
    if count < 3:
        return ()
    away = np.abs(values - middle)
    scatter = max(SCALE_OF_NORMAL * median(away), floor * abs(middle))
    farthest = student_t_quantile(count - 1, 1 - level / count) * scatter
    return tuple(int(place) for place in np.flatnonzero(away > farthest))


def spread_sentences(spreads: Sequence[BoardSpread]) -> Iterator[str]:
    """Which boards stand out, for a person."""
    for spread in spreads:
        for outlier in spread.outliers:
            yield (
                f"{outlier.board} stands out: its {spread.name} is {outlier.to_median:.3g} times"
                f" the median of {spread.count} boards."
            )
