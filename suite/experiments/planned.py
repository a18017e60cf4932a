"""What is planned of a study or a matrix: its runs, in the order in which they are made."""

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from suite.bundle.study_mark import StudyMark
from suite.catalog.precisions import Precision
from suite.catalog.timings import Timing
from suite.execution.request import Accelerator, Collective, PageCache, RunOptions
from suite.launch.isolation import Isolation
from suite.machine.modes.requested_mode import RequestedMode
from suite.metrics.matrix_record import MatrixPlan
from suite.metrics.study import StudyPlan, folder_name

Plan_co = TypeVar("Plan_co", bound=StudyPlan | MatrixPlan, covariant=True)


@dataclass(frozen=True)
class Values:
    """One value of each setting; None: the workload's or machine's own.

    ``board`` is the number of the only board of --boards that makes the run. ``data`` may be
    NAME=DIR, for a copy on another storage medium. ``nodes`` is a number of the hostfile's first
    hosts. ``page_cache`` is cold or warm. ``meters`` is as `suite run --meters`
    takes it. ``cpu_quota`` limits the implementation to the CPU time of N cores, as 0.5,
    ``memory_mb`` to 10^6 bytes of memory, ``read_mb_s`` its reads from the data's disk to 10^6
    bytes a second: a slower storage medium, emulated. ``neighbours`` is how many further trainings
    of the same request run beside it. ``power_mode`` and what follows it are as `suite power set`
    takes them.
    """

    workload: str | None = None
    framework: str | None = None
    data: str | None = None
    batch_size: int | None = None
    epochs: int | None = None
    steps: int | None = None
    learning_rate: float | None = None
    trains: str | None = None
    threads: int | None = None
    workers: int | None = None
    prefetch: int | None = None
    accelerator: Accelerator | None = None
    precision: Precision | None = None
    timing: Timing | None = None
    collective: Collective | None = None
    nodes: int | None = None
    board: int | None = None
    page_cache: PageCache | None = None
    meters: str | None = None
    cpu_quota: float | None = None
    memory_mb: float | None = None
    read_mb_s: float | None = None
    neighbours: int | None = None
    isolation: Isolation | None = None
    power_mode: str | None = None
    cores: str | None = None
    cpu_mhz: int | None = None
    gpu_mhz: int | None = None
    emc_mhz: int | None = None
    governor: str | None = None
    turbo: str | None = None
    fan: str | None = None
    jetson_clocks: bool | None = None

    @property
    def given(self) -> dict[str, Any]:
        """The settings that have a value."""
        return given_values(self)

    @property
    def mode(self) -> RequestedMode:
        """The power mode among them."""
        return RequestedMode(mode=self.power_mode, **self.shared_settings(RequestedMode))

    def shared_settings(self, kind: type) -> dict[str, Any]:
        """The given settings that a dataclass has, too."""
        names = {each.name for each in dataclasses.fields(kind)}
        return {name: value for name, value in self.given.items() if name in names}

    def text(self, name: str) -> str:
        """A value in words, as it is typed."""
        value = getattr(self, name)
        if isinstance(value, enum.Enum):
            return str(value.value)
        return (
            str(value).lower()
            if isinstance(value, bool)
            else f"{value:g}"
            if isinstance(value, float)
            else str(value)
        )


@dataclass(frozen=True)
class PlannedRun:
    """One run: the name of its ``point`` in folders, its repetition (from 1), a ``label`` for
    progress messages, its mark, the options of `suite run`, and the values, some of which options
    do not have."""

    point: str
    repetition: int
    label: str
    mark: StudyMark
    options: RunOptions
    values: Values = Values()

    @property
    def folder(self) -> str:
        """Its directory, relative to that of all runs."""
        return folder_name(self.point, self.repetition)

    @property
    def page_cache(self) -> PageCache:
        """The state of the page cache before it."""
        return self.values.page_cache or PageCache.COLD


@dataclass(frozen=True)
class PlannedRuns(Generic[Plan_co]):
    """A planned study or matrix; repetitions of a point lie far apart in time.

    Before each run the hottest sensor cools to ``cool_to_c``. ``needs_power``: without a power
    meter nothing is run.
    """

    plan: Plan_co
    runs: tuple[PlannedRun, ...]
    cool_to_c: float | None = None
    cool_timeout_s: float = 900.0
    needs_power: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The varied settings, as the record names them."""
        return (self.plan.varied,) if isinstance(self.plan, StudyPlan) else self.plan.variables


AnyPlanned = PlannedRuns[StudyPlan | MatrixPlan]


def given_values(settings: Any) -> dict[str, Any]:
    """The fields of a dataclass that have a value, or values, in their order."""
    values = ((each.name, getattr(settings, each.name)) for each in dataclasses.fields(settings))
    return {name: value for name, value in values if value not in (None, ())}
