"""Timings of a run: a column of the leaderboards, within which entries are compared."""

import enum

from reference_impls import contract


class Timing(str, enum.Enum):
    """Synchronised: the loop waits for the device after every copy and step, which splits a step into its parts; asynchronous: at the end of an
    epoch."""

    SYNCHRONISED = contract.WAITING
    ASYNCHRONOUS = contract.ASYNCHRONOUS
