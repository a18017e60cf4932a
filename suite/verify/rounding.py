"""Training states with other roundings: what an honest machine's own arithmetic may do to a
training."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reference_impls.state_file import Progress, StateFile, write_state

MOST = 64 * 2.0**-23
"""Of a parameter: 64 distances between float32 numbers. One of them leaves half of the replays on
the way of the state itself for a whole epoch, until a sum falls on the other side of a kink."""


def round_anew(state: StateFile, seed: int, path: Path) -> None:
    """Write the state with every parameter moved by some roundings, drawn from ``seed``."""
    random = np.random.default_rng(seed)
    arrays = {name: np.asarray(value) for name, value in state.items()}
    write_state(str(path), _moved(arrays, random), Progress(*state.progress))


def _moved(arrays: Mapping[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Parameters move, velocities and statistics stay."""
    return {
        name: (
            (value * (1 + random.uniform(-MOST, MOST, value.shape))).astype(value.dtype)
            if name.startswith("parameter/")
            else value
        )
        for name, value in arrays.items()
    }
