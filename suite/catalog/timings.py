"""Timings of a run: a column of the leaderboards. reference_impls.definitions.TIMINGS says when the
loop waits, and what is timed."""

import enum

from reference_impls import contract

CPU = "cpu"
EVALUATION_OF_STEP = 1 / 3
"""Of the time of a step on as many samples: a forward pass costs about a third."""


class Timing(str, enum.Enum):
    """When the training loop waits for the device: after every copy and step, which splits a step
    into its parts, or at the end of an epoch."""

    SYNCHRONISED = contract.WAITING
    ASYNCHRONOUS = contract.ASYNCHRONOUS


def possible_timings(
    accelerator: str, waits_in_steps: bool, asynchronous_on: tuple[str, ...]
) -> tuple[Timing, ...]:
    """The timings that a run may have, the one without --timing first: on an accelerator what
    people run, on a CPU the split.

    ``waits_in_steps``: ranks exchange gradients, or a schedule of recomputation is followed.
    ``asynchronous_on``: as the framework declares.
    """
    if waits_in_steps or accelerator not in asynchronous_on:
        return (Timing.SYNCHRONISED,)
    return (
        (Timing.SYNCHRONISED, Timing.ASYNCHRONOUS)
        if accelerator == CPU
        else (Timing.ASYNCHRONOUS, Timing.SYNCHRONISED)
    )
