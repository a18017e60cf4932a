"""Figures that are the quotient of two others of the same run; a page shows them, no bundle holds them."""

from collections.abc import Sequence

from reporter.entries import Row
from reporter.frames import known

QUOTIENTS = (
    ("fetch_stall_share", "fetch_stall_s", "time_to_epoch_s", "ratio"),
    ("mean_power_w", "energy_per_epoch_j", "time_to_epoch_s", "W"),
)


def derived_figures(figures: Sequence[Row]) -> list[Row]:
    """The quotients of a run's figures, unknown for the reason that either of the two is."""
    by_name = {row["figure"]: row for row in figures}
    found = []
    for name, above, below, unit in QUOTIENTS:
        if above in by_name and below in by_name and name not in by_name:
            found.append(_quotient(name, by_name[above], by_name[below], unit))
    return found


def _quotient(name: str, above: Row, below: Row, unit: str) -> Row:
    row = {
        **above, "figure": name, "value": None, "unit": unit, "spread": None, "reason": above["reason"] or below["reason"],
        "method": f"{above['figure']} / {below['figure']}" + (f"; {above['method']}" if above["method"] else ""),
    }  # fmt: skip
    if not known(above["value"]) or not known(below["value"]):
        return row
    if below["value"] == 0:
        return {**row, "reason": f"{below['figure']} is 0"}
    return {**row, "value": above["value"] / below["value"], "reason": None}
