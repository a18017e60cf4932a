"""A run's request: the user's options, resolved once against workload, device and framework, then
immutable."""

import enum
from dataclasses import dataclass
from pathlib import Path

from reference_impls import contract
from suite.bundle.layout import NO_ORGANIZATION
from suite.bundle.resumption import Resumption
from suite.bundle.study_mark import StudyMark
from suite.catalog.data_sets import load_data_set
from suite.catalog.devices import Device
from suite.catalog.divisions import Division
from suite.catalog.frameworks import Framework
from suite.catalog.precisions import Precision
from suite.catalog.seeds import NonceUse
from suite.catalog.timings import Timing
from suite.catalog.workloads import Workload
from suite.datasets.layouts import root_of
from suite.launch.isolation import Isolation
from suite.launch.placement import Placement
from suite.machine.limits import Limit

FLOAT_BYTES = 4  # of a weight, and of its gradient
ALONE = Placement()


class Collective(str, enum.Enum):
    """All-reduce backend: reference_impls.communication over MPI, or the framework's collectives
    (``native``)."""

    MPI = "mpi"
    NATIVE = "native"


class Normalisation(str, enum.Enum):
    """What batch normalisation takes a rank's statistics over: its own samples, or the whole
    mini-batch."""

    LOCAL = contract.LOCAL
    SYNCHRONISED = contract.SYNCHRONISED


class Wire(str, enum.Enum):
    """Numbers in which gradients are sent: as they are computed, or rounded to 16 bits (open
    division)."""

    EXACT = contract.EXACT
    FLOAT16 = contract.FLOAT16
    BFLOAT16 = contract.BFLOAT16


class Shares(str, enum.Enum):
    """Samples of a mini-batch on each rank: equally many, or by the ranks' speeds (open
    division)."""

    EQUAL = contract.EQUAL
    SPEED = contract.SPEED


class Accelerator(str, enum.Enum):
    """The processor that trains; ``auto`` is CUDA on devices whose profile has a GPU."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True)
class RunOptions:
    """The user's options; None: the workload's value.

    ``implementation`` is the folder of an implementation outside the checkout, whose name then
    replaces ``framework``.

    With ``nonce``, the seed is computed from it, the current round and ``run_number``
    (suite.catalog.seeds), and ``seed`` is not used.
    """

    division: Division
    device: str
    workload: str
    framework: str
    data: str | None = None  # a data set's name, or the folder that holds the workload's own
    seed: int = 1
    epochs: int | None = None
    steps: int | None = None
    short: int | None = None  # whole epochs of the schedule that are trained
    no_target: bool = False  # all epochs are trained, whatever the accuracy
    batch_size: int | None = None
    learning_rate: float | None = None
    trains: str | None = None  # the name of another part of the model that is trained
    threads: int | None = None
    accelerator: Accelerator = Accelerator.AUTO
    workers: int | None = None
    prefetch: int | None = None
    organization: str = NO_ORGANIZATION
    placement: Placement = ALONE
    collective: Collective = Collective.MPI
    normalisation: Normalisation = Normalisation.LOCAL
    wire: Wire = Wire.EXACT
    shares: Shares = Shares.EQUAL
    accumulate: int = 1  # mini-batches whose gradients are summed for one update
    with_identity: bool = True  # the bundle has a digest of each board's serial number
    nonce: str | None = None
    run_number: int = 0
    implementation: str | None = None
    # of products and convolutions; None: the framework's first, float32 of all but variants
    precision: Precision | None = None
    # None: the first of suite.catalog.timings.possible_timings
    timing: Timing | None = Timing.SYNCHRONISED
    # "2GB": what the training process may take; a schedule of recomputation is planned for it
    memory_budget: str | None = None
    # a folder for activations that do not fit the memory budget, instead of recomputation
    spill: str | None = None


class PageCache(str, enum.Enum):
    """State of the page cache at the start of a run: emptied, or with the data set read into it."""

    COLD = "cold"
    WARM = "warm"


@dataclass(frozen=True)
class Resume:
    """The run directory of an interrupted run, the ``state`` that training continues from, and what
    the new run records of it."""

    state: Path
    run: Path
    record: Resumption


@dataclass(frozen=True)
class RunRequest:
    """A resolved run: its definitions, and ``training``, the request that the implementation reads.

    ``baseload_s`` is how long the idle nodes are measured before the run, s; 0: not at all.
    ``power_pulse``: make a pattern of loads before and after the run. ``nonce`` says where the seed
    came from; None: the user chose it. ``witness`` is the address of the witness
    (suite.witness.client); None: there is none. ``with_identity``: as in RunOptions.
    ``keep_states``: every epoch's training state is kept (suite.execution.kept_states).
    ``left_out``: names of the meters that are not read. ``resume``: the run continues another one
    (suite.execution.resume); None: it begins with the initial weights. ``study``: the run is made
    for a study; None: it is not. ``limits`` are on what the implementation may use of this machine
    (suite.machine.limits). ``isolation``: what the implementation is started in; None: nobody asked
    for any. ``neighbours``: further trainings of the request beside it.
    """

    run_id: str
    workload: Workload
    device: Device
    device_evidence: str
    framework: Framework
    training: contract.Request
    page_cache: PageCache = PageCache.COLD
    placement: Placement = ALONE
    baseload_s: float = 0.0
    power_pulse: bool = False
    nonce: NonceUse | None = None
    witness: str | None = None
    keep_states: bool = False
    with_identity: bool = True
    left_out: tuple[str, ...] = ()
    study: StudyMark | None = None
    limits: tuple[Limit, ...] = ()
    isolation: Isolation | None = None
    neighbours: int = 0
    resume: Resume | None = None

    @property
    def directory(self) -> Path:
        """The run directory."""
        return Path(self.training.output_directory)

    @property
    def data_directory(self) -> Path:
        """The folder of the prepared data set."""
        return Path(self.training.data.directory)

    @property
    def data_files(self) -> tuple[str, ...]:
        """The paths of its files; none are listed of pictures."""
        definition = load_data_set(self.training.data.name)
        root = root_of(definition, self.data_directory)
        return tuple(str(root / file.name) for file in definition.files)

    @property
    def ranks(self) -> int:
        """Processes that train."""
        return self.training.parallel.ranks
