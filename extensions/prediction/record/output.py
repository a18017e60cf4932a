"""Writes the prediction of every mode to a CSV file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from suite.errors import FileError
from suite.extensions.prediction.record.front import pareto_front
from suite.extensions.prediction.record.modes import Modes
from suite.extensions.prediction.record.samples import Samples
from suite.files.spreadsheet import write_rows


def write_predictions(modes: Modes, samples: Samples, profiled: Sequence[int], path: Path) -> None:
    """Write one row per mode: its resources, whether it was profiled, median and 90 % interval of
    time, power and energy.

    ``front``: the mode is on the Pareto front of the medians of time and power; energy, their
    product, adds no mode to it. Without measured power there are neither columns of it nor a front.
    Raises FileError.
    """
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            write_rows(_mode_rows(modes, samples, set(profiled)), file)
    except OSError as error:
        raise FileError(path, f"cannot be written ({error.strerror})") from error


def _mode_rows(modes: Modes, samples: Samples, profiled: set[int]) -> Iterator[list[str]]:
    quantities, marks = (
        {"time{}_s": samples.time_s()},
        {"profiled": [index in profiled for index in range(len(modes))]},
    )
    if samples.has_power:
        quantities |= {"power{}_w": samples.power_w(), "energy{}_j": samples.energy_j()}
        marks["front"] = pareto_front(
            np.column_stack([quantities["time{}_s"].value, quantities["power{}_w"].value])
        ).tolist()
    yield [
        *modes.names,
        *marks,
        *(name.format(end) for name in quantities for end in ("", "_low", "_high")),
    ]
    columns = [values for one in quantities.values() for values in (one.value, one.low, one.high)]
    for index, row in enumerate(modes.rows.tolist()):
        values = (f"{column[index]:.6g}" for column in columns)
        yield [
            *(f"{value:.10g}" for value in row),
            *("yes" if mark[index] else "no" for mark in marks.values()),
            *values,
        ]
