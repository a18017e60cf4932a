"""Learning-rate schedules by name; the loop passes the rate to the implementation at every step.
Standard library only."""

import math
from typing import Callable, Dict

Schedule = Callable[[float, int, int], float]


def constant(base: float, step: int, steps: int) -> float:
    """``base`` at every step."""
    return base


def linear(base: float, step: int, steps: int) -> float:
    """From ``base`` at step 0 linearly to 0 at step ``steps`` (which is never run)."""
    return base * (1.0 - step / float(steps))


def one_cycle(base: float, step: int, steps: int) -> float:
    """From ``base / 25`` linearly up to ``base`` after three tenths of the steps, then along half a
    cosine down to 0 at step ``steps``.

    Smith and Topin, Super-Convergence, 2019, with the shares and the cosine that PyTorch's
    OneCycleLR has by default.
    """
    warm_up = 0.3 * steps
    if step < warm_up:
        return base * (0.04 + 0.96 * step / warm_up)
    return base * 0.5 * (1.0 + math.cos(math.pi * (step - warm_up) / (steps - warm_up)))


SCHEDULES: Dict[str, Schedule] = {"constant": constant, "linear": linear, "one_cycle": one_cycle}
