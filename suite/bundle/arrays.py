"""Array types of a bundle's tables."""

from typing import Any

import numpy as np
import numpy.typing as npt

from reference_impls.contract import SECONDS_PER_NS

Times = npt.NDArray[np.int64]  # CLOCK_MONOTONIC, ns
Values = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Window = tuple[int, int]  # start and stop, ns
SCALE_OF_NORMAL = 1.4826
"""The standard deviation of a normal distribution over its median absolute deviation."""


def span_s(window: Window) -> float:
    """The time between the ends of a window, s."""
    return (window[1] - window[0]) * SECONDS_PER_NS


def median(values: npt.NDArray[Any]) -> float:
    """Median of one value or more, none of them NaN. numpy.median imports numpy.ma first, which
    takes longer than judging a bundle."""
    below, above = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (below, above))
    return (float(ordered[below]) + float(ordered[above])) / 2
