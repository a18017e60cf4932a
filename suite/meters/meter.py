"""The meter protocol: open for a run, read on a period, close; and its readings."""

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Reading:
    """One value of one channel. ``t_ns`` is CLOCK_MONOTONIC, the clock of the implementation's step
    records."""

    t_ns: int
    source: str
    channel: str
    value: float
    unit: str


@dataclass(frozen=True)
class MeterAvailability:
    """Whether a meter can read on this machine; if not, the reason and the remedy. ``forbidden``:
    this machine has it, and this user may not read it."""

    available: bool
    reason: str = ""
    remedy: str = ""
    forbidden: bool = False


def is_number(value: float | None) -> bool:
    """True for a finite value; None, NaN and infinities are not written."""
    return value is not None and math.isfinite(value)


AVAILABLE = MeterAvailability(True)
NO_PROC = MeterAvailability(
    False, "/proc/stat is missing", "mount /proc: `mount -t proc proc /proc`"
)


@dataclass(frozen=True)
class MeteredProcess:
    """The process that is measured: the implementation's root process, and the folder of its data
    set, with the files there that are its own; none are listed of pictures."""

    pid: int
    data_directory: Path
    data_files: Sequence[str] = ()


def readings_of(source: str, t_ns: int, values: Mapping[str, tuple[float, str]]) -> list[Reading]:
    """Readings of one moment, from value and unit by channel."""
    return [Reading(t_ns, source, name, value, unit) for name, (value, unit) in values.items()]


class Moments(str, enum.Enum):
    """When a meter is read within its periods."""

    FIXED = "fixed"  # on a clock, or whenever its source has a reading
    RANDOM = "random"  # at a random moment of each period


class Meter(Protocol):
    """A source of readings, called from one thread of the harness process, never from the training
    process.

    ``period_s`` is how often :meth:`read` is called. Any method may raise; the recorder records
    that and the run goes on. A meter that has to wait for its source (a network, a serial line)
    waits in a separate thread or process; its :meth:`read` returns the readings that have arrived
    since, each with the time at which it was taken.

    A meter is one module in ``suite/meters/sources`` that ends with ``METER = <its class>``; the
    class is called with the root of /proc and /sys. ``description`` says what it reads; the first
    paragraph of the class's docstring lists its channels. A class with ``opens_first = True`` is
    opened before all others: it is attached to the implementation's process, which starts only
    then. A class with ``moments = Moments.RANDOM`` is read at random moments: one that reads power
    at the moment when it is asked, which would beat with a load as regular as the clock. A meter
    with a background thread draws the moments there. A class with ``at_edges = True`` is read at
    the beginning and end of each phase of the run (epochs, evaluations) as well: counters, whose
    increase belongs to the phase.
    """

    name: str
    period_s: float
    description: str

    def availability(self) -> MeterAvailability:
        """Whether the meter can read on this machine; changes nothing."""

    def open(self, process: MeteredProcess) -> None:
        """Open the meter for a run of this process."""

    def read(self) -> list[Reading]:
        """The readings taken now, or since the last call; empty when there is none."""

    def close(self) -> None:
        """Release what :meth:`open` acquired."""


class MachineMeter:
    """What meters of this machine's kernel have in common: the root of /proc and /sys, and nothing
    to release."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def availability(self) -> MeterAvailability:
        """Every running Linux has /proc."""
        return AVAILABLE if (self._root / "proc/stat").is_file() else NO_PROC

    def close(self) -> None:
        """Nothing to release."""


@runtime_checkable
class WithSettings(Protocol):
    """A meter whose sensor has a configuration that says what a reading is."""

    def settings(self) -> Mapping[str, str]:
        """The sensor's configuration as it was opened: name and value."""


def moments_of(meter: Meter) -> Moments:
    """When the meter is read within its periods."""
    return getattr(meter, "moments", Moments.FIXED)


def opens_first(meter: "Meter | type[Meter]") -> bool:
    """Whether the meter is attached to the process, which waits for it at its start."""
    return bool(getattr(meter, "opens_first", False))


def is_read_at_edges(meter: Meter) -> bool:
    """Whether the meter is also read at the beginning and end of each phase."""
    return getattr(meter, "at_edges", False)


@runtime_checkable
class WithHelper(Protocol):
    """A meter that also works outside :meth:`Meter.read`, in a helper thread or process."""

    def helper_cost_s(self) -> float:
        """CPU time of the helper so far, s."""
