"""Learning-rate schedules by name, framework-neutral: the loop asks, the implementation is told. Standard library only."""

from typing import Callable

Schedule = Callable[[float, int, int], float]


def constant(base: float, step: int, steps: int) -> float:
    """``base`` at every step."""
    return base


def linear(base: float, step: int, steps: int) -> float:
    """From ``base`` at step 0 linearly to 0 at step ``steps`` (which is never run)."""
    return base * (1.0 - step / float(steps))


SCHEDULES = {"constant": constant, "linear": linear}  # type: Dict[str, Schedule]
