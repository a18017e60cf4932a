"""A logarithmic axis that all rows of a chart share: where values and the ends of their intervals
lie on it, in percent of its length, and its labelled ticks."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reporter.board.columns import Cell
from reporter.data.quantities import scale_of

MIN_GAP, EDGE = 16.0, 0.03
"""Between two ticks, percent of the axis; what is left free at each end, of its logarithm."""
MAX_BEYOND = 3.0
"""An interval lengthens the axis by this factor at most; a longer one leaves it."""
NICE_S = tuple(
    number * unit
    for unit, numbers in (
        (1, (1, 2, 5, 10, 20, 30)),
        (60, (1, 2, 5, 10, 20, 30)),
        (3600, (1, 2, 4, 8, 12)),
        (86_400, (1, 2, 4, 8, 16, 32)),
    )
    for number in numbers
)


@dataclass(frozen=True)
class AxisDot:
    """A value's place on an axis, and that of its interval's ends; both None without an interval:
    the dot is hollow."""

    at: str
    low: str | None
    high: str | None


@dataclass(frozen=True)
class Axis:
    """From ``low`` to ``high`` in ``unit``. Nothing is drawn from zero: the length of a bar would
    say nothing on a logarithmic axis."""

    low: float
    high: float
    unit: str

    def percent(self, value: float) -> str:
        """The place of a value, percent; beyond the ends, the end."""
        share = math.log(max(value, self.low * 1e-9) / self.low) / math.log(self.high / self.low)
        return f"{100 * min(max(share, 0.0), 1.0):.1f}".removesuffix(".0")

    def dot(self, cell: Cell) -> AxisDot | None:
        """Where the cell's value lies; None without a positive one."""
        if cell.value is None or not cell.value > 0:
            return None
        at, ends = self.percent(cell.value), cell.interval
        if ends is None or not math.isfinite(ends[1]):
            return AxisDot(at, None, None)
        return AxisDot(at, *map(self.percent, ends))

    @property
    def ticks(self) -> tuple[tuple[str, str], ...]:
        """(place, label) of round values whose labels do not touch; of even steps where the axis
        has not two of them."""
        found = self._placed((value, _label(value, self.unit)) for value in self._round())
        return found if len(found) > 1 else self._placed(self._steps())

    def _placed(self, labels: Iterable[tuple[float, str]]) -> tuple[tuple[str, str], ...]:
        found: list[tuple[float, str]] = []
        for value, label in labels:
            place = float(self.percent(value))
            if self.low <= value <= self.high and (not found or place - found[-1][0] >= MIN_GAP):
                found.append((place, label))
        return tuple((f"{place:g}", label) for place, label in found)

    def _steps(self) -> Iterator[tuple[float, str]]:
        """Two to six multiples of 1, 2 or 5 times a power of ten, in the unit of the high end."""
        factor, shown = scale_of(self.high, self.unit)
        low, high = self.low / factor, self.high / factor
        least = (high - low) / 5
        power = 10.0 ** math.floor(math.log10(least))
        step = next(digit * power for digit in (2, 5, 10) if digit * power >= least)
        for number in range(math.ceil(low / step), math.floor(high / step) + 1):
            yield number * step * factor, f"{number * step:.4g} {shown}".strip()

    def _round(self) -> Iterator[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        if self.unit != "s" or self.low < 1:
            yield from (digit * 10.0**power for power in powers for digit in (1, 2, 5))
        else:
            yield from map(float, NICE_S)


def _label(value: float, unit: str) -> str:
    """ "1 h", where a table has "60 min"."""
    factor, shown = scale_of(2 * value, unit) if unit == "s" else scale_of(value, unit)
    return f"{value / factor:.4g} {shown}".strip()


def axis_of(cells: Iterable[Cell | None], unit: str) -> Axis:
    """The axis on which these values and their intervals lie."""
    found = [cell for cell in cells if cell is not None and cell.value is not None]
    values = [cell.value for cell in found if cell.value is not None and cell.value > 0]
    if not values:
        return Axis(1.0, 10.0, unit)
    low, high = min(values), max(values)
    ends = [end for cell in found for end in cell.interval or () if math.isfinite(end) and end > 0]
    low = min([low, *(max(end, low / MAX_BEYOND) for end in ends)])
    high = max([high, *(min(end, high * MAX_BEYOND) for end in ends)])
    margin = max((high / low) ** EDGE, 1.02)
    return Axis(low / margin, high * margin, unit)
