"""MobileNetV3-Large's bottlenecks as data, for the frameworks that have no such model of their own.
Standard library only."""

from typing import NamedTuple


class Bottleneck(NamedTuple):
    """A row of Table 1 in Howard et al., Searching for MobileNetV3 (ICCV 2019)."""

    kernel: int
    expanded: int  # channels between expansion and projection
    out: int  # channels after projection
    squeezes: bool  # has squeeze-and-excite
    hard_swish: bool  # else ReLU
    stride: int

    @property
    def squeezed(self) -> int:
        """Channels inside squeeze-and-excite: a quarter of the expanded ones, rounded to a multiple
        of 8 that keeps at least nine tenths."""
        quarter = self.expanded // 4
        rounded = max(8, (quarter + 4) // 8 * 8)
        return rounded + 8 if rounded < 0.9 * quarter else rounded


LARGE = (
    Bottleneck(3, 16, 16, False, False, 1),
    Bottleneck(3, 64, 24, False, False, 2),
    Bottleneck(3, 72, 24, False, False, 1),
    Bottleneck(5, 72, 40, True, False, 2),
    Bottleneck(5, 120, 40, True, False, 1),
    Bottleneck(5, 120, 40, True, False, 1),
    Bottleneck(3, 240, 80, False, True, 2),
    Bottleneck(3, 200, 80, False, True, 1),
    Bottleneck(3, 184, 80, False, True, 1),
    Bottleneck(3, 184, 80, False, True, 1),
    Bottleneck(3, 480, 112, True, True, 1),
    Bottleneck(3, 672, 112, True, True, 1),
    Bottleneck(5, 672, 160, True, True, 2),
    Bottleneck(5, 960, 160, True, True, 1),
    Bottleneck(5, 960, 160, True, True, 1),
)
FIRST, LAST, HIDDEN = 16, 960, 1280
"""Channels of the first and of the last convolution, and of the hidden layer of the classifier."""

BATCH_NORM_MOMENTUM, BATCH_NORM_EPSILON = 0.01, 1e-3
"""PyTorch's convention: the running statistics take this share of each mini-batch's."""
