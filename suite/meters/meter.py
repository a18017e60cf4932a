"""What a meter is: something that can be opened on a run, read now and then, and closed."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Reading:
    """One value of one channel. ``t_ns`` is CLOCK_MONOTONIC, the clock of the implementation's step records."""

    t_ns: int
    source: str
    channel: str
    value: float
    unit: str


@dataclass(frozen=True)
class MeterAvailability:
    """Whether a meter can read on this machine; if not, why not, and what to do about it."""

    available: bool
    reason: str = ""
    remedy: str = ""


def is_number(value: float | None) -> bool:
    """Whether a reading's value says anything; None, NaN and infinities are not written."""
    return value is not None and math.isfinite(value)


AVAILABLE = MeterAvailability(True)


@dataclass(frozen=True)
class MeteredProcess:
    """What is measured: the implementation's root process, and where its data lies."""

    pid: int
    data_directory: Path


class Meter(Protocol):
    """A source of readings, called from one thread of the harness process, never from the training process.

    ``period_s`` is how often :meth:`read` is called. Any method may raise; the recorder records that and the run goes on.
    A meter whose :meth:`read` has to wait (a network, a serial line) waits in a thread or process of its own instead and
    hands over what has come since: the readings carry their own times.
    """

    name: str
    period_s: float
    description: str

    def availability(self) -> MeterAvailability:
        """Whether it can read here; changes nothing on the machine."""

    def open(self, subject: MeteredProcess) -> None:
        """Get ready to read for this run."""

    def read(self) -> list[Reading]:
        """What there is to read now; an empty list when nothing is new."""

    def close(self) -> None:
        """Give back what :meth:`open` took."""


@runtime_checkable
class WithHelper(Protocol):
    """A meter whose work is also done outside :meth:`Meter.read`, in a thread or process of its own."""

    def helper_cost_s(self) -> float:
        """CPU time that the helper has used so far, in seconds."""
