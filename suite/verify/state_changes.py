"""What training states show of the timed steps: every layer's update, and the rate, the weight
decay and the path of the whole network.

A layer's update is compared by its largest value. Where a gradient nearly vanishes, rounding in
float32 changes that by a third, almost as much as half the rate would. The whole network's update
has millions of numbers, and rounding has no direction among them: least squares finds the multiples
of the gradient and of the weights of which the update consists, and rounding hardly changes either.
"""

from pathlib import Path

import numpy as np

from reference_impls.state_file import StateFile
from suite.catalog.workloads import OF_STATES
from suite.verify.array_differences import Arrays

UPDATE, STATISTIC, RATE, DECAY, PATH, BIAS_PATH, STATISTIC_PATH = OF_STATES
INITIAL, WAY, STATISTIC_WAY = "initial", "path", "statistic path"
"""Of the referee's arrays, which are no quantities themselves: parameters before the first step,
what all steps did to them, and what all but the first did to the statistics."""


def parameter_changes(state: Path, initial: Arrays) -> dict[str, dict[str, np.ndarray]]:
    """Of a state's file: by how much each parameter differs from its initial value (``parameter``),
    and the statistics (``statistic``), in float64.

    A parameter whose initial value is unknown, or has another shape, is left as it is: comparing it
    names the difference.
    """
    kept = StateFile(str(state)).of_rank(0)
    found: dict[str, dict[str, np.ndarray]] = {"parameter": {}, "statistic": {}}
    for name in kept:
        kind, _, own = name.partition("/")
        if kind not in found:
            continue
        value, start = (
            np.asarray(kept[name]).astype(np.float64),
            initial.get(own) if kind == "parameter" else None,
        )
        found[kind][own] = (
            value - start if start is not None and start.shape == value.shape else value
        )
    return found


def biases_only(arrays: Arrays) -> dict[str, np.ndarray]:
    """Those of biases, of batch normalisation's too."""
    return {name: value for name, value in arrays.items() if name.endswith(".bias")}


def changes_between(last: Arrays, first: Arrays) -> dict[str, np.ndarray]:
    """What the steps between two states did to those arrays that both have, in one shape."""
    return {
        name: value - first[name]
        for name, value in last.items()
        if name in first and first[name].shape == value.shape
    }


def rate_and_decay(update: Arrays, expected: Arrays, decayed: Arrays) -> tuple[float, float]:
    """The multiples of the gradient's part and of the weight decay's part of which a first update
    consists; 1 and 1 are right.

    ``expected`` is the referee's update, ``decayed`` its part that weight decay made. Ordinary
    least squares over all parameters: half the rate is 0.5 and 0.5, no weight decay 1 and 0. NaN
    where the two parts are one direction, or the arrays are not the referee's.
    """
    if not _comparable(update, expected):
        return float("nan"), float("nan")
    gradient = {name: value - decayed[name] for name, value in expected.items()}
    across = _dot(gradient, decayed)
    matrix = np.array([[_dot(gradient, gradient), across], [across, _dot(decayed, decayed)]])
    try:
        rate, decay = np.linalg.solve(matrix, [_dot(update, gradient), _dot(update, decayed)])
    except np.linalg.LinAlgError:
        return float("nan"), float("nan")
    return float(rate), float(decay)


def relative_progress(way: Arrays, expected: Arrays) -> float:
    """How far parameters went along the way that the referee's went, as a multiple of it; NaN where
    the arrays are not the referee's."""
    length = _dot(expected, expected)
    return _dot(way, expected) / length if length and _comparable(way, expected) else float("nan")


def _comparable(one: Arrays, other: Arrays) -> bool:
    return one.keys() == other.keys() and all(
        one[name].shape == value.shape for name, value in other.items()
    )


def _dot(one: Arrays, other: Arrays) -> float:
    return sum(float(np.vdot(one[name], value)) for name, value in other.items())
