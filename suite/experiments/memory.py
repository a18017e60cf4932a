"""Runs that ran out of memory: detects them, and finds the largest mini-batch that fits."""

from collections.abc import Callable
from pathlib import Path

from suite.bundle import layout
from suite.bundle.reader import Bundle
from suite.execution.implementation import trial_training
from suite.execution.request import RunRequest
from suite.launch.environments import Environment
from suite.launch.process import says_out_of_memory, wait_for_exit
from suite.machine.limits import process_limits
from suite.machine.procfs import kills_for_memory

KILLED = -9
TAIL_BYTES = 20_000
RESOLUTION = 8
"""The search ends when the largest size that fits is known to 1/8 of it."""


def ran_out_of_memory(path: Path, kills_before: int | None, root: Path = Path("/")) -> bool:
    """True if the failed run in ``path`` ran out of memory, by its output or by the kernel's count
    of killed processes."""
    exit_code = Bundle(path).run().exit_code
    if exit_code == KILLED:
        kills = kills_for_memory(root)
        return kills is not None and kills_before is not None and kills > kills_before
    output = path / layout.OUTPUT
    if not output.is_file():
        return False
    with output.open("rb") as stream:
        stream.seek(max(0, output.stat().st_size - TAIL_BYTES))
        return says_out_of_memory(stream.read().decode("utf-8", errors="replace"))


def largest_batch(
    request: RunRequest, environment: Environment, before_try: Callable[[int], None]
) -> int | None:
    """The largest mini-batch, to 1/8, whose training step succeeds here; None if not even one
    sample does.

    Each size is tried with the implementation itself under the run's limits, after a call of
    ``before_try``. The request's size is known not to fit.
    """
    fits, fails = 0, request.training.global_batch_size
    size = fails // 2
    while size > fits:
        before_try(size)
        if _one_step(request, environment, size):
            fits = size
        else:
            fails = size
        size = fits + (fails - fits) // 2 if fails - fits > max(1, fits // RESOLUTION) else fits
    return fits or None


def _one_step(request: RunRequest, environment: Environment, batch_size: int) -> bool:
    with (
        process_limits(request.limits) as limit_process,
        trial_training(
            request, environment, limit_process, global_batch_size=batch_size, steps=1
        ) as (process, folder),
    ):
        return wait_for_exit(process, folder / layout.OUTPUT).exit_code == 0
