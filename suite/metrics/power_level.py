"""The level of the EE HPC WG's power measurement methodology that a measurement meets.

Source: Scogland et al., A Power-Measurement Methodology for Large-Scale, High-Performance Computing
(ICPE 2014), table 1. The suite always measures the whole machine over the whole run (aspects 1b,
2), so granularity (1a), idle power (1c), subsystems (3) and the point of measurement (4) decide.
"""

from collections.abc import Sequence

from suite.catalog.power import Coverage, PowerTotal, Tier
from suite.metrics.power import covers, worst_tier

MAX_PERIOD_S = 1.05  # one reading per second


def measurement_level(
    totals: Sequence[PowerTotal], period_s: float | None, *, has_idle: bool
) -> str:
    """ "Level 1" to "Level 3", or "below Level 1" with what is missing. ``has_idle``: the idle
    machine was measured before the run.

    Level 1: upstream of power conversion, one reading per second. Level 2: idle power as well.
    Level 3: an energy counter that integrates continuously. A board's own supply is upstream of
    nothing: its adapter's loss is neither measured nor modelled.
    """
    if worst_tier(totals) is Tier.ESTIMATE:
        return "below Level 1: an estimate"
    if covers(totals) is not Coverage.WALL:
        return f"below Level 1: {covers(totals).value}, behind the power conversion"
    if all(total.rule.unit == "J" for total in totals):
        return "Level 3" if has_idle else "Level 1"
    if period_s is None or period_s > MAX_PERIOD_S:
        return "below Level 1: fewer than one reading per second"
    return "Level 2" if has_idle else "Level 1"
