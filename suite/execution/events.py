"""Events that a progress callback receives while runs are made. They are data; who receives them
decides what to show."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from suite.bundle.log import LogEvent
from suite.execution.request import RunRequest

if TYPE_CHECKING:
    from suite.bundle.stall_folder import BatchSource


@dataclass(frozen=True)
class BaseloadStarted:
    """The idle machine's power is measured for ``time_s`` seconds by the named meters."""

    time_s: float
    meters: tuple[str, ...]


@dataclass(frozen=True)
class NodeMismatch:
    """A host of the run has a problem that does not keep it from training: a slow link, a wrong
    clock, other packages."""

    sentence: str
    remedy: str


@dataclass(frozen=True)
class StatesKept:
    """The run keeps the training state of each of at most ``epochs`` epochs in ``folder``, which
    may take up to ``size_bytes``."""

    folder: Path
    size_bytes: int
    epochs: int


@dataclass(frozen=True)
class RunStarted:
    """The implementation of this request is about to start."""

    request: RunRequest


@dataclass(frozen=True)
class LogLine:
    """A line that the implementation added to its log."""

    event: LogEvent


@dataclass(frozen=True)
class Waiting:
    """The run goes on and nothing new was logged; sent several times a second."""


@dataclass(frozen=True)
class Notice:
    """Something that the person at the terminal should know while the run goes on: a recorder that
    was lost, clocks that disagree."""

    sentence: str


@dataclass(frozen=True)
class RunEnded:
    """The run is over, whether it finished, failed or was interrupted."""


@dataclass(frozen=True)
class ClosingGoesOn:
    """A run was interrupted after its training; its bundle is closed before the interrupt takes
    effect. A second interrupt takes effect at once."""


@dataclass(frozen=True)
class MemoryExhausted:
    """A run needed more memory than there is; the search for a mini-batch that fits begins."""


@dataclass(frozen=True)
class BatchSizeTried:
    """The search for a mini-batch that fits tries this size next."""

    batch_size: int


@dataclass(frozen=True)
class StallRunStarted:
    """The next of a stall analysis's three runs begins."""

    source: "BatchSource"


@dataclass(frozen=True)
class SweepRunStarted:
    """Run ``number`` of ``total`` begins; ``left_s`` is the expected time for all remaining runs,
    None before the first one is done."""

    number: int
    total: int
    label: str
    left_s: float | None


@dataclass(frozen=True)
class SweepRunKept:
    """Run ``number`` of ``total`` was finished by an earlier call and is kept."""

    number: int
    total: int
    label: str


@dataclass(frozen=True)
class CoolingDown:
    """The next run of a matrix waits until the hottest sensor, now at ``from_c``, is at
    ``to_c``."""

    from_c: float
    to_c: float


@dataclass(frozen=True)
class CostEstimated:
    """What the ``runs`` that a matrix has left will take; None where the finished runs do not tell.
    ``source`` says which ones were taken."""

    runs: int
    time_s: float | None
    energy_j: float | None
    source: str


ProgressEvent = (
    BaseloadStarted
    | NodeMismatch
    | StatesKept
    | RunStarted
    | LogLine
    | Waiting
    | Notice
    | RunEnded
    | ClosingGoesOn
    | MemoryExhausted
    | BatchSizeTried
    | StallRunStarted
    | SweepRunStarted
    | SweepRunKept
    | CoolingDown
    | CostEstimated
)
Progress = Callable[[ProgressEvent], None]


def silent(event: ProgressEvent) -> None:
    """The callback that shows nothing."""
