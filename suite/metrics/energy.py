"""Energy of a window of time from readings of power, or from a counter of energy; and how well it was measured."""

import math
from dataclasses import dataclass

from suite.metrics.window import Measured, Times, Values, increase, integral


@dataclass(frozen=True)
class Energy:
    """Energy of a window, and how well it was measured. ``energy_j`` is None when it cannot be told, and ``reason`` says why.

    The other fields are those of :class:`suite.metrics.window.Measured`.
    """

    energy_j: float | None
    reason: str | None
    coverage: float
    gaps: int
    achieved_period_s: float | None
    longest_gap_s: float | None
    count: int
    rejected: int


def integrate_power(t_ns: Times, power_w: Values, start_ns: int, stop_ns: int, period_s: float, plausible_w: tuple[float, float]) -> Energy:
    """Energy in [start, stop] from readings of power (W); readings outside ``plausible_w`` are left out, see :func:`integral`."""
    return _energy(integral(t_ns, power_w, start_ns, stop_ns, period_s, plausible_w))


def difference_counter(t_ns: Times, energy_j: Values, start_ns: int, stop_ns: int, period_s: float, most_w: float = math.inf) -> Energy:
    """Energy in [start, stop] from readings of a counter of energy (J) that does not wrap; see :func:`increase`.

    A reading that would take more than ``most_w`` to reach is left out.
    """
    return _energy(increase(t_ns, energy_j, start_ns, stop_ns, period_s, most_w))


def _energy(measured: Measured) -> Energy:
    return Energy(
        energy_j=measured.value,
        reason=measured.reason,
        coverage=measured.coverage,
        gaps=measured.gaps,
        achieved_period_s=measured.achieved_period_s,
        longest_gap_s=measured.longest_gap_s,
        count=measured.count,
        rejected=measured.rejected,
    )
