"""Bars of a column: where values and their intervals lie between the smallest and the largest."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from reporter.board.columns import Cell

LENGTH, LEAST, MIN_INTERVAL = 100.0, 6.0, 1.2
DECADE = 10.0


@dataclass(frozen=True)
class Bar:
    """The ends, from 0 to 100, of a bar and of its 95 % interval; without an interval both of the
    latter are the bar's end."""

    end: str
    low: str
    high: str


@dataclass(frozen=True)
class BarScale:
    """From the bars' common beginning to the longest bar's end; logarithmic where values span a
    decade, else from zero."""

    low: float
    high: float
    is_logarithmic: bool

    def bar(self, cell: Cell | None) -> Bar | None:
        """The bar of a cell; None without a value."""
        if cell is None or cell.value is None or not cell.value > 0:
            return None
        low, high = cell.interval or (cell.value, cell.value)
        end = self._at(cell.value)
        ends = (
            min(self._at(low), end - MIN_INTERVAL / 2),
            max(self._at(high), end + MIN_INTERVAL / 2),
        )
        return Bar(
            *(f"{min(max(each, 0), LENGTH):.1f}".removesuffix(".0") for each in (end, *ends))
        )

    def _at(self, value: float) -> float:
        if not self.is_logarithmic:
            return LENGTH * value / self.high
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return LEAST + (LENGTH - LEAST) * share


def bar_scale(cells: Iterable[Cell | None]) -> BarScale:
    """The common scale of these cells."""
    values = [
        cell.value
        for cell in cells
        if cell is not None and cell.value is not None and cell.value > 0
    ]
    ends = [
        cell.interval[1]
        for cell in cells
        if cell is not None and cell.interval is not None and math.isfinite(cell.interval[1])
    ]
    if not values:
        return BarScale(1, 1, False)
    low, high = min(values), max([*values, *ends])
    return BarScale(low, high, high / low >= DECADE)
