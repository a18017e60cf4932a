"""Meters whose channels are read one after the other, each by a function of its own."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.machine.procfs import read_integer
from suite.meters.meter import AVAILABLE, MeterAvailability, MeteredProcess, Reading


@dataclass(frozen=True)
class MeterChannel:
    """A channel, its unit, and the function that reads it; None when it cannot be read now."""

    name: str
    unit: str
    read: Callable[[], float | None]


class ChannelMeter:
    """A meter that reads its channels one after the other; subclasses find them (:meth:`find`).

    ``absent`` is the availability where there is none, ``unreadable`` that where none can be read.
    A reading's time is the middle of its transfer.
    """

    name: str
    absent: MeterAvailability
    unreadable: MeterAvailability | None = None

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._channels: Sequence[MeterChannel] = ()

    def find(self) -> Iterable[MeterChannel]:
        """The channels that the machine has."""
        raise NotImplementedError

    def availability(self) -> MeterAvailability:
        """Whether there is a channel, and one can be read."""
        channels = tuple(self.find())
        if not channels:
            return self.absent
        if self.unreadable is not None and all(channel.read() is None for channel in channels):
            return self.unreadable
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Find the channels."""
        self._channels = tuple(self.find())

    def read(self) -> list[Reading]:
        """One reading per channel that can be read; raises OSError when none can, where that is a
        failure."""
        readings = []
        for channel in self._channels:
            before_ns = time.monotonic_ns()
            value = channel.read()
            if value is not None:
                t_ns = (before_ns + time.monotonic_ns()) // 2
                readings.append(Reading(t_ns, self.name, channel.name, value, channel.unit))
        if not readings and (problem := self.silence()) is not None:
            raise OSError(problem)
        return readings

    def silence(self) -> str | None:
        """Why no channel can be read, where that is a failure; None where it is not."""
        return None

    def close(self) -> None:
        """Nothing to release."""


def file_reader(path: Path, scale: float = 1) -> Callable[[], float | None]:
    """A function that reads the integer in a file, times ``scale``."""

    def read() -> float | None:
        value = read_integer(path)
        return None if value is None else value * scale

    return read
