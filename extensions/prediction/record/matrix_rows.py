"""The points of a matrix (`suite sweep --vary`) as rows of a table of modes."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from suite.bundle.layout import MATRIX
from suite.errors import FileError
from suite.extensions.prediction.record.modes import COLUMN_ROLES
from suite.metrics.figure import Figure
from suite.metrics.matrix_record import Matrix, read_matrix

Row = Mapping[str, float]


def rows_of_matrix(folder: Path) -> list[Row]:
    """One row per point: its resources, the mean time of its runs (an epoch; a step where runs are
    shorter), and the mean power if it was measured.

    Raises FileError for a matrix that varies anything else than resources: a mode then has several
    times.
    """
    matrix = read_matrix(folder)
    names = [name for name in matrix.plan.variables if name in COLUMN_ROLES]
    others = [name for name in matrix.plan.variables if name not in COLUMN_ROLES]
    if not names:
        raise FileError(
            folder / MATRIX,
            f"varies {', '.join(others)} but no resource; vary one of {', '.join(COLUMN_ROLES)}",
        )
    if others:
        raise FileError(
            folder / MATRIX,
            f"varies {', '.join(others)} as well as resources; use only one value of each"
            " non-resource setting, because a prediction holds for one value only",
        )
    timed = _timed(matrix, folder)
    powers = [point.figures.mean_power_w for point in matrix.points]
    has_power = all(power.value is not None for power in powers)
    rows: list[Row] = []
    for plan, time, power in zip(matrix.plan.points, timed, powers, strict=True):
        row = {
            setting.name: _amount(setting.name, setting.value, folder) for setting in plan.settings
        }
        rows.append(
            {
                **row,
                **_figure_row("time_s", "time_se_s", time),
                **(_figure_row("power_w", "power_se_w", power) if has_power else {}),
            }
        )
    return rows


def _timed(matrix: Matrix, folder: Path) -> list[Figure]:
    """The time of an epoch of every point, or that of a step if one of them has no epoch after its
    first."""
    for figures in (
        [point.figures.time_to_epoch_s for point in matrix.points],
        [point.figures.step_s for point in matrix.points],
    ):
        if all(figure.value is not None for figure in figures):
            return figures
    raise FileError(folder / MATRIX, "has a point without the time of an epoch or step")


def _figure_row(name: str, error: str, figure: Figure) -> Row:
    assert figure.value is not None
    return {name: figure.value} | (
        {} if figure.spread is None else {error: figure.spread / float(np.sqrt(figure.count))}
    )


def _amount(name: str, value: str, folder: Path) -> float:
    """A resource's amount; cores may be a list, as ``0-3,6``."""
    try:
        if name == "cores" and not value.isdigit():
            return float(
                sum(
                    int(last or first) - int(first) + 1
                    for first, _, last in (part.partition("-") for part in value.split(","))
                )
            )
        return float(value)
    except ValueError:
        raise FileError(
            folder / MATRIX, f"has {name} = {value[:40]!r}, which is not a number"
        ) from None
