"""Schedulers that know no memory sizes: none, equal segments, Revolve."""

from functools import cache
from math import comb

from suite.memory.schedule import Action, Schedule, ScheduleStep


def keep_all(count: int) -> Schedule:
    """Keep everything of ``count`` blocks: ordinary training."""
    return Schedule("none", (*_keep_steps(0, count), *_backwards(0, count)))


def segments(count: int, parts: int) -> Schedule:
    """Equal segments, as torch.utils.checkpoint.checkpoint_sequential makes them: all but the last
    keep their input only."""
    size = count // parts
    starts = [part * size for part in range(parts)]
    steps = [step for first in starts[:-1] for step in _run(first, first + size)]
    steps += [*_keep_steps(starts[-1], count), *_backwards(starts[-1], count)]
    for first in reversed(starts[:-1]):
        steps += [
            ScheduleStep(Action.RESTORE, first),
            *_keep_steps(first, first + size),
            *_backwards(first, first + size),
        ]
    return Schedule(f"{parts} segments", tuple(steps))


def revolve(count: int, slots: int) -> Schedule:
    """Revolve (Griewank and Walther, ACM TOMS 26, 2000): fewest forward runs of ``count`` equal
    blocks with ``slots`` checkpoints.

    The input is one of them. With a slot per block nothing would be recomputed, which is
    :func:`keep_all`.
    """
    if slots >= count:
        return keep_all(count)
    return Schedule(f"Revolve, {slots} checkpoints", tuple(_revolve(0, count, slots)))


def revolve_forwards(count: int, slots: int) -> int:
    """Forward runs of :func:`revolve` for ``slots < count``: l + r l - C(s + r, r - 1), r the least
    with C(s + r, s) >= l."""
    return count + revolve_advances(count, slots)


@cache
def revolve_advances(count: int, slots: int) -> int:
    """Forward runs of :func:`revolve` that only reach another block: without those right before a
    block's backward run."""
    repeats = 0
    while comb(slots + repeats, slots) < count:
        repeats += 1
    return repeats * count - comb(slots + repeats, repeats - 1) if repeats else 0


def _revolve(first: int, end: int, slots: int) -> list[ScheduleStep]:
    count = end - first
    if count == 1:
        return [ScheduleStep(Action.KEEP, first), ScheduleStep(Action.BACKWARD, first)]
    far = end - 1 if slots == 1 else first + _first_checkpoint(count, slots)
    return [
        *_run(first, far),
        *_revolve(far, end, max(slots - 1, 1)),
        ScheduleStep(Action.RESTORE, first),
        *_revolve(first, far, slots),
    ]


def _first_checkpoint(count: int, slots: int) -> int:
    return min(
        range(1, count),
        key=lambda k: k + revolve_advances(k, slots) + revolve_advances(count - k, slots - 1),
    )


def _run(first: int, end: int) -> list[ScheduleStep]:
    return [
        ScheduleStep(Action.CHECKPOINT, first),
        *(ScheduleStep(Action.SKIP, block) for block in range(first + 1, end)),
    ]


def _keep_steps(first: int, end: int) -> list[ScheduleStep]:
    return [ScheduleStep(Action.KEEP, block) for block in range(first, end)]


def _backwards(first: int, end: int) -> list[ScheduleStep]:
    return [ScheduleStep(Action.BACKWARD, block) for block in range(end - 1, first - 1, -1)]
