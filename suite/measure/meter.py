"""What a meter is: a source of readings with a stated period."""
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Reading:
    """One value at one moment of the monotonic clock (the clock of steps and log)."""

    t_ns: int
    source: str
    channel: str
    value: float
    unit: str


@dataclass(frozen=True)
class Availability:
    """Whether a source can be read on this machine; if not, why, and what to do about it."""

    available: bool
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Subject:
    """What is measured: the implementation's root process, and the folder its data lie in."""

    pid: int
    data_directory: Path


class Meter(Protocol):
    """A source of readings. ``open`` and ``read`` may raise anything: the recorder notes it and the run goes on."""

    name: str
    period_s: float
    description: str

    def availability(self) -> Availability:
        """Whether this machine has the source; touches nothing."""

    def open(self, subject: Subject) -> None:
        """Get ready to read."""

    def read(self, t_ns: int) -> list[Reading]:
        """The readings of this moment."""

    def close(self) -> None:
        """Let go of files and connections."""
