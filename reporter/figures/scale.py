"""Axis ticks."""

import math


def ticks(highest: float, about: int = 6) -> list[float]:
    """Round values from 0 up to the first that is not below ``highest``, about so many, 1, 2 or 5 times a power of ten apart."""
    if not highest > 0:
        return [0.0, 1.0]
    raw = highest / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-12))
    return [round(index * step, 12) for index in range(math.ceil(highest / step - 1e-9) + 1)]
