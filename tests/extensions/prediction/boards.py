"""A small simulated board for tests of predictions: its law, its modes, and profiles of them."""

from typing import Any

import numpy as np

from suite.extensions.prediction.record.modes import Axis, Modes, grid
from suite.extensions.prediction.record.table import Profile

Array = Any  # of float64

MODES: Modes = grid(
    (
        Axis("cores", (1, 2, 4, 8)),
        Axis("cpu_mhz", (400, 800, 1200, 1600, 2000)),
        Axis("gpu_mhz", (300, 600, 900, 1200)),
        Axis("emc_mhz", (400, 1000, 1600)),
    )
)


def law(rows: Array) -> tuple[Array, Array]:
    """Time (s) and power (W) in modes: a loader beside a GPU, a memory that adds its time,
    utilisation in the power."""
    cores, cpu, gpu, memory = rows.T / np.array([1, 2000, 1200, 1600])[:, None]
    load, compute = 40 / cpu / np.minimum(cores, 4), 3 / cpu + 25 / gpu
    time_s = 2 + np.maximum(load, compute) + 5 / memory
    power_w = (
        6
        + 1.2 * np.minimum(cores, 4) * cpu**2 * load / time_s
        + 12 * gpu**2 * (0.2 + 0.8 * compute / time_s)
        + 3 * memory
    )
    return time_s, power_w


def profile(indices: Array, error: float = 0.02, seed: int = 0, modes: Modes = MODES) -> Profile:
    """Measurements of some modes with a relative error."""
    random = np.random.default_rng(seed)
    rows = modes.rows[indices]
    noisy = [values * np.exp(error * random.standard_normal(len(rows))) for values in law(rows)]
    return Profile(modes.names, rows, *noisy, np.full(len(rows), error), np.full(len(rows), error))
