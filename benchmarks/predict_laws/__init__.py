"""Laws of simulated boards for `python -m benchmarks.predict_modes`: one file each, written before
the model was tuned.

A law is a Python file with two functions, ``time_s(mode)`` and ``power_w(mode)``: seconds of an
epoch and average watts. ``mode`` is a dict of ``cores``, ``cpu_mhz``, ``gpu_mhz`` and ``emc_mhz``
(the columns of the grid). ``held_out_*.py`` were not tried while the model was tuned;
``outsider_*.py`` and ``plateau_law.py`` are of authors who had not read it; ``published_*.py`` put
shapes and tables of published sources together and were committed before their author read
`extensions/prediction/record`. ``fresh_*.py`` and ``judge_*.py`` are judges: nothing is learnt from
them. A simulated board yields numbers alone: it writes no bundle, so it
can never make a submission.
"""

import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suite.extensions.prediction.record.modes import Modes

Array = Any  # of float64
FOLDER = Path(__file__).parent


OF_OTHERS = ("outsider_", "plateau_", "published_", "measured_")
"""Kinds of laws that the widths of the intervals are learnt from: the others are of the model's
author, whose laws have the model's shape, or judges."""


def law_files(kinds: tuple[str, ...] = ("",)) -> list[Path]:
    """The files of all laws, or of those whose names begin with one of ``kinds``."""
    return sorted(
        path for path in FOLDER.glob("*.py") if path.name.startswith(kinds) and path.stem[0] != "_"
    )


@dataclass(frozen=True)
class Law:
    """True time and power of every mode of a grid."""

    name: str
    time_s: Array
    power_w: Array


def load_law(path: Path, modes: Modes) -> Law:
    """Run a law's file and evaluate it in every mode. Only this tool runs such files. Raises
    ValueError for values that are not above 0."""
    found = runpy.run_path(str(path))
    rows = [modes.named(index) for index in range(len(modes))]
    time_s, power_w = (_values(path, name, found[name], rows) for name in ("time_s", "power_w"))
    return Law(path.stem, time_s, power_w)


def _values(
    path: Path,
    name: str,
    function: Callable[[Mapping[str, float]], float],
    rows: list[dict[str, float]],
) -> Array:
    values = np.array([float(function(dict(row))) for row in rows])
    if not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{path}: {name} must be finite and above 0 in every mode")
    return values
